//! Secrets that only the proxy and one host know.

use std::io::{Read, Write};

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::bed::{Running, bed, connect, from_pem, response, secure, secure_web, web};

const PLACEHOLDER: &str = "cycod-secret-0123456789abcdef0123456789abcdef";
const VALUE: &str = "s3cr3t&\"v";

/// A run whose secret is for `a.example`, and the other host that it may reach.
fn running() -> Running {
    let (host, root) = secure_web(&["a.example", "b.example"]);
    let web = web();
    bed(&["network:external:a.example", "network:external:b.example"])
        .route(443, host.address)
        .route(80, web.address)
        .swap(PLACEHOLDER, VALUE, "a.example")
        .trusts(&root)
        .start()
}

fn client(running: &Running) -> crate::bed::Tls {
    let root = from_pem(running.proxy.authority_pem().unwrap());
    secure(running.tunnel("a.example:443"), "a.example", &root, true)
}

/// What the host heard and what the program heard of it: the one from the lengths, the other as it is.
fn go(running: &Running, request: &str) -> (String, String) {
    let mut client = client(running);
    client.write_all(request.as_bytes()).unwrap();
    response(&mut client)
}

#[test]
fn the_value_goes_in_and_its_echo_comes_back_as_the_placeholder() {
    let running = running();
    let (_, body) = go(
        &running,
        &format!(
            "GET /?key={PLACEHOLDER} HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer {PLACEHOLDER}\r\nAccept-Encoding: gzip\r\n\r\n"
        ),
    );
    // The host says back what it heard, so a placeholder here stands for the value there.
    assert_eq!(
        body,
        format!(
            "GET /?key={PLACEHOLDER} HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer {PLACEHOLDER}\r\nAccept-Encoding: identity\r\n\r\n"
        )
    );
    // The length of what the host heard tells that it was not the placeholder.
    let report = running.report();
    assert_eq!(report.reached.len(), 1);
    assert!(!format!("{report:?}").contains("s3cr3t"));
}

/// A host that says what it heard in a way that no mask knows: shifted by one.
fn shifted(request: impl Fn(&mut Running) -> String) -> String {
    let host = crate::bed::server(|mut socket| {
        let head = crate::bed::head(&mut socket);
        let length =
            head.to_ascii_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut heard = head.into_bytes();
        if let Some(length) = length {
            Read::by_ref(&mut socket).take(length).read_to_end(&mut heard).unwrap();
        }
        let shifted: Vec<u8> = heard.iter().map(|byte| byte.wrapping_add(1)).collect();
        socket.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", shifted.len()).as_bytes()).unwrap();
        socket.write_all(&shifted).unwrap();
    });
    let mut running = bed(&["network:external:a.example:80", "network:external:b.example:80"])
        .route(80, host.address)
        .swap(PLACEHOLDER, VALUE, "a.example:80")
        .start();
    let request = request(&mut running);
    let mut client = connect(running.http());
    client.write_all(request.as_bytes()).unwrap();
    let head = crate::bed::head(&mut client);
    let length: u64 = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok()).unwrap();
    let mut heard = Vec::new();
    client.take(length).read_to_end(&mut heard).unwrap();
    String::from_utf8(heard.iter().map(|byte| byte.wrapping_sub(1)).collect()).unwrap()
}

#[test]
fn each_place_has_its_form() {
    let basic = STANDARD.encode(format!("user:{PLACEHOLDER}"));
    let heard = shifted(|_| {
        format!(
            "GET http://a.example/{PLACEHOLDER}?k={PLACEHOLDER} HTTP/1.1\r\nHost: x\r\nX-Key: {PLACEHOLDER}\r\nAuthorization: Basic {basic}\r\n\r\n"
        )
    });
    let expected = format!(
        "GET /s3cr3t%26%22v?k=s3cr3t%26%22v HTTP/1.1\r\nHost: a.example\r\nX-Key: {VALUE}\r\nAuthorization: Basic {}\r\nAccept-Encoding: identity\r\n\r\n",
        STANDARD.encode(format!("user:{VALUE}"))
    );
    assert_eq!(heard, expected);
}

