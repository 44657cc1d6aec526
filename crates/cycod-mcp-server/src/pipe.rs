//! Messages as lines over the standard streams, from a host that may send anything.

use std::{io, sync::Arc};

use cycod_engine::diagnostic::visible_json;
use cycod_thread::{Task, task};
use rmcp::{
    RoleServer,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{Notify, mpsc},
};

/// The longest message that is read, in bytes; a longer one is passed over.
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
    /// Whether the rest of the line belongs to a message that is too long.
    is_passing_over: bool,
    /// Whether a request has come. Until then there is nothing that another message could be about.
    is_met: bool,
    answers: Option<mpsc::Sender<Vec<u8>>>,
    writing: Option<Task<()>>,
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
            is_passing_over: false,
            is_met: false,
            answers: Some(sender),
            writing: Some(task(write(writer, is_terminal, answers))),
            ended,
        }
    }

    /// Reads on until `line` holds a whole one; `false` at the end of input. May be dropped and called again at any time.
    async fn read_line(&mut self) -> bool {
        loop {
            let Ok(available) = self.reader.fill_buf().await else { return false };
            if available.is_empty() {
                return false;
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            self.is_passing_over |= self.line.len() + taken > LONGEST;
            if self.is_passing_over {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.reader.consume(taken);
            if end.is_some() && !std::mem::take(&mut self.is_passing_over) {
                return true;
            }
        }
    }
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
            if !self.read_line().await {
                self.ended.notify_one();
                return None;
            }
            let line = std::mem::take(&mut self.line);
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

/// What is answered to JSON that is no message. What is not even JSON gets no answer: it may be our own, sent back.
fn objection(line: &[u8], problem: &serde_json::Error) -> Option<Vec<u8>> {
    let sent: Value = serde_json::from_slice(line).ok()?;
    let id = sent.get("id").filter(|id| sent["method"].is_string() && (id.is_string() || id.is_i64() || id.is_u64()));
    let (code, what) = if id.is_some() { (-32602, "the parameters") } else { (-32600, "the message") };
    let mut answer = json!({"jsonrpc": "2.0"});
    if let Some(id) = id {
        answer["id"] = id.clone();
    }
    answer["error"] = json!({"code": code, "message": format!("{what} cannot be understood: {problem}")});
    Some(format!("{answer}\n").into_bytes())
}
