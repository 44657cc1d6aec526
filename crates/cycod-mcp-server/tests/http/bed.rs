//! A server in this process, and clients that can be as rude as a test needs.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    sync::mpsc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use cycod_engine::{Stop, host};
use cycod_mcp_server::{HttpAccess, HttpError, HttpLimits, HttpOptions, Selection, ServerOptions, serve_http};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// How long processes may survive: two seconds, and one for a machine that is busy.
pub(crate) const END: Duration = Duration::from_secs(3);

const TOOLS: [(&str, &str); 2] = [
    ("hello", "name: hello\ndescription: Greets\ntags: [read]\nrun: echo hello\n"),
    // It and its child ignore what they are asked, and say who they are.
    (
        "stubborn",
        "name: stubborn\ndescription: Does not want to end\ntags: [read]\nparameters:\n  as:\n    type: string\nbash: |\n  \
         trap '' TERM INT HUP\n  sleep 300 &\n  echo \"$$ $!\" > pids-{as}.part\n  mv pids-{as}.part pids-{as}\n  wait\n  sleep 300\n",
    ),
];

pub(crate) struct Bed {
    pub(crate) address: SocketAddr,
    stop: Stop,
    server: Option<JoinHandle<Result<(), HttpError>>>,
    directory: TempDir,
}

/// Options with small limits of time, for a loopback address and everybody on it.
pub(crate) fn http() -> HttpOptions {
    HttpOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        access: HttpAccess::Anyone,
        hosts: Vec::new(),
        origins: Vec::new(),
        limits: HttpLimits::default(),
    }
}

impl Bed {
    pub(crate) fn new(http: HttpOptions) -> Self {
        Self::equipped(http, |_| {})
    }

    /// A server with more than the usual tools.
    pub(crate) fn equipped(http: HttpOptions, change: impl FnOnce(&mut ServerOptions)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options(&directory);
        change(&mut options);
        let stop = Stop::new().unwrap();
        let (say, heard) = mpsc::channel();
        let raised = stop.clone();
        let server =
            std::thread::spawn(move || serve_http(options, &http, &raised, &mut |address| say.send(address).unwrap()));
        let address = heard.recv_timeout(PATIENCE).expect("it listens");
        Self { address, stop, server: Some(server), directory }
    }

    /// Everybody on this machine, with limits as told.
    pub(crate) fn limited(change: impl FnOnce(&mut HttpLimits)) -> Self {
        let mut http = http();
        change(&mut http.limits);
        Self::new(http)
    }

    /// The home of the user whose tools are offered.
    pub(crate) fn home(&self) -> &std::path::Path {
        self.directory.path()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request on a connection of its own, and reads the answer to its end.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut stream = self.connect();
        stream.write_all(head(method, path, headers, Some(body.len())).as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        Response::read(&mut BufReader::new(stream))
    }

    /// Sends a message.
    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &Json) -> Response {
        self.send("POST", "/mcp", &[JSON, headers].concat(), &body.to_string())
    }

    /// Sends a message and leaves the answer unread.
    pub(crate) fn begin(&self, headers: &[(&str, &str)], body: &Json) -> TcpStream {
        let mut stream = self.connect();
        let body = body.to_string();
        let head = head("POST", "/mcp", &[JSON, headers].concat(), Some(body.len()));
        stream.write_all((head + &body).as_bytes()).unwrap();
        stream
    }

    /// Shakes hands; returns the name of the session.
    pub(crate) fn session(&self) -> String {
        let response = self.post(&[], &initialize());
        assert_eq!(response.status, 200, "{response:?}");
        let id = response.header("mcp-session-id").expect("a session").to_owned();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&[("Mcp-Session-Id", &id)], &initialized).status, 202);
        id
    }

    /// Waits until the tool `stubborn` has said who it is.
    pub(crate) fn pids(&self, name: &str) -> Vec<u32> {
        let path = self.directory.path().join(format!("pids-{name}"));
        until(PATIENCE, "the tool runs", || path.exists());
        let text = fs::read_to_string(path).unwrap();
        text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    /// Ends the server as a signal would; returns how long that took.
    pub(crate) fn shut(&mut self) -> Duration {
        let begun = Instant::now();
        self.stop.ask();
        if let Some(server) = self.server.take() {
            server.join().unwrap().unwrap();
        }
        begun.elapsed()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.shut();
        }
    }
}

