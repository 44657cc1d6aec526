//! Measures one server on standard input and output and prints its figures as one line of JSON.
//!
//!     driver legacy|modern TOOLS CALLS COMMAND…
//!
//! `DRIVER_TOOL` is the name of the tool that is called, in place of `hello`, and `DRIVER_BYTES` how long its argument is at least. With
//! `DRIVER_ALONE`, no calls are in flight beside one another.
//!
//! One thread keeps a number of calls in flight and reads lines with as little work as it can, so that it can ask far
//! more than any server answers: see the row `ceiling`.

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Starts whose median counts.
const STARTS: usize = 7;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [era, tools, calls, command @ ..] = arguments.as_slice() else {
        eprintln!("driver legacy|modern TOOLS CALLS COMMAND…");
        std::process::exit(2);
    };
    let tools: usize = tools.parse().expect("TOOLS is a number");
    let calls: usize = calls.parse().expect("CALLS is a number");

    let mut starts: Vec<Duration> = (1..STARTS).map(|_| Session::start(era, command).1).collect();
    let (mut session, first) = Session::start(era, command);
    starts.push(first);
    let (list, bytes) = session.list(tools);
    session.calls(20, 1); // what a server does once, it does now
    let one = session.calls(calls, 1);
    let flights = if env::var_os("DRIVER_ALONE").is_some() { [1, 1] } else { [16, 64] };
    let [sixteen, many] = flights.map(|flight| session.calls(calls * 2, flight));
    let memory = session.memory();
    starts.sort_unstable();
    println!(
        "{}",
        json!({
            "start_ms": millis(starts[STARTS / 2]),
            "list_ms": millis(list),
            "bytes_per_tool": bytes,
            "one": one,
            "sixteen": sixteen,
            "sixty_four": many,
            "memory_mb": memory,
        })
    );
}

/// A server that runs, with everything between it and us.
struct Session {
    era: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    tool: String,
    bytes: usize,
}

impl Session {
    /// Starts the server and asks for the first answer; returns how long that took.
    fn start(era: &str, command: &[String]) -> (Session, Duration) {
        let begin = Instant::now();
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let input = child.stdin.take();
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().expect("it was piped"));
        let tool = env::var("DRIVER_TOOL").unwrap_or_else(|_| "hello".to_owned());
        let bytes = env::var("DRIVER_BYTES").map_or(0, |bytes| bytes.parse().expect("DRIVER_BYTES is a number"));
        let mut session = Session { era: era.to_owned(), child, input, output, line: Vec::new(), tool, bytes };
        if era == "legacy" {
            let hello = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "driver", "version": "1"},
            });
            session.send(&request(0, "initialize", hello));
            session.receive();
            let took = begin.elapsed();
            session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            (session, took)
        } else {
            session.send(&session.request(0, "server/discover", json!({})));
            session.receive();
            (session, begin.elapsed())
        }
    }

    /// Asks for the list of tools: how long it took, and how many bytes a tool of ours has; some servers add their own.
    fn list(&mut self, tools: usize) -> (Duration, usize) {
        let begin = Instant::now();
        self.send(&self.request(0, "tools/list", json!({})));
        let took = {
            self.receive();
            begin.elapsed()
        };
        let list: Value = serde_json::from_slice(&self.line).expect("the list is JSON");
        let ours: Vec<usize> = list["result"]["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with(&self.tool)))
            .map(|tool| tool.to_string().len() + 1)
            .collect();
        assert!(ours.len() == tools, "listed {} tools in place of {tools}: {list:.200}", ours.len());
        (took, ours.iter().sum::<usize>() / tools)
    }

    /// Makes `count` calls with `flight` of them under way at any time.
    fn calls(&mut self, count: usize, flight: usize) -> Value {
        // Written beforehand: what is measured is the server.
        let lines: Vec<Vec<u8>> = (1..=count)
            .map(|id| {
                let name = format!("n{id}{}", "-".repeat(self.bytes));
                let call = json!({"name": self.tool, "arguments": {"NAME": name}});
                format!("{}\n", self.request(id, "tools/call", call)).into_bytes()
            })
            .collect();
        let mut sent = vec![Instant::now(); count + 1];
        let mut took = Vec::with_capacity(count);
        let mut next = 0;
        let begin = Instant::now();
        while took.len() < count {
            while next < count && next - took.len() < flight {
                sent[next + 1] = Instant::now();
                self.write(&lines[next]);
                next += 1;
            }
            let id = self.receive();
            took.push(sent[id].elapsed());
            let expected = format!("hello n{id}");
            assert!(contains(&self.line, expected.as_bytes()), "{}", String::from_utf8_lossy(&self.line));
        }
        let per_second = count as f64 / begin.elapsed().as_secs_f64();
        took.sort_unstable();
        json!({
            "per_second": per_second.round(),
            "p50_ms": millis(took[count / 2]),
            "p99_ms": millis(took[count * 99 / 100]),
        })
    }

    fn request(&self, id: usize, method: &str, mut params: Value) -> Value {
        if self.era == "modern" {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "driver", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        request(id, method, params)
    }

    fn send(&mut self, value: &Value) {
        self.write(format!("{value}\n").as_bytes());
    }

    fn write(&mut self, line: &[u8]) {
        self.input.as_mut().expect("it is taken at the end").write_all(line).expect("the server reads");
    }

    /// Reads on to the next answer, into `line`, and returns its number.
    fn receive(&mut self) -> usize {
        loop {
            self.line.clear();
            let read = self.output.read_until(b'\n', &mut self.line).expect("the server writes");
            assert!(read > 0, "the server closed its output");
            if let Some(id) = number_after(&self.line, b"\"id\":") {
                return id;
            }
        }
    }

    /// The most memory that the server itself ever used, in megabytes.
    fn memory(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        let kilobytes: f64 = most.trim().trim_end_matches(" kB").parse().unwrap_or(f64::NAN);
        (kilobytes / 102.4).round() / 10.0
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + Duration::from_secs(2);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                // Some peers do not end with their input.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn request(id: usize, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100_000.0).round() / 100.0
}

fn contains(line: &[u8], what: &[u8]) -> bool {
    line.windows(what.len()).any(|window| window == what)
}

/// The number that follows `key` in a line; the key of a message comes before anything a tool wrote.
fn number_after(line: &[u8], key: &[u8]) -> Option<usize> {
    let start = line.windows(key.len()).position(|window| window == key)? + key.len();
    let digits = line[start..].iter().skip_while(|byte| **byte == b' ').take_while(|byte| byte.is_ascii_digit());
    std::str::from_utf8(&digits.copied().collect::<Vec<_>>()).ok()?.parse().ok()
}
