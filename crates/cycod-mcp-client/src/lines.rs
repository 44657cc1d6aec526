//! Messages as lines over the standard streams of a server that we started, within limits.

use std::{io, sync::Arc, time::Duration};

use cycod_process::{Conversation, Streams};
use cycod_run::ConfinedProgram;
use cycod_thread::{blocking, detach_task};
use rmcp::{
    RoleClient,
    model::{ErrorCode, ErrorData, NumberOrString, ServerJsonRpcMessage, ServerNotification},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    sync::Mutex,
    time::Instant,
};

use crate::{
    pipes::{self, Receiver, Sender},
    watch::Watch,
};

/// The code of an error that is ours and not the server's: its answer cannot be taken.
pub(crate) const BROKEN_ANSWER: ErrorCode = ErrorCode(i32::MIN);

/// How long a server whose input was closed has to end, and once more after it was asked to: together below two seconds.
const GRACE: Duration = Duration::from_millis(800);

/// How many messages that nobody asked for are looked at each second; the others are dropped.
const UNASKED_PER_SECOND: u32 = 1_000;

/// Messages as lines over the standard streams of a program that we started.
pub(crate) struct Lines {
    read: BufReader<Receiver>,
    write: Arc<Mutex<Option<Sender>>>,
    line: Vec<u8>,
    /// Whether the line is too long; then only its two ends are held.
    is_too_long: bool,
    limit: usize,
    unasked: Unasked,
    watch: Arc<Watch>,
    program: Option<Conversation>,
    /// What the program is confined to: its way to hosts is open as long as this is there.
    _confined: Option<Arc<ConfinedProgram>>,
}

impl Lines {
    /// Takes over a conversation, on a runtime. A message may have `limit` bytes.
    pub(crate) fn new(
        program: Conversation,
        streams: Streams,
        limit: usize,
        watch: &Arc<Watch>,
        confined: Option<Arc<ConfinedProgram>>,
    ) -> io::Result<Self> {
        let stdin = pipes::sender(streams.stdin)?;
        let stdout = pipes::receiver(streams.stdout)?;
        let mut stderr = pipes::receiver(streams.stderr)?;
        let listener = Arc::clone(watch);
        detach_task(async move {
            let mut bytes = vec![0; 8 * 1024];
            while let Ok(count @ 1..) = stderr.read(&mut bytes).await {
                listener.stderr(&bytes[..count]);
            }
        });
        Ok(Self {
            read: BufReader::with_capacity(64 * 1024, stdout),
            write: Arc::new(Mutex::new(Some(stdin))),
            line: Vec::new(),
            is_too_long: false,
            limit,
            unasked: Unasked::new(),
            watch: Arc::clone(watch),
            program: Some(program),
            _confined: confined,
        })
    }

    /// Reads up to the end of a line. Cancelling loses nothing: what was read is in `self`.
    async fn fill(&mut self) -> io::Result<Option<()>> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let taken = &available[..end.unwrap_or(available.len())];
            if !self.is_too_long && self.line.len() + taken.len() > self.limit {
                self.is_too_long = true;
                self.line.truncate(EDGE);
                self.line.shrink_to(2 * EDGE);
            }
            if self.is_too_long {
                self.line.extend_from_slice(&taken[taken.len().saturating_sub(EDGE)..]);
                let excess = self.line.len().saturating_sub(2 * EDGE);
                drop(self.line.drain(EDGE..EDGE + excess));
            } else {
                self.line.extend_from_slice(taken);
            }
            let consumed = end.map_or(available.len(), |end| end + 1);
            self.read.consume(consumed);
            if end.is_some() {
                return Ok(Some(()));
            }
        }
    }

    /// The message in the line that was read, if it is one that should be looked at.
    fn message(&mut self) -> Option<ServerJsonRpcMessage> {
        let mut line = std::mem::take(&mut self.line);
        let message = self.parse(&line);
        self.is_too_long = false;
        // One large message is no reason to hold its room for good.
        line.clear();
        line.shrink_to(64 * 1024);
        self.line = line;
        message
    }

    fn parse(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        if self.is_too_long {
            let why = format!("its answer has more than {} bytes", self.limit);
            return self.broken(line, why);
        }
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return None;
        }
        match serde_json::from_slice(line) {
            Ok(message) => self.admit(message),
            // A notification that nobody knows is fine; an answer that cannot be read must still end its call.
            Err(error) => match serde_json::from_slice::<Value>(line) {
                Ok(value) if value.get("method").is_some() => None,
                _ => self.broken(line, format!("its answer is not one of the protocol: {error}")),
            },
        }
    }

    /// Lets answers through, and what nobody asked for as long as it does not come too fast.
    fn admit(&mut self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        match &message {
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => return Some(message),
            ServerJsonRpcMessage::Notification(notification) => {
                if matches!(notification.notification, ServerNotification::ToolListChangedNotification(_)) {
                    self.watch.set_stale();
                }
            }
            ServerJsonRpcMessage::Request(_) => {}
        }
        if self.unasked.admit() {
            return Some(message);
        }
        self.watch.dropped();
        None
    }

    /// The error that ends the call which this line answers.
    fn broken(&self, line: &[u8], why: String) -> Option<ServerJsonRpcMessage> {
        match answered(line) {
            Some(id) => {
                let error = ErrorData::new(BROKEN_ANSWER, why, None);
                Some(ServerJsonRpcMessage::error(error, Some(NumberOrString::Number(id))))
            }
            None => {
                self.watch.garbage(line);
                None
            }
        }
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            match &mut *write.lock().await {
                Some(write) => write.write_all(&line).await,
                None => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if !matches!(self.fill().await, Ok(Some(()))) {
                return None;
            }
            if let Some(message) = self.message() {
                return Some(message);
            }
            // A server that never pauses must not keep everybody else waiting.
            tokio::task::yield_now().await;
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A thread that still writes to a server that does not read would hold the lock for ever.
        if let Ok(mut write) = tokio::time::timeout(Duration::from_millis(100), self.write.lock()).await {
            write.take();
        }
        if let Some(program) = self.program.take() {
            drop(blocking(move || program.end(GRACE)).await);
        }
        Ok(())
    }
}

/// How much of each end of a line that is too long is looked at.
const EDGE: usize = 256;

/// The request that a line answers, for lines that cannot be read as a whole. Ours are numbered.
fn answered(line: &[u8]) -> Option<i64> {
    let edges = [&line[..line.len().min(EDGE)], &line[line.len().saturating_sub(EDGE)..]];
    edges.into_iter().find_map(|edge| {
        let at = edge.windows(4).position(|window| window == b"\"id\"")?;
        let rest = edge[at + 4..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
    })
}

/// Counts what comes unasked, second by second.
struct Unasked {
    since: Instant,
    count: u32,
}

impl Unasked {
    fn new() -> Self {
        Self { since: Instant::now(), count: 0 }
    }

    fn admit(&mut self) -> bool {
        if self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self::new();
        }
        self.count += 1;
        self.count <= UNASKED_PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_recognised_by_either_end() {
        assert_eq!(answered(br#"{"jsonrpc":"2.0","id": 7,"result":{"#), Some(7));
        let late = format!(r#"{{"result":"{}","id":12}}"#, "x".repeat(1000));
        assert_eq!(answered(late.as_bytes()), Some(12));
        assert_eq!(answered(b"Server listening on 3000"), None);
        assert_eq!(answered(br#"{"id":"seven"}"#), None);
    }
}
