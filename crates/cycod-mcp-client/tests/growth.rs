//! A server is listed and called in the time that what it says allows, whatever it says.

#[expect(dead_code, reason = "the other tests need all of it")]
#[path = "it/place.rs"]
mod place;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use growth::Grown;
use place::{Place, call};
use serde_json::{Value as Json, json};

/// A message may have 16 MiB.
const LARGEST: usize = 256 << 10;

/// Lists of tools, as JSON.
const TOOLS: &[(&str, Grown)] = &[
    ("tools", |n| list(n, |i| tool(&format!("t{i}"), "{\"type\":\"object\"}"))),
    ("tools of one name", |n| list(n, |_| tool("t", "{\"type\":\"object\"}"))),
    ("tools that become one name", |n| {
        list(n, |i| {
            tool(&format!("t{}", char::from_u32(0x4e00 + (i as u32 % 20000)).unwrap()), "{\"type\":\"object\"}")
        })
    }),
    ("tools that begin alike", |n| list(n, |i| tool(&format!("{}{i}", "t".repeat(64)), "{\"type\":\"object\"}"))),
    ("tools that are none", |n| list(n, |_| "1".to_owned())),
    ("a name", |n| list(1, |_| tool(&"t".repeat(n), "{\"type\":\"object\"}"))),
    ("a description", |n| described(&"a ".repeat(n))),
    ("a description of lines", |n| described(&"a\\n".repeat(n))),
    ("a description of hidden characters", |n| described(&"\\u202e".repeat(n))),
    ("a description of colours", |n| described(&"\\u001b[31m".repeat(n))),
    ("a description of combining characters", |n| described(&"\\u0301".repeat(n))),
    ("a title", |n| {
        format!("[{{\"name\":\"t\",\"title\":\"{}\",\"inputSchema\":{{\"type\":\"object\"}}}}]", "a ".repeat(n))
    }),
    ("annotations", |n| {
        let hints = members(n, |i| format!("\"h{i}\":true"));
        format!("[{{\"name\":\"t\",\"annotations\":{hints},\"inputSchema\":{{\"type\":\"object\"}}}}]")
    }),
    ("members", |n| {
        format!("[{{\"name\":\"t\",{}\"inputSchema\":{{\"type\":\"object\"}}}}]", count(n, |i| format!("\"m{i}\":1,")))
    }),
    ("properties", |n| {
        schema(&format!("\"properties\":{}", members(n, |i| format!("\"p{i}\":{{\"type\":\"string\"}}"))))
    }),
    ("properties that are required", |n| {
        let properties = members(n, |i| format!("\"p{i}\":{{\"type\":\"string\"}}"));
        schema(&format!("\"properties\":{properties},\"required\":{}", list(n, |i| format!("\"p{i}\""))))
    }),
    ("properties that are required twice", |n| schema(&format!("\"required\":{}", list(n, |_| "\"p\"".to_owned())))),
    ("schemas in schemas", |n| {
        schema(&format!("{}\"a\":1{}", "\"properties\":{\"p\":{".repeat(n.min(50)), "}}".repeat(n.min(50))))
    }),
    ("alternatives", |n| schema(&format!("\"anyOf\":{}", list(n, |i| format!("{{\"required\":[\"p{i}\"]}}"))))),
    ("choices", |n| schema(&format!("\"properties\":{{\"p\":{{\"enum\":{}}}}}", list(n, |i| format!("\"c{i}\""))))),
    ("references", |n| {
        let definitions = members(n, |i| format!("\"d{i}\":{{\"$ref\":\"#/$defs/d{}\"}}", (i + 1) % n));
        schema(&format!("\"$defs\":{definitions},\"properties\":{{\"p\":{{\"$ref\":\"#/$defs/d0\"}}}}"))
    }),
    ("references to one", |n| {
        schema(&format!("\"$defs\":{{\"d\":{{}}}},\"allOf\":{}", list(n, |_| "{\"$ref\":\"#/$defs/d\"}".to_owned())))
    }),
    ("references that double", |n| {
        let definitions = members(n, |i| {
            format!("\"d{i}\":{{\"allOf\":[{{\"$ref\":\"#/$defs/d{0}\"}},{{\"$ref\":\"#/$defs/d{0}\"}}]}}", i + 1)
        });
        schema(&format!(
            "\"$defs\":{{\"d{n}\":{{}},{},\"allOf\":[{{\"$ref\":\"#/$defs/d0\"}}]",
            definitions.trim_start_matches('{')
        ))
    }),
    ("a pattern", |n| schema(&format!("\"properties\":{{\"p\":{{\"pattern\":\"{}\"}}}}", "(a|b)*".repeat(n)))),
    ("a pattern that counts", |n| schema(&format!("\"properties\":{{\"p\":{{\"pattern\":\"(a{{{n}}}){{{n}}}\"}}}}"))),
    ("patterns", |n| schema(&format!("\"patternProperties\":{}", members(n, |i| format!("\"^p{i}\":{{}}"))))),
    ("anchors", |n| schema(&format!("\"$defs\":{}", members(n, |i| format!("\"d{i}\":{{\"$anchor\":\"a{i}\"}}"))))),
    ("names of schemas", |n| {
        schema(&format!("\"$defs\":{}", members(n, |i| format!("\"d{i}\":{{\"$id\":\"https://a.example/{i}\"}}"))))
    }),
];

