//! Finds lines in an output.

use std::{
    collections::VecDeque,
    fmt,
    time::{Duration, Instant},
};

use regex::bytes::{Regex, RegexBuilder};

use crate::{
    StoreError, StoredOutput,
    excerpt::{is_continuation, room, tokens},
};

/// How much of an output is looked at at once. A longer line is looked at in pieces.
const PIECE: usize = 1024 * 1024;
/// How much two pieces of one line share: a match up to this length is found wherever it is.
const SHARED: usize = 64 * 1024;
/// How many bytes of a line are shown at most.
const SHOWN: usize = 400;

/// What to look for, and how much to answer.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// A regular expression, matched within each line: `^` and `$` are its ends.
    pub pattern: &'a str,
    /// The byte to begin at: 0, or [`SearchResult::next`].
    pub from: u64,
    /// After how many matches to stop.
    pub max_matches: usize,
    /// How many lines to show before and after each match.
    pub context: usize,
    /// How many tokens the answer may have, as [`SearchResult`] displays it.
    pub cap: usize,
    /// After how much time to stop.
    pub time: Duration,
}

/// The lines that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResult {
    /// Matches and the lines around them, in order.
    pub lines: Vec<FoundLine>,
    /// How many of the lines are matches.
    pub matches: usize,
    /// The byte to go on from, when not everything was looked at.
    pub next: Option<u64>,
}

/// A line, or the part of a long line around a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    /// The line, counted from 1.
    pub number: u64,
    /// Where the match begins; of a line of context, where the line begins.
    pub offset: u64,
    /// Its text, with bytes that are not UTF-8 as `\xff`, and `…` where a long line was cut.
    pub text: String,
    /// Whether it matches, or stands around a match.
    pub is_match: bool,
}

/// As `grep` writes it: `12:text` for a match, `13-text` around one, `--` between groups. Then how to go on.
impl fmt::Display for SearchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = None;
        for line in &self.lines {
            if last.is_some_and(|last| last + 1 < line.number) {
                writeln!(f, "--")?;
            }
            writeln!(f, "{}{}{}", line.number, if line.is_match { ':' } else { '-' }, line.text)?;
            last = Some(line.number);
        }
        match (self.matches, self.next) {
            (0, None) => writeln!(f, "[no line matches]"),
            (0, Some(next)) => writeln!(f, "[no line matches so far; continue from byte {next}]"),
            (_, Some(next)) => writeln!(f, "[there is more; continue from byte {next}]"),
            (_, None) => Ok(()),
        }
    }
}

impl StoredOutput {
    /// Finds the lines that match, in one pass and with memory that depends on neither the size nor the lines.
    pub fn search(&self, search: &Search<'_>) -> Result<SearchResult, StoreError> {
        // Time is linear in the output whatever the pattern; these bound the factor.
        let regex = RegexBuilder::new(search.pattern).size_limit(1 << 20).dfa_size_limit(1 << 21).build();
        let regex = regex.map_err(|error| StoreError::Pattern(Box::new(error)))?;
        // More lines than there are tokens are never shown, so none of them are remembered.
        let search = &Search { context: search.context.min(search.cap), ..*search };
        let from = search.from.min(self.bytes());
        let number = self.line_of(from)?;
        let begin = self.line_start(number)?;
        let mut scan = Scan {
            kept: self,
            search,
            regex,
            shown: SHOWN.min(room(search.cap) / 8).max(16),
            found: SearchResult { lines: Vec::new(), matches: 0, next: None },
            // The last line says how to go on, with up to twenty digits.
            tokens: 18,
            line: Line { number, begin, is_shown: false },
            resume: from,
            earlier: VecDeque::new(),
            context_left: 0,
        };
        scan.run()?;
        Ok(scan.found)
    }
}

struct Scan<'a> {
    kept: &'a StoredOutput,
    search: &'a Search<'a>,
    regex: Regex,
    /// How many bytes of a line are shown.
    shown: usize,
    found: SearchResult,
    tokens: usize,
    line: Line,
    /// Before this byte everything was looked at.
    resume: u64,
    /// The lines that may become context of a match.
    earlier: VecDeque<Line>,
    /// How many lines after a match are still to be shown.
    context_left: usize,
}

/// The line at hand.
#[derive(Clone, Copy)]
struct Line {
    number: u64,
    begin: u64,
    is_shown: bool,
}

/// A piece of the line at hand.
struct Piece<'a> {
    bytes: &'a [u8],
    offset: u64,
    /// Whether the line ends with it.
    is_last: bool,
}

/// Whether to look on.
#[derive(PartialEq, Eq)]
enum Go {
    On,
    Stop,
}

