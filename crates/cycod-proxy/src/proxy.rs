//! What is made of the rules: addresses, names, variables.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    path::Path,
    sync::{Arc, OnceLock},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use rustls::{ClientConfig, pki_types::CertificateDer};

use crate::{
    authority::{self, Authority},
    error::ProxyError,
    host::HostName,
    limits::{LISTENERS, ProxyLimits},
    resolve::Resolver,
    rules::{HostPattern, HostRules},
    serving::Serving,
    swap::SecretSwap,
};

/// What a proxy is made of.
#[derive(Debug, Default)]
pub struct ProxySettings {
    /// What was declared.
    pub rules: HostRules,
    /// Secrets that the program does not hold.
    pub swaps: Vec<SecretSwap>,
    /// How much a run may take.
    pub limits: ProxyLimits,
    /// Authorities that are trusted for hosts with secrets, besides those of this machine.
    pub roots: Vec<CertificateDer<'static>>,
}

/// Lets the programs of a sandbox reach what was declared. One proxy can serve several runs; each has its own records.
pub struct Proxy {
    inner: Arc<Inner>,
    addresses: Vec<SocketAddr>,
}

/// Names with the addresses they have in the sandbox.
type Names = Vec<(String, IpAddr)>;

/// What is behind a listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Http,
    Socks,
    /// One host, at one port.
    Direct(HostName, u16),
}

pub(crate) struct Inner {
    pub(crate) rules: HostRules,
    pub(crate) limits: ProxyLimits,
    pub(crate) resolver: Box<dyn Resolver>,
    pub(crate) authority: Option<Authority>,
    pub(crate) roles: Vec<Role>,
    names: Names,
    swaps: Vec<SecretSwap>,
    roots: Vec<CertificateDer<'static>>,
    client: OnceLock<Result<Arc<ClientConfig>, ProxyError>>,
}

impl Inner {
    /// The declared name behind an address that only it has in the sandbox: some programs look names up before they ask.
    pub(crate) fn meant(&self, host: HostName) -> HostName {
        let name =
            self.names.iter().find(|(_, address)| host == HostName::Address(*address)).map(|(name, _)| name.clone());
        name.map_or(host, HostName::Name)
    }

    pub(crate) fn swaps_for(&self, host: &HostName, port: u16, secure: bool) -> Vec<&SecretSwap> {
        self.swaps.iter().filter(|swap| swap.is_for(host, port, secure)).collect()
    }

    /// How hosts with secrets are connected to. Reading the roots takes a while, and is done when one is.
    pub(crate) fn client(&self) -> Result<&Arc<ClientConfig>, &ProxyError> {
        self.client.get_or_init(|| authority::client(&self.roots).map(Arc::new)).as_ref()
    }
}

impl Proxy {
    /// Makes a proxy; nothing is listened to yet.
    pub fn new(settings: ProxySettings, resolver: impl Resolver) -> Result<Self, ProxyError> {
        let ProxySettings { rules, swaps, limits, roots } = settings;
        let (listening, names) = listening(&rules);
        if listening.len() > LISTENERS {
            return Err(ProxyError::TooMany { count: listening.len(), most: LISTENERS });
        }
        let authority = if swaps.is_empty() { None } else { Some(Authority::new()?) };
        let (addresses, roles) = listening.into_iter().unzip();
        let resolver = Box::new(resolver);
        let client = OnceLock::new();
        let inner = Inner { rules, limits, resolver, authority, roles, names, swaps, roots, client };
        Ok(Self { inner: Arc::new(inner), addresses })
    }

    /// The addresses to listen at in the sandbox. The first is the HTTP proxy's, the second that of SOCKS5.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Names for the `/etc/hosts` of the sandbox: a program that knows of no proxy comes to us by them.
    pub fn names(&self) -> &[(String, IpAddr)] {
        &self.inner.names
    }

