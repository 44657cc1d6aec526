use std::time::{Duration, Instant};

use cycod_process::Stream;

/// The least time between two lines that are passed on; what comes faster is only in the answer.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest line that is passed on.
const LONGEST: usize = 500;

/// Passes on lines as they come, some of them when there are many.
pub struct LineFollower<'f> {
    follow: &'f mut dyn FnMut(&str),
    /// What has come of each stream's last line.
    pending: [Vec<u8>; 2],
    last: Option<Instant>,
}

impl<'f> LineFollower<'f> {
    /// Passes them on to `follow`.
    pub fn new(follow: &'f mut dyn FnMut(&str)) -> Self {
        Self { follow, pending: [Vec::new(), Vec::new()], last: None }
    }

    /// Takes what a program wrote.
    pub fn take(&mut self, stream: Stream, bytes: &[u8]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_passed_on_whole() {
        let mut heard = Vec::new();
        let mut follow = |line: &str| heard.push(line.to_owned());
        let mut lines = LineFollower::new(&mut follow);
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
