//! The proxy between a confined program and the hosts that it declared.

use std::any::Any;
use std::fmt::{self, Debug};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};

use cycod_process::NetworkGate;
use cycod_proxy::{HostRules, Proxy, ProxySettings, Resolver};

/// What the confined program declared. The owners of some of the names let them lead where nobody should go.
const DECLARED: [&str; 5] =
    ["allowed.test:80", "allowed.test:443", "rebound.test:80", "inside.test:80", "flips.test:80"];

/// A host that was declared, one that was not, and one where nobody is; `programs/gate.c` knows the first two.
pub(crate) const ALLOWED: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 14);
pub(crate) const DENIED: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
const NOBODY: Ipv4Addr = Ipv4Addr::new(93, 184, 215, 15);
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// The proxy as the way out of a confinement.
pub(crate) struct Way(Proxy);

impl Way {
    pub(crate) fn new() -> Way {
        let mut rules = HostRules::default();
        for host in DECLARED {
            rules.add(&format!("network:external:{host}")).expect("it is a permission");
        }
        let names = Names { flipped: AtomicBool::new(false) };
        Way(Proxy::new(ProxySettings { rules, ..ProxySettings::default() }, names).expect("the proxy is made"))
    }
}

impl Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Way")
    }
}

impl NetworkGate for Way {
    fn addresses(&self) -> &[SocketAddr] {
        self.0.addresses()
    }

    fn names(&self) -> &[(String, IpAddr)] {
        self.0.names()
    }

    fn serve(&self, listeners: Vec<TcpListener>) -> Box<dyn Any + Send> {
        Box::new(self.0.serve(listeners).expect("threads can be started"))
    }
}

/// A name server; what is not declared leads to the host that was not declared.
struct Names {
    flipped: AtomicBool,
}

impl Resolver for Names {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let address = match name {
            "allowed.test" => ALLOWED,
            "rebound.test" => Ipv4Addr::LOCALHOST,
            "inside.test" => METADATA,
            "flips.test" if !self.flipped.swap(true, Ordering::SeqCst) => NOBODY,
            "flips.test" => Ipv4Addr::LOCALHOST,
            _ => DENIED,
        };
        Ok(vec![address.into()])
    }
}
