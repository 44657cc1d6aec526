//! The provider as a server: answers each format of requests by its script, for tests.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::Value as Json;

use crate::{Answer, Asked, Cut, Format, Script, Turn, frames::frames};

/// The most bytes of a line that never ends: a client that takes them all is wrong, and the test shall end.
const ENDLESS: usize = 1 << 30;

/// A provider that answers on a port of this machine until it is dropped.
#[derive(Debug)]
pub struct ScriptedProvider {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    script: Script,
    asked: Mutex<Vec<Asked>>,
    attempts: Mutex<HashMap<u64, usize>>,
    is_over: AtomicBool,
}

impl ScriptedProvider {
    /// Starts a provider on a free port.
    ///
    /// # Panics
    /// When this machine has no port left.
    pub fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it was bound");
        let shared = Arc::new(Shared {
            script,
            asked: Mutex::default(),
            attempts: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let all = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if all.is_over.load(Ordering::Acquire) {
                    return;
                }
                let shared = Arc::clone(&all);
                // Who asks may leave whenever it wants.
                thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { address, shared }
    }

    /// The base address for a format, by the name that users write.
    pub fn url(&self, format: &str) -> String {
        let version = if format.starts_with("openai") { "/v1" } else { "" };
        format!("http://{}{version}", self.address)
    }

    /// Everything that was asked, the oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ScriptedProvider {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // Wakes who waits for the next connection.
        drop(TcpStream::connect(self.address));
    }
}

/// Answers requests on one connection until either side has enough.
fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(request) = read_request(&mut reader)? {
        let body: Json = serde_json::from_slice(&request.body).unwrap_or_default();
        if let Some(listing) = shared.script.listing(&request.path, &body) {
            reply(&mut writer, 200, &[], &listing.to_string())?;
            continue;
        }
        let Some(format) = Format::at(&request.path) else {
            reply(&mut writer, 404, &[], r#"{"error":{"message":"no such path"}}"#)?;
            continue;
        };
        let mut asked = Asked::read(format, &request.path, request.key, body);
        asked.attempt = {
            let mut hasher = DefaultHasher::new();
            request.body.hash(&mut hasher);
            let mut attempts = shared.attempts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = attempts.entry(hasher.finish()).or_default();
            *count += 1;
            *count - 1
        };
        shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
        match shared.script.answer(&asked) {
            Answer::Refusal { status, headers, body } => {
                let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                reply(&mut writer, status, &headers, &body)?;
            }
            Answer::Turn(turn) => {
                if !answer(&mut writer, &turn, &asked)? {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

struct Request {
    path: String,
    key: Option<String>,
    body: Vec<u8>,
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut key, mut length) = (None, 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "authorization" => key = Some(value.trim_start_matches("Bearer ").to_owned()),
            "x-api-key" | "x-goog-api-key" => key = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { path, key, body }))
}

fn reply(writer: &mut TcpStream, status: u16, headers: &[(&str, &str)], body: &str) -> io::Result<()> {
    let mut head =
        format!("HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    writer.write_all(format!("{head}\r\n{body}").as_bytes())
}

/// Streams a turn; whether the connection can be used again.
fn answer(writer: &mut TcpStream, turn: &Turn, asked: &Asked) -> io::Result<bool> {
    if turn.cut == Some(Cut::AtOnce) {
        return Ok(false);
    }
    let kind = if asked.format == Format::Ollama { "application/x-ndjson" } else { "text/event-stream" };
    writer.write_all(
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n").as_bytes(),
    )?;
    let chunk = |writer: &mut TcpStream, bytes: &[u8]| -> io::Result<()> {
        write!(writer, "{:x}\r\n", bytes.len())?;
        writer.write_all(bytes)?;
        writer.write_all(b"\r\n")
    };
    if turn.endless {
        let mut sent = 0;
        chunk(writer, b"data: {\"text\": \"")?;
        while sent < ENDLESS {
            chunk(writer, &[b'x'; 1 << 16])?;
            sent += 1 << 16;
        }
        return Ok(false);
    }
    let frames = match &turn.raw {
        Some(raw) => vec![raw.clone()],
        None => frames(turn, asked),
    };
    let end = if turn.cut.is_some() { frames.len() / 2 } else { frames.len() };
    for frame in &frames[..end] {
        if turn.pause_ms > 0 {
            thread::sleep(Duration::from_millis(turn.pause_ms));
        }
        for bytes in frame.as_bytes().chunks(turn.chop.unwrap_or(usize::MAX)) {
            chunk(writer, bytes)?;
        }
    }
    if turn.cut == Some(Cut::Abrupt) {
        return Ok(false);
    }
    writer.write_all(b"0\r\n\r\n")?;
    Ok(true)
}
