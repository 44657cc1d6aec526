//! What passes the proxy takes no longer than its length allows, whatever a program or a host says.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the other tests need all of it")]
#[path = "proxy/bed.rs"]
mod bed;

use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::TcpStream,
    sync::{Arc, Mutex},
};

use cycod_proxy::{
    HostName, HostRule, HostRules, SecretSwap,
    parsers::{authority, client_hello, socks_greeting, socks_request},
};
use growth::Grown;

use bed::{Bed, Running, bed, connect, server, web};

const LARGEST: usize = 512 << 10;

const PLACEHOLDER: &str = "cycod-secret-0123456789abcdef0123456789abcdef";

/// What a program asks for, behind the line of the request.
const REQUESTS: &[(&str, Grown)] = &[
    ("headers", |n| count(n, |i| format!("X-{i}: a\r\n")) + "\r\n"),
    ("headers of one name", |n| "X: a\r\n".repeat(n) + "\r\n"),
    ("the most headers that are for one connection", |n| {
        let names = count(120, |i| format!("X-{i}: a\r\n"));
        format!("{names}Connection: {}\r\n\r\n", count(n, |i| format!("Y-{i},")))
    }),
    ("names for one connection", |n| format!("X: a\r\nConnection: {}\r\n\r\n", "a,".repeat(n))),
    ("codings", |n| format!("Content-Encoding: {}\r\n\r\n", "a,".repeat(n))),
    ("a value", |n| format!("X: {}\r\n\r\n", "a".repeat(n))),
    ("a value of blanks", |n| format!("X: {}\r\n\r\n", " ".repeat(n))),
    ("a name", |n| format!("{}: a\r\n\r\n", "X".repeat(n))),
    ("a line that ends otherwise", |n| format!("{}\n\r\n\r\n", "X: a\r".repeat(n))),
    ("carriage returns", |n| "\r".repeat(n) + "\r\n\r\n"),
    ("placeholders", |n| format!("X: {}\r\n\r\n", PLACEHOLDER.repeat(n))),
    ("beginnings of placeholders", |n| format!("X: {}\r\n\r\n", PLACEHOLDER[..20].repeat(n))),
    ("a name and password", |n| format!("Authorization: Basic {}\r\n\r\n", "YWFh".repeat(n))),
    ("a body", |n| format!("Content-Length: {n}\r\n\r\n{}", "a".repeat(n))),
    ("a body of placeholders", |n| {
        format!("Content-Length: {}\r\n\r\n{}", n * PLACEHOLDER.len(), PLACEHOLDER.repeat(n))
    }),
    ("chunks", |n| format!("Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", "1\r\na\r\n".repeat(n))),
    ("a chunk", |n| format!("Transfer-Encoding: chunked\r\n\r\n{n:x}\r\n{}\r\n0\r\n\r\n", "a".repeat(n))),
    ("extensions of a chunk", |n| format!("Transfer-Encoding: chunked\r\n\r\n1;{}\r\na\r\n0\r\n\r\n", "a;".repeat(n))),
    ("digits of a chunk", |n| format!("Transfer-Encoding: chunked\r\n\r\n{}\r\n", "0".repeat(n))),
    ("trailers", |n| format!("Transfer-Encoding: chunked\r\n\r\n0\r\n{}\r\n", "X: a\r\n".repeat(n))),
    ("placeholders in chunks", |n| {
        let chunk = format!("{:x}\r\n{PLACEHOLDER}\r\n", PLACEHOLDER.len());
        format!("Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(n))
    }),
];

/// What a host answers.
const RESPONSES: &[(&str, Grown)] = &[
    ("headers", |n| format!("HTTP/1.1 200 OK\r\n{}\r\n", count(n, |i| format!("X-{i}: a\r\n")))),
    ("names for one connection", |n| {
        let names = count(120, |i| format!("X-{i}: a\r\n"));
        format!("HTTP/1.1 200 OK\r\n{names}Connection: {}\r\n\r\n", count(n, |i| format!("Y-{i},")))
    }),
    ("a value", |n| format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(n))),
    ("a reason", |n| format!("HTTP/1.1 200 {}\r\n\r\n", "a".repeat(n))),
    ("answers before the answer", |n| {
        format!("{}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(n))
    }),
    ("chunks", |n| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", "1\r\na\r\n".repeat(n))),
    ("values", |n| format!("HTTP/1.1 200 OK\r\n\r\n{}", "s3cr3t&\"v".repeat(n))),
    ("beginnings of values", |n| format!("HTTP/1.1 200 OK\r\n\r\n{}", "s3cr3t".repeat(n))),
    ("values in Base64", |n| format!("HTTP/1.1 200 OK\r\n\r\n{}", "czNjcjN0JiJ2".repeat(n))),
];

/// Hosts as a program names them.
const HOSTS: &[(&str, Grown)] = &[
    ("labels", |n| "a.".repeat(n)),
    ("a label", |n| "a".repeat(n)),
    ("a label of other letters", |n| "é".repeat(n)),
    ("a label of different letters", |n| {
        (0..n).filter_map(|i| char::from_u32(0x4e00 + u32::try_from(i % 0x5000).ok()?)).collect()
    }),
    ("labels of other letters", |n| "é.".repeat(n)),
    ("a coded label", |n| format!("xn--{}", "a".repeat(n))),
    ("coded labels", |n| "xn--bcher-kva.".repeat(n)),
    ("combining characters", |n| "a".to_owned() + &"\u{301}".repeat(n)),
    ("combining characters in the wrong order", |n| "a".to_owned() + &"\u{301}\u{327}".repeat(n)),
    ("characters that are left out", |n| "\u{ad}".repeat(n) + "a"),
    ("dots", |n| ".".repeat(n)),
    ("numbers", |n| "1.".repeat(n)),
    ("digits", |n| "1".repeat(n)),
    ("groups", |n| format!("[{}]", "1:".repeat(n))),
    ("brackets", |n| "]".repeat(n)),
    ("colons", |n| ":".repeat(n)),
];

/// Hosts that a tool declared, each in a line. There may be few of them.
const RULES: &[(&str, Grown)] = &[
    ("hosts", |n| count(n.min(100), |i| format!("network:external:h{i}.example\n"))),
    ("patterns", |n| count(n.min(100), |i| format!("network:external:*.h{i}.example\n"))),
    ("ports", |n| count(n.min(100), |i| format!("network:external:a.example:{}\n", i % 65000 + 1))),
    ("addresses", |n| count(n.min(100), |i| format!("network:external:1.2.{}.{}\n", i / 250 % 250, i % 250))),
];

/// Secrets of a run, each in a line.
const SECRETS: &[(&str, Grown)] = &[
    ("secrets", |n| count(n.min(4000), |i| format!("secret-number-{i}\n"))),
    ("secrets of one value", |n| "secret-number\n".repeat(n.min(4000))),
    ("a long secret", |n| "aB3$".repeat(n)),
    ("a long secret of one letter", |n| "a".repeat(n)),
];

fn count(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

fn open(permissions: &[&str]) -> Bed {
    // What a head may have is a limit of its own; here it is what grows.
    bed(permissions).limits(|limits| limits.head = 4 * LARGEST)
}

/// Says something and listens to the end. Who is refused may be cut off before all of it was said.
fn say(running: &Running, text: &str) -> Vec<u8> {
    let mut client = connect(running.http());
    let mut reader: TcpStream = client.try_clone().unwrap();
    let text = text.as_bytes().to_vec();
    let writing = std::thread::spawn(move || client.write_all(&text).is_ok());
    let mut answer = Vec::new();
    reader.read_to_end(&mut answer).ok();
    writing.join().unwrap();
    answer
}

#[test]
fn requests_pass_in_the_time_that_their_length_allows() {
    let web = web();
    let plain = open(&["network:external:a.example"]).route(80, web.address).start();
    let swapping = open(&["network:external:a.example"])
        .route(80, web.address)
        .swap(PLACEHOLDER, "s3cr3t&\"v", "a.example:80")
        .start();
    growth::check_up_to(LARGEST, REQUESTS, |rest| {
        let request = format!("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n{rest}");
        say(&plain, &request);
        say(&swapping, &request);
    });
}

#[test]
fn answers_pass_in_the_time_that_their_length_allows() {
    let answer = Arc::new(Mutex::new(String::new()));
    let said = Arc::clone(&answer);
    let host = server(move |mut socket| {
        bed::head(&mut socket);
        let answer = said.lock().unwrap().clone();
        socket.write_all(answer.as_bytes()).ok();
    });
    let plain = open(&["network:external:a.example"]).route(80, host.address).start();
    let swapping = open(&["network:external:a.example"])
        .route(80, host.address)
        .swap(PLACEHOLDER, "s3cr3t&\"v", "a.example:80")
        .start();
    growth::check_up_to(LARGEST, RESPONSES, |text| {
        text.clone_into(&mut answer.lock().unwrap());
        let request = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
        say(&plain, request);
        say(&swapping, request);
    });
}

#[test]
fn hosts_are_read_in_the_time_that_their_length_allows() {
    growth::check_up_to(LARGEST, HOSTS, |host| {
        drop(HostName::parse(host));
        drop(authority(host));
        drop(HostRule::external(host));
        client_hello(host.as_bytes());
        socks_greeting(host.as_bytes());
        socks_request(host.as_bytes());
    });
}

#[test]
fn rules_are_looked_through_in_the_time_that_their_number_allows() {
    growth::check_up_to(LARGEST, RULES, |permissions| {
        let mut rules = HostRules::default();
        permissions.lines().for_each(|permission| rules.add(permission).unwrap());
        let mut open = open(&[]);
        open.settings.rules = rules;
        let running = open.start();
        say(&running, "GET http://none.example/ HTTP/1.1\r\nHost: none.example\r\nConnection: close\r\n\r\n");
    });
}

#[test]
fn secrets_are_put_in_in_the_time_that_their_number_allows() {
    let web = web();
    growth::check_up_to(LARGEST, SECRETS, |secrets| {
        let mut open = open(&["network:external:a.example"]).route(80, web.address);
        let mut body = String::new();
        for (index, secret) in secrets.lines().enumerate() {
            let placeholder = format!("cycod-secret-{index:032}");
            _ = write!(body, "{placeholder} ");
            let hosts = vec![HostRule::external("a.example:80").unwrap()];
            open.settings.swaps.push(SecretSwap::new(placeholder, secret.into(), hosts).unwrap());
        }
        let running = open.start();
        let head = format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
        say(&running, &format!("POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{head}\r\n{body}"));
    });
}

/// Records of one byte each: what one byte more decides must not be read from the beginning again.
#[test]
fn a_greeting_in_many_records_is_read_in_the_time_that_its_length_allows() {
    let silent = server(|mut socket| _ = socket.read_to_end(&mut Vec::new()));
    let running = open(&["network:external:a.example"]).route(443, silent.address).start();
    let dimensions: &[(&str, Grown)] = &[
        ("records", |n| "\u{16}\u{3}\u{1}\0\u{1}\u{1}".to_owned() + &"\u{16}\u{3}\u{1}\0\u{1}\u{7f}".repeat(n)),
        ("blanks before a request", |n| " ".repeat(n)),
        ("a request without end", |n| format!("GET {}", "a".repeat(n))),
    ];
    growth::check(dimensions, |text| {
        let mut client = running.tunnel("a.example:443");
        for piece in text.as_bytes().chunks(16) {
            // The proxy may end before it has read everything: it waits two seconds for a greeting, which a busy machine can need.
            if client.write_all(piece).is_err() {
                return;
            }
            std::thread::yield_now();
        }
        client.shutdown(std::net::Shutdown::Write).ok();
        client.read_to_end(&mut Vec::new()).ok();
    });
}
