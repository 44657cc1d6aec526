//! What programs say: passed on while they run, and put together when they have ended.

use std::time::{Duration, Instant};

use cycod_process::Stream;
use cycod_run::Executed;

use crate::operations::Answer;

/// The least time between two lines that are passed on; what comes faster is only in the answer.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest line that is passed on.
const LONGEST: usize = 500;

/// Passes on lines as they come, some of them when there are many.
pub(crate) struct Lines<'f> {
    follow: &'f mut dyn FnMut(&str),
    /// What has come of each stream's last line.
    pending: [Vec<u8>; 2],
    last: Option<Instant>,
}

impl<'f> Lines<'f> {
    pub(crate) fn new(follow: &'f mut dyn FnMut(&str)) -> Self {
        Self { follow, pending: [Vec::new(), Vec::new()], last: None }
    }

    /// Takes what a program wrote.
    pub(crate) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let pending = &mut self.pending[stream as usize];
        let mut lines = bytes.split(|&byte| byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            let room = LONGEST.saturating_sub(pending.len());
            pending.extend_from_slice(&line[..line.len().min(room)]);
            if lines.peek().is_none() {
                break;
            }
            let is_due = self.last.is_none_or(|last| last.elapsed() >= PAUSE);
            if is_due && !pending.is_empty() {
                self.last = Some(Instant::now());
                (self.follow)(String::from_utf8_lossy(pending).trim_end());
            }
            pending.clear();
        }
    }
}

/// The answer of a program that has ended: what it printed, then what else it said, then how it ended if that was badly.
pub(crate) fn answer(executed: Executed, limit: Option<u64>) -> Answer {
    let Executed { exit_code, mut stdout, stderr, timed_out, truncated } = executed;
    let is_error = exit_code != 0;
    if !stderr.is_empty() {
        if !stdout.is_empty() {
            end_line(&mut stdout);
            stdout.extend_from_slice(b"--- stderr ---\n");
        }
        stdout.extend_from_slice(&stderr);
    }
    if truncated {
        end_line(&mut stdout);
        stdout.extend_from_slice(b"--- there was more than is kept ---\n");
    }
    if is_error {
        end_line(&mut stdout);
        let end = match limit {
            Some(limit) if timed_out => format!("ended after {limit} ms: raise `timeout` if it needs longer\n"),
            _ if timed_out => "ended because its time was over\n".to_owned(),
            _ => format!("exit code {exit_code}\n"),
        };
        stdout.extend_from_slice(end.as_bytes());
    }
    Answer { output: stdout, structured: None, is_error }
}

fn end_line(text: &mut Vec<u8>) {
    if text.last().is_some_and(|&last| last != b'\n') {
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_passed_on_whole() {
        let mut heard = Vec::new();
        let mut follow = |line: &str| heard.push(line.to_owned());
        let mut lines = Lines::new(&mut follow);
        lines.take(Stream::Stdout, b"fir");
        lines.take(Stream::Stderr, b"other\n");
        lines.last = None;
        lines.take(Stream::Stdout, b"st\r\nsecond\nthi");
        lines.last = None;
        lines.take(Stream::Stdout, &[b'x'; 1000]);
        lines.take(Stream::Stdout, b"\n");
        assert_eq!(heard[..2], ["other", "first"]);
        assert_eq!(heard[2], format!("thi{}", "x".repeat(LONGEST - 3)));
    }
}