pub(crate) fn options(directory: &TempDir) -> ServerOptions {
    let home = directory.path().to_owned();
    let tools = home.join(".cycod/tools");
    fs::create_dir_all(&tools).unwrap();
    for (name, text) in TOOLS {
        fs::write(tools.join(format!("{name}.yaml")), text).unwrap();
    }
    let mut host = host::current().unwrap();
    host.environment.retain(|name, _| name == "PATH");
    host.working_directory.clone_from(&home);
    host.workspace.clone_from(&home);
    host.home = home;
    ServerOptions {
        outputs: host.home.join("outputs"),
        retention: cycod_store::Retention::default(),
        host,
        selection: Selection::default(),
        rules: Vec::new(),
        wait_for_approval: Duration::ZERO,
        profile: None,
        follows_roots: false,
        reply_tokens: ServerOptions::REPLY_TOKENS,
        list_tokens: ServerOptions::LIST_TOKENS,
        jq_worker: Vec::new(),
        equip: None,
        upstreams: None,
        relay: Default::default(),
        waiting: None,
        watched: Vec::new(),
    }
}

/// What every message needs.
const JSON: &[(&str, &str)] =
    &[("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

/// The head of a request; the connection closes after its answer.
pub(crate) fn head(method: &str, path: &str, headers: &[(&str, &str)], length: Option<usize>) -> String {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.push_str("Host: localhost\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(length) = length {
        head.push_str(&format!("Content-Length: {length}\r\n"));
    }
    head + "\r\n"
}

pub(crate) fn initialize() -> Json {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

/// A call in the era with handshakes.
pub(crate) fn call(id: u32, tool: &str, arguments: &Json) -> Json {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// A call in the era without.
pub(crate) fn modern_call(tool: &str, arguments: &Json) -> Json {
    let mut call = call(1, tool, arguments);
    call["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    call
}

/// The headers of such a call.
pub(crate) fn modern(tool: &str) -> [(&str, &str); 3] {
    head_of("tools/call", tool)
}

/// A request of the era without handshakes, by a client that knows everything.
pub(crate) fn modern_ask(method: &str, params: &Json) -> Json {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        },
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The headers of such a request.
pub(crate) fn head_of<'a>(method: &'a str, name: &'a str) -> [(&'a str, &'a str); 3] {
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", name)]
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    /// Reads an answer to its end.
    pub(crate) fn read(reader: &mut impl BufRead) -> Self {
        let mut line = String::new();
        reader.read_line(&mut line).expect("an answer");
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect(&line);
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut response = Self { status, headers, body: String::new() };
        let mut body = Vec::new();
        if response.header("transfer-encoding") == Some("chunked") {
            loop {
                line.clear();
                reader.read_line(&mut line).unwrap();
                let size = usize::from_str_radix(line.trim_end(), 16).expect("a size");
                let begin = body.len();
                body.resize(begin + size + 2, 0);
                reader.read_exact(&mut body[begin..]).unwrap();
                body.truncate(begin + size);
                if size == 0 {
                    break;
                }
            }
        } else if let Some(length) = response.header("content-length") {
            body.resize(length.parse().unwrap(), 0);
            reader.read_exact(&mut body).unwrap();
        }
        response.body = String::from_utf8(body).unwrap();
        response
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }

    /// The last message in it, whichever way it came.
    pub(crate) fn message(&self) -> Json {
        let text = self.body.lines().rev().find_map(|line| line.strip_prefix("data: {"));
        let text = text.map_or_else(|| self.body.clone(), |text| format!("{{{text}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // After the name, which may hold anything, comes the state.
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[track_caller]
pub(crate) fn until(patience: Duration, what: &str, mut is_true: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < patience, "not within {patience:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until none of these processes is left.
#[track_caller]
pub(crate) fn until_gone(pids: &[u32]) {
    until(END, "the processes are gone", || !pids.iter().any(|&pid| is_alive(pid)));
}