#[test]
fn bodies_have_the_length_that_they_then_have() {
    for (kind, expected) in [
        ("application/json", "{\"k\":\"s3cr3t&\\\"v\"}"),
        ("application/vnd.x+json; charset=utf-8", "{\"k\":\"s3cr3t&\\\"v\"}"),
        ("application/x-www-form-urlencoded", "{\"k\":\"s3cr3t%26%22v\"}"),
        ("text/plain", "{\"k\":\"s3cr3t&\"v\"}"),
    ] {
        let body = format!("{{\"k\":\"{PLACEHOLDER}\"}}");
        let heard = shifted(|_| {
            let length = body.len();
            format!(
                "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
            )
        });
        assert!(heard.contains(&format!("Content-Length: {}\r\n", expected.len())), "{heard}");
        assert!(heard.ends_with(expected), "{heard}");
    }
    let body = PLACEHOLDER;
    let heard = shifted(|_| {
        let length = body.len();
        format!(
            "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    });
    assert!(heard.ends_with(PLACEHOLDER), "what is encoded is left as it is: {heard}");
}

#[test]
fn another_host_gets_the_placeholder() {
    let heard =
        shifted(|_| format!("GET http://b.example/{PLACEHOLDER} HTTP/1.1\r\nHost: x\r\nX: {PLACEHOLDER}\r\n\r\n"));
    assert_eq!(heard, format!("GET /{PLACEHOLDER} HTTP/1.1\r\nHost: b.example\r\nX: {PLACEHOLDER}\r\n\r\n"));
    // Also from inside the connection to the one host.
    let running = running();
    let (head, _) = go(&running, &format!("GET / HTTP/1.1\r\nHost: b.example\r\nX: {PLACEHOLDER}\r\n\r\n"));
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
}

#[test]
fn without_tls_a_value_goes_only_where_the_port_was_named() {
    let running = running();
    let mut client = connect(running.http());
    client
        .write_all(format!("GET http://a.example/ HTTP/1.1\r\nHost: x\r\nX: {PLACEHOLDER}\r\n\r\n").as_bytes())
        .unwrap();
    let (_, body) = response(&mut client);
    // Had it been swapped, the program would be asked to read without encoding.
    assert_eq!(body, format!("GET / HTTP/1.1\r\nHost: a.example\r\nX: {PLACEHOLDER}\r\n\r\n"));
}

#[test]
fn echoes_are_masked_in_heads_chunks_and_long_bodies() {
    let running = running();
    let mut client = client(&running);
    let basic = STANDARD.encode(format!("me:{PLACEHOLDER}"));
    for path in ["/", "/chunked", "/large", "/close"] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: a.example\r\nX-Echo: {PLACEHOLDER}\r\nAuthorization: Basic {basic}\r\n\r\n"
        );
        client.write_all(request.as_bytes()).unwrap();
        let (head, body) = response(&mut client);
        assert!(head.contains(&format!("X-Echo: {PLACEHOLDER}\r\n")), "{path}: {head}");
        assert!(body.contains(&format!("X-Echo: {PLACEHOLDER}\r\n")), "{path}");
        for form in [VALUE, "s3cr3t", "s3cr3t%26%22v", &STANDARD.encode(format!("me:{VALUE}"))] {
            assert!(!head.contains(form) && !body.contains(form), "{path}: {form}");
        }
    }
}

#[test]
fn other_hosts_keep_their_own_certificates() {
    let (host, root) = secure_web(&["b.example"]);
    let running =
        bed(&["network:external:b.example"]).route(443, host.address).swap(PLACEHOLDER, VALUE, "a.example").start();
    let mut client = secure(running.tunnel("b.example:443"), "b.example", &root, true);
    client.write_all(b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n").unwrap();
    assert!(response(&mut client).0.starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_host_that_is_not_who_it_should_be_does_not_get_the_value() {
    let (host, _) = secure_web(&["a.example"]);
    let (wrong, root) = secure_web(&["c.example"]);
    for (address, trusted) in [(host.address, None), (wrong.address, Some(root))] {
        let mut bed = bed(&["network:external:a.example"]).route(443, address).swap(PLACEHOLDER, VALUE, "a.example");
        if let Some(root) = &trusted {
            bed = bed.trusts(root);
        }
        let running = bed.start();
        let (head, body) = go(&running, &format!("GET / HTTP/1.1\r\nHost: a.example\r\nX: {PLACEHOLDER}\r\n\r\n"));
        assert!(head.starts_with("HTTP/1.1 502 ") && body.contains("certificate"), "{head}{body}");
        assert!(!body.contains("s3cr3t"));
    }
}

#[test]
fn a_service_of_this_machine_can_have_a_secret() {
    let web = web();
    let port = web.address.port();
    let rule = format!("localhost:{port}");
    let running = bed(&[&format!("network:loopback:{rule}")]).swap(PLACEHOLDER, VALUE, &rule).start();
    let mut client = connect(running.at(&format!("127.0.0.1:{port}")));
    client.write_all(format!("GET / HTTP/1.1\r\nHost: {rule}\r\nX: {PLACEHOLDER}\r\n\r\n").as_bytes()).unwrap();
    let (_, body) = response(&mut client);
    assert!(
        body.contains("Accept-Encoding: identity\r\n") && body.contains(&format!("X: {PLACEHOLDER}\r\n")),
        "{body}"
    );
}
