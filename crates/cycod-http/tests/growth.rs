//! Who comes in is decided in the time that the request allows.

use std::fmt::Write;

use cycod_http::{AllowedNames, Gate, HttpAccess, IssuerKeys, OAuth};
use growth::Grown;
use hyper::{
    HeaderMap,
    header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN},
};
use ring::digest::{SHA256, digest};

/// The most bytes that a head may have, and then some.
const LARGEST: usize = 1 << 20;

/// Names, as hosts and as origins.
const NAMES: &[(&str, Grown)] = &[
    ("labels", |n| "a.".repeat(n)),
    ("a label", |n| "a".repeat(n)),
    ("dots", |n| ".".repeat(n)),
    ("digits", |n| "1".repeat(n)),
    ("numbers", |n| "1.".repeat(n)),
    ("colons", |n| ":".repeat(n)),
    ("brackets", |n| "[".repeat(n)),
    ("an address of groups", |n| format!("[{}]", "1:".repeat(n))),
    ("at signs", |n| "a@".repeat(n)),
    ("escapes", |n| "%61".repeat(n)),
    ("a port", |n| format!("a:{}", "1".repeat(n))),
    ("slashes", |n| "/".repeat(n)),
    ("schemes", |n| "http://".repeat(n)),
    ("capital letters", |n| "A".repeat(n)),
];

/// What stands behind `Authorization: Bearer`.
const TOKENS: &[(&str, Grown)] = &[
    ("letters", |n| "a".repeat(n)),
    ("blanks", |n| " ".repeat(n)),
    ("words", |n| "Bearer a ".repeat(n)),
    ("dots", |n| ".".repeat(n)),
    ("parts", |n| "eyJhbGciOiJFZERTQSJ9.".repeat(n)),
    ("a header", |n| format!("eyJ{}.e30.AAAA", "A".repeat(n))),
    ("a body", |n| format!("eyJhbGciOiJFZERTQSJ9.{}.AAAA", "A".repeat(n))),
    ("a signature", |n| format!("eyJhbGciOiJFZERTQSJ9.e30.{}", "A".repeat(n))),
];

/// Headers, each in a line.
const HEADERS: &[(&str, Grown)] = &[
    ("hosts", |n| "host: localhost\n".repeat(n)),
    ("origins", |n| "origin: http://localhost\n".repeat(n)),
    ("tokens", |n| "authorization: Bearer a\n".repeat(n)),
    ("cookies", |n| "cookie: a=b\n".repeat(n)),
    ("a cookie", |n| format!("cookie: {}\n", "a=b; ".repeat(n))),
];

/// Names that a server is told to be known by, each in a line.
const LISTED: &[(&str, Grown)] =
    &[("names", |n| (0..n).map(|i| format!("host{i}.example\n")).collect()), ("one name", |n| "a.example\n".repeat(n))];

/// Keys of an authorization server, each in a line.
const KEYS: &[(&str, Grown)] = &[
    ("keys", |n| (0..n).map(|i| format!("{i}\n")).collect()),
    ("keys of one name", |n| "a\n".repeat(n)),
    ("a name", |n| "a".repeat(n)),
];

fn decide<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn header(name: &HeaderName, value: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, HeaderValue::from_static("localhost"));
    headers.insert(name.clone(), value.parse().unwrap());
    headers
}

fn names() -> AllowedNames {
    AllowedNames::new(&["tools.example".to_owned()], &["https://app.example".to_owned()]).unwrap()
}

fn oauth(keys: &str) -> Result<Gate, cycod_http::HttpError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.json");
    std::fs::write(&path, keys).unwrap();
    Gate::new(&HttpAccess::OAuth(OAuth {
        issuer: "https://issuer.example".to_owned(),
        audience: "https://tools.example/mcp".to_owned(),
        keys: IssuerKeys::File(path),
        scopes: vec!["tools".to_owned()],
    }))
}

/// A set with these keys.
fn keys(ids: &str) -> String {
    let mut keys = String::new();
    for id in ids.lines() {
        // Any 32 bytes are a public key of this kind as far as reading goes.
        let point: String =
            digest(&SHA256, id.as_bytes()).as_ref().iter().map(|byte| char::from(b'a' + byte % 26)).collect();
        let comma = if keys.is_empty() { "" } else { "," };
        _ = write!(keys, r#"{comma}{{"kty":"OKP","crv":"Ed25519","kid":"{id}","x":"{point}AAAAAAAAAAA"}}"#);
    }
    format!(r#"{{"keys":[{keys}]}}"#)
}

#[test]
fn names_are_checked_in_the_time_that_their_length_allows() {
    let (names, local) = (names(), "127.0.0.1".parse().unwrap());
    growth::check_up_to(LARGEST, NAMES, |name| {
        drop(names.check(&header(&HOST, name), local));
        drop(names.check(&header(&ORIGIN, name), local));
        drop(names.check(&header(&ORIGIN, &format!("http://{name}")), local));
        drop(AllowedNames::new(&[name.to_owned()], &[name.to_owned()]));
    });
}

#[test]
fn many_names_are_listed_in_the_time_that_their_number_allows() {
    growth::check_up_to(LARGEST, LISTED, |listed| {
        let hosts: Vec<String> = listed.lines().map(str::to_owned).collect();
        let names = AllowedNames::new(&hosts, &[]).unwrap();
        drop(names.check(&header(&HOST, "none.example"), "127.0.0.1".parse().unwrap()));
    });
}

#[test]
fn tokens_are_checked_in_the_time_that_their_length_allows() {
    let gates = [Gate::new(&HttpAccess::Token("secret".to_owned())).unwrap(), oauth(&keys("a\nb")).unwrap()];
    growth::check_up_to(LARGEST, TOKENS, |token| {
        for gate in &gates {
            drop(decide(gate.admit(&header(&AUTHORIZATION, &format!("Bearer {token}")))));
            drop(decide(gate.admit(&header(&AUTHORIZATION, token))));
        }
    });
}

#[test]
fn headers_are_looked_through_in_the_time_that_their_number_allows() {
    let (names, local) = (names(), "127.0.0.1".parse().unwrap());
    let gates = [Gate::new(&HttpAccess::Token("secret".to_owned())).unwrap(), oauth(&keys("a\nb")).unwrap()];
    growth::check(HEADERS, |text| {
        let mut headers = HeaderMap::new();
        for line in text.lines() {
            let (name, value) = line.split_once(": ").unwrap();
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        drop(names.check(&headers, local));
        gates.iter().for_each(|gate| drop(decide(gate.admit(&headers))));
    });
}

#[test]
fn keys_are_tried_in_the_time_that_their_number_allows() {
    // `{"alg":"EdDSA"}`, and the same with a name.
    let tokens = ["eyJhbGciOiJFZERTQSJ9.e30.AAAA", "eyJhbGciOiJFZERTQSIsImtpZCI6ImEifQ.e30.AAAA"];
    growth::check_up_to(256 << 10, KEYS, |ids| {
        let Ok(gate) = oauth(&keys(ids)) else { return };
        for token in tokens {
            drop(decide(gate.admit(&header(&AUTHORIZATION, &format!("Bearer {token}")))));
        }
    });
}
