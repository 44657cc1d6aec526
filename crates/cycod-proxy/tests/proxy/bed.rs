//! Hosts to reach, a resolver that says what we like, and clients that say what they like.

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use cycod_proxy::{HostRule, HostRules, Proxy, ProxyLimits, ProxyReport, ProxySettings, Resolver, SecretSwap, Serving};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName},
};

/// The address of every name that nobody said anything about.
pub(crate) const PUBLIC: &str = "93.184.215.14";

/// What is said about names, and where addresses lead.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// Answers, one after the other; the last stays.
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    routes: HashMap<u16, SocketAddr>,
    exceptions: HashMap<SocketAddr, SocketAddr>,
    asked: Vec<String>,
    connected: Vec<SocketAddr>,
}

impl World {
    /// Says what a name leads to, from one question to the next.
    pub(crate) fn answers(&self, name: &str, answers: &[&[&str]]) -> &Self {
        let answers = answers.iter().map(|one| one.iter().map(|address| address.parse().unwrap()).collect()).collect();
        self.0.lock().unwrap().answers.insert(name.to_owned(), answers);
        self
    }

    /// Leads what is connected to at a port to a server of ours.
    pub(crate) fn route(&self, port: u16, to: SocketAddr) -> &Self {
        self.0.lock().unwrap().routes.insert(port, to);
        self
    }

    /// Leads one address elsewhere than the others at its port.
    pub(crate) fn route_one(&self, from: &str, to: SocketAddr) {
        self.0.lock().unwrap().exceptions.insert(from.parse().unwrap(), to);
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }

    pub(crate) fn connected(&self) -> Vec<String> {
        self.0.lock().unwrap().connected.iter().map(ToString::to_string).collect()
    }
}

impl Resolver for World {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut inner = self.0.lock().unwrap();
        inner.asked.push(name.to_owned());
        match inner.answers.get_mut(name) {
            Some(answers) if answers.len() > 1 => Ok(answers.remove(0)),
            Some(answers) => Ok(answers[0].clone()),
            None => Ok(vec![PUBLIC.parse().unwrap()]),
        }
    }

    fn route(&self, checked: SocketAddr) -> SocketAddr {
        let mut inner = self.0.lock().unwrap();
        inner.connected.push(checked);
        *inner.exceptions.get(&checked).or_else(|| inner.routes.get(&checked.port())).unwrap_or(&checked)
    }
}

pub(crate) struct Bed {
    pub(crate) world: World,
    pub(crate) settings: ProxySettings,
}

pub(crate) fn bed(permissions: &[&str]) -> Bed {
    let mut rules = HostRules::default();
    for permission in permissions {
        rules.add(permission).unwrap();
    }
    let limits =
        ProxyLimits { idle: Duration::from_secs(20), handshake: Duration::from_secs(10), ..ProxyLimits::default() };
    Bed { world: World::default(), settings: ProxySettings { rules, limits, ..ProxySettings::default() } }
}

impl Bed {
    pub(crate) fn route(self, port: u16, to: SocketAddr) -> Self {
        self.world.route(port, to);
        self
    }

    pub(crate) fn limits(mut self, change: impl FnOnce(&mut ProxyLimits)) -> Self {
        change(&mut self.settings.limits);
        self
    }

    pub(crate) fn swap(mut self, placeholder: &str, value: &str, host: &str) -> Self {
        let rule = HostRule::external(host).or_else(|_| HostRule::loopback(host)).unwrap();
        self.settings.swaps.push(SecretSwap::new(placeholder.into(), value.into(), vec![rule]).unwrap());
        self
    }

    pub(crate) fn trusts(mut self, root: &CertificateDer<'static>) -> Self {
        self.settings.roots.push(root.clone());
        self
    }

    pub(crate) fn start(self) -> Running {
        let proxy = Proxy::new(self.settings, self.world.clone()).unwrap();
        let listeners: Vec<TcpListener> =
            proxy.addresses().iter().map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let at = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        let serving = proxy.serve(listeners).unwrap();
        Running { world: self.world, proxy, at, serving }
    }
}

pub(crate) struct Running {
    pub(crate) world: World,
    pub(crate) proxy: Proxy,
    at: Vec<SocketAddr>,
    pub(crate) serving: Serving,
}

impl Running {
    pub(crate) fn http(&self) -> SocketAddr {
        self.at[0]
    }

    pub(crate) fn socks(&self) -> SocketAddr {
        self.at[1]
    }

    /// Where that which the sandbox would have at an address is.
    pub(crate) fn at(&self, inside: &str) -> SocketAddr {
        let inside: SocketAddr = inside.parse().unwrap();
        self.at[self.proxy.addresses().iter().position(|address| *address == inside).unwrap()]
    }

    /// The variables, with the addresses as they are here.
    pub(crate) fn environment(&self, bundle: Option<&std::path::Path>) -> Vec<(String, String)> {
        let mut variables = self.proxy.environment(bundle);
        for (_, value) in &mut variables {
            for (inside, here) in self.proxy.addresses().iter().zip(&self.at) {
                *value = value.replace(&inside.to_string(), &here.to_string());
            }
        }
        variables
    }

    /// A connection through CONNECT, behind the 200.
    pub(crate) fn tunnel(&self, to: &str) -> TcpStream {
        let mut client = connect(self.http());
        let answer = ask(&mut client, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        client
    }

    pub(crate) fn report(&self) -> ProxyReport {
        self.serving.report()
    }

    /// What was denied, a line each: what was asked for and what would permit it.
    pub(crate) fn denied(&self) -> Vec<String> {
        let line =
            |one: &cycod_proxy::Denied| format!("{one}; {}; {}", one.permission.as_deref().unwrap_or("-"), one.times);
        self.report().denied.iter().map(line).collect()
    }
}

pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(to).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client
}

