//! A request is answered in the time that its length allows, whatever a client sends.

#[expect(dead_code, reason = "the other tests need all of it")]
#[path = "http/bed.rs"]
mod bed;

use std::io::{BufReader, Read, Write};

use bed::{Bed, head, http, modern_ask};
use growth::Grown;
use serde_json::{Value as Json, json};

/// A request may have four megabytes.
const LARGEST: usize = 512 << 10;

/// The most bytes that an answer has which only says what is wrong.
const MOST_TOLD: usize = 64 << 10;

/// Whole messages.
const MESSAGES: &[(&str, Grown)] = &[
    ("lists in lists", |n| request("ping", &format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n)))),
    ("objects in objects", |n| request("ping", &("{\"a\":".repeat(n) + "1" + &"}".repeat(n)))),
    ("as deep as may be", |n| request("ping", &format!("{{\"a\":[{}1]}}", nested(60).repeat(n)))),
    ("members", |n| request("ping", &members(n, |i| format!("\"m{i}\":1")))),
    ("members of one name", |n| request("ping", &members(n, |_| "\"m\":1".to_owned()))),
    ("items", |n| request("ping", &format!("{{\"a\":[{}]}}", list(n, |i| i.to_string())))),
    ("an id", |n| format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}", "a".repeat(n))),
    ("an id that is a number", |n| format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}}", "1".repeat(n))),
    ("ids", |n| format!("{{\"jsonrpc\":\"2.0\",{}\"method\":\"ping\"}}", "\"id\":1,".repeat(n))),
    ("a method", |n| request(&"a".repeat(n), "{}")),
    ("a method with slashes", |n| request(&"tools/".repeat(n), "{}")),
    ("members beside the method", |n| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",{}\"z\":1}}", count(n, |i| format!("\"m{i}\":1,")))
    }),
    ("a batch", |n| format!("[{}]", list(n, |i| format!("{{\"jsonrpc\":\"2.0\",\"id\":{i},\"method\":\"ping\"}}")))),
    ("blanks", |n| " ".repeat(n) + &request("ping", "{}")),
    ("quotes", |n| "\"".repeat(n)),
    ("backslashes", |n| format!("\"{}\"", "\\".repeat(n))),
    ("escapes", |n| request(&"\\u0061".repeat(n), "{}")),
    ("digits", |n| "1".repeat(n)),
    ("a version", |n| format!("{{\"jsonrpc\":\"{}\",\"id\":1,\"method\":\"ping\"}}", "2".repeat(n))),
    ("an answer that nobody asked for", |n| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}", members(n, |i| format!("\"m{i}\":1")))
    }),
    ("an error that nobody asked for", |n| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":1,\"message\":\"{}\"}}}}", "a".repeat(n))
    }),
    ("a handshake", |n| {
        request(
            "initialize",
            &format!(
                "{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{{\"experimental\":{}}},\"clientInfo\":{{\"name\":\"{}\",\"version\":\"1\"}}}}",
                members(n, |i| format!("\"m{i}\":{{}}")),
                "a".repeat(n)
            ),
        )
    }),
];