/// Results of calls, as JSON.
const RESULTS: &[(&str, Grown)] = &[
    ("blocks", |n| format!("{{\"content\":{}}}", list(n, |i| format!("{{\"type\":\"text\",\"text\":\"{i}\"}}")))),
    ("a text", |n| text(&"a".repeat(n))),
    ("a text of lines", |n| text(&"a\\n".repeat(n))),
    ("a text of colours", |n| text(&"\\u001b[31m".repeat(n))),
    ("a text of hidden characters", |n| text(&"\\u202e".repeat(n))),
    ("blocks of other kinds", |n| format!("{{\"content\":{}}}", list(n, |_| "{\"type\":\"none\"}".to_owned()))),
    ("images", |n| {
        format!(
            "{{\"content\":{}}}",
            list(n, |_| "{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"a/b\"}".to_owned())
        )
    }),
    ("links", |n| {
        format!(
            "{{\"content\":{}}}",
            list(n, |_| "{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"\\u202e\"}".to_owned())
        )
    }),
    ("members", |n| format!("{{\"content\":[],{}\"z\":1}}", count(n, |i| format!("\"m{i}\":1,")))),
    ("structured content", |n| {
        format!("{{\"content\":[],\"structuredContent\":{{\"list\":{}}}}}", list(n, |i| i.to_string()))
    }),
    ("structured content that is wrong", |n| {
        format!("{{\"content\":[],\"structuredContent\":{{\"list\":{}}}}}", list(n, |_| "\"a\"".to_owned()))
    }),
    ("structured content that is the same", |n| {
        format!("{{\"content\":[],\"structuredContent\":{{\"different\":{}}}}}", list(n, |_| "{}".to_owned()))
    }),
    ("structured content that differs", |n| {
        format!("{{\"content\":[],\"structuredContent\":{{\"different\":{}}}}}", list(n, |i| format!("{{\"a\":{i}}}")))
    }),
    ("alternatives that fail", |n| {
        format!("{{\"content\":[],\"structuredContent\":{{\"either\":{}}}}}", list(n, |_| "{\"a\":1}".to_owned()))
    }),
    ("meta", |n| format!("{{\"content\":[],\"_meta\":{}}}", members(n, |i| format!("\"m{i}\":1")))),
    ("an error", |n| {
        format!("{{\"isError\":true,\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}]}}", "a ".repeat(n))
    }),
];

/// What comes before a result, as events of a stream.
const EVENTS: &[(&str, Grown)] = &[
    ("notifications", |n| events(n, "notifications/progress", |i| format!("{{\"progressToken\":1,\"progress\":{i}}}"))),
    ("lines of a log", |n| {
        events(n, "notifications/message", |i| format!("{{\"level\":\"info\",\"data\":\"line {i}\"}}"))
    }),
    ("a line of a log", |n| {
        events(1, "notifications/message", |_| format!("{{\"level\":\"info\",\"data\":\"{}\"}}", "a ".repeat(n)))
    }),
    ("a log of data", |n| {
        events(1, "notifications/message", |_| {
            format!("{{\"level\":\"info\",\"data\":{}}}", members(n, |i| format!("\"m{i}\":1")))
        })
    }),
    ("changes of the list", |n| events(n, "notifications/tools/list_changed", |_| "{}".to_owned())),
    ("notifications nobody knows", |n| events(n, "notifications/none", |_| "{}".to_owned())),
    ("comments", |n| ": a\n\n".repeat(n)),
    ("lines of an event", |n| "data: a\n".repeat(n) + "\n"),
    ("fields", |n| "event: a\n".repeat(n) + "\n"),
    ("empty lines", |n| "\n".repeat(n)),
    ("no messages", |n| "data: a\n\n".repeat(n)),
    ("ids", |n| "id: a\ndata:\n\n".repeat(n)),
];

const OUTPUT: &str = r#"{"type":"object","properties":{"list":{"items":{"type":"integer"}},"different":{"uniqueItems":true},
    "either":{"items":{"anyOf":[{"required":["b"]},{"properties":{"a":{"type":"string"}}}]}}}}"#;

fn count(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    format!("[{}]", (0..count).map(item).collect::<Vec<_>>().join(","))
}

fn members(count: usize, member: impl Fn(usize) -> String) -> String {
    format!("{{{}}}", (0..count).map(member).collect::<Vec<_>>().join(","))
}