    /// The certificate of the authority for hosts with secrets, as PEM; nothing, when there are no secrets.
    pub fn authority_pem(&self) -> Option<&str> {
        self.inner.authority.as_ref().map(Authority::pem)
    }

    /// The authority together with all that this machine trusts, as PEM: the file that [`environment`] points to.
    ///
    /// [`environment`]: Self::environment
    pub fn bundle_pem(&self) -> Option<String> {
        let mut bundle = self.authority_pem()?.to_owned();
        for certificate in rustls_native_certs::load_native_certs().certs.iter().chain(&self.inner.roots) {
            bundle.push_str("-----BEGIN CERTIFICATE-----\n");
            let coded = STANDARD.encode(certificate);
            for line in coded.as_bytes().chunks(64) {
                // Base64 is ASCII, and writing to a string does not fail.
                let _ = writeln!(bundle, "{}", line.escape_ascii());
            }
            bundle.push_str("-----END CERTIFICATE-----\n");
        }
        Some(bundle)
    }

    /// The variables by which programs find the proxy and, at `bundle`, whom to trust.
    pub fn environment(&self, bundle: Option<&Path>) -> Vec<(String, String)> {
        let http = format!("http://{}", self.addresses[0]);
        // What the program itself serves is reached directly, unless it may reach any port of the machine: then there is
        // no socket for each, and all go through the proxy.
        let direct = if self.inner.rules.any_loopback_port() { "" } else { "localhost,127.0.0.1,::1" };
        let mut variables = Vec::new();
        for (name, value) in
            // Not `ALL_PROXY`: some clients refuse to start with a SOCKS proxy that they cannot use.
            [("HTTP_PROXY", &*http), ("HTTPS_PROXY", &http), ("NO_PROXY", direct)]
        {
            variables.push((name.to_owned(), value.to_owned()));
            variables.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        // Node looks at the others only when it is told to.
        variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
        if let (Some(bundle), Some(_)) = (bundle, &self.inner.authority) {
            let path = bundle.display().to_string();
            variables.extend(TRUST_VARIABLES.map(|name| (name.to_owned(), path.clone())));
        }
        variables
    }

    /// Serves at these sockets, which listen at [`addresses`](Self::addresses), one for each and in the same order.
    pub fn serve(&self, listeners: Vec<TcpListener>) -> io::Result<Serving> {
        Serving::start(&self.inner, listeners)
    }
}

/// Where programs look for the authorities they trust.
const TRUST_VARIABLES: [&str; 10] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "NIX_SSL_CERT_FILE",
];

