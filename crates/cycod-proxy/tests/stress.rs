//! Thousands of connections, and nothing left of them. Alone in its program, for it counts threads, descriptors and memory.
#![cfg(target_os = "linux")]

use std::{
    fs,
    io::{self, Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cycod_proxy::{HostRules, Proxy, ProxyLimits, ProxySettings, Resolver};

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

const CONNECTIONS: usize = 4000;
const CLIENTS: usize = 32;
const LARGE: u64 = 256 << 20;

/// The threads of the proxy, and all descriptors.
fn left() -> (usize, usize) {
    let names = fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    let threads = names.filter(|name| name.starts_with("proxy")).count();
    (threads, fs::read_dir("/proc/self/fd").unwrap().count())
}

/// What is resident, in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn nothing_is_left_of_thousands_of_connections() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = server.local_addr().unwrap();
    thread::spawn(move || {
        for socket in server.incoming() {
            thread::spawn(move || {
                let mut socket = socket.unwrap();
                let mut copy = socket.try_clone().unwrap();
                io::copy(&mut copy, &mut socket).ok();
                socket.shutdown(Shutdown::Write).ok();
            });
        }
    });
    let before = left();
    let mut rules = HostRules::default();
    rules.add("network:external:a.example:2222").unwrap();
    let limits = ProxyLimits { connections: 24, ..ProxyLimits::default() };
    let proxy = Arc::new(Proxy::new(ProxySettings { rules, limits, ..ProxySettings::default() }, To(host)).unwrap());
    let listeners: Vec<TcpListener> =
        proxy.addresses().iter().map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let at: Vec<SocketAddr> = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
    let serving = proxy.serve(listeners).unwrap();

    // Whole, cut off in each state, refused, and left alone: more at once than there are places for.
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let at = &at;
            scope.spawn(move || {
                for round in 0..CONNECTIONS / CLIENTS {
                    let connect = |index: usize| TcpStream::connect(at[index]).unwrap();
                    match (client + round) % 5 {
                        0 => {
                            let mut socket = connect(2);
                            socket.write_all(b"\0hello").unwrap();
                            socket.shutdown(Shutdown::Write).unwrap();
                            let mut heard = Vec::new();
                            socket.read_to_end(&mut heard).unwrap();
                            assert_eq!(heard, b"\0hello");
                        }
                        1 => drop(connect(0).write_all(b"CONNECT a.exam")),
                        2 => {
                            let mut socket = connect(0);
                            socket.write_all(b"CONNECT b.example:1 HTTP/1.1\r\nHost: b\r\n\r\n").unwrap();
                            let mut heard = String::new();
                            socket.read_to_string(&mut heard).unwrap();
                            assert!(heard.starts_with("HTTP/1.1 403 "), "{heard}");
                        }
                        3 => drop(connect(1).write_all(b"\x05\x01\x00\x05\x01\x00\x03\x09a.example\x08\xae\0")),
                        _ => drop(connect(2)),
                    }
                }
            });
        }
    });
    let until = Instant::now() + Duration::from_secs(30);
    while !serving.drain(Duration::from_secs(1)) && Instant::now() < until {}
    let report = serving.report();
    assert_eq!((report.denied.len(), report.denied[0].times), (1, CONNECTIONS as u64 / 5));

    // Much through one connection, which holds no more of it than its buffers.
    let memory = resident();
    let mut socket = TcpStream::connect(at[2]).unwrap();
    let mut writer = socket.try_clone().unwrap();
    let writing = thread::spawn(move || {
        io::copy(&mut io::repeat(0).take(LARGE), &mut writer).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    assert_eq!(io::copy(&mut socket, &mut io::sink()).unwrap(), LARGE);
    writing.join().unwrap();
    drop(socket);
    let grown = resident().saturating_sub(memory);
    assert!(grown < 16 << 10, "{grown} KiB more than before");

    drop(serving);
    // Threads of the server may still be closing its ends.
    let until = Instant::now() + Duration::from_secs(30);
    let mut after = left();
    // The listening socket of the server is there in both.
    while after != before && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
        after = left();
    }
    assert_eq!(after, before, "threads of the proxy and descriptors");
}
