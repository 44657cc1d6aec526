//! The processes in which handlers run, kept from one call to the next.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fmt,
    io::{ErrorKind, PipeReader, Read as _, Write as _},
    path::PathBuf,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SendError, Sender, SyncSender, channel, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use cycod_diagnostic::{Code, Refusal};
use cycod_process::{Conversation, Ending, Spec, Stop, Streams};
use cycod_script::{
    Answers, Codec,
    protocol::{Failure, FromWorker, HostReply, HostRequest, Log, ReplyError, ToWorker, WorkerCall},
};
use cycod_thread::Thread;
use serde_json::Value;
use tempfile::TempDir;

use crate::{confine::Held, failure::not_started};

/// How many workers wait for their next call at the most; the one that has waited longest goes first.
const MOST_IDLE: usize = 16;

/// How long a worker waits for its next call.
const LONGEST_IDLE: Duration = Duration::from_secs(600);

/// How often it is looked whether anybody still waits for a call.
const LOOK: Duration = Duration::from_millis(20);

/// How long a worker that was told to end has until it is killed.
const GRACE: Duration = Duration::from_millis(100);

/// How many messages and lines of a worker may wait for us; then it waits.
const QUEUE: usize = 256;

/// How much of what a worker prints is kept, for the case that it ends without an answer.
const LAST_WORDS: usize = 4096;

/// Processes that carry out handlers, one call at a time each.
///
/// A worker keeps what its interpreter keeps: data that one call loads is there for the next of the same session. Calls share
/// one when they are for the same language, under the same terms, with the same environment. One that ends, breaks the
/// protocol or is late is ended with everything that it started, and the next call gets a fresh one. Dropping this ends all.
#[derive(Debug, Default)]
pub struct Workers {
    engine: Option<(PathBuf, Vec<OsString>)>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Idle>,
    /// Sessions whose one worker is at work.
    busy: BTreeSet<String>,
}

#[derive(Debug)]
struct Idle {
    key: String,
    worker: Running,
    since: Instant,
}

impl Workers {
    /// Returns workers for every language. `engine` is the program, with its arguments, that carries out scripts of the
    /// engine; without one they are refused.
    pub fn new(engine: Option<(PathBuf, Vec<OsString>)>) -> Self {
        Self { engine, ..Self::default() }
    }

    /// Ends the workers that wait, so that the next calls get fresh ones.
    pub fn clear(&self) {
        let idle = std::mem::take(&mut self.state().idle);
        drop(idle);
    }

    /// How many workers wait for a call.
    pub fn idle(&self) -> usize {
        self.state().idle.len()
    }

    /// The program of the engine.
    pub(crate) fn engine(&self) -> Option<&(PathBuf, Vec<OsString>)> {
        self.engine.as_ref()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the worker called `key`, starting it if need be; where there is to be one only, waits for it.
    pub(crate) fn take(
        &self,
        key: &str,
        is_only_one: bool,
        end: &End<'_>,
        start: impl FnOnce() -> Result<Running, Refusal>,
    ) -> Result<Taken<'_>, Broken> {
        let mut state = self.state();
        while is_only_one && state.busy.contains(key) {
            end.look()?;
            state = self.freed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        let mut old = Vec::new();
        let mut found = None;
        while let Some(at) = state.idle.iter().rposition(|idle| idle.key == key) {
            let mut idle = state.idle.remove(at);
            if idle.worker.is_over() {
                old.push(idle);
            } else {
                found = Some(idle.worker);
                break;
            }
        }
        if is_only_one {
            state.busy.insert(key.to_owned());
        }
        drop(state);
        drop(old);
        let mut taken = Taken { workers: self, key: key.to_owned(), is_only_one, worker: found };
        if taken.worker.is_none() {
            taken.worker = Some(start().map_err(Broken::Refused)?);
        }
        Ok(taken)
    }
}

/// A worker that nobody else uses.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    workers: &'a Workers,
    key: String,
    is_only_one: bool,
    worker: Option<Running>,
}

