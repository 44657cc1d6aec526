//! How much a server takes on.

use std::{
    fs,
    io::{BufReader, ErrorKind, Read, Write},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::bed::{Bed, PATIENCE, Response, call, head, http, initialize, modern, modern_call, until};

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn a_body_is_bounded() {
    let bed = Bed::limited(|limits| limits.body = 10_000);
    let sized = |size: usize| {
        let hello = modern_call("hello", &json!({})).to_string();
        let padded = " ".repeat(size - hello.len()) + &hello;
        let json = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        bed.send("POST", "/mcp", &[&modern("hello")[..], &json].concat(), &padded).status
    };
    assert_eq!((sized(10_000), sized(10_001)), (200, 413));

    // One that says its size is not waited for.
    let mut said = bed.connect();
    let json = [("Content-Type", "application/json")];
    said.write_all(head("POST", "/mcp", &json, Some(1 << 40)).as_bytes()).unwrap();
    assert_eq!(Response::read(&mut BufReader::new(said)).status, 413);

    // One that does not say is stopped.
    let mut unsaid = bed.connect();
    let chunked = [json[0], ("Transfer-Encoding", "chunked")];
    unsaid.write_all(head("POST", "/mcp", &chunked, None).as_bytes()).unwrap();
    for _ in 0..11 {
        unsaid.write_all(format!("3e8\r\n{}\r\n", "x".repeat(1000)).as_bytes()).unwrap();
    }
    assert_eq!(Response::read(&mut BufReader::new(unsaid)).status, 413);
}

#[test]
fn a_body_is_one_message_that_does_not_nest_too_deep() {
    let bed = Bed::new(http());
    let send = |body: &str| {
        let json = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        let response = bed.send("POST", "/mcp", &json, body);
        (response.status, response.message()["error"]["code"].as_i64().unwrap_or_default())
    };
    let deep = |depth: usize| format!("{{\"id\":1,\"params\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(send(&deep(64)), (400, -32600));
    assert_eq!(send(&"[{\"a\":".repeat(600_000)), (400, -32600));
    assert_eq!(send("{\"jsonrpc\":\"2.0\""), (400, -32700));
    assert_eq!(send(""), (400, -32700));
    assert_eq!(send("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"), (400, -32600));
    assert_eq!(send(&format!("[{}]", initialize())), (400, -32600));
    let id = bed.session();
    assert_eq!(bed.post(&[("Mcp-Session-Id", &id)], &call(1, "hello", &json!({}))).status, 200);
}

#[test]
fn slow_clients_are_let_go() {
    let bed = Bed::limited(|limits| {
        limits.head_time = SHORT;
        limits.body_time = SHORT;
    });
    // Says nothing; never comes to an end of its head; is done and says nothing more.
    let mut silent = bed.connect();
    let mut dripping = bed.connect();
    let mut done = bed.connect();
    done.write_all(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    dripping.write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n").unwrap();
    let mut is_open = true;
    until(PATIENCE, "the dripping one is let go", || {
        is_open = is_open && dripping.write_all(b"X-Drip: 1\r\n").is_ok();
        std::thread::sleep(Duration::from_millis(20));
        !is_open
    });
    let mut heard = Vec::new();
    assert!(silent.read_to_end(&mut heard).is_ok());
    assert!(done.read_to_end(&mut heard).is_ok());
    assert!(heard.starts_with(b"HTTP/1.1 404"));

    let mut body = bed.connect();
    body.write_all(head("POST", "/mcp", &[("Content-Type", "application/json")], Some(100)).as_bytes()).unwrap();
    body.write_all(b"{").unwrap();
    assert_eq!(Response::read(&mut BufReader::new(body)).status, 408);
}

#[test]
fn a_client_that_does_not_read_is_let_go() {
    let bed = Bed::limited(|limits| limits.write_time = SHORT);
    let mut deaf = bed.connect();
    // Each is answered; when nobody takes the answers, the server takes no more questions.
    let questions = "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1000);
    let error = loop {
        if let Err(error) = deaf.write_all(questions.as_bytes()) {
            break error;
        }
    };
    assert!(matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error:?}");
}

#[test]
fn connections_are_bounded() {
    let bed = Bed::limited(|limits| limits.connections = 2);
    let (first, _second) = (bed.connect(), bed.connect());
    let turned_away = Response::read(&mut BufReader::new(bed.connect()));
    assert_eq!((turned_away.status, turned_away.header("retry-after")), (503, Some("1")));
    drop(first);
    until(PATIENCE, "there is room again", || {
        let mut stream = bed.connect();
        let asked = stream.write_all(head("GET", "/nothing", &[], None).as_bytes());
        let mut answer = [0; 12];
        asked.is_ok() && stream.read_exact(&mut answer).is_ok() && answer == *b"HTTP/1.1 404"
    });
}

/// Clients that begin a request and never finish it fill the server; a client that comes then is told so, and never cut off.
#[test]
fn half_open_connections_reset_nobody() {
    let bed = Bed::limited(|limits| limits.head_time = Duration::from_secs(8));
    let half = |_| {
        let mut stream = bed.connect();
        stream
            .write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Half:")
            .unwrap();
        stream
    };
    let crowd: Vec<_> = (0..600).map(half).collect();
    let hello = modern_call("hello", &json!({}));
    for _ in 0..50 {
        let begun = Instant::now();
        let answer = bed.post(&modern("hello"), &hello);
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    // Nor is one of the crowd: its connection ends after it was told why, or when its time is over.
    let mut turned_away = 0;
    for mut stream in crowd {
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).expect("an end");
        let is_told = heard.starts_with(b"HTTP/1.1 503");
        assert!(
            is_told || heard.is_empty() || heard.starts_with(b"HTTP/1.1 408"),
            "{}",
            String::from_utf8_lossy(&heard)
        );
        turned_away += usize::from(is_told);
    }
    assert_eq!(turned_away, 600 - 512);
    until(PATIENCE, "there is room again", || bed.post(&modern("hello"), &hello).status == 200);
}

#[test]
fn requests_are_bounded() {
    let bed = Bed::limited(|limits| limits.requests = 1);
    let busy = bed.begin(&modern("stubborn"), &modern_call("stubborn", &json!({"as": "a"})));
    bed.pids("a");
    let hello = || bed.post(&modern("hello"), &modern_call("hello", &json!({})));
    let refused = hello();
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    drop(busy);
    until(PATIENCE, "there is room again", || hello().status == 200);
}

#[test]
fn the_session_that_was_idle_for_longest_gives_way() {
    let bed = Bed::limited(|limits| limits.sessions = 3);
    let hello = |id: &str| bed.post(&[("Mcp-Session-Id", id)], &call(1, "hello", &json!({}))).status;
    let ids = [bed.session(), bed.session(), bed.session()];
    assert_eq!(hello(&ids[0]), 200);
    let fourth = bed.session();
    assert_eq!([&ids[0], &ids[1], &ids[2], &fourth].map(|id| hello(id)), [200, 404, 200, 200]);

    // One of which something was heard does not for those of which nothing was.
    for _ in 0..10 {
        assert_eq!(bed.post(&[], &initialize()).status, 200);
    }
    let fifth = bed.session();
    assert_eq!([&ids[0], &ids[2], &fourth, &fifth].map(|id| hello(id)), [404, 200, 200, 200]);

    // One that is in use does not.
    let streams = [&ids[2], &fourth, &fifth].map(|id| {
        let mut stream = bed.connect();
        let headers = [("Mcp-Session-Id", id.as_str()), ("Accept", "text/event-stream")];
        stream.write_all(head("GET", "/mcp", &headers, None).as_bytes()).unwrap();
        stream.read_exact(&mut [0; 12]).unwrap();
        stream
    });
    let refused = bed.post(&[], &initialize());
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    drop(streams);
    until(PATIENCE, "there is room again", || bed.post(&[], &initialize()).status == 200);
}

#[test]
fn a_session_that_is_idle_ends_and_one_in_use_does_not() {
    let bed = Bed::limited(|limits| limits.idle = SHORT);
    let (idle, used) = (bed.session(), bed.session());
    let _connection = bed.begin(&[("Mcp-Session-Id", &used)], &call(1, "stubborn", &json!({"as": "a"})));
    bed.pids("a");
    std::thread::sleep(SHORT * 3);
    let hello = |id: &str| bed.post(&[("Mcp-Session-Id", id)], &call(2, "hello", &json!({}))).status;
    assert_eq!((hello(&idle), hello(&used)), (404, 200));
}

#[test]
fn handshakes_come_one_after_the_other() {
    let bed = Bed::limited(|limits| limits.handshakes = 1);
    let begun = Instant::now();
    let statuses: Vec<u16> = (0..40).map(|_| bed.post(&[], &initialize()).status).collect();
    let let_in = statuses.iter().filter(|&&status| status == 200).count();
    let most = 4 + usize::try_from(begun.elapsed().as_secs()).unwrap() + 1;
    assert!((4..=most).contains(&let_in), "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    // Who needs none is not held up.
    assert_eq!(bed.post(&modern("hello"), &modern_call("hello", &json!({}))).status, 200);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test starts itself, not a user's program")]
fn ten_thousand_handshakes_leave_no_trace() {
    // What the tests beside it take in memory must not count.
    let alone = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "limits::handshakes_alone", "--ignored"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&alone.stdout);
    assert!(alone.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "runs in a process of its own, which `ten_thousand_handshakes_leave_no_trace` starts"]
fn handshakes_alone() {
    // So many a second that the table of sessions has to bear them.
    let bed = Bed::limited(|limits| limits.handshakes = 100_000);
    let body = initialize().to_string();
    let json = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    let request = head("POST", "/mcp", &json, Some(body.len())).replace("Connection: close\r\n", "") + &body;
    let shake = |count: usize| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut reader = BufReader::new(bed.connect());
                    for _ in 0..count / 4 {
                        reader.get_mut().write_all(request.as_bytes()).unwrap();
                        assert_eq!(Response::read(&mut reader).status, 200);
                    }
                });
            }
        });
    };
    shake(400);
    let before = resident();
    shake(10_000);
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 * 1024, "{grown} KiB");
    let id = bed.session();
    assert_eq!(bed.post(&[("Mcp-Session-Id", &id)], &call(1, "hello", &json!({}))).status, 200);
}

/// What this process has in memory, in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