/// The parameters of requests of the newest era: a method, a name for the headers, a line end, JSON.
const REQUESTS: &[(&str, Grown)] = &[
    ("a call of an unknown tool", |n| call(&"a".repeat(n), "{}")),
    ("a call of a tool almost known", |n| call(&"hello".repeat(n), "{}")),
    ("arguments", |n| call("greet", &members(n, |i| format!("\"m{i}\":1")))),
    ("arguments that are almost known", |n| call("greet", &members(n, |i| format!("\"NAM{i}\":1")))),
    ("the name of an argument", |n| call("greet", &format!("{{\"{}\":1}}", "a".repeat(n)))),
    ("a text", |n| call("greet", &format!("{{\"NAME\":\"{}\"}}", "a".repeat(n)))),
    ("a text of quotes", |n| call("greet", &format!("{{\"NAME\":\"{}\"}}", "'\\\"".repeat(n)))),
    ("a text of control characters", |n| call("greet", &format!("{{\"NAME\":\"{}\"}}", "\\u001b\\u202e".repeat(n)))),
    ("a text of lines", |n| call("greet", &format!("{{\"NAME\":\"{}\"}}", "a\\n".repeat(n)))),
    ("a list for a text", |n| call("greet", &format!("{{\"NAME\":[{}]}}", list(n, |i| i.to_string())))),
    ("a list", |n| call("greet", &format!("{{\"NAME\":\"a\",\"LIST\":[{}]}}", list(n, |i| i.to_string())))),
    ("a list of wrong items", |n| {
        call("greet", &format!("{{\"NAME\":\"a\",\"LIST\":[{}]}}", list(n, |_| "{}".to_owned())))
    }),
    ("a list in a text", |n| call("greet", &format!("{{\"NAME\":\"a\",\"LIST\":\"{}\"}}", "a,".repeat(n)))),
    ("an object", |n| call("greet", &format!("{{\"NAME\":\"a\",\"DATA\":{}}}", members(n, |i| format!("\"m{i}\":1"))))),
    ("a number", |n| call("greet", &format!("{{\"NAME\":\"a\",\"COUNT\":{}}}", "1".repeat(n)))),
    ("a choice", |n| call("greet", &format!("{{\"NAME\":\"a\",\"KIND\":\"{}\"}}", "a".repeat(n)))),
    ("a path", |n| call("greet", &format!("{{\"NAME\":\"a\",\"FILE\":\"{}\"}}", "a/../".repeat(n)))),
    ("meta", |n| {
        format!(
            "tools/call\ngreet\n{{\"name\":\"greet\",\"arguments\":{{}},\"_meta\":{}}}",
            members(n, |i| format!("\"m{i}\":1"))
        )
    }),
    ("a state", |n| {
        format!(
            "tools/call\ngreet\n{{\"name\":\"greet\",\"arguments\":{{\"NAME\":\"a\"}},\"requestState\":\"{}\"}}",
            "a".repeat(n)
        )
    }),
    ("answers", |n| {
        let answers = members(n, |i| format!("\"m{i}\":{{\"action\":\"accept\",\"content\":{{}}}}"));
        format!(
            "tools/call\ngreet\n{{\"name\":\"greet\",\"arguments\":{{\"NAME\":\"a\"}},\"inputResponses\":{answers}}}"
        )
    }),
    ("a cursor", |n| format!("tools/list\n\n{{\"cursor\":\"{}\"}}", "a".repeat(n))),
    ("a resource", |n| format!("resources/read\n{0}\n{{\"uri\":\"{0}\"}}", "%61".repeat(n.min(5000)))),
    ("an output", |n| format!("resources/read\n\n{{\"uri\":\"cycod-output://{}\"}}", "a/".repeat(n))),
    ("a completion", |n| {
        format!(
            "completion/complete\n\n{{\"ref\":{{\"type\":\"ref/prompt\",\"name\":\"greet\"}},\"argument\":{{\"name\":\"NAME\",\"value\":\"{}\"}}}}",
            "a".repeat(n)
        )
    }),
    ("what is completed", |n| {
        let given = members(n, |i| format!("\"m{i}\":\"a\""));
        format!(
            "completion/complete\n\n{{\"ref\":{{\"type\":\"ref/prompt\",\"name\":\"greet\"}},\"argument\":{{\"name\":\"NAME\",\"value\":\"a\"}},\"context\":{{\"arguments\":{given}}}}}"
        )
    }),
    ("a prompt", |n| {
        format!("prompts/get\nnone\n{{\"name\":\"none\",\"arguments\":{}}}", members(n, |i| format!("\"m{i}\":\"a\"")))
    }),
    ("a task", |n| format!("tasks/get\n\n{{\"taskId\":\"{}\"}}", "a".repeat(n))),
    ("answers to a task", |n| {
        format!(
            "tasks/update\n\n{{\"taskId\":\"a\",\"inputResponses\":{}}}",
            members(n, |i| format!("\"m{i}\":{{\"action\":\"cancel\"}}"))
        )
    }),
    ("an output that is searched", |n| {
        call("output_look", &format!("{{\"output\":\"a\",\"pattern\":\"{}\"}}", "(a|b)*".repeat(n)))
    }),
];