impl Taken<'_> {
    /// Makes a call, and keeps the worker for the next unless it broke.
    pub(crate) fn call<A: Answerer>(
        mut self,
        call: WorkerCall,
        asks: &A,
        end: &End<'_>,
        follow: &mut dyn FnMut(&str, &str),
    ) -> Result<Result<Value, Failure>, Broken> {
        let Some(mut worker) = self.worker.take() else { return Err(Broken::Ended(String::new())) };
        let answer = worker.call(call, asks, end, follow);
        if answer.is_ok() {
            let mut state = self.workers.state();
            let late = state.idle.iter().position(|idle| idle.since.elapsed() > LONGEST_IDLE);
            let surplus = late.or((state.idle.len() >= MOST_IDLE).then_some(0));
            let surplus = surplus.map(|at| state.idle.remove(at));
            state.idle.push(Idle { key: self.key.clone(), worker, since: Instant::now() });
            drop(state);
            drop(surplus);
        }
        answer
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if self.is_only_one {
            self.workers.state().busy.remove(&self.key);
            self.workers.freed.notify_all();
        }
    }
}

/// Does what a worker asks for.
pub(crate) trait Answerer: Sync {
    /// Whether an ask takes so long that others are not to wait for it.
    fn is_slow(&self, ask: &HostRequest) -> bool;

    /// Does it.
    fn answer(&self, ask: &HostRequest) -> Result<Value, ReplyError>;
}

/// When a call is over, whatever its worker does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'a> {
    pub(crate) deadline: Instant,
    pub(crate) stop: &'a Stop,
}

impl End<'_> {
    fn look(&self) -> Result<(), Broken> {
        if self.stop.is_raised() {
            Err(Broken::Stopped)
        } else if Instant::now() >= self.deadline {
            Err(Broken::TimedOut)
        } else {
            Ok(())
        }
    }
}

/// Why a call has neither a result nor a failure.
#[derive(Debug)]
pub(crate) enum Broken {
    /// Its time was over.
    TimedOut,
    /// Somebody stopped it.
    Stopped,
    /// The worker ended, or said something that is no answer: what is known of why.
    Ended(String),
    /// The call cannot be told to a worker.
    Unfit(String),
    /// The worker did not start.
    Refused(Refusal),
}

/// What a worker's threads have heard.
enum Heard {
    Message(FromWorker),
    /// Something was printed.
    Line(String),
    /// There will be no more messages: why, where it is known.
    Over(Option<String>),
}

/// A worker's process.
pub(crate) struct Running {
    conversation: Option<Conversation>,
    input: Sender<Vec<u8>>,
    heard: Receiver<Heard>,
    codec: Codec,
    last_words: String,
    /// What it is held to: the way to hosts is open as long as this is there.
    _held: Option<Held>,
    _directory: TempDir,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("codec", &self.codec).finish_non_exhaustive()
    }
}

impl Running {
    /// Starts a worker under the terms of `spec`, which is held to `held`; `directory` goes when it ends.
    pub(crate) fn start(spec: &Spec, held: Option<Held>, codec: Codec, directory: TempDir) -> Result<Self, Refusal> {
        let (conversation, streams) = Conversation::start_as(spec).map_err(|error| *not_started(&error).refusal)?;
        let Streams { mut stdin, stdout, stderr } = streams;
        let (input, to_write) = channel::<Vec<u8>>();
        let (tell, heard) = sync_channel(QUEUE);
        // A worker that does not read must not keep us from looking at the clock.
        let writing = Thread::named("worker-input").detach(move || {
            for bytes in to_write {
                if stdin.write_all(&bytes).is_err() {
                    break;
                }
            }
        });
        let listening = Thread::named("worker-output").detach(move || listen(codec, stdout, stderr, &tell));
        writing.and(listening).map_err(|error| {
            Refusal::new(Code::NotStarted, format!("there is no thread to speak with the worker: {error}"))
        })?;
        Ok(Self {
            conversation: Some(conversation),
            input,
            heard,
            codec,
            last_words: String::new(),
            _held: held,
            _directory: directory,
        })
    }

    fn is_over(&mut self) -> bool {
        self.conversation.as_mut().is_none_or(Conversation::is_over)
    }

