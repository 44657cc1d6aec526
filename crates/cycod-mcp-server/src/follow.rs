//! What a run says while it works, on its way to the caller: a burst at once, then at most ten messages a second,
//! however much is written. What is still to be told when it ends is in its answer.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use cycod_engine::{Event, Sink, diagnostic::readable};
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam};
use serde_json::Value as Json;
use tokio::{sync::Notify, time::Instant};

use crate::{caller::Caller, handles::State};

/// The least time between two rounds of messages.
const PAUSE: Duration = Duration::from_millis(100);

/// The most text of one message, in bytes; older lines give way.
const MOST_TEXT: usize = 4 * 1024;

/// How many reports of a tool may wait; older ones give way.
const MOST_NOTES: usize = 64;

/// Something that a tool reports by itself.
#[derive(Debug)]
enum Note {
    Progress(f64, Option<f64>, Option<String>),
    Log(LoggingLevel, String),
}

/// What waits to be told.
#[derive(Debug, Default)]
struct Waiting {
    /// Output since the last message.
    text: Vec<u8>,
    /// How many bytes of it had to give way.
    dropped: usize,
    notes: VecDeque<Note>,
    /// Whether the tool reports progress by itself, so that its numbers count and not ours.
    reports: bool,
    ended: bool,
}

/// Where a run writes and a messenger reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board(Arc<(Mutex<Waiting>, Notify)>);

impl Board {
    /// A board for a caller who wants to be told; `reports` when the tool reports its own progress.
    pub(crate) fn for_caller(caller: &Caller<'_>, reports: bool) -> Option<Self> {
        let is_wanted = match caller {
            Caller::Request { context, log } => context.meta.get_progress_token().is_some() || log.is_some(),
            Caller::Task(_) | Caller::Run(_) => true,
        };
        is_wanted.then(|| Self(Arc::new((Mutex::new(Waiting { reports, ..Waiting::default() }), Notify::new()))))
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.1.notify_one();
    }

    /// Says something of our own.
    pub(crate) fn say(&self, line: &str) {
        self.change(|waiting| waiting.add_text(format!("{line}\n").as_bytes()));
    }

    /// Says that nothing more will come.
    pub(crate) fn end(&self) {
        self.change(|waiting| waiting.ended = true);
    }

    /// Tells the caller what is written, until the run ends or the caller is gone.
    pub(crate) async fn tell(&self, caller: &Caller<'_>) {
        // A tool's own numbers may begin at nothing; they only have to grow.
        let mut last = None;
        let begun = Instant::now();
        let mut told_at: Option<Instant> = None;
        loop {
            self.0.1.notified().await;
            while let Some(due) = self.due(begun, told_at) {
                tokio::select! {
                    () = tokio::time::sleep_until(due) => {}
                    () = self.0.1.notified() => {}
                }
            }
            let (notes, text, ended) = {
                let mut waiting = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
                // The answer says what was not told before the end.
                let text = if waiting.ended { None } else { waiting.take_text() };
                (std::mem::take(&mut waiting.notes), text, waiting.ended)
            };
            if text.is_some() || !notes.is_empty() {
                told_at = Some(Instant::now());
            }
            let own = text.map(|text| Note::Progress(last.unwrap_or(0.0) + 1.0, None, Some(text)));
            for note in notes.into_iter().chain(own) {
                if let Note::Progress(done, ..) = note {
                    if last.is_some_and(|last| done <= last) {
                        continue;
                    }
                    last = Some(done);
                }
                if !tell(caller, note).await {
                    return;
                }
            }
            if ended {
                return;
            }
        }
    }

    /// Until when to wait before something is told; nothing when it is to be told now.
    ///
    /// The end waits for nothing, and a tool's own report only for the one before. The first text waits a moment, because a
    /// short call ends with it.
    fn due(&self, begun: Instant, told_at: Option<Instant>) -> Option<Instant> {
        let waiting = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = match told_at {
            _ if waiting.ended => return None,
            Some(told_at) => told_at + PAUSE,
            None if waiting.notes.is_empty() => begun + PAUSE,
            None => return None,
        };
        (due > Instant::now()).then_some(due)
    }
}

