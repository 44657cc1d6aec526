//! The end of things: a client that goes away takes what was started with it, however little it wants to end.

use std::{
    io::{BufReader, Write},
    net::Shutdown,
};

use serde_json::json;

use crate::bed::{Bed, END, Response, call, http, is_alive, modern, modern_call, until_gone};

fn stubborn(name: &str) -> serde_json::Value {
    json!({"as": name})
}

#[test]
fn a_client_that_is_gone_ends_its_call_without_handshakes() {
    let bed = Bed::new(http());
    let connection = bed.begin(&modern("stubborn"), &modern_call("stubborn", &stubborn("a")));
    let other = bed.begin(&modern("stubborn"), &modern_call("stubborn", &stubborn("b")));
    let (pids, others) = (bed.pids("a"), bed.pids("b"));
    drop(connection);
    until_gone(&pids);
    assert!(others.iter().all(|&pid| is_alive(pid)), "only its own call ends");
    drop(other);
    until_gone(&others);
}

#[test]
fn a_client_that_asked_for_more_before_it_went_ends_its_call() {
    let bed = Bed::new(http());
    let mut connection = bed.begin(&modern("stubborn"), &modern_call("stubborn", &stubborn("a")));
    let pids = bed.pids("a");
    connection.write_all(b"GET /mcp HTTP/1.1\r\n").unwrap();
    drop(connection);
    until_gone(&pids);
}

#[test]
fn a_client_that_is_gone_ends_its_call_in_a_session() {
    let bed = Bed::new(http());
    let id = bed.session();
    let session = [("Mcp-Session-Id", id.as_str())];
    let connection = bed.begin(&session, &call(1, "stubborn", &stubborn("a")));
    let other = bed.begin(&session, &call(2, "stubborn", &stubborn("b")));
    let (pids, others) = (bed.pids("a"), bed.pids("b"));
    // With a reset in place of an end.
    connection.shutdown(Shutdown::Both).unwrap();
    drop(connection);
    until_gone(&pids);
    assert!(others.iter().all(|&pid| is_alive(pid)), "the session goes on");
    let hello = bed.post(&session, &call(3, "hello", &json!({})));
    assert_eq!(hello.message()["result"]["content"][0]["text"], "hello\n");
    drop(other);
    until_gone(&others);
}

#[test]
fn a_session_that_is_closed_ends_its_calls() {
    let bed = Bed::new(http());
    let id = bed.session();
    let session = [("Mcp-Session-Id", id.as_str())];
    let _connection = bed.begin(&session, &call(1, "stubborn", &stubborn("a")));
    let pids = bed.pids("a");
    assert_eq!(bed.send("DELETE", "/mcp", &session, "").status, 204);
    until_gone(&pids);
    assert_eq!(bed.post(&session, &call(2, "hello", &json!({}))).status, 404);
}

#[test]
fn a_call_that_is_cancelled_ends_when_its_session_is_full() {
    let bed = Bed::limited(|limits| limits.session_requests = 1);
    let id = bed.session();
    let session = [("Mcp-Session-Id", id.as_str())];
    let _connection = bed.begin(&session, &call(1, "stubborn", &stubborn("a")));
    let pids = bed.pids("a");
    let refused = bed.post(&session, &call(2, "hello", &json!({})));
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(bed.post(&session, &cancel).status, 202);
    until_gone(&pids);
}

#[test]
fn a_server_that_ends_answers_first() {
    let mut bed = Bed::new(http());
    let id = bed.session();
    let legacy = bed.begin(&[("Mcp-Session-Id", &id)], &call(1, "stubborn", &stubborn("a")));
    let modern = bed.begin(&modern("stubborn"), &modern_call("stubborn", &stubborn("b")));
    let pids = [bed.pids("a"), bed.pids("b")].concat();
    let took = bed.shut();
    assert!(took < END, "{took:?}");
    assert!(!pids.iter().any(|&pid| is_alive(pid)));
    for connection in [legacy, modern] {
        let response = Response::read(&mut BufReader::new(connection));
        assert_eq!(response.status, 200);
        assert_eq!(response.message()["result"]["isError"], true, "{response:?}");
    }
}