    fn call<A: Answerer>(
        &mut self,
        call: WorkerCall,
        asks: &A,
        end: &End<'_>,
        follow: &mut dyn FnMut(&str, &str),
    ) -> Result<Result<Value, Failure>, Broken> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let id = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.last_words.clear();
        let message = self.codec.encode(&ToWorker::Call { id, call: Box::new(call) });
        self.send(message.map_err(|error| Broken::Unfit(error.to_string()))?);
        let (input, codec) = (self.input.clone(), self.codec);
        let reply = move |to: u64, answer: Result<Value, ReplyError>| {
            let bytes = codec.encode(&ToWorker::Reply { id, reply: HostReply { to, answer } }).or_else(|error| {
                let answer = Err(ReplyError { message: error.to_string(), code: None });
                codec.encode(&ToWorker::Reply { id, reply: HostReply { to, answer } })
            });
            // A worker that is gone is noticed by what it no longer says.
            drop(bytes.map(|bytes| input.send(bytes)));
        };
        thread::scope(|scope| {
            loop {
                let heard = match self.heard.recv_timeout(LOOK) {
                    Ok(heard) => heard,
                    Err(RecvTimeoutError::Timeout) => {
                        end.look()?;
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => Heard::Over(None),
                };
                match heard {
                    Heard::Message(FromWorker::Ready(_)) => {}
                    Heard::Message(FromWorker::Result { id: of, value }) if of == id => return Ok(Ok(value)),
                    Heard::Message(FromWorker::Failure { id: of, failure }) if of == id => return Ok(Err(failure)),
                    Heard::Message(FromWorker::Log { log, .. }) => {
                        let Log { level, message } = log;
                        message.lines().for_each(|line| follow(level_name(level), line));
                    }
                    Heard::Message(FromWorker::Ask { id: of, ask }) if of == id => {
                        if asks.is_slow(&ask) {
                            let reply = reply.clone();
                            scope.spawn(move || reply(ask.number, asks.answer(&ask)));
                        } else {
                            reply(ask.number, asks.answer(&ask));
                        }
                    }
                    // What earlier calls left running speaks late.
                    Heard::Message(_) => {}
                    Heard::Line(line) => {
                        self.remember(&line);
                        follow("info", &line);
                    }
                    Heard::Over(why) => return Err(Broken::Ended(self.why_over(why))),
                }
                end.look()?;
            }
        })
    }

    fn send(&self, bytes: Vec<u8>) {
        // A worker that is gone is noticed by what it no longer says.
        drop(self.input.send(bytes));
    }

    fn remember(&mut self, line: &str) {
        self.last_words.push_str(line);
        self.last_words.push('\n');
        if let Some(surplus) = self.last_words.len().checked_sub(LAST_WORDS) {
            let cut = (surplus..=self.last_words.len()).find(|&at| self.last_words.is_char_boundary(at));
            self.last_words.drain(..cut.unwrap_or(0));
        }
    }

    /// What is known of why a worker says nothing more.
    fn why_over(&mut self, why: Option<String>) -> String {
        let ending = self.conversation.as_mut().and_then(|conversation| conversation.wait(GRACE));
        let how = match (why, ending) {
            (Some(why), _) => why,
            (None, Some(Ending::Exited(code))) => format!("its process ended with exit code {code}"),
            (None, Some(Ending::Signaled(signal))) => format!("its process was ended by signal {signal}"),
            (None, _) => "its process closed the channel".to_owned(),
        };
        match self.last_words.trim() {
            "" => how,
            words => format!("{how}; it said last: {words}"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The threads end when the pipes do.
        drop(self.conversation.take());
    }
}

fn level_name(level: cycod_script::protocol::LogLevel) -> &'static str {
    use cycod_script::protocol::LogLevel;
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warning",
        LogLevel::Error => "error",
    }
}

