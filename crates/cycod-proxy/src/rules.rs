//! What was declared.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::{
    address::{Standing, standing},
    error::ProxyError,
    host::{self, HostName},
};

/// All that a program declared.
#[derive(Clone, Debug, Default)]
pub struct HostRules {
    /// Hosts elsewhere.
    pub external: Vec<HostRule>,
    /// Services of this machine.
    pub loopback: Vec<HostRule>,
}

/// One declared host, at one port or at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// Which hosts.
    pub host: HostPattern,
    /// At which port; all, when there is none.
    pub port: Option<u16>,
}

/// Which hosts a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// `*`: every one.
    Any,
    /// `*.example.com`: every name below, however deep, and not the name itself.
    Below(String),
    /// Exactly this one.
    Host(HostName),
}

impl HostPattern {
    fn matches(&self, host: &HostName) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Below(suffix), HostName::Name(name)) => {
                name.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (Self::Below(_), HostName::Address(_)) => false,
            (Self::Host(own), host) => own == host,
        }
    }
}

impl HostRule {
    /// Reads what stands after `network:external:`.
    pub fn external(text: &str) -> Result<Self, ProxyError> {
        let rule = Self::parse(text).map_err(|why| wrong("external", text, why))?;
        if let HostPattern::Host(host) = &rule.host {
            if host.is_loopback() {
                let why = format!("this machine is not outside; write `network:loopback:{text}`");
                return Err(wrong("external", text, &why));
            }
            if matches!(host, HostName::Address(address) if standing(*address) == Standing::Never) {
                return Err(wrong("external", text, "nothing outside is to be reached at that address"));
            }
        }
        Ok(rule)
    }

    /// Reads what stands after `network:loopback:`.
    pub fn loopback(text: &str) -> Result<Self, ProxyError> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let why = format!("a port needs a host before it; write `network:loopback:localhost:{text}`");
            return Err(wrong("loopback", text, &why));
        }
        let rule = Self::parse(text).map_err(|why| wrong("loopback", text, why))?;
        let is_local = match &rule.host {
            HostPattern::Any => true,
            HostPattern::Host(HostName::Name(name)) => name == "localhost",
            HostPattern::Host(HostName::Address(address)) => address.is_loopback(),
            HostPattern::Below(_) => false,
        };
        if is_local {
            Ok(rule)
        } else {
            Err(wrong("loopback", text, "only `localhost`, 127.0.0.0/8, `[::1]` and `*` are on this machine"))
        }
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains("://") || text.contains('/') {
            return Err("write the host alone, without scheme and path");
        }
        // Any port may be written out: `host:*`.
        let (text, port) = match text.strip_suffix(":*") {
            Some(host) => (host, None),
            None => match text.strip_prefix("*:") {
                Some(port) => ("*", Some(host::port(port)?)),
                None => (text, None),
            },
        };
        if text == "*" {
            return Ok(Self { host: HostPattern::Any, port });
        }
        let (below, text) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
        if text.contains('*') {
            return Err("`*` stands alone or, as `*.`, at the beginning");
        }
        let (host, port) = host::authority(text)?;
        let host = match (below, host) {
            (false, host) => HostPattern::Host(host),
            (true, HostName::Name(suffix)) => HostPattern::Below(suffix),
            (true, HostName::Address(_)) => return Err("nothing is below an address"),
        };
        Ok(Self { host, port })
    }

    pub(crate) fn matches(&self, host: &HostName, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && self.host.matches(host)
    }
}

/// As it is declared.
impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostPattern::Any => f.write_str("*")?,
            HostPattern::Below(suffix) => write!(f, "*.{suffix}")?,
            HostPattern::Host(host) => host.fmt(f)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

fn wrong(kind: &str, text: &str, why: &str) -> ProxyError {
    ProxyError::Permission { permission: format!("network:{kind}:{text}"), why: why.to_owned() }
}

