//! Limits, and the end of a run.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use crate::bed::{ask, bed, connect, echo, web};

/// Long enough for a busy machine, and much shorter than what would otherwise be waited for.
const SOON: Duration = Duration::from_secs(8);

fn ends(mut client: TcpStream) -> Vec<u8> {
    let started = Instant::now();
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).ok();
    assert!(started.elapsed() < SOON, "it waited {:?}", started.elapsed());
    heard
}

#[test]
fn dropping_ends_every_connection_wherever_it_is() {
    let (web, echo) = (web(), echo());
    let running = bed(&["network:external:*"]).route(80, web.address).route(2222, echo.address).start();
    let silent = connect(running.http());
    let mut half = connect(running.http());
    half.write_all(b"GET http://a.exa").unwrap();
    let mut tunnel = running.tunnel("a.example:2222");
    tunnel.write_all(b"\0").unwrap();
    tunnel.read_exact(&mut [0]).unwrap();
    let quiet = running.tunnel("a.example:2222");
    let socks = connect(running.socks());
    let started = Instant::now();
    drop(running.serving);
    assert!(started.elapsed() < SOON);
    for client in [silent, half, tunnel, quiet, socks] {
        assert!(ends(client).is_empty());
    }
}

#[test]
fn records_outlast_the_serving() {
    let running = bed(&[]).start();
    let records = running.serving.records();
    let mut client = connect(running.http());
    ask(&mut client, "CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    ask(&mut connect(running.http()), "CONNECT b.example:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    ask(&mut connect(running.http()), "CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    let report = running.serving.finish();
    assert_eq!(records.report(), report);
    // What was denied last stands last.
    let denied: Vec<_> = report.denied.iter().map(|one| (one.host.to_string(), one.times)).collect();
    assert_eq!(denied, [("b.example".to_owned(), 1), ("a.example".to_owned(), 2)]);
}

#[test]
fn who_sends_a_head_drop_by_drop_is_cut_off() {
    let running = bed(&["network:external:*"]).limits(|limits| limits.handshake = Duration::from_millis(300)).start();
    for (to, start) in [(running.http(), &b"GET http://a"[..]), (running.socks(), b"\x05")] {
        let client = connect(to);
        let mut writer = client.try_clone().unwrap();
        writer.write_all(start).unwrap();
        let dripping = std::thread::spawn(move || {
            while writer.write_all(b"a").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        assert!(ends(client).is_empty());
        dripping.join().unwrap();
    }
}

#[test]
fn a_head_has_a_longest() {
    let running = bed(&["network:external:*"]).limits(|limits| limits.head = 4096).start();
    let mut client = connect(running.http());
    let head = format!("GET http://a.example/ HTTP/1.1\r\nX: {}", "x".repeat(8192));
    assert!(ask(&mut client, &head).starts_with("HTTP/1.1 431 "));
}

#[test]
fn a_connection_without_a_byte_ends() {
    let echo = echo();
    let running = bed(&["network:external:*"])
        .route(2222, echo.address)
        .limits(|limits| limits.idle = Duration::from_millis(300))
        .start();
    let mut tunnel = running.tunnel("a.example:2222");
    tunnel.write_all(b"\0").unwrap();
    assert_eq!(ends(tunnel), b"\0");
    assert!(ends(connect(running.http())).is_empty());
}

#[test]
fn more_than_the_allowed_bytes_do_not_move() {
    let echo = echo();
    let running =
        bed(&["network:external:*"]).route(2222, echo.address).limits(|limits| limits.bytes = Some(100_000)).start();
    let mut tunnel = running.tunnel("a.example:2222");
    tunnel.write_all(&[0; 200_000]).ok();
    assert!(ends(tunnel).len() < 100_000);
    assert!(running.denied()[0].starts_with("more bytes than allowed"), "{:?}", running.denied());
}

#[test]
fn more_connections_than_allowed_wait_for_a_place() {
    let web = web();
    let running = bed(&["network:external:*"]).route(80, web.address).limits(|limits| limits.connections = 2).start();
    let request = "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut first = connect(running.http());
    assert!(ask(&mut first, request).contains(" 200 "));
    let mut second = connect(running.http());
    assert!(ask(&mut second, request).contains(" 200 "));
    let mut third = connect(running.http());
    third.write_all(request.as_bytes()).unwrap();
    third.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(third.read(&mut [0]).is_err(), "there is no place yet");
    third.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    drop(first);
    assert!(crate::bed::head(&mut third).contains(" 200 "));
    drop((second, third));
    for _ in 0..50 {
        drop(ask(&mut connect(running.http()), "x\n"));
    }
}

#[test]
fn what_a_program_sent_before_it_ended_arrives() {
    let echo = echo();
    let running = bed(&["network:external:*"]).route(2222, echo.address).start();
    let mut tunnel = running.tunnel("a.example:2222");
    tunnel.write_all(&[0; 100]).unwrap();
    drop(tunnel);
    assert!(running.serving.drain(SOON));
    assert_eq!(running.serving.finish().reached[0].sent, 100);
}
