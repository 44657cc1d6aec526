//! What a run says while it works, on its way to the host: at most ten messages a second, however much is written.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use cycod_engine::{Event, Sink};
use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
};
use tokio::sync::Notify;

/// The least time between two messages.
const PAUSE: Duration = Duration::from_millis(100);

/// The most text of one message, in bytes; older lines give way.
const MOST_TEXT: usize = 4 * 1024;

/// How many steps of progress may wait; older ones give way.
const MOST_STEPS: usize = 64;

/// What waits to be told.
#[derive(Debug, Default)]
struct Waiting {
    /// Output since the last message, whole lines first.
    text: Vec<u8>,
    /// How many bytes of it had to give way.
    dropped: usize,
    /// What the tool itself reported.
    steps: VecDeque<(f64, Option<f64>, Option<String>)>,
    /// Whether the tool reports by itself, so that its numbers count and not ours.
    reports: bool,
    ended: bool,
}

/// Where a run writes and a messenger reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board(Arc<(Mutex<Waiting>, Notify)>);

impl Board {
    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.1.notify_one();
    }

    /// Says that nothing more will come.
    pub(crate) fn end(&self) {
        self.change(|waiting| waiting.ended = true);
    }

    /// Tells the host what is written, until the run ends or the host is gone.
    pub(crate) async fn tell(&self, peer: &Peer<RoleServer>, token: &ProgressToken) {
        let mut last = 0.0;
        loop {
            self.0.1.notified().await;
            let (steps, text, ended) = {
                let mut waiting = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
                let steps = std::mem::take(&mut waiting.steps);
                (steps, waiting.take_text(), waiting.ended)
            };
            let own = text.map(|text| (last + 1.0, None, Some(text)));
            for (done, total, message) in steps.into_iter().chain(own) {
                if done <= last && last > 0.0 {
                    continue;
                }
                last = done;
                let mut param = ProgressNotificationParam::new(token.clone(), done);
                param.total = total;
                param.message = message;
                if peer.notify_progress(param).await.is_err() {
                    return;
                }
            }
            if ended {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Waiting {
    fn add_text(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
        if self.text.len() > MOST_TEXT {
            let surplus = self.text.len() - MOST_TEXT;
            // Whole lines give way.
            let cut =
                self.text[surplus..].iter().position(|&byte| byte == b'\n').map_or(surplus, |at| surplus + at + 1);
            self.text.drain(..cut);
            self.dropped += cut;
        }
    }

    /// The text that is ready: whole lines, or everything at the end.
    fn take_text(&mut self) -> Option<String> {
        if self.reports {
            self.text.clear();
            return None;
        }
        let end = if self.ended { self.text.len() } else { self.text.iter().rposition(|&byte| byte == b'\n')? + 1 };
        let ready: Vec<u8> = self.text.drain(..end).collect();
        let text = String::from_utf8_lossy(ready.trim_ascii_end()).into_owned();
        let dropped = std::mem::take(&mut self.dropped);
        if text.is_empty() {
            return None;
        }
        Some(if dropped > 0 { format!("[… {dropped} bytes …]\n{text}") } else { text })
    }
}

/// The sink of one run: passes its output on to the board, and to `take` every byte of it.
pub(crate) struct Follower<F> {
    pub(crate) board: Option<Board>,
    pub(crate) take: F,
}

impl<F: FnMut(&Event<'_>)> Sink for Follower<F> {
    fn event(&mut self, event: &Event<'_>) {
        if let Some(board) = &self.board {
            match event {
                Event::Output { bytes, .. } => board.change(|waiting| waiting.add_text(bytes)),
                Event::Progress { done, total, message, .. } => board.change(|waiting| {
                    waiting.reports = true;
                    if waiting.steps.len() >= MOST_STEPS {
                        waiting.steps.pop_front();
                    }
                    waiting.steps.push_back((*done, *total, message.clone()));
                }),
                _ => {}
            }
        }
        (self.take)(event);
    }
}