/// What a rule lets a connection do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    /// To the outside.
    External {
        /// The host itself was declared, not only a pattern that it falls under.
        exact: bool,
        /// Something else than TLS and HTTP may be spoken.
        any_protocol: bool,
    },
    /// To one of these addresses of this machine.
    Loopback(Vec<IpAddr>),
}

const LOCALHOST: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

impl HostRules {
    /// Adds `network:external:HOST` or `network:loopback:HOST`.
    pub fn add(&mut self, permission: &str) -> Result<(), ProxyError> {
        if let Some(text) = permission.strip_prefix("network:external:") {
            self.external.push(HostRule::external(text)?);
        } else if let Some(text) = permission.strip_prefix("network:loopback:") {
            self.loopback.push(HostRule::loopback(text)?);
        } else {
            let why = "it begins with neither `network:external:` nor `network:loopback:`".to_owned();
            return Err(ProxyError::Permission { permission: permission.to_owned(), why });
        }
        Ok(())
    }

    /// What may be done with a host, by its name alone.
    pub(crate) fn grant(&self, host: &HostName, port: u16) -> Option<Grant> {
        if host.is_loopback() {
            let candidates = match host {
                HostName::Name(_) => LOCALHOST.to_vec(),
                HostName::Address(address) => vec![*address],
            };
            let permitted: Vec<IpAddr> =
                candidates.into_iter().filter(|address| self.permits_loopback(*address, port)).collect();
            return (!permitted.is_empty()).then_some(Grant::Loopback(permitted));
        }
        let matching = || self.external.iter().filter(|rule| rule.matches(host, port));
        matching().next()?;
        Some(Grant::External {
            exact: matching().any(|rule| matches!(rule.host, HostPattern::Host(_))),
            any_protocol: ![80, 443].contains(&port) || matching().any(|rule| rule.port.is_some()),
        })
    }

    fn permits_loopback(&self, address: IpAddr, port: u16) -> bool {
        self.loopback.iter().filter(|rule| rule.port.is_none_or(|own| own == port)).any(|rule| match &rule.host {
            HostPattern::Any => true,
            HostPattern::Host(HostName::Name(_)) => LOCALHOST.contains(&address),
            HostPattern::Host(HostName::Address(own)) => *own == address,
            HostPattern::Below(_) => false,
        })
    }

    /// Whether a declared host may turn out to have this address.
    pub(crate) fn may_lead_to(&self, address: IpAddr, port: u16) -> bool {
        match standing(address) {
            Standing::Public => true,
            Standing::Private => {
                let named = HostPattern::Host(HostName::Address(address.to_canonical()));
                self.external.iter().any(|rule| rule.host == named && rule.port.is_none_or(|own| own == port))
            }
            Standing::Never => false,
        }
    }

