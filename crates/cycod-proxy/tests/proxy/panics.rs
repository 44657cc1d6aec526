//! A mistake of ours cuts off the connection in which it is made, and nothing else.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener},
    time::Duration,
};

use cycod_proxy::{Proxy, Resolver};

use crate::bed::{PUBLIC, bed, connect, head, web};

/// Leads to one host, and panics about a name and about a port: in the thread of the lookup, and in that of the connection.
struct Mistaken(SocketAddr);

impl Resolver for Mistaken {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        assert!(!name.starts_with("lookup"), "an answer of 3 bytes");
        Ok(vec![PUBLIC.parse().unwrap()])
    }

    fn route(&self, checked: SocketAddr) -> SocketAddr {
        assert_ne!(checked.port(), 81, "a route of 3 hops");
        self.0
    }
}

#[test]
fn a_panic_ends_its_connection_and_nothing_else() {
    let host = web();
    let proxy = Proxy::new(bed(&["network:external:*"]).settings, Mistaken(host.address)).unwrap();
    let listeners: Vec<TcpListener> =
        proxy.addresses().iter().map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let at = listeners[0].local_addr().unwrap();
    let serving = proxy.serve(listeners).unwrap();
    let ask = |url: &str, host: &str| {
        let mut client = connect(at);
        write!(client, "GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        client
    };
    for _ in 0..3 {
        // The client sees that it was cut off: neither an answer nor an end that looks like one.
        let cut = ask("http://a.example:81/", "a.example:81").read(&mut [0; 64]);
        assert_eq!(cut.map_err(|error| error.kind()), Err(io::ErrorKind::ConnectionReset));
        assert!(head(&mut ask("http://lookup.example/", "lookup.example")).starts_with("HTTP/1.1 502 "));
        assert!(head(&mut ask("http://a.example/", "a.example")).starts_with("HTTP/1.1 200 "));
    }
    assert!(serving.drain(Duration::from_secs(10)), "no connection is left, and none is waited for");
    assert_eq!(serving.finish().reached.len(), 1);
}
