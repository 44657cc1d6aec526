//! Messages as lines over the standard streams, from a host that may send anything.

use std::{io, sync::Arc};

use cycod_engine::diagnostic::visible_json;
use cycod_thread::{DetachedTask, task};
use rmcp::{
    RoleServer,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{Notify, mpsc},
};

/// The longest message that is read, in bytes; of a longer one only its number is read, so that it can be refused.
const LONGEST: usize = 16 * 1024 * 1024;

/// How many answers wait for a client that does not read. Then its requests are not read either.
const WAITING: usize = 64;

/// Messages as lines, from a client that may send anything.
///
/// The library's own transport collects answers without bound, ends at a first line that is no request, and answers a
/// request that it cannot understand without its number, so that the client waits for ever.
pub(crate) struct Pipe<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// What is known of the line when it is too long to be held.
    skim: Option<Skim>,
    /// Whether a request has come. Until then there is nothing that another message could be about.
    is_met: bool,
    answers: Option<mpsc::Sender<Vec<u8>>>,
    writing: Option<DetachedTask<()>>,
    ended: Arc<Notify>,
}

impl<R: AsyncRead + Send + Unpin> Pipe<R> {
    /// A pipe that notifies `ended` when its input is over. Where a person looks at what is written, the JSON is written so
    /// that it drives no terminal.
    pub(crate) fn new<W: AsyncWrite + Send + Unpin + 'static>(
        reader: R,
        writer: W,
        is_terminal: bool,
        ended: Arc<Notify>,
    ) -> Self {
        let (sender, answers) = mpsc::channel(WAITING);
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            skim: None,
            is_met: false,
            answers: Some(sender),
            writing: Some(task(write(writer, is_terminal, answers))),
            ended,
        }
    }

    /// Reads on until a line ends; nothing at the end of input. May be dropped and called again at any time.
    async fn read_line(&mut self) -> Option<Line> {
        loop {
            let available = self.reader.fill_buf().await.ok()?;
            if available.is_empty() {
                return None;
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            if self.skim.is_none() && self.line.len() + taken > LONGEST {
                let mut skim = Skim::default();
                skim.read(&std::mem::take(&mut self.line));
                self.skim = Some(skim);
            }
            match &mut self.skim {
                Some(skim) => skim.read(&available[..taken]),
                None => self.line.extend_from_slice(&available[..taken]),
            }
            self.reader.consume(taken);
            if end.is_some() {
                return Some(match self.skim.take() {
                    Some(skim) => Line::TooLong(skim),
                    None => Line::Whole(std::mem::take(&mut self.line)),
                });
            }
        }
    }
}

