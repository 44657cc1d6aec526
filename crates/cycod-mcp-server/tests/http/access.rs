//! Who may come in.

use cycod_engine::Stop;
use cycod_mcp_server::{HttpAccess, HttpError, serve_http};

use crate::bed::{Bed, Response, call, http, initialize, modern, modern_call, options};

const TOKEN: &str = "mGL0wxF6o1x0VbkWvjYZ2mXq3wOqkY8r9tQ0kYw1abc";

fn guarded() -> Bed {
    let mut http = http();
    http.access = HttpAccess::Token(TOKEN.to_owned());
    Bed::new(http)
}

#[test]
fn a_token_lets_in() {
    let bed = guarded();
    let hello = modern_call("hello", &serde_json::json!({}));
    let send = |authorization: Option<&str>| -> Response {
        let given = authorization.map(|value| ("Authorization", value));
        bed.post(&modern("hello").into_iter().chain(given).collect::<Vec<_>>(), &hello)
    };
    let response = send(Some(&format!("Bearer {TOKEN}")));
    assert_eq!(response.status, 200);
    assert_eq!(response.message()["result"]["content"][0]["text"], "hello\n", "{response:?}");
    assert_eq!(send(Some(&format!("bearer  {TOKEN}"))).status, 200, "schemes have no case");

    let without = send(None);
    assert_eq!(without.status, 401);
    assert_eq!(without.header("www-authenticate"), Some("Bearer realm=\"cycod\""));
    assert_eq!(without.message()["error"]["message"], "the server's token is needed");
    for wrong in [&TOKEN[..42], &TOKEN.to_lowercase(), &format!("{TOKEN}x"), &format!("{TOKEN} {TOKEN}")] {
        let response = send(Some(&format!("Bearer {wrong}")));
        assert_eq!(response.status, 401, "{wrong}");
        assert_eq!(response.header("www-authenticate"), Some("Bearer realm=\"cycod\", error=\"invalid_token\""));
    }
    assert_eq!(send(Some(&format!("Basic {TOKEN}"))).status, 401);
    // Nothing of a request is read before.
    assert_eq!(bed.send("POST", "/mcp", &[("Content-Type", "text/plain")], "x").status, 401);
    assert_eq!(bed.send("DELETE", "/mcp", &[("Mcp-Session-Id", "x")], "").status, 401);
}

#[test]
fn other_machines_are_not_let_in_without_a_token() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let mut http = http();
        http.address = address.parse().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let served = serve_http(options(&directory), &http, &Stop::new().unwrap(), &mut |_| panic!("it listens"));
        assert!(matches!(served, Err(HttpError::Unguarded(_))), "{address}: {served:?}");
    }
}

#[test]
fn names_are_checked_in_both_eras() {
    let mut http = http();
    http.origins = vec!["https://app.example".to_owned()];
    let bed = Bed::new(http);
    let hello = modern_call("hello", &serde_json::json!({}));
    for (name, value, expected) in [
        ("Host", "localhost:1234", 200),
        ("Host", "evil.example", 403),
        ("Host", "127.0.0.1.evil", 403),
        ("Origin", "http://localhost:6274", 200),
        ("Origin", "https://app.example", 200),
        ("Origin", "https://evil.example", 403),
        ("Origin", "http://127.0.0.1.evil", 403),
        ("Origin", "null", 403),
    ] {
        let header = [(name, value)];
        assert_eq!(bed.post(&[&modern("hello")[..], &header].concat(), &hello).status, expected, "{value}");
        assert_eq!(bed.post(&header, &initialize()).status, expected, "{value}");
    }
}

#[test]
fn browsers_are_told_which_pages_may_come_in() {
    let mut http = http();
    http.origins = vec!["https://app.example".to_owned()];
    http.access = HttpAccess::Token(TOKEN.to_owned());
    let bed = Bed::new(http);
    let asking = [("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "authorization, x")];
    let ask = |origin| bed.send("OPTIONS", "/mcp", &[&asking[..], &[("Origin", origin)]].concat(), "");
    // It asks without the token that the page is going to send.
    let listed = ask("https://app.example");
    assert_eq!(listed.status, 204);
    assert_eq!(listed.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(listed.header("access-control-allow-headers"), Some("authorization, x"));
    assert_eq!(listed.header("access-control-allow-methods"), Some("GET, POST, DELETE"));
    // Pages of this machine get in, but may not read what other pages of it are told.
    let local = ask("http://localhost:3000");
    assert_eq!((local.status, local.header("access-control-allow-origin")), (401, None));
    let evil = ask("https://evil.example");
    assert_eq!((evil.status, evil.header("access-control-allow-origin")), (403, None));
    // An answer of any status can be read.
    let refused = bed.post(&[("Origin", "https://app.example")], &initialize());
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some("https://app.example")));
}

#[test]
fn there_is_one_path_and_one_type() {
    let bed = Bed::new(http());
    let hello = call(1, "hello", &serde_json::json!({})).to_string();
    let typed = |content_type| {
        let headers = [("Content-Type", content_type), ("Accept", "application/json, text/event-stream")];
        bed.send("POST", "/mcp", &headers, &hello).status
    };
    assert_eq!(typed("text/plain"), 415);
    assert_eq!(typed("application/x-www-form-urlencoded"), 415);
    assert_eq!(typed("application/jsonx"), 415);
    assert_eq!(typed("text/plain; application/json"), 415);
    // No session, but read.
    assert_eq!(typed("Application/JSON; charset=utf-8"), 400);
    for path in ["/", "/mcp/", "/mcpx", "/mcp/x", "/.well-known/oauth-protected-resource"] {
        assert_eq!(bed.send("POST", path, &[], "").status, 404, "{path}");
    }
    assert_eq!(bed.send("PUT", "/mcp", &[], "").status, 405);
}

#[test]
fn a_client_reads_why_it_is_refused_whatever_it_sends() {
    let mut http = http();
    http.access = HttpAccess::Token(TOKEN.to_owned());
    let bed = Bed::new(http);
    let (token, large) = (format!("Bearer {TOKEN}"), "x".repeat(3 << 20));
    let (authorized, json) = (("Authorization", &*token), ("Content-Type", "application/json"));
    let too_large = "x".repeat(9 << 20);
    for _ in 0..10 {
        let send = |path, headers: &[(&str, &str)], body: &str| bed.send("POST", path, headers, body).status;
        assert_eq!(send("/mcp", &[json], &large), 401, "without a token");
        assert_eq!(send("/mcp", &[json, authorized, ("Host", "evil.example")], &large), 403, "under another name");
        assert_eq!(send("/elsewhere", &[json, authorized], &large), 404, "at another path");
        assert_eq!(send("/mcp", &[authorized, ("Content-Type", "text/plain")], &large), 415, "of another type");
        assert_eq!(send("/mcp", &[json, authorized], &too_large), 413, "too large");
        assert_eq!(bed.send("PUT", "/mcp", &[authorized], &large).status, 405, "with another method");
    }
}