/// Tells one thing; returns whether there is still somebody to tell.
async fn tell(caller: &Caller<'_>, note: Note) -> bool {
    let (context, log) = match caller {
        Caller::Task(handle) | Caller::Run(handle) => {
            match note {
                Note::Progress(_, _, message) => handle.set(State::Working(message)),
                Note::Log(_, message) => handle.set(State::Working(Some(message))),
            }
            return true;
        }
        Caller::Request { context, log } => (context, log),
    };
    match note {
        Note::Progress(done, total, message) => {
            let Some(token) = context.meta.get_progress_token() else { return true };
            let mut param = ProgressNotificationParam::new(token, done);
            param.total = total;
            param.message = message;
            context.peer.notify_progress(param).await.is_ok()
        }
        Note::Log(level, message) => {
            if log.is_none_or(|least| rank(level) < rank(least)) {
                return true;
            }
            let param = LoggingMessageNotificationParam::new(level, Json::String(message));
            context.peer.notify_logging_message(param).await.is_ok()
        }
    }
}

/// How urgent a level is.
fn rank(level: LoggingLevel) -> usize {
    LEVELS.iter().position(|(_, known)| *known == level).unwrap_or_default()
}

const LEVELS: [(&str, LoggingLevel); 8] = [
    ("debug", LoggingLevel::Debug),
    ("info", LoggingLevel::Info),
    ("notice", LoggingLevel::Notice),
    ("warning", LoggingLevel::Warning),
    ("error", LoggingLevel::Error),
    ("critical", LoggingLevel::Critical),
    ("alert", LoggingLevel::Alert),
    ("emergency", LoggingLevel::Emergency),
];

impl Waiting {
    fn add_text(&mut self, bytes: &[u8]) {
        if bytes.len() > MOST_TEXT {
            self.dropped += self.text.len() + bytes.len() - MOST_TEXT;
            self.text.clear();
            self.text.extend_from_slice(&bytes[bytes.len() - MOST_TEXT..]);
            return;
        }
        self.text.extend_from_slice(bytes);
        if self.text.len() > MOST_TEXT {
            let surplus = self.text.len() - MOST_TEXT;
            // Whole lines give way.
            let line_end = self.text[surplus..].iter().position(|&byte| byte == b'\n');
            let cut = line_end.map_or(surplus, |at| surplus + at + 1);
            self.text.drain(..cut);
            self.dropped += cut;
        }
    }

    fn add_note(&mut self, note: Note) {
        self.reports |= matches!(note, Note::Progress(..));
        if self.notes.len() >= MOST_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(note);
    }

    /// The text that is ready: whole lines.
    fn take_text(&mut self) -> Option<String> {
        if self.reports {
            self.text.clear();
            return None;
        }
        let end = self.text.iter().rposition(|&byte| byte == b'\n')? + 1;
        let ready: Vec<u8> = self.text.drain(..end).collect();
        let text = readable(&String::from_utf8_lossy(ready.trim_ascii_end())).into_owned();
        let dropped = std::mem::take(&mut self.dropped);
        if text.is_empty() {
            return None;
        }
        Some(if dropped > 0 { format!("[… {dropped} bytes …]\n{text}") } else { text })
    }
}

/// The sink of one run: passes its output on to the board, and every event to `take`.
pub(crate) struct Follower<'a> {
    pub(crate) board: Option<&'a Board>,
}

impl Sink for Follower<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Some(board) = self.board {
            match event {
                Event::Output { bytes, .. } => board.change(|waiting| waiting.add_text(bytes)),
                Event::Progress { done, total, message, .. } => {
                    let message = message.as_deref().map(|message| readable(message).into_owned());
                    board.change(|waiting| waiting.add_note(Note::Progress(*done, *total, message)));
                }
                Event::Log { level, message, .. } => {
                    let level = LEVELS.iter().find(|(name, _)| name == level).map_or(LoggingLevel::Info, |(_, is)| *is);
                    board.change(|waiting| waiting.add_note(Note::Log(level, message.clone())));
                }
                _ => {}
            }
        }
    }
}
