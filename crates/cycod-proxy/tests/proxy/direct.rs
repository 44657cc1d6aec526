//! Programs that know of no proxy: they connect to a declared name, or to a service of this machine.

use std::{
    io::{Read, Write},
    net::Shutdown,
};

use crate::bed::{ask, bed, connect, echo, response, secure, secure_web, server, web};

#[test]
fn a_name_leads_to_its_host() {
    let (host, root) = secure_web(&["a.example", "b.example"]);
    let web = web();
    let running = bed(&["network:external:a.example"]).route(443, host.address).route(80, web.address).start();
    assert_eq!(running.proxy.names()[0].0, "a.example");
    let mut client = secure(connect(running.at("127.77.0.1:443")), "a.example", &root, true);
    client.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").unwrap();
    assert!(response(&mut client).0.starts_with("HTTP/1.1 200 "));
    let mut client = connect(running.at("127.77.0.1:80"));
    client.write_all(b"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n").unwrap();
    assert!(response(&mut client).1.starts_with("GET /x "));
    // And nowhere else.
    let mut client = secure(connect(running.at("127.77.0.1:443")), "b.example", &root, true);
    assert!(client.write_all(b"x").and_then(|()| client.flush()).is_err());
    let mut client = connect(running.at("127.77.0.1:80"));
    assert!(ask(&mut client, "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n").starts_with("HTTP/1.1 403 "));
    let mut client = connect(running.at("127.77.0.1:80"));
    assert!(ask(&mut client, "CONNECT b.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

#[test]
fn a_host_that_speaks_first_is_heard_at_its_port() {
    let host = server(|mut socket| {
        socket.write_all(b"SSH-2.0-there\r\n").unwrap();
        let mut heard = String::new();
        socket.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "SSH-2.0-here\r\n");
    });
    let running = bed(&["network:external:a.example:22"]).route(22, host.address).start();
    let mut client = connect(running.at("127.77.0.1:22"));
    let mut banner = [0; 15];
    client.read_exact(&mut banner).unwrap();
    client.write_all(b"SSH-2.0-here\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn a_service_of_this_machine_is_reached_at_its_port_and_no_other() {
    let (echo, other) = (echo(), self::echo());
    let permission = format!("network:loopback:localhost:{}", echo.address.port());
    let running = bed(&[&permission]).start();
    let mut client = connect(running.at(&echo.address.to_string()));
    client.write_all(b"GET / HTTP/1.1\r\nHost: whatever\r\n\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut heard = String::new();
    client.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "GET / HTTP/1.1\r\nHost: whatever\r\n\r\n", "it is passed on as it is");
    let mut client = connect(running.http());
    assert!(ask(&mut client, &format!("CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\n", other.address)).contains(" 403 "));
    assert_eq!(other.connections(), 0);
    drop(running.tunnel(&format!("localhost:{}", echo.address.port())));
}

#[test]
fn a_refusal_is_said_in_the_protocol_of_the_program() {
    let (_, root) = secure_web(&["a.example"]);
    let running = bed(&["network:external:a.example"]).start();
    running.world.answers("a.example", &[&["10.0.0.5"]]);
    let mut client = connect(running.at("127.77.0.1:80"));
    client.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").unwrap();
    let (head, body) = response(&mut client);
    assert!(head.starts_with("HTTP/1.1 403 ") && body.ends_with("network:external:10.0.0.5:80\n"), "{head}{body}");
    let mut client = secure(connect(running.at("127.77.0.1:443")), "a.example", &root, true);
    let error = client.write_all(b"x").and_then(|()| client.flush()).unwrap_err();
    assert!(error.to_string().contains("AccessDenied"), "{error}");
}