/// Lines of a head. They may have 64 KiB.
const HEADS: &[(&str, Grown)] = &[
    ("headers", |n| count(n.min(4000), |i| format!("X-{i}: a\r\n"))),
    ("headers of one name", |n| "X: a\r\n".repeat(n.min(8000))),
    ("a value", |n| format!("X: {}\r\n", "a".repeat(n))),
    ("a name", |n| format!("{}: a\r\n", "x".repeat(n))),
    ("media types", |n| format!("Accept: {}\r\n", "a/b,".repeat(n))),
    ("hosts", |n| "Host: localhost\r\n".repeat(n.min(3000))),
    ("a session", |n| format!("Mcp-Session-Id: {}\r\n", "a".repeat(n))),
    ("a version", |n| format!("MCP-Protocol-Version: {}\r\n", "2".repeat(n))),
    ("cookies", |n| format!("Cookie: {}\r\n", "a=b; ".repeat(n))),
    ("headers of parameters", |n| count(n.min(3000), |i| format!("Mcp-Param-{i}: a\r\n"))),
    ("lines that go on", |n| format!("X: a\r\n{}", " a\r\n".repeat(n))),
];

const GREET: &str = "name: greet\ndescription: Greets\ntags: [read]\nparameters:\n  NAME: {type: string, required: true}\n  \
    LIST: {type: array}\n  DATA: {type: object}\n  COUNT: {type: integer}\n  KIND: {type: string, enum: [a, b]}\n  \
    FILE: {type: string, path: true}\nrun: echo {NAME}\n";

fn count(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

fn list(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(",")
}

fn members(count: usize, member: impl Fn(usize) -> String) -> String {
    format!("{{{}}}", list(count, member))
}

fn nested(depth: usize) -> String {
    format!("{}1{},", "[".repeat(depth), "]".repeat(depth))
}

fn request(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{params}}}")
}

fn call(tool: &str, arguments: &str) -> String {
    // What does not fit into a header is not sent in one.
    let name = if tool.len() < 1000 { tool } else { "" };
    format!("tools/call\n{name}\n{{\"name\":\"{tool}\",\"arguments\":{arguments}}}")
}

fn bed() -> Bed {
    Bed::equipped(http(), |options| {
        std::fs::write(options.host.home.join(".cycod/tools/greet.yaml"), GREET).unwrap();
    })
}

/// Sends a request and reads what comes until the connection closes.
fn send(bed: &Bed, head: &str, body: &str) -> Vec<u8> {
    let mut stream = bed.connect();
    let mut writer = stream.try_clone().unwrap();
    let text = format!("{head}{body}");
    let writing = std::thread::spawn(move || writer.write_all(text.as_bytes()).is_ok());
    let mut answer = Vec::new();
    BufReader::new(&mut stream).read_to_end(&mut answer).ok();
    writing.join().unwrap();
    answer
}

fn head_for(headers: &[(&str, &str)], length: usize) -> String {
    let usual = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    head("POST", "/mcp", &[&usual, headers].concat(), Some(length))
}

#[test]
fn messages_are_answered_in_the_time_that_their_length_allows() {
    let bed = bed();
    growth::check_up_to(LARGEST, MESSAGES, |body| {
        send(&bed, &head_for(&[], body.len()), body);
        send(&bed, &head_for(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "ping")], body.len()), body);
    });
}

#[test]
fn requests_are_answered_in_the_time_that_their_length_allows() {
    let bed = bed();
    growth::check_up_to(LARGEST, REQUESTS, |text| {
        let mut parts = text.splitn(3, '\n');
        let [method, name, params] = [(); 3].map(|()| parts.next().unwrap());
        let mut params: Json = serde_json::from_str(params).unwrap_or_else(|_| json!({}));
        let meta = params.get("_meta").cloned();
        let mut body = modern_ask(method, &params.take());
        if let (Some(Json::Object(meta)), Some(own)) = (meta, body["params"]["_meta"].as_object_mut()) {
            own.extend(meta);
        }
        let body = body.to_string();
        let answer = send(&bed, &head_for(&bed::head_of(method, name), body.len()), &body);
        assert!(!answer.is_empty(), "{method} is answered");
        let is_told = !answer.windows(16).any(|window| window == b"\"isError\":false,");
        assert!(!is_told || answer.len() < MOST_TOLD + 2 * body.len(), "{method}: {} bytes are told", answer.len());
    });
}

#[test]
fn heads_are_read_in_the_time_that_their_length_allows() {
    let bed = bed();
    let body = request("ping", "{}");
    growth::check(HEADS, |lines| {
        let head = head_for(&[], body.len()).replacen("\r\n", &format!("\r\n{lines}"), 1);
        send(&bed, &head, &body);
    });
}
