//! The least a server can do: reads a line, starts `bash -c`, writes a line. Knows both eras as far as the driver
//! speaks them. What it costs beyond this is what a real server spends.
//!
//!     floor TOOLS [nothing]
//!
//! With `nothing` it starts no program either, which shows how much the driver itself can ask.

use std::{
    io::{self, BufRead, Write},
    process::{Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
};

use serde_json::{Value, json};

/// Enough to keep two processors busy while the programs start.
const WORKERS: usize = 4;

fn main() {
    let tools: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1);
    let starts_nothing = std::env::args().nth(2).is_some();
    let (sender, calls) = mpsc::channel::<(Value, String)>();
    let calls = Arc::new(Mutex::new(calls));
    for _ in 0..WORKERS {
        let calls = calls.clone();
        thread::spawn(move || {
            loop {
                let call = calls.lock().expect("no worker panics").recv();
                let Ok((id, name)) = call else { return };
                answer(&id, &called(&name));
            }
        });
    }
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        let id = &request["id"];
        match request["method"].as_str().unwrap_or_default() {
            "initialize" => answer(
                id,
                &json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "floor", "version": "1"},
                }),
            ),
            "server/discover" => answer(
                id,
                &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                        "ttlMs": 0, "cacheScope": "private"}),
            ),
            "tools/list" => answer(
                id,
                &json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                        "tools": (0..tools).map(tool).collect::<Vec<_>>()}),
            ),
            "tools/call" => {
                let name = request["params"]["arguments"]["NAME"].as_str().unwrap_or_default();
                if starts_nothing {
                    answer(id, &text(&format!("hello {name}")));
                    continue;
                }
                sender.send((id.clone(), name.to_owned())).expect("the workers live as long as the sender");
            }
            _ => {}
        }
    }
}

fn tool(number: usize) -> Value {
    json!({
        "name": if number == 0 { "hello".to_owned() } else { format!("hello_{number}") },
        "description": "Says hello to somebody",
        "inputSchema": {
            "type": "object",
            "properties": {"NAME": {"type": "string", "description": "Whom to greet"}},
            "required": ["NAME"],
        },
    })
}

fn called(name: &str) -> Value {
    let done = Command::new("bash")
        .args(["--noprofile", "--norc", "-c", "echo hello \"$1\"", "_", name])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let output = done.map(|done| done.stdout).unwrap_or_default();
    text(&String::from_utf8_lossy(&output))
}

fn text(text: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": false})
}

fn answer(id: &Value, result: &Value) {
    let mut line = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    line.push('\n');
    // A driver that is gone needs no answer.
    let _ = io::stdout().lock().write_all(line.as_bytes());
}
