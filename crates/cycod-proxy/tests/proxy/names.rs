//! Where names lead, and answers that change.

use std::time::Duration;

use crate::bed::{ask, bed, connect, web};

#[test]
fn a_name_that_leads_inside_is_refused() {
    let running = bed(&["network:external:a.example", "network:external:*"]).start();
    for address in [
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.5",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "::1",
        "::",
        "fd00::1",
        "fe80::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.5",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ] {
        running.world.answers("a.example", &[&[address]]);
        let mut client = connect(running.http());
        let head = ask(&mut client, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 403 "), "{address}: {head}");
    }
    assert!(running.world.connected().is_empty());
    let private = "a.example:443 leads to 10.0.0.5, which a name that was declared does not permit";
    assert!(running.denied().contains(&format!("{private}; network:external:10.0.0.5:443; 2")));
    let loopback = "a.example:443 leads to 127.0.0.1, which a name that was declared does not permit";
    assert!(running.denied().contains(&format!("{loopback}; -; 2")), "{:?}", running.denied());
}

#[test]
fn a_name_leads_inside_when_the_address_was_declared_as_well() {
    let web = web();
    let running = bed(&["network:external:git.corp.example:443", "network:external:10.0.0.5:443"])
        .route(443, web.address)
        .start();
    running.world.answers("git.corp.example", &[&["10.0.0.5"], &["10.0.0.6"]]);
    drop(running.tunnel("git.corp.example:443"));
    let mut client = connect(running.http());
    assert!(ask(&mut client, "CONNECT git.corp.example:443 HTTP/1.1\r\nHost: x\r\n\r\n").contains(" 403 "));
    assert_eq!(running.world.connected(), ["10.0.0.5:443"]);
}

#[test]
fn an_answer_that_changes_between_two_questions_gains_nothing() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    running.world.answers("a.example", &[&["93.184.215.14"], &["127.0.0.1"], &["93.184.215.14", "10.0.0.1"]]);
    for expected in [200, 403, 200] {
        let mut client = connect(running.http());
        let head = ask(&mut client, "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert!(head.starts_with(&format!("HTTP/1.1 {expected} ")), "{head}");
    }
    // One question for each connection, and what was connected to is what was checked.
    assert_eq!(running.world.asked().len(), 3);
    assert_eq!(running.world.connected(), ["93.184.215.14:80", "93.184.215.14:80"]);
}

#[test]
fn the_next_address_is_tried_when_one_does_not_answer() {
    let web = web();
    // A server whose queue is full answers nobody: it stands for a host that is gone without a word.
    let full = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&full, 0).unwrap();
    let crowd: Vec<_> = (0..4)
        .map(|_| std::net::TcpStream::connect_timeout(&full.local_addr().unwrap(), Duration::from_millis(100)))
        .collect();
    assert!(crowd.last().unwrap().is_err());
    let running = bed(&["network:external:a.example"]).route(80, web.address).start();
    running.world.answers("a.example", &[&["1.1.1.1", "93.184.215.14"]]);
    running.world.route_one("1.1.1.1:80", full.local_addr().unwrap());
    let mut client = connect(running.http());
    assert!(ask(&mut client, "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n").contains(" 200 "));
    // And when one says no at once.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    running.world.route_one("1.1.1.1:80", closed);
    let mut client = connect(running.http());
    assert!(ask(&mut client, "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n").contains(" 200 "));
}

#[test]
fn this_machine_is_never_looked_up() {
    let running = bed(&["network:external:*", "network:loopback:localhost:9"]).start();
    running.world.answers("localhost", &[&["93.184.215.14"]]);
    let mut client = connect(running.http());
    let head = ask(&mut client, "CONNECT localhost:9 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    assert!(running.world.asked().is_empty());
}
