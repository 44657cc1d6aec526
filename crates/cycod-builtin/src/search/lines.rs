use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

/// How many bytes of a line are shown.
const WIDTH: usize = 300;

/// How many of them stand before what was found.
const BEFORE: usize = 80;

/// A line to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// One that was found.
    Found(u64, String),
    /// One beside it.
    Beside(u64, String),
    /// The place of lines that are not shown.
    Gap,
}

/// Takes the lines of one file as they are found.
#[derive(Debug)]
pub(super) struct Lines<'m> {
    matcher: &'m RegexMatcher,
    room: usize,
    kept: usize,
    lines: Vec<Line>,
    /// How many were found, kept or not.
    pub(super) found: u64,
    /// Whether the file is not text.
    pub(super) is_binary: bool,
}

impl<'m> Lines<'m> {
    /// Keeps as many lines as there is room for, and counts the others.
    pub(super) fn new(matcher: &'m RegexMatcher, room: usize) -> Self {
        Self { matcher, room, kept: 0, lines: Vec::new(), found: 0, is_binary: false }
    }

    /// How many of the lines that were found are kept.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    pub(super) fn into_lines(self) -> Vec<Line> {
        self.lines
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.found += 1;
        if self.kept < self.room {
            self.kept += 1;
            let at = self.matcher.find(line.bytes()).ok().flatten().map_or(0, |found| found.start());
            self.lines.push(Line::Found(line.line_number().unwrap_or_default(), excerpt(line.bytes(), at)));
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        let is_kept = match line.kind() {
            SinkContextKind::Before => self.kept < self.room,
            _ => self.found == self.kept as u64,
        };
        if is_kept {
            self.lines.push(Line::Beside(line.line_number().unwrap_or_default(), excerpt(line.bytes(), 0)));
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.kept < self.room && self.kept > 0 {
            self.lines.push(Line::Gap);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}

/// The part of a line around `at` that is shown; what is not text in it is replaced.
fn excerpt(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= WIDTH {
        return String::from_utf8_lossy(line).into_owned();
    }
    let is_boundary = |&index: &usize| line.get(index).is_none_or(|byte| byte & 0xC0 != 0x80);
    let begin = (0..=at.saturating_sub(BEFORE).min(line.len())).rev().take(4).find(is_boundary).unwrap_or_default();
    let wanted = (begin + WIDTH).min(line.len());
    let end = (begin..=wanted).rev().take(4).find(is_boundary).unwrap_or(wanted);
    let text = String::from_utf8_lossy(&line[begin..end]);
    let (before, after) = (if begin > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{text}{after}")
}
