//! Messages that two readers could read in two ways.

use std::io::{Read, Write};

use cycod_proxy::parsers::{Framing, RequestHead};
use proptest::prelude::*;

use crate::bed::{bed, connect, server};

#[test]
fn nothing_of_a_doubtful_request_reaches_the_host() {
    let host = server(|mut socket| {
        let mut heard = Vec::new();
        socket.read_to_end(&mut heard).ok();
        assert!(heard.is_empty(), "{:?}", heard.escape_ascii().to_string());
    });
    let running = bed(&["network:external:a.example"]).route(80, host.address).start();
    for headers in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5,5\r\n",
        "Content-Length: +5\r\n",
        "Content-Length : 5\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
        "X: y\n",
        "X: y\r\r\n",
        "Host: b.example\r\n",
        "\nGET http://b.example/ HTTP/1.1\r\n",
    ] {
        let mut client = connect(running.http());
        let request = format!("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{headers}\r\n0\r\n\r\nGET /x");
        client.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.matches("HTTP/1.1").count() == 1, "{headers:?} {answer}");
    }
    assert_eq!(host.connections(), 0);
}

#[test]
fn a_body_with_broken_chunks_ends_the_connection() {
    let host = server(|mut socket| drop(socket.read_to_end(&mut Vec::new())));
    let running = bed(&["network:external:a.example"]).route(80, host.address).start();
    for body in [
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "0x5\r\nhello\r\n",
        "-1\r\n",
        "\r\n",
        "fffffffffffffffff\r\n",
        "5 5\r\n",
    ] {
        let mut client = connect(running.http());
        let head = "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n";
        client.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{body:?} {answer}");
    }
}

/// Pieces of heads, good and bad.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "Content-Length",
        "content-length",
        "Transfer-Encoding",
        "TRANSFER-ENCODING",
        "Host",
        "X",
        "Connection",
        "Content-Length ",
        " Content-Length",
        "Transfer\u{0}Encoding",
        "Content_Length",
        "",
    ]);
    let value = prop::sample::select(vec![
        "5",
        "0",
        "05",
        "+5",
        "5,5",
        "5, 5",
        "chunked",
        "Chunked",
        "chunked;q=1",
        "identity",
        "gzip, chunked",
        "a.example",
        "b.example",
        "\t5",
        "5\t",
        "\u{b}5",
        "close",
        "content-length",
        "",
        "5\r\n 6",
        "18446744073709551616",
    ]);
    let end = prop::sample::select(vec!["\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n", ""]);
    let colon = prop::sample::select(vec![": ", ":", " : ", ":\t"]);
    (name, colon, value, end).prop_map(|(name, colon, value, end)| format!("{name}{colon}{value}{end}"))
}

/// The ends of a message that some reader, however careless, could see.
fn readings(head: &str) -> Vec<&'static str> {
    let lower = head.to_ascii_lowercase();
    let lines = || lower.split(['\n', '\r']).map(str::trim);
    let has = |name: &str| lines().any(|line| line.split(':').next().is_some_and(|own| own.trim() == name));
    let mut found = Vec::new();
    if has("content-length") {
        found.push("length");
    }
    if has("transfer-encoding") {
        found.push("chunked");
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_accepted_has_one_reading(lines in prop::collection::vec(line(), 0..4)) {
        let head = format!("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{}\r\n", lines.concat());
        if let Ok(request) = RequestHead::parse(head.as_bytes()) {
            let readings = readings(&head);
            prop_assert!(readings.len() < 2, "{head:?}");
            let expected = match request.framing {
                Framing::Length(_) => vec!["length"],
                Framing::Chunked => vec!["chunked"],
                _ => vec![],
            };
            prop_assert_eq!(readings, expected, "{:?}", head);
            prop_assert!(!head.replace("\r\n", "").contains(['\r', '\n', '\0']), "{:?}", head);
        }
    }

    #[test]
    fn no_bytes_make_the_readers_fail(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        use cycod_proxy::parsers::{Response, client_hello, socks_greeting, socks_request};
        drop(RequestHead::parse(&bytes));
        drop(Response::parse(&bytes, "GET"));
        client_hello(&bytes);
        client_hello(&[b"\x16\x03\x01\x00\xff\x01\x00\x00\xfb\x03\x03", bytes.as_slice()].concat());
        socks_greeting(&bytes);
        socks_request(&bytes);
        socks_request(&[b"\x05\x01\x00\x03", bytes.as_slice()].concat());
    }
}
