//! What happens on a connection besides answers.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use cycod_run::RemoteNews;
use rmcp::model::ProgressToken;
use tokio::sync::Notify;

use crate::text::line;

/// How much of a server's standard error is kept.
const STDERR_KEPT: usize = 64 * 1024;

/// How much of a line that is no message is shown.
const SHOWN: usize = 200;

/// Where what a server says about a call goes. A full one loses some: nobody may slow the connection down.
pub(crate) type Follow = std::sync::mpsc::SyncSender<RemoteNews>;

/// What happens on a connection besides answers.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    stderr: Mutex<VecDeque<u8>>,
    calls: Mutex<HashMap<ProgressToken, Call>>,
    garbage: Mutex<Option<String>>,
    garbage_count: AtomicU64,
    dropped: AtomicU64,
    is_stale: AtomicBool,
    /// Told when the lists may have changed.
    pub(crate) changed: Notify,
}

#[derive(Debug)]
struct Call {
    follow: Follow,
    progress: f64,
}

impl Watch {
    /// Keeps the end of what a server writes to its standard error.
    pub(crate) fn stderr(&self, bytes: &[u8]) {
        let mut kept = lock(&self.stderr);
        kept.extend(bytes);
        let excess = kept.len().saturating_sub(STDERR_KEPT);
        drop(kept.drain(..excess));
    }

    /// The last lines of a server's standard error, safe to show.
    pub(crate) fn last_words(&self, lines: usize) -> String {
        self.words(0, lines)
    }

    /// The first and the last lines of a server's standard error, safe to show. Some programs begin with what is wrong, and go on
    /// with how they are used.
    pub(crate) fn words(&self, first: usize, last: usize) -> String {
        let kept: Vec<u8> = lock(&self.stderr).iter().copied().collect();
        let text = String::from_utf8_lossy(&kept);
        let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let lines: Vec<&str> = if first == 0 || all.len() <= first + last {
            all[all.len().saturating_sub(first + last)..].to_vec()
        } else {
            [&all[..first], &["…"], &all[all.len() - last..]].concat()
        };
        lines.into_iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Notes a line that is no message; servers print such things to the wrong stream.
    pub(crate) fn garbage(&self, bytes: &[u8]) {
        self.garbage_count.fetch_add(1, Ordering::Relaxed);
        lock(&self.garbage).get_or_insert_with(|| line(&String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)])));
    }

    /// Notes a message that was not looked at because there were too many.
    pub(crate) fn dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// What a person should know of how the server behaves.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let garbage = self.garbage_count.load(Ordering::Relaxed);
        if let Some(first) = &*lock(&self.garbage) {
            warnings
                .push(format!("skipped {garbage} that are no messages, such as `{first}`", garbage = lines(garbage)));
        }
        let dropped = self.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            warnings.push(format!("ignored {dropped} of its notifications and requests: they came too fast"));
        }
        warnings
    }

    /// The tools may have changed since they were listed.
    pub(crate) fn set_stale(&self) {
        self.is_stale.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Returns whether the tools may have changed, once.
    pub(crate) fn take_stale(&self) -> bool {
        self.is_stale.swap(false, Ordering::AcqRel)
    }

    /// Sends what is said about a call to `follow`, until the returned value is dropped.
    pub(crate) fn follow(&self, token: ProgressToken, follow: Follow) -> Following<'_> {
        lock(&self.calls).insert(token.clone(), Call { follow, progress: f64::NEG_INFINITY });
        Following { watch: self, token }
    }

    /// Passes progress on to the call it belongs to; it must grow.
    pub(crate) fn progress(&self, token: &ProgressToken, progress: f64, total: Option<f64>, message: Option<&str>) {
        let mut calls = lock(&self.calls);
        let Some(call) = calls.get_mut(token).filter(|call| progress > call.progress) else { return };
        call.progress = progress;
        let news = RemoteNews::Progress { done: progress, total, message: message.map(line) };
        drop(call.follow.try_send(news));
    }

    /// Passes a log message on to every call: it does not say to which it belongs.
    pub(crate) fn log(&self, level: &'static str, message: &str) {
        let news = RemoteNews::Log { level, message: line(message) };
        for call in lock(&self.calls).values() {
            drop(call.follow.try_send(news.clone()));
        }
    }
}

/// A call whose progress is followed.
pub(crate) struct Following<'a> {
    watch: &'a Watch,
    token: ProgressToken,
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        lock(&self.watch.calls).remove(&self.token);
    }
}

fn lines(count: u64) -> String {
    format!("{count} {}", if count == 1 { "line" } else { "lines" })
}

/// Nothing here leaves half a change behind, so a panic elsewhere does not matter.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_few() {
        let watch = Watch::default();
        watch.stderr(b"one\ntwo\n\n\x1b[2Jthree\n");
        assert_eq!(watch.last_words(2), "two\n\\u{1b}[2Jthree");
        assert_eq!(watch.words(1, 2), "one\ntwo\n\\u{1b}[2Jthree");
        assert_eq!(watch.words(1, 1), "one\n…\n\\u{1b}[2Jthree");
        watch.stderr(&[b'x'; STDERR_KEPT]);
        assert!(watch.last_words(5).len() < 600);
    }
}