/// Sends text and reads what comes until the head is complete, byte by byte so that nothing behind it is lost.
pub(crate) fn ask(client: &mut (impl Read + Write), text: &str) -> String {
    client.write_all(text.as_bytes()).unwrap();
    head(client)
}

pub(crate) fn head(client: &mut impl Read) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if client.read(&mut byte).unwrap_or(0) == 0 {
            break;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Reads a response: its head and its body.
pub(crate) fn response(client: &mut impl Read) -> (String, String) {
    let head = head(client);
    let body = body(client, &head, false);
    (head, String::from_utf8_lossy(&body).into_owned())
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(own, _)| own.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
}

fn body(client: &mut impl Read, head: &str, is_request: bool) -> Vec<u8> {
    let mut body = Vec::new();
    if let Some(length) = field(head, "content-length") {
        client.take(length.parse().unwrap()).read_to_end(&mut body).unwrap();
    } else if field(head, "transfer-encoding").is_some() {
        loop {
            let size = usize::from_str_radix(line(client).trim(), 16).unwrap();
            let mut chunk = vec![0; size];
            client.read_exact(&mut chunk).unwrap();
            assert_eq!(line(client), "\r\n");
            body.extend(chunk);
            if size == 0 {
                break;
            }
        }
    } else if !is_request && !head.starts_with("HTTP/1.1 204") {
        client.read_to_end(&mut body).unwrap();
    }
    body
}

fn line(client: &mut impl Read) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// A server that treats each connection like this.
pub(crate) fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Host {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (serve, count) = (Arc::new(serve), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&count);
    thread::spawn(move || {
        for socket in listener.incoming() {
            let serve = Arc::clone(&serve);
            counter.fetch_add(1, SeqCst);
            thread::spawn(move || serve(socket.unwrap()));
        }
    });
    Host { address, count }
}

pub(crate) struct Host {
    pub address: SocketAddr,
    count: Arc<AtomicUsize>,
}

impl Host {
    /// How many connections it was given.
    pub(crate) fn connections(&self) -> usize {
        self.count.load(SeqCst)
    }
}

/// A server that says back what it hears, and that nothing more comes when it hears that.
pub(crate) fn echo() -> Host {
    server(|mut socket| {
        let mut copy = socket.try_clone().unwrap();
        io::copy(&mut copy, &mut socket).ok();
        socket.shutdown(std::net::Shutdown::Write).ok();
    })
}

/// A server whose responses are what was asked of it: the head, an empty line, the body.
pub(crate) fn web() -> Host {
    server(|mut socket| while answer(&mut socket) {})
}

fn answer(socket: &mut (impl Read + Write)) -> bool {
    let head = head(socket);
    if head.is_empty() {
        return false;
    }
    let body = body(socket, &head, true);
    let echo = [head.as_bytes(), &body].concat();
    let path = head.split(' ').nth(1).unwrap();
    let own = format!("X-Echo: {}\r\n", field(&head, "x-echo").unwrap_or("-"));
    let is_head = head.starts_with("HEAD");
    let mut say = |text: &str, body: &[u8]| {
        socket.write_all(format!("HTTP/1.1 200 OK\r\n{own}{text}\r\n").as_bytes()).unwrap();
        socket.write_all(if is_head { b"" } else { body }).unwrap();
    };
    match path {
        "/chunked" => {
            say("Transfer-Encoding: chunked\r\n", b"");
            for part in echo.chunks(7) {
                write!(socket, "{:x};x=y\r\n", part.len()).unwrap();
                socket.write_all(part).unwrap();
                socket.write_all(b"\r\n").unwrap();
            }
            socket.write_all(b"0\r\nX-Trailer: 1\r\n\r\n").unwrap();
        }
        "/close" => {
            say("", &echo);
            return false;
        }
        "/short" => {
            say("Content-Length: 999999\r\n", &echo);
            return false;
        }
        "/large" => {
            let large = [vec![b'.'; 2 << 20], echo].concat();
            say(&format!("Content-Length: {}\r\n", large.len()), &large);
        }
        _ => say(&format!("Content-Length: {}\r\n", echo.len()), &echo),
    }
    socket.flush().unwrap();
    true
}

/// The same inside TLS, for these names; with the authority that it is to be trusted by.
pub(crate) fn secure_web(names: &[&str]) -> (Host, CertificateDer<'static>) {
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
    ca.distinguished_name.push(rcgen::DnType::CommonName, "an authority of the test");
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root = ca.self_signed(&ca_key).unwrap().der().clone();
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let leaf = rcgen::CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let host = server(move |socket| {
        let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(tls, socket);
        while answer(&mut stream) {}
        stream.conn.send_close_notify();
        stream.flush().ok();
    });
    (host, root)
}

pub(crate) type Tls = StreamOwned<ClientConnection, TcpStream>;

/// Speaks TLS on a connection, as a client that wants this host.
pub(crate) fn secure(socket: TcpStream, name: &str, root: &CertificateDer<'static>, says_name: bool) -> Tls {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.enable_sni = says_name;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), socket)
}

/// The certificate in a PEM text.
pub(crate) fn from_pem(pem: &str) -> CertificateDer<'static> {
    use rustls::pki_types::pem::PemObject;
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}