fn tool(name: &str, schema: &str) -> String {
    format!("{{\"name\":\"{name}\",\"inputSchema\":{schema}}}")
}

fn described(text: &str) -> String {
    format!("[{{\"name\":\"t\",\"description\":\"{text}\",\"inputSchema\":{{\"type\":\"object\"}}}}]")
}

fn schema(keywords: &str) -> String {
    format!("[{}]", tool("t", &format!("{{\"type\":\"object\",{keywords}}}")))
}

fn text(text: &str) -> String {
    format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}")
}

fn events(count: usize, method: &str, params: impl Fn(usize) -> String) -> String {
    let event = |i| format!("data: {{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{}}}\n\n", params(i));
    (0..count).map(event).collect()
}

/// What a server says.
#[derive(Default)]
struct Says {
    tools: String,
    result: String,
    events: String,
}

/// A server of the era with handshakes, in this process.
struct Server {
    says: Arc<Mutex<Says>>,
    url: String,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let says = Arc::new(Mutex::new(Says::default()));
        let server = Self { says: Arc::clone(&says), url };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let says = Arc::clone(&says);
                std::thread::spawn(move || while serve(stream.as_ref().unwrap(), &says).is_some() {});
            }
        });
        server
    }

    fn says(&self, tools: &str, result: &str, events: &str) {
        *self.says.lock().unwrap() = Says { tools: tools.into(), result: result.into(), events: events.into() };
    }

    /// A user who has never met it.
    fn place(&self) -> Place {
        Place::configured(&json!({ "test": { "url": self.url } }))
    }
}

/// Answers one request.
fn serve(mut stream: &TcpStream, says: &Mutex<Says>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request: Json = serde_json::from_slice(&body).unwrap_or_default();
    let says = says.lock().unwrap();
    let result = match request["method"].as_str() {
        Some("initialize") => {
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#
                .to_owned()
        }
        Some("tools/list") => format!("{{\"tools\":{}}}", says.tools),
        Some("tools/call") => says.result.clone(),
        Some(_) if request.get("id").is_some() => {
            let error =
                json!({"jsonrpc":"2.0","id":request["id"],"error":{"code":-32601,"message":"unknown"}}).to_string();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{error}",
                error.len()
            )
            .ok()?;
            return Some(());
        }
        Some(_) => {
            write!(stream, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").ok()?;
            return Some(());
        }
        None => {
            write!(stream, "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n").ok()?;
            return Some(());
        }
    };
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", request["id"]);
    let (kind, answer) = if request["method"] == "tools/call" && !says.events.is_empty() {
        ("text/event-stream", format!("{}data: {answer}\n\n", says.events))
    } else {
        ("application/json", answer)
    };
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", answer.len()).ok()?;
    stream.write_all(answer.as_bytes()).ok()
}

#[test]
fn tools_are_listed_in_the_time_that_their_definitions_allow() {
    let server = Server::new();
    growth::check_up_to(LARGEST, TOOLS, |tools| {
        server.says(tools, "{}", "");
        let place = server.place();
        let servers = place.servers();
        drop(servers.visit("test"));
        _ = servers.adopt_into(place.builder()).build();
    });
}

#[test]
fn a_list_that_changed_is_compared_in_the_time_that_it_allows() {
    let server = Server::new();
    growth::check_up_to(LARGEST / 4, TOOLS, |tools| {
        server.says(&tool_list(), "{}", "");
        let place = server.place();
        drop(place.servers().visit("test"));
        server.says(tools, "{}", "");
        let servers = place.servers();
        drop(servers.proposals("test"));
        drop(call(&servers, "t"));
    });
}

fn tool_list() -> String {
    format!("[{}]", tool("t", "{\"type\":\"object\"}"))
}

#[test]
fn a_call_takes_the_time_that_its_result_allows() {
    let server = Server::new();
    let plain = format!("[{}]", tool("t", "{\"type\":\"object\"}"));
    let promising = format!("[{{\"name\":\"t\",\"inputSchema\":{{\"type\":\"object\"}},\"outputSchema\":{OUTPUT}}}]");
    for tools in [plain, promising] {
        server.says(&tools, "{}", "");
        let place = server.place();
        let servers = place.servers();
        growth::check_up_to(LARGEST, RESULTS, |result| {
            server.says(&tools, result, "");
            drop(call(&servers, "t"));
        });
    }
}

#[test]
fn a_call_takes_the_time_that_what_comes_before_its_result_allows() {
    let server = Server::new();
    server.says(&tool_list(), "{}", "");
    let place = server.place();
    let servers = place.servers();
    growth::check_up_to(LARGEST, EVENTS, |events| {
        server.says(&tool_list(), "{\"content\":[]}", events);
        drop(call(&servers, "t"));
    });
}
