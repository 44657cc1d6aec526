//! SOCKS5.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
};

use crate::bed::{Running, bed, connect, echo, response, web};

fn request(running: &Running, command: u8, target: &[u8]) -> (TcpStream, u8) {
    let mut client = connect(running.socks());
    client.write_all(&[5, 2, 2, 0]).unwrap();
    let mut chosen = [0; 2];
    client.read_exact(&mut chosen).unwrap();
    assert_eq!(chosen, [5, 0]);
    client.write_all(&[&[5, command, 0][..], target].concat()).unwrap();
    let mut reply = [0; 10];
    client.read_exact(&mut reply).unwrap();
    (client, reply[1])
}

#[test]
fn a_declared_host_is_reached_by_its_name() {
    let echo = echo();
    let running = bed(&["network:external:a.example:2222"]).route(2222, echo.address).start();
    let (mut client, reply) = request(&running, 1, b"\x03\x09A.example\x08\xae");
    assert_eq!(reply, 0);
    client.write_all(b"hello").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut heard = String::new();
    client.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "hello");
}

#[test]
fn a_name_that_was_looked_up_in_the_sandbox_is_the_same_host() {
    let web = web();
    let running = bed(&["network:external:a.example"]).route(80, web.address).start();
    let (mut client, reply) = request(&running, 1, b"\x01\x7f\x4d\0\x01\x00\x50");
    assert_eq!(reply, 0);
    client.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").unwrap();
    assert!(response(&mut client).0.starts_with("HTTP/1.1 200 "));
    assert_eq!(running.world.connected(), ["93.184.215.14:80"]);
}

#[test]
fn what_is_spoken_is_looked_at_here_too() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    let (mut client, reply) = request(&running, 1, b"\x03\x09a.example\x00\x50");
    assert_eq!(reply, 0);
    client.write_all(b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n").unwrap();
    assert!(response(&mut client).0.starts_with("HTTP/1.1 403 "));
}

#[test]
fn everything_else_is_refused() {
    let running = bed(&["network:external:a.example:80"]).start();
    for (command, target, expected) in [
        (1, &b"\x03\x09b.example\x00\x50"[..], 2),
        (1, b"\x01\x7f\0\0\x01\x00\x50", 2),
        (1, b"\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50", 2),
        (1, b"\x03\x05127.1\x00\x50", 1),
        (2, b"\x03\x09a.example\x00\x50", 7),
        (3, b"\x03\x09a.example\x00\x50", 7),
        (1, b"\x07\x09a.example\x00\x50", 8),
    ] {
        assert_eq!(request(&running, command, target).1, expected, "{target:?}");
    }
    assert_eq!(running.denied().len(), 3);
    let mut client = connect(running.socks());
    client.write_all(b"\x04\x01\x00\x50\0\0\0\x01\0a.example\0").unwrap();
    let mut reply = Vec::new();
    client.read_to_end(&mut reply).unwrap();
    assert_eq!(reply, [0, 0x5b, 0, 0, 0, 0, 0, 0]);
}
