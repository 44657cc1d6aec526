//! Plain HTTP through the proxy.

use std::{
    io::{Read, Write},
    net::Shutdown,
    time::Duration,
};

use crate::bed::{ask, bed, connect, response, server, web};

#[test]
fn a_declared_host_is_reached_and_told_its_own_name() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    let mut client = connect(running.http());
    let request = "GET http://A.example/x?y=z HTTP/1.1\r\nHost: elsewhere.example\r\nProxy-Authorization: Basic eDp5\r\n\
        Connection: X-Mine\r\nX-Mine: 1\r\nX-Kept: 2\r\nTE: trailers\r\n\r\n";
    client.write_all(request.as_bytes()).unwrap();
    let (head, body) = response(&mut client);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(body, "GET /x?y=z HTTP/1.1\r\nHost: a.example\r\nX-Kept: 2\r\n\r\n");
    assert_eq!(running.world.connected(), ["93.184.215.14:80"]);
    let reached = running.serving.finish().reached;
    assert_eq!((reached.len(), reached[0].host.to_string(), reached[0].port), (1, "a.example".to_owned(), 80));
    assert!(reached[0].sent == body.len() as u64 && reached[0].received > reached[0].sent);
}

#[test]
fn an_undeclared_host_is_refused_with_the_line_to_add() {
    let running = bed(&["network:external:a.example:80", "network:loopback:localhost:9"]).start();
    for (url, permission) in [
        ("http://b.example/", "network:external:b.example:80"),
        ("http://a.example:81/", "network:external:a.example:81"),
        ("http://10.0.0.1/", "network:external:10.0.0.1:80"),
        ("http://localhost/", "network:loopback:localhost:80"),
        ("http://[::ffff:127.0.0.1]:8/", "network:loopback:127.0.0.1:8"),
    ] {
        let mut client = connect(running.http());
        client.write_all(format!("GET {url} HTTP/1.1\r\nHost: a.example\r\n\r\n").as_bytes()).unwrap();
        let (head, body) = response(&mut client);
        assert!(head.starts_with("HTTP/1.1 403 "), "{url}: {head}");
        assert!(body.ends_with(&format!("  - {permission}\n")), "{url}: {body}");
    }
    let first = "b.example:80 is not declared; network:external:b.example:80; 1";
    assert_eq!(running.denied()[0], first);
    assert_eq!(running.denied().len(), 5);
    assert!(running.world.asked().is_empty(), "a name that is not declared is not even looked up");
}