    /// Whether programs have to come to the proxy to reach a service of this machine.
    pub(crate) fn any_loopback_port(&self) -> bool {
        self.loopback.iter().any(|rule| rule.port.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(permissions: &[&str]) -> HostRules {
        let mut rules = HostRules::default();
        for permission in permissions {
            rules.add(permission).unwrap();
        }
        rules
    }

    fn may(rules: &HostRules, target: &str) -> bool {
        let (host, port) = host::authority(target).unwrap();
        rules.grant(&host, port.unwrap()).is_some()
    }

    #[test]
    fn rules_match_what_they_say() {
        for (permission, target, expected) in [
            ("network:external:Example.COM", "example.com:443", true),
            ("network:external:example.com", "example.com:22", true),
            ("network:external:example.com:443", "EXAMPLE.com.:443", true),
            ("network:external:example.com:443", "example.com:80", false),
            ("network:external:example.com:*", "example.com:80", true),
            ("network:external:example.com", "www.example.com:443", false),
            ("network:external:example.com", "example.com.evil:443", false),
            ("network:external:example.com", "notexample.com:443", false),
            ("network:external:*.example.com", "a.b.example.com:443", true),
            ("network:external:*.example.com", "example.com:443", false),
            ("network:external:*.example.com", "notexample.com:443", false),
            ("network:external:*.example.com:443", "a.example.com:80", false),
            ("network:external:*", "anything.example:1", true),
            ("network:external:*", "1.1.1.1:1", true),
            ("network:external:*", "localhost:1", false),
            ("network:external:*", "a.localhost:1", false),
            ("network:external:*", "127.0.0.1:1", false),
            ("network:external:*", "[::1]:1", false),
            ("network:external:*", "[::ffff:127.0.0.1]:1", false),
            ("network:external:*:443", "a.example:443", true),
            ("network:external:*:443", "a.example:80", false),
            ("network:external:10.0.0.1:5432", "10.0.0.1:5432", true),
            ("network:external:[2606:4700::1]", "[2606:4700:0::1]:1", true),
            ("network:external:bücher.example", "xn--bcher-kva.example:1", true),
            ("network:loopback:localhost:5432", "localhost:5432", true),
            ("network:loopback:localhost:5432", "127.0.0.1:5432", true),
            ("network:loopback:localhost:5432", "[::1]:5432", true),
            ("network:loopback:localhost:5432", "127.0.0.2:5432", false),
            ("network:loopback:localhost:5432", "localhost:5433", false),
            ("network:loopback:127.0.0.2", "127.0.0.2:1", true),
            ("network:loopback:127.0.0.2", "localhost:1", false),
            ("network:loopback:127.0.0.1:80", "localhost:80", true),
            ("network:loopback:*", "127.9.9.9:1", true),
            ("network:loopback:*", "example.com:1", false),
        ] {
            assert_eq!(may(&rules(&[permission]), target), expected, "{permission} {target}");
        }
    }

    #[test]
    fn a_name_leads_into_a_private_network_only_when_the_address_is_declared_too() {
        let (named, both) = (
            rules(&["network:external:git.corp.example"]),
            rules(&["network:external:git.corp.example", "network:external:10.0.0.5:443"]),
        );
        let leads = |rules: &HostRules, address: &str, port| rules.may_lead_to(address.parse().unwrap(), port);
        assert!(leads(&named, "1.1.1.1", 443));
        assert!(!leads(&named, "10.0.0.5", 443));
        assert!(leads(&both, "10.0.0.5", 443));
        assert!(leads(&both, "::ffff:10.0.0.5", 443));
        assert!(!leads(&both, "10.0.0.5", 22));
        assert!(!leads(&both, "10.0.0.6", 443));
        assert!(!leads(&rules(&["network:external:*"]), "169.254.169.254", 80));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (permission, expected) in [
            ("network:external:", "it is no host name"),
            ("network:external:https://a.example/", "write the host alone"),
            ("network:external:a.example:http", "a port is a number"),
            ("network:external:a.example:0", "a port is a number"),
            ("network:external:a.*.example", "`*` stands alone"),
            ("network:external:*example.com", "`*` stands alone"),
            ("network:external:*.1.2.3.4", "nothing is below an address"),
            ("network:external:127.0.0.1:80", "write `network:loopback:127.0.0.1:80`"),
            ("network:external:localhost", "write `network:loopback:localhost`"),
            ("network:external:0.0.0.0", "nothing outside"),
            ("network:external:[ff02::1]", "nothing outside"),
            ("network:external:0x7f.1", "four decimal numbers"),
            ("network:external:2001:db8::1", "in brackets"),
            ("network:loopback:example.com", "only `localhost`"),
            ("network:loopback:10.0.0.1", "only `localhost`"),
            ("network:loopback:8080", "localhost:8080"),
            ("filesystem:read:/", "begins with neither"),
        ] {
            let error = HostRules::default().add(permission).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(permission), "{permission}: {error}");
        }
    }

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        for text in ["*", "*:443", "*.a.example:1", "a.example", "1.1.1.1:53", "[2606:4700::1]:53"] {
            assert_eq!(HostRule::external(text).unwrap().to_string(), text);
        }
    }
}
