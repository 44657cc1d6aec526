//! Tunnels, and what is spoken in them.

use std::{
    io::{Read, Write},
    net::Shutdown,
    thread,
};

use crate::bed::{ask, bed, connect, echo, response, secure, secure_web, server, web};

#[test]
fn a_tunnel_passes_everything_both_ways_and_each_end_by_itself() {
    let echo = echo();
    let running = bed(&["network:external:a.example:2222"]).route(2222, echo.address).start();
    let mut client = running.tunnel("a.example:2222");
    client.write_all(b"\0first").unwrap();
    let mut first = [0; 6];
    client.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"\0first");
    client.write_all(b" last").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, " last");
}

#[test]
fn the_host_may_finish_first() {
    let host = server(|mut socket| {
        socket.write_all(b"banner").unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut heard = String::new();
        socket.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "thanks");
    });
    let running = bed(&["network:external:a.example:2222"]).route(2222, host.address).start();
    let mut client = running.tunnel("a.example:2222");
    let mut banner = String::new();
    client.read_to_string(&mut banner).unwrap();
    assert_eq!(banner, "banner");
    client.write_all(b"thanks").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    running.serving.drain(std::time::Duration::from_secs(10));
    assert_eq!(running.report().reached[0].sent, 6);
}

#[test]
fn much_goes_through_both_ways_at_once() {
    const MUCH: usize = 48 << 20;
    let echo = echo();
    let running = bed(&["network:external:a.example:2222"]).route(2222, echo.address).start();
    let mut client = running.tunnel("a.example:2222");
    let mut writer = client.try_clone().unwrap();
    let writing = thread::spawn(move || {
        let block: Vec<u8> = (0..=u8::MAX).cycle().take(1 << 20).collect();
        for _ in 0..MUCH >> 20 {
            writer.write_all(&block).unwrap();
        }
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut heard = Vec::with_capacity(MUCH);
    client.read_to_end(&mut heard).unwrap();
    writing.join().unwrap();
    assert_eq!(heard.len(), MUCH);
    assert!(heard.iter().zip((0..=u8::MAX).cycle()).all(|(heard, said)| *heard == said));
}

#[test]
fn a_reset_is_passed_on_as_one() {
    let host = server(|socket| {
        // Unread bytes make it a reset.
        thread::sleep(std::time::Duration::from_millis(200));
        drop(socket);
    });
    let running = bed(&["network:external:a.example:2222"]).route(2222, host.address).start();
    let mut client = running.tunnel("a.example:2222");
    client.write_all(b"\0unread").unwrap();
    assert!(client.read_to_end(&mut Vec::new()).is_err());
}

#[test]
fn tls_goes_through_from_end_to_end_when_it_asks_for_the_same_host() {
    let (host, root) = secure_web(&["a.example"]);
    for permission in ["network:external:a.example", "network:external:*.example:443", "network:external:*"] {
        let running = bed(&[permission]).route(443, host.address).start();
        let mut client = secure(running.tunnel("a.example:443"), "a.example", &root, true);
        client.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").unwrap();
        assert!(response(&mut client).1.starts_with("GET / "), "{permission}");
    }
}

#[test]
fn tls_that_asks_for_another_host_is_ended_with_an_alert() {
    let (host, root) = secure_web(&["a.example", "b.example"]);
    let running = bed(&["network:external:a.example"]).route(443, host.address).start();
    let mut client = secure(running.tunnel("a.example:443"), "b.example", &root, true);
    let error =
        client.write_all(b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n").and_then(|()| client.flush()).unwrap_err();
    assert!(error.to_string().contains("AccessDenied"), "{error}");
    assert_eq!(
        running.denied(),
        ["a connection to a.example:443 asked for b.example; network:external:b.example:443; 1"]
    );
}

#[test]
fn tls_that_names_no_host_goes_only_to_a_host_that_was_named() {
    let (host, root) = secure_web(&["a.example"]);
    let works = |permissions: &[&str], tunnel: &str| {
        let running = bed(permissions).route(443, host.address).start();
        let mut client = secure(running.tunnel(tunnel), "a.example", &root, false);
        client.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").and_then(|()| client.flush()).is_ok()
            && response(&mut client).0.starts_with("HTTP/1.1 200")
    };
    assert!(works(&["network:external:a.example"], "a.example:443"));
    assert!(works(&["network:external:*", "network:external:a.example"], "a.example:443"));
    assert!(works(&["network:external:1.1.1.1"], "1.1.1.1:443"));
    assert!(!works(&["network:external:*.example"], "a.example:443"));
    assert!(!works(&["network:external:*"], "a.example:443"));
}

#[test]
fn a_declared_address_does_not_open_the_names_behind_it() {
    let (host, root) = secure_web(&["a.example"]);
    let works = |permissions: &[&str]| {
        let running = bed(permissions).route(443, host.address).start();
        let mut client = secure(running.tunnel("1.1.1.1:443"), "a.example", &root, true);
        client.write_all(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").and_then(|()| client.flush()).is_ok()
    };
    assert!(works(&["network:external:1.1.1.1", "network:external:a.example"]));
    assert!(!works(&["network:external:1.1.1.1"]));
}

/// The first words of a TLS client that wants this host.
fn hello(name: &str, root: &rustls::pki_types::CertificateDer<'static>) -> Vec<u8> {
    let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut client = secure(connect(echo().address), name, root, true);
    let mut near = near;
    while client.conn.wants_write() {
        client.conn.write_tls(&mut near).unwrap();
    }
    drop(near);
    let mut words = Vec::new();
    far.read_to_end(&mut words).unwrap();
    words
}

#[test]
fn a_second_hello_is_held_to_the_same_host() {
    let (_, root) = secure_web(&["a.example"]);
    let echo = echo();
    let running = bed(&["network:external:a.example"]).route(443, echo.address).start();
    for (second, passes) in [("a.example", true), ("b.example", false)] {
        let mut client = running.tunnel("a.example:443");
        let first = hello("a.example", &root);
        client.write_all(&first).unwrap();
        client.read_exact(&mut vec![0; first.len()]).unwrap();
        let second = hello(second, &root);
        client.write_all(&second).unwrap();
        assert_eq!(client.read_exact(&mut vec![0; second.len()]).is_ok(), passes);
    }
    assert_eq!(running.denied().len(), 1);
}

#[test]
fn http_in_a_tunnel_has_to_be_for_its_host_in_every_request() {
    let web = web();
    let running = bed(&["network:external:a.example"]).route(80, web.address).route(8080, web.address).start();
    for port in [80, 8080] {
        let mut client = running.tunnel(&format!("a.example:{port}"));
        client.write_all(b"GET /1 HTTP/1.1\r\nHost: A.example\r\n\r\n").unwrap();
        let expected = if port == 80 { "Host: a.example\r\n" } else { "Host: a.example:8080\r\n" };
        assert!(response(&mut client).1.contains(expected));
        client.write_all(b"GET /2 HTTP/1.1\r\nHost: b.example\r\n\r\n").unwrap();
        assert!(response(&mut client).0.starts_with("HTTP/1.1 403 "));
    }
    let mut client = running.tunnel("a.example:8080");
    assert!(ask(&mut client, "GET /3 HTTP/1.1\r\nHost: a.example:1\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let mut client = running.tunnel("a.example:8080");
    assert!(
        ask(&mut client, "GET http://b.example/ HTTP/1.1\r\nHost: a.example:8080\r\n\r\n").starts_with("HTTP/1.1 403 ")
    );
    // Also when it comes in pieces, and after what servers overlook.
    let mut client = running.tunnel("a.example:8080");
    for part in [&b"\r\n"[..], b"GE", b"T /4 HT", b"TP/1.1\r\nHost: ", b"b.example\r\n\r\n"] {
        client.write_all(part).unwrap();
        thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(crate::bed::head(&mut client).starts_with("HTTP/1.1 400 "));
}

#[test]
fn other_protocols_are_for_ports_that_were_declared_for_them() {
    let echo = echo();
    let passes = |permission: &str, port: u16| {
        let running = bed(&[permission]).route(port, echo.address).start();
        let mut client = running.tunnel(&format!("a.example:{port}"));
        client.write_all(b"SSH-2.0-x\r\n").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut heard = String::new();
        client.read_to_string(&mut heard).ok();
        (heard, running.denied())
    };
    let all = ("SSH-2.0-x\r\n".to_owned(), Vec::new());
    assert_eq!(passes("network:external:a.example:443", 443), all);
    assert_eq!(passes("network:external:a.example", 22), all);
    let (heard, denied) = passes("network:external:a.example", 443);
    assert_eq!(heard, "");
    assert_eq!(
        denied,
        ["a connection to a.example:443 speaks neither TLS nor HTTP; network:external:a.example:443; 1"]
    );
}

#[test]
fn a_tunnel_to_what_is_not_declared_is_not_made() {
    let running = bed(&["network:external:a.example:443"]).start();
    for to in ["b.example:443", "a.example:22", "127.0.0.1:443", "10.0.0.1:443"] {
        let mut client = connect(running.http());
        let head = ask(&mut client, &format!("CONNECT {to} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
        assert!(head.starts_with("HTTP/1.1 403 "), "{to}: {head}");
    }
    for to in ["a.example", "a.example:0", "a.example:99999", "0x7f.1:443", "2130706433:443", "x@a.example:443"] {
        let mut client = connect(running.http());
        let head = ask(&mut client, &format!("CONNECT {to} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
        assert!(head.starts_with("HTTP/1.1 400 "), "{to}: {head}");
    }
}