/// A line that was read.
enum Line {
    Whole(Vec<u8>),
    TooLong(Skim),
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Pipe<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answers = self.answers.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let closed = || io::Error::from(io::ErrorKind::NotConnected);
            answers.ok_or_else(closed)?.send(line).await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let answers = self.answers.clone()?;
        loop {
            let room = answers.reserve().await.ok()?;
            let line = match self.read_line().await {
                Some(Line::Whole(line)) => line,
                Some(Line::TooLong(skim)) => {
                    if let Some(id) = skim.request() {
                        let why = format!("the message is longer than {} MiB", LONGEST >> 20);
                        room.send(refusal(Some(&id), INVALID_REQUEST, &why));
                    }
                    continue;
                }
                None => {
                    self.ended.notify_one();
                    return None;
                }
            };
            let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line).trim_ascii();
            match serde_json::from_slice(line) {
                Ok(message) => {
                    self.is_met |= matches!(message, JsonRpcMessage::Request(_));
                    if self.is_met {
                        return Some(message);
                    }
                }
                Err(problem) => {
                    if let Some(objection) = objection(line, &problem) {
                        room.send(objection);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.answers = None;
        if let Some(writing) = self.writing.take() {
            // What was still to be written has been, or nobody is there to read it.
            drop(writing.await);
        }
        Ok(())
    }
}

/// Writes answers until there are no more, or nobody reads them.
async fn write<W: AsyncWrite + Unpin>(mut writer: W, is_terminal: bool, mut answers: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut line) = answers.recv().await {
        if is_terminal {
            line = visible_json(&String::from_utf8_lossy(&line)).into_owned().into_bytes();
        }
        if writer.write_all(&line).await.is_err() || answers.is_empty() && writer.flush().await.is_err() {
            return;
        }
    }
}

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// What tells how a message is answered that is none of the protocol. Nothing else of it is read, so that a number that no
/// machine holds is in nobody's way.
#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<Value>,
    id: Option<Value>,
    method: Option<Value>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// What is answered to a line that is no message; nothing for an empty one.
fn objection(line: &[u8], problem: &serde_json::Error) -> Option<Vec<u8>> {
    if line.is_empty() {
        return None;
    }
    let Ok(envelope) = serde_json::from_slice::<Envelope>(line) else {
        let is_json = serde_json::from_slice::<IgnoredAny>(line).is_ok();
        let (code, what) = if is_json { (INVALID_REQUEST, "the message") } else { (PARSE_ERROR, "the line") };
        return Some(refusal(None, code, &format!("{what} cannot be understood: {problem}")));
    };
    let is_request = envelope.result.is_none() && envelope.error.is_none();
    let id = envelope.id.filter(|id| is_request && is_number(id));
    let is_well_formed = envelope.jsonrpc.is_some_and(|version| version == "2.0")
        && envelope.method.is_some_and(|method| method.is_string())
        && id.is_some();
    let (code, what) =
        if is_well_formed { (INVALID_PARAMS, "the parameters") } else { (INVALID_REQUEST, "the message") };
    Some(refusal(id.as_ref(), code, &format!("{what} cannot be understood: {problem}")))
}

/// Whether a value can be the number of a request.
fn is_number(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

fn refusal(id: Option<&Value>, code: i32, why: &str) -> Vec<u8> {
    let mut answer = json!({"jsonrpc": "2.0"});
    if let Some(id) = id {
        answer["id"] = id.clone();
    }
    answer["error"] = json!({"code": code, "message": why});
    format!("{answer}\n").into_bytes()
}

/// Reads the number of a request in a message that is too long to be held.
#[derive(Debug, Default)]
struct Skim {
    depth: u32,
    in_text: bool,
    is_escaped: bool,
    /// The name or value that is being read in the message itself, not in what is nested in it.
    token: Vec<u8>,
    name: Vec<u8>,
    id: Option<Value>,
    has_method: bool,
}

/// The longest number of a request that is read, in bytes.
const LONGEST_TOKEN: usize = 1_024;

impl Skim {
    fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.in_text {
                self.keep(byte);
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => {
                    self.in_text = true;
                    self.keep(byte);
                }
                b'{' | b'[' => self.depth += 1,
                b':' if self.depth == 1 => self.name = std::mem::take(&mut self.token),
                b',' if self.depth == 1 => self.end_value(),
                b'}' | b']' => {
                    if self.depth == 1 {
                        self.end_value();
                    }
                    self.depth = self.depth.saturating_sub(1);
                }
                byte if byte.is_ascii_whitespace() => {}
                byte => self.keep(byte),
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= LONGEST_TOKEN {
            self.token.push(byte);
        }
    }

    fn end_value(&mut self) {
        let (name, value) = (std::mem::take(&mut self.name), std::mem::take(&mut self.token));
        match &*name {
            b"\"id\"" if value.len() <= LONGEST_TOKEN => {
                self.id = serde_json::from_slice(&value).ok().filter(is_number);
            }
            b"\"method\"" => self.has_method = value.first() == Some(&b'"'),
            _ => {}
        }
    }

    /// The number of the request, if it is one.
    fn request(self) -> Option<Value> {
        self.id.filter(|_| self.has_method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(line: &str) -> Value {
        let problem = serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line.as_bytes()).expect_err("no message");
        let answer = objection(line.as_bytes(), &problem).expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        json!([answer.get("id"), answer["error"]["code"]])
    }

    #[test]
    fn every_request_with_a_number_gets_an_answer_of_the_right_kind() {
        for (line, expected) in [
            ("nonsense", json!([null, PARSE_ERROR])),
            ("{\"id\": 1", json!([null, PARSE_ERROR])),
            ("[]", json!([null, INVALID_REQUEST])),
            ("7", json!([null, INVALID_REQUEST])),
            (r#"{"jsonrpc": "2.0", "id": 1, "method": 7}"#, json!([1, INVALID_REQUEST])),
            (r#"{"jsonrpc": "1.0", "id": "a", "method": "ping"}"#, json!(["a", INVALID_REQUEST])),
            (r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": 7}"#, json!([1, INVALID_PARAMS])),
            (
                r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {"n": 1e400}}}"#,
                json!([1, INVALID_PARAMS]),
            ),
        ] {
            assert_eq!(answered(line), expected, "{line}");
        }
    }

    #[test]
    fn the_number_of_a_long_request_is_read() {
        let read = |text: &str| {
            let mut skim = Skim::default();
            text.as_bytes().chunks(3).for_each(|chunk| skim.read(chunk));
            skim.request()
        };
        let nested = r#"{"method": "a", "params": {"id": 2, "x": ["}", "\\\"", {"id": 3}]}, "id": 1}"#;
        assert_eq!(read(nested), Some(json!(1)));
        assert_eq!(read(r#"{"id" : "a,\"b", "method":"m"}"#), Some(json!("a,\"b")));
        assert_eq!(read(r#"{"id": 1, "result": {"method": "m"}}"#), None);
        assert_eq!(read(r#"{"id": 1.5, "method": "m"}"#), None);
    }
}