/// The addresses to listen at with what is behind them, and the names that lead to some of them.
fn listening(rules: &HostRules) -> (Vec<(SocketAddr, Role)>, Names) {
    let localhost = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let mut local = Vec::new();
    for rule in &rules.loopback {
        let (addresses, host) = match &rule.host {
            HostPattern::Host(HostName::Address(address)) => (vec![*address], HostName::Address(*address)),
            _ => (localhost.to_vec(), HostName::Name("localhost".to_owned())),
        };
        for (address, port) in addresses.into_iter().zip(rule.port.into_iter().cycle()) {
            let address = SocketAddr::from((address, port));
            if !local.iter().any(|(known, _)| *known == address) {
                local.push((address, Role::Direct(host.clone(), port)));
            }
        }
    }
    let mut hosts: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
    for rule in &rules.external {
        if let HostPattern::Host(HostName::Name(name)) = &rule.host {
            let ports = hosts.entry(name).or_default();
            ports.extend(rule.port.map_or_else(|| vec![443, 80], |port| vec![port]));
            ports.sort_unstable();
            ports.dedup();
        }
    }
    // A declared port of this machine is at its own place, so we make way.
    let free = |from: u16, besides: u16| {
        let is_taken = |port: u16| port == besides || local.iter().any(|(address, _)| address.port() == port);
        (from..=u16::MAX).find(|port| !is_taken(*port)).unwrap_or(from)
    };
    let http = free(3128, 0);
    let socks = free(1080, http);
    let mut all = vec![
        (SocketAddr::from((localhost[0], http)), Role::Http),
        (SocketAddr::from((localhost[0], socks)), Role::Socks),
    ];
    let mut names = Vec::new();
    for (index, (name, ports)) in hosts.into_iter().enumerate() {
        let [.., high, low] = u32::try_from(index + 1).unwrap_or(u32::MAX).to_be_bytes();
        let address = IpAddr::from([127, 77, high, low]);
        names.push((name.to_owned(), address));
        all.extend(
            ports.into_iter().map(|port| ((address, port).into(), Role::Direct(HostName::Name(name.to_owned()), port))),
        );
    }
    all.extend(local);
    (all, names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::SystemResolver;

    fn proxy(permissions: &[&str]) -> Proxy {
        let mut rules = HostRules::default();
        for permission in permissions {
            rules.add(permission).unwrap();
        }
        Proxy::new(ProxySettings { rules, ..ProxySettings::default() }, SystemResolver).unwrap()
    }

    fn addresses(permissions: &[&str]) -> Vec<String> {
        proxy(permissions).addresses().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_declared_name_has_an_address_and_its_ports() {
        let permissions =
            ["network:external:b.example", "network:external:a.example:22", "network:external:A.example.:8443"];
        assert_eq!(
            addresses(&permissions),
            ["127.0.0.1:3128", "127.0.0.1:1080", "127.77.0.1:22", "127.77.0.1:8443", "127.77.0.2:80", "127.77.0.2:443"]
        );
        let names = proxy(&permissions).names().to_vec();
        assert_eq!(names, [("a.example".into(), [127, 77, 0, 1].into()), ("b.example".into(), [127, 77, 0, 2].into())]);
    }

    #[test]
    fn patterns_and_addresses_have_none() {
        let permissions = ["network:external:*", "network:external:*.a.example", "network:external:10.0.0.1:22"];
        assert_eq!(addresses(&permissions), ["127.0.0.1:3128", "127.0.0.1:1080"]);
    }

    #[test]
    fn a_declared_port_of_this_machine_is_at_its_place() {
        let permissions =
            ["network:loopback:localhost:5432", "network:loopback:*:1080", "network:loopback:127.0.0.9:5432"];
        assert_eq!(
            addresses(&permissions),
            [
                "127.0.0.1:3128",
                "127.0.0.1:1081",
                "127.0.0.1:5432",
                "[::1]:5432",
                "127.0.0.1:1080",
                "[::1]:1080",
                "127.0.0.9:5432"
            ]
        );
    }

    #[test]
    fn variables_lead_to_the_proxy() {
        let value = |permissions: &[&str], name: &str| {
            let all = proxy(permissions).environment(None);
            all.into_iter().find(|(own, _)| own == name).map(|(_, value)| value)
        };
        assert_eq!(value(&[], "http_proxy").as_deref(), Some("http://127.0.0.1:3128"));
        assert_eq!(value(&[], "HTTPS_PROXY").as_deref(), Some("http://127.0.0.1:3128"));
        assert_eq!(value(&[], "NO_PROXY").as_deref(), Some("localhost,127.0.0.1,::1"));
        assert_eq!(value(&["network:loopback:*"], "no_proxy").as_deref(), Some(""));
        assert_eq!(value(&[], "SSL_CERT_FILE"), None);
    }

    #[test]
    fn there_is_an_end_to_sockets() {
        let mut rules = HostRules::default();
        for index in 0..200 {
            rules.add(&format!("network:external:h{index}.example")).unwrap();
        }
        let error =
            Proxy::new(ProxySettings { rules, ..ProxySettings::default() }, SystemResolver).map(drop).unwrap_err();
        assert!(matches!(error, ProxyError::TooMany { count: 402, most: 256 }));
    }
}