#[test]
fn what_can_never_be_declared_is_not_proposed() {
    let running = bed(&["network:external:*"]).start();
    for host in ["0.0.0.0", "224.0.0.1", "[fe80::1]"] {
        let mut client = connect(running.http());
        client.write_all(format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
        let (head, body) = response(&mut client);
        assert!(head.starts_with("HTTP/1.1 403 ") && !body.contains("required-permissions"), "{host}: {head}{body}");
    }
}

#[test]
fn each_request_of_a_connection_is_decided_about() {
    let web = web();
    let running =
        bed(&["network:external:a.example:80", "network:external:b.example:80"]).route(80, web.address).start();
    let mut client = connect(running.http());
    for (host, expected) in [("a", 200), ("a", 200), ("b", 200), ("a", 200), ("c", 403)] {
        client.write_all(format!("GET http://{host}.example/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
        let (head, body) = response(&mut client);
        assert!(head.starts_with(&format!("HTTP/1.1 {expected} ")), "{host}: {head}");
        assert_eq!(body.contains(&format!("Host: {host}.example\r\n")), expected == 200, "{body}");
    }
    // The second request to the same host went where the first did.
    assert_eq!(web.connections(), 3);
}

#[test]
fn requests_that_come_together_are_answered_one_by_one() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    let mut client = connect(running.http());
    let one =
        |path: &str| format!("POST http://a.example/{path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{path}");
    client.write_all([one("p1"), one("p2"), one("p3")].concat().as_bytes()).unwrap();
    for path in ["p1", "p2", "p3"] {
        let (_, body) = response(&mut client);
        assert!(body.starts_with(&format!("POST /{path} ")) && body.ends_with(&format!("\r\n\r\n{path}")), "{body}");
    }
}

#[test]
fn bodies_keep_their_framing() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    let mut client = connect(running.http());
    let mut go = |path: &str, headers: &str, body: &str| {
        let head = format!("POST http://a.example{path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n{body}");
        client.write_all(head.as_bytes()).unwrap();
        response(&mut client)
    };
    let (_, body) = go("/", "Transfer-Encoding: chunked\r\n", "3;ext\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n");
    assert!(body.contains("Transfer-Encoding: chunked\r\n") && body.ends_with("\r\n\r\nabcde"), "{body}");
    let (head, body) = go("/chunked", "Content-Length: 3\r\n", "abc");
    assert!(head.contains("Transfer-Encoding: chunked\r\n") && !head.contains("Trailer"), "{head}");
    assert!(body.contains("Content-Length: 3\r\n") && body.ends_with("abc"), "{body}");
    let (head, body) = go("/large", "", "");
    assert!(head.contains("Content-Length: ") && body.len() > 2 << 20, "{head}");
    client.write_all(b"HEAD http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(crate::bed::head(&mut client).contains("Content-Length: "));
    let (head, body) = {
        client.write_all(b"GET http://a.example/close HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        response(&mut client)
    };
    assert!(head.contains("Connection: close\r\n") && body.starts_with("GET /close "), "{head}{body}");
}

/// One piece for each of them would be a system call each, here and in everything behind.
#[test]
fn chunks_that_came_together_go_on_together() {
    let host = server(|mut socket| {
        crate::bed::head(&mut socket);
        let chunks = "1\r\na\r\n".repeat(4000);
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
        socket.write_all(answer.as_bytes()).unwrap();
    });
    let running = bed(&["network:external:a.example"]).route(80, host.address).start();
    let mut client = connect(running.http());
    client.write_all(b"GET http://a.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let (sizes, data): (Vec<_>, Vec<_>) = body.lines().enumerate().partition(|(at, _)| at % 2 == 0);
    assert_eq!(data.iter().map(|(_, data)| data.len()).sum::<usize>(), 4000);
    assert!(sizes.len() < 40, "{} chunks", sizes.len());
}

#[test]
fn an_old_client_is_answered_to_the_end_of_the_connection() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    let mut client = connect(running.http());
    client.write_all(b"GET http://a.example/chunked HTTP/1.0\r\n\r\n").unwrap();
    let (head, body) = response(&mut client);
    assert!(
        !head.contains("chunked") && body.starts_with("GET /chunked HTTP/1.1\r\nHost: a.example\r\n"),
        "{head}{body}"
    );
}

#[test]
fn a_client_that_waits_to_be_told_is_told() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    let mut client = connect(running.http());
    let head = "PUT http://a.example/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    assert_eq!(ask(&mut client, head), "HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"abc").unwrap();
    let (_, body) = response(&mut client);
    assert!(body.ends_with("abc") && !body.contains("Expect"), "{body}");
}

#[test]
fn a_body_that_was_cut_short_does_not_look_whole() {
    let web = web();
    let running = bed(&["network:external:a.example:80"]).route(80, web.address).start();
    let mut client = connect(running.http());
    let head = ask(&mut client, "GET http://a.example/short HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(head.contains("Content-Length: 999999\r\n"));
    assert!(client.read_to_end(&mut Vec::new()).is_err(), "the connection was reset");
}

#[test]
fn an_answer_before_the_end_of_an_upload_is_passed_on() {
    let host = server(|mut socket| {
        crate::bed::head(&mut socket);
        socket.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno\n").unwrap();
        // Without reading any of the body.
        std::thread::sleep(Duration::from_secs(1));
    });
    let running = bed(&["network:external:a.example:80"]).route(80, host.address).start();
    let mut client = connect(running.http());
    let length = 64 << 20;
    let head = format!("PUT http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    client.write_all(head.as_bytes()).unwrap();
    let mut writer = client.try_clone().unwrap();
    let writing = std::thread::spawn(move || writer.write_all(&vec![b'x'; length]).ok());
    let (head, body) = response(&mut client);
    assert!(head.starts_with("HTTP/1.1 413 ") && body == "no\n", "{head}");
    drop(client);
    writing.join().unwrap();
    assert!(running.report().reached[0].sent < length as u64, "nobody took all of it");
}

#[test]
fn a_web_socket_goes_on_as_one() {
    let host = server(|mut socket| {
        let head = crate::bed::head(&mut socket);
        assert!(head.contains("Upgrade: websocket\r\n") && head.contains("Connection: Upgrade\r\n"), "{head}");
        socket
            .write_all(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nX: 1\r\n\r\nhi",
            )
            .unwrap();
        let mut heard = Vec::new();
        socket.read_to_end(&mut heard).unwrap();
        socket.write_all(&heard).unwrap();
    });
    let running = bed(&["network:external:a.example:80"]).route(80, host.address).start();
    let mut client = running.tunnel("a.example:80");
    let head = ask(
        &mut client,
        "GET /ws HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("X: 1\r\n"), "{head}");
    client.write_all(b" there").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut heard = String::new();
    client.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "hi there");
}

#[test]
fn what_cannot_be_reached_is_said() {
    let running = bed(&["network:external:*"]).start();
    running.world.answers("none.example", &[&[]]);
    // Nobody listens at a port that was free a moment ago.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    running.world.route(80, closed);
    for (host, expected) in [("none.example", "no address"), ("closed.example", "refused")] {
        let mut client = connect(running.http());
        client.write_all(format!("GET http://{host}/ HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
        let (head, body) = response(&mut client);
        assert!(head.starts_with("HTTP/1.1 502 ") && body.contains(expected), "{head}{body}");
    }
    assert!(running.denied().is_empty());
}

#[test]
fn a_host_whose_answer_could_be_read_in_two_ways_is_not_passed_on() {
    let host = server(|mut socket| {
        crate::bed::head(&mut socket);
        socket
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
            .unwrap();
    });
    let running = bed(&["network:external:a.example:80"]).route(80, host.address).start();
    let mut client = connect(running.http());
    client.write_all(b"GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(response(&mut client).0.starts_with("HTTP/1.1 502 "));
}