impl Scan<'_> {
    fn run(&mut self) -> Result<(), StoreError> {
        let started = Instant::now();
        let mut held: Vec<u8> = Vec::new();
        let mut offset = self.line.begin.max(self.resume.saturating_sub(SHARED as u64));
        loop {
            let filled = held.len();
            let left = usize::try_from(self.kept.bytes() - offset).unwrap_or(usize::MAX);
            held.resize(PIECE.min(left), 0);
            self.kept.read_at(offset + filled as u64, &mut held[filled..])?;
            let is_end = held.len() == left;
            let mut at = 0;
            while let Some(length) = memchr::memchr(b'\n', &held[at..]) {
                let piece = Piece { bytes: &held[at..at + length], offset: offset + at as u64, is_last: true };
                if self.look(&piece)? == Go::Stop || self.end_line(offset + (at + length + 1) as u64)? == Go::Stop {
                    return Ok(());
                }
                at += length + 1;
            }
            if is_end {
                let piece = Piece { bytes: &held[at..], offset: offset + at as u64, is_last: true };
                if !piece.bytes.is_empty() && self.look(&piece)? == Go::On {
                    self.end_line(self.kept.bytes())?;
                }
                return Ok(());
            }
            if at == 0 {
                let piece = Piece { bytes: &held, offset, is_last: false };
                if self.look(&piece)? == Go::Stop {
                    return Ok(());
                }
                at = PIECE - SHARED;
            }
            held.drain(..at);
            offset += at as u64;
            if started.elapsed() > self.search.time {
                self.found.next = Some(self.resume.max(offset));
                return Ok(());
            }
        }
    }

    /// Looks for matches in a piece of the line at hand.
    fn look(&mut self, piece: &Piece<'_>) -> Result<Go, StoreError> {
        let bytes = if piece.is_last { piece.bytes.strip_suffix(b"\r").unwrap_or(piece.bytes) } else { piece.bytes };
        // A piece within a line is not searched from its first byte, or `^` would match there.
        let is_within_line = piece.offset > self.line.begin;
        let earliest = self.resume.max(piece.offset + u64::from(is_within_line));
        let mut at = usize::try_from(earliest - piece.offset).unwrap_or(usize::MAX);
        while at <= bytes.len() {
            let Some(found) = self.regex.find_at(bytes, at) else { break };
            // What touches the end may be longer, or no match at all; the next piece tells.
            if !piece.is_last && found.end() == bytes.len() && found.start() > bytes.len() - SHARED {
                break;
            }
            let (text, shown_until) = self.window(bytes, found.start());
            let offset = piece.offset + found.start() as u64;
            if self.show(FoundLine { number: self.line.number, offset, text, is_match: true })? == Go::Stop {
                self.found.next = Some(offset);
                return Ok(Go::Stop);
            }
            at = found.end().max(shown_until).max(found.start() + 1);
            self.resume = piece.offset + at as u64;
            self.context_left = self.search.context;
            if self.found.matches >= self.search.max_matches && at < bytes.len() {
                self.found.next = Some(self.resume);
                return Ok(Go::Stop);
            }
        }
        Ok(Go::On)
    }

    /// Goes to the line that begins at `next`.
    fn end_line(&mut self, next: u64) -> Result<Go, StoreError> {
        let line = self.line;
        if !line.is_shown && self.context_left > 0 {
            self.context_left -= 1;
            let context = vec![self.context(line)?];
            if self.fits(&context) {
                self.add(context);
                self.line.is_shown = true;
            }
        }
        self.earlier.push_back(self.line);
        if self.earlier.len() > self.search.context {
            self.earlier.pop_front();
        }
        self.line = Line { number: line.number + 1, begin: next, is_shown: false };
        self.resume = self.resume.max(next);
        let is_enough = self.found.matches >= self.search.max_matches && self.context_left == 0;
        if is_enough && next < self.kept.bytes() {
            self.found.next = Some(next);
        }
        Ok(if is_enough { Go::Stop } else { Go::On })
    }

    /// Shows a match with the lines before it that were not shown.
    fn show(&mut self, found: FoundLine) -> Result<Go, StoreError> {
        if self.found.matches >= self.search.max_matches {
            return Ok(Go::Stop);
        }
        let mut group = Vec::new();
        for line in self.earlier.iter().filter(|line| !line.is_shown) {
            group.push(self.context(*line)?);
        }
        group.push(found);
        if self.found.matches == 0 && !self.fits(&group) {
            // The first match is shown even if there is no room for what stands before it.
            group.drain(..group.len() - 1);
        } else if !self.fits(&group) {
            return Ok(Go::Stop);
        }
        self.add(group);
        self.found.matches += 1;
        self.line.is_shown = true;
        self.earlier.clear();
        Ok(Go::On)
    }

    fn fits(&self, lines: &[FoundLine]) -> bool {
        self.tokens + cost(lines) <= self.search.cap
    }

    fn add(&mut self, lines: Vec<FoundLine>) {
        self.tokens += cost(&lines);
        self.found.lines.extend(lines);
    }

    fn context(&self, line: Line) -> Result<FoundLine, StoreError> {
        let mut bytes = self.kept.block(line.begin, self.shown as u64 + 4)?;
        if let Some(newline) = memchr::memchr(b'\n', &bytes) {
            bytes.truncate(newline);
        }
        let (text, _) = self.window(bytes.strip_suffix(b"\r").unwrap_or(&bytes), 0);
        Ok(FoundLine { number: line.number, offset: line.begin, text, is_match: false })
    }

    /// Returns what is shown of a line around the byte at `at`, and where that ends.
    fn window(&self, bytes: &[u8], at: usize) -> (String, usize) {
        let mut begin = if bytes.len() <= self.shown { 0 } else { at.saturating_sub(self.shown / 4) };
        let mut end = bytes.len().min(begin + self.shown);
        begin = (begin..end).find(|&at| !is_continuation(bytes[at])).unwrap_or(begin);
        end = (begin..=end).rev().find(|&at| bytes.get(at).is_none_or(|byte| !is_continuation(*byte))).unwrap_or(end);
        let mut text = String::from(if begin > 0 { "…" } else { "" });
        for chunk in bytes[begin..end].utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
        }
        text.push_str(if end < bytes.len() { "…" } else { "" });
        (text, end)
    }
}

/// Estimates the tokens of lines as they are displayed: the number and its mark, the text, two newlines and `--`.
fn cost(lines: &[FoundLine]) -> usize {
    lines.iter().map(|line| tokens(&line.text) + tokens(&line.number.to_string()) + 2).sum()
}