/// Passes on what a worker answers and prints, in the order in which it did: what it printed before an answer comes before
/// the answer, although it takes another way.
#[cfg(unix)]
fn listen(codec: Codec, stdout: PipeReader, stderr: PipeReader, tell: &SyncSender<Heard>) {
    use cycod_script::protocol::{LineError, MessageError};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let is_set = [&stdout, &stderr].into_iter().try_for_each(|pipe| {
        let flags = rustix::fs::fcntl_getfl(pipe)?;
        rustix::fs::fcntl_setfl(pipe, flags | rustix::fs::OFlags::NONBLOCK)
    });
    if let Err(error) = is_set {
        return drop(tell.send(Heard::Over(Some(error.to_string()))));
    }
    let mut answers = Answers::new(codec, stdout);
    let mut printed = Printed::new(stderr);
    loop {
        let over = match answers.next() {
            Ok(Some(message)) => {
                if printed.drain(tell).is_err() {
                    return;
                }
                printed.end(tell);
                if tell.send(Heard::Message(message)).is_err() {
                    return;
                }
                continue;
            }
            Err(MessageError::Line(LineError::Read(error))) if error.kind() == ErrorKind::WouldBlock => {
                let mut pipes = vec![PollFd::new(answers.input(), PollFlags::IN)];
                if !printed.is_over {
                    pipes.push(PollFd::new(&printed.stream, PollFlags::IN));
                }
                // An interrupted wait is a look too early.
                _ = poll(&mut pipes, None);
                if printed.drain(tell).is_err() {
                    return;
                }
                continue;
            }
            Ok(None) => None,
            Err(error) => Some(error.to_string()),
        };
        // What is printed at the end may still be on its way; who printed it may be another than who answers.
        let until = Instant::now() + GRACE;
        while !printed.is_over
            && let Some(left) = until.checked_duration_since(Instant::now())
        {
            let longest = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
            _ = poll(&mut [PollFd::new(&printed.stream, PollFlags::IN)], Some(&longest));
            if printed.drain(tell).is_err() {
                return;
            }
        }
        printed.end(tell);
        return drop(tell.send(Heard::Over(over)));
    }
}

/// As above, where nothing waits for two pipes at once: the order is not kept.
#[cfg(not(unix))]
fn listen(codec: Codec, stdout: PipeReader, stderr: PipeReader, tell: &SyncSender<Heard>) {
    let printing = Thread::named("worker-errors").detach({
        let tell = tell.clone();
        move || {
            let mut printed = Printed::new(stderr);
            drop(printed.drain(&tell));
            printed.end(&tell);
        }
    });
    if let Err(error) = printing {
        return drop(tell.send(Heard::Over(Some(error.to_string()))));
    }
    let mut answers = Answers::new(codec, stdout);
    loop {
        let heard = match answers.next() {
            Ok(Some(message)) => Heard::Message(message),
            Ok(None) => Heard::Over(None),
            Err(error) => Heard::Over(Some(error.to_string())),
        };
        let is_over = matches!(heard, Heard::Over(_));
        if tell.send(heard).is_err() || is_over {
            break;
        }
    }
}

/// What a worker prints, on its way to the listener.
struct Printed {
    stream: PipeReader,
    lines: Lines,
    is_over: bool,
}

impl Printed {
    fn new(stream: PipeReader) -> Self {
        Self { stream, lines: Lines::default(), is_over: false }
    }

    /// Passes on what there is. Fails when nobody listens any more.
    fn drain(&mut self, tell: &SyncSender<Heard>) -> Result<(), SendError<Heard>> {
        let mut bytes = [0; 8192];
        let mut sent = Ok(());
        while !self.is_over && sent.is_ok() {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.is_over = true,
                Ok(count) => self.lines.push(&bytes[..count], &mut |line| {
                    if sent.is_ok() {
                        sent = tell.send(Heard::Line(line));
                    }
                }),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.is_over = true,
            }
        }
        sent
    }

    /// Passes on a last line that has no end.
    fn end(&mut self, tell: &SyncSender<Heard>) {
        if let Some(line) = self.lines.end() {
            drop(tell.send(Heard::Line(line)));
        }
    }
}

/// Bytes that become lines of text, none of them too long.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    const LONGEST: usize = 16 << 10;

    /// Takes bytes, and hands over the lines that end in them.
    pub(crate) fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(String)) {
        for &byte in bytes {
            if byte == b'\n' || self.0.len() >= Self::LONGEST {
                each(String::from_utf8_lossy(&self.0).into_owned());
                self.0.clear();
            }
            if byte != b'\n' {
                self.0.push(byte);
            }
        }
    }

    /// What came after the last line.
    pub(crate) fn end(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.0);
        (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn what_is_printed_becomes_lines() {
        let (mut lines, mut heard) = (Lines::default(), Vec::new());
        for bytes in [&b"one\ntw"[..], b"o\n\n\xff", b"end"] {
            lines.push(bytes, &mut |line| heard.push(line));
        }
        assert_eq!(heard, ["one", "two", ""]);
        assert_eq!((lines.end().as_deref(), lines.end()), (Some("\u{fffd}end"), None));
        let long = vec![b'x'; Lines::LONGEST + 1];
        lines.push(&long, &mut |line| heard.push(line));
        assert_eq!((heard[3].len(), lines.end().as_deref()), (Lines::LONGEST, Some("x")));
    }
}
