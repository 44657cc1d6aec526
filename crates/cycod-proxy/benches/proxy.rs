//! What the way through the proxy costs beside the direct one, measured in turns in one run: a connection and one KiB
//! there and back.
#![allow(clippy::print_stdout, reason = "numbers are for people")]

use std::{
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use cycod_proxy::{HostRules, Proxy, ProxySettings, Resolver};

const ROUNDS: usize = 1000;
const PORT: u16 = 2222;

/// Everything leads to one server.
struct To(SocketAddr);

impl Resolver for To {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![[93, 184, 215, 14].into()])
    }

    fn route(&self, _: SocketAddr) -> SocketAddr {
        self.0
    }
}

fn main() {
    // `cargo test --all-targets` runs this too, and has no use for numbers.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let host = server.local_addr().expect("it is bound");
    thread::spawn(move || {
        for socket in server.incoming() {
            thread::spawn(move || {
                let mut socket = socket.expect("it connected");
                let mut copy = socket.try_clone().expect("a descriptor is left");
                io::copy(&mut copy, &mut socket).ok();
            });
        }
    });
    let mut rules = HostRules::default();
    rules.add(&format!("network:external:a.example:{PORT}")).expect("it is a permission");
    let proxy = Proxy::new(ProxySettings { rules, ..ProxySettings::default() }, To(host)).expect("it can be made");
    let bind = |_: &SocketAddr| TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let listeners: Vec<TcpListener> = proxy.addresses().iter().map(bind).collect();
    let at: Vec<SocketAddr> = listeners.iter().map(|listener| listener.local_addr().expect("it is bound")).collect();
    let serving = proxy.serve(listeners).expect("it serves");

    let direct = || exchange(TcpStream::connect(host).expect("it listens"));
    let by_name = || exchange(TcpStream::connect(at[2]).expect("it listens"));
    let by_connect = || {
        let mut socket = TcpStream::connect(at[0]).expect("it listens");
        write!(socket, "CONNECT a.example:{PORT} HTTP/1.1\r\nHost: a.example\r\n\r\n").expect("it reads");
        let mut head = [0; 39];
        socket.read_exact(&mut head).expect("it answers");
        assert!(head.ends_with(b"\r\n\r\n"));
        exchange(socket);
    };
    let [direct, by_name, by_connect] = medians([&direct, &by_name, &by_connect]);
    let ratio = |time: Duration| time.as_secs_f64() / direct.as_secs_f64();
    println!("connect and 1 KiB, {ROUNDS} rounds: direct {direct:.1?}");
    println!("  by name    {by_name:.1?} ({:.2}x)", ratio(by_name));
    println!("  by CONNECT {by_connect:.1?} ({:.2}x)", ratio(by_connect));
    drop(serving);
}

fn exchange(mut socket: TcpStream) {
    let mut block = [0; 1024];
    socket.write_all(&block).expect("it is taken");
    socket.read_exact(&mut block).expect("it comes back");
}

fn medians<const N: usize>(ways: [&dyn Fn(); N]) -> [Duration; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter().zip(&mut times) {
            let started = Instant::now();
            way();
            times.push(started.elapsed());
        }
    }
    times.map(|mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}
