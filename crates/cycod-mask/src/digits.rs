//! Secrets of digits, as programs print numbers: with separators, in groups, over several lines.

use crate::words::{Tracker, Unit, Words};

/// No line of digits needs to be longer than this to be one of several of the same number, broken by the program that wrote it.
const LONG_LINE: usize = 40;

/// So much of a secret is not read by chance.
const NO_CHANCE: usize = 4;

/// More than this between two digits of a line ends them.
const LONGEST_GAP: usize = 8;

/// The same where a line ends between them: the next one may be indented.
const LONGEST_INDENT: usize = 64;

/// So far back something may stand on which it depends what is read: the digits of a long line, with the gaps between them.
pub(super) const BEFORE: usize = LONG_LINE * (LONGEST_GAP + 3);

/// How bytes are written as digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Six bits each (RFC 4648, both alphabets).
    Base64,
    /// Four bits each, of either case, also with blanks, colons, commas or `0x` between the bytes.
    Hex,
}

impl Base {
    fn digit(self, byte: u8) -> Option<u8> {
        match (self, byte) {
            (_, b'0'..=b'9') => Some(byte - b'0' + if self == Self::Base64 { 52 } else { 0 }),
            (Self::Base64, b'A'..=b'Z') => Some(byte - b'A'),
            (Self::Base64, b'a'..=b'z') => Some(byte - b'a' + 26),
            (Self::Base64, b'+' | b'-') => Some(62),
            (Self::Base64, b'/' | b'_') => Some(63),
            (Self::Hex, b'a'..=b'f') => Some(byte - b'a' + 10),
            (Self::Hex, b'A'..=b'F') => Some(byte - b'A' + 10),
            _ => None,
        }
    }

    /// The characters that write a digit.
    pub(super) fn written(self, digit: u8) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |byte| self.digit(*byte) == Some(digit))
    }

    /// The first four digits of a text, one of which may be shared with what stands before; once for each place in a digit
    /// where its first byte may begin.
    pub(super) fn begin(self, text: [u8; 4]) -> Vec<[Vec<u8>; 4]> {
        let bits = u32::from_be_bytes(text);
        let (width, shared) = match self {
            Self::Base64 => (6, &[0, 2, 4][..]),
            Self::Hex => (4, &[0][..]),
        };
        let begin = |shared: &u32| {
            [0, 1, 2, 3].map(|index: u32| {
                let mask = (1_u32 << width) - 1;
                // How many of its bits the digits until this one have.
                let end = (index + 1) * width - shared;
                let digit = (bits >> (32 - end)) & mask;
                let any = if index == 0 { *shared } else { 0 };
                let known = mask >> any;
                let fits = |byte: &u8| self.digit(*byte).is_some_and(|other| u32::from(other) & known == digit & known);
                (0..=u8::MAX).filter(fits).collect()
            })
        };
        shared.iter().map(begin).collect()
    }

    /// How many digits of its line stand before a place, as far as that matters, and how many bytes before it the last is.
    fn line_before(self, text: &[u8]) -> (usize, usize) {
        let (mut line, mut gap, mut first_gap) = (0, 0, 0);
        let mut rest = text;
        while let [before @ .., byte] = rest
            && line < LONG_LINE
        {
            rest = match byte {
                byte if self.digit(*byte).is_some() => {
                    first_gap = if line == 0 { gap } else { first_gap };
                    (line, gap) = (line + 1, 0);
                    before
                }
                b' ' | b'\t' | b':' | b',' | b'-' if self == Self::Hex && gap < LONGEST_GAP => {
                    gap += 1;
                    before
                }
                b'x' | b'X' if self == Self::Hex && gap == 0 && before.last() == Some(&b'0') => {
                    &before[..before.len() - 1]
                }
                _ => break,
            };
        }
        (line, first_gap)
    }

    /// How many digits go by before a digit begins a byte again.
    fn period(self) -> usize {
        match self {
            Self::Base64 => 4,
            Self::Hex => 2,
        }
    }

    /// A line of at least this many digits may have been broken by the program that wrote it. In shorter ones, what was read of
    /// a secret is in digits by chance, as long as it is short too: paths look like Base64.
    fn long_line(self) -> usize {
        match self {
            Self::Base64 => LONG_LINE,
            Self::Hex => 20,
        }
    }

    /// Whether a byte that begins with this digit may begin a secret.
    fn may_begin(self, digit: u8, words: &Words) -> bool {
        words.any_begins(digit, self == Self::Base64)
    }
}

/// Reads digits as the bytes they write, wherever the first byte begins.
#[derive(Clone)]
pub(super) struct Digits {
    base: Base,
    /// By which digit begins a byte.
    trackers: [Tracker; 4],
    /// The last digit, and where it stands.
    last: Option<(u8, usize)>,
    /// Whether there were digits that still count.
    is_open: bool,
    count: usize,
    /// How many digits there are in this line.
    line: usize,
    /// How many bytes lie between the last digit and here.
    gap: usize,
    /// Whether a line ends there.
    is_broken: bool,
}

impl Digits {
    pub(super) fn new(base: Base) -> Self {
        let trackers = Default::default();
        Self { base, trackers, last: None, is_open: false, count: 0, line: 0, gap: 0, is_broken: false }
    }

    /// Begins behind a text of which nothing is the beginning of a secret.
    pub(super) fn begin(&mut self, before: &[u8]) {
        self.clear();
        (self.line, self.gap) = self.base.line_before(before);
        self.is_open = self.line > 0;
    }

    /// Whether it has read nothing of a secret, but for a digit of this line. Behind the last digit of a line, the next one may
    /// stand far away.
    pub(super) fn is_quiet(&self) -> bool {
        let is_between = self.is_broken && self.last.is_some();
        !is_between && self.trackers.iter().all(Tracker::is_quiet)
    }

    /// Goes on from where another is.
    pub(super) fn copy(&mut self, other: &Self) {
        let Self { base, trackers, last, is_open, count, line, gap, is_broken } = self;
        trackers.iter_mut().zip(&other.trackers).for_each(|(tracker, other)| tracker.copy(other));
        (*base, *last, *is_open, *count) = (other.base, other.last, other.is_open, other.count);
        (*line, *gap, *is_broken) = (other.line, other.gap, other.is_broken);
    }

    /// Reads on; tells `found` where secrets stand.
    pub(super) fn read(&mut self, words: &Words, unit: Unit, found: &mut impl FnMut((usize, usize))) {
        match self.base.digit(unit.byte) {
            Some(digit) => self.read_digit(words, digit, unit, found),
            None if self.is_open => self.read_between(unit.byte),
            None => {}
        }
    }

    fn read_digit(&mut self, words: &Words, digit: u8, unit: Unit, found: &mut impl FnMut((usize, usize))) {
        let was_broken = std::mem::take(&mut self.is_broken);
        (self.is_open, self.gap) = (true, 0);
        (self.line, self.count) = (self.line + 1, self.count + 1);
        let Some((last, start)) = self.last.replace((digit, unit.start)) else { return };
        for index in 0..self.base.period() {
            // The digit before belongs to this byte alone, or to another one too: then it stays what it is.
            let (byte, start) = match (self.base, (self.count + index) % self.base.period()) {
                (_, 0) => continue,
                (Base::Hex, _) => (last << 4 | digit, start),
                (Base::Base64, 1) => (last << 2 | digit >> 4, start),
                (Base::Base64, 2) => (last << 4 | digit >> 2, unit.start),
                (Base::Base64, _) => (last << 6 | digit, unit.start),
            };
            // Of a secret that begins with the last digit of a line, or with few bytes of a short one, those are shown: a line
            // would be held back for them.
            let start = if was_broken { unit.start } else { start };
            if let Some(place) = self.trackers[index].read(words, Unit { byte, start, end: unit.end }) {
                found(place);
            }
        }
    }

    fn read_between(&mut self, byte: u8) {
        self.gap += 1;
        let goes_on = match (self.base, byte) {
            _ if self.gap > if self.is_broken { LONGEST_INDENT } else { LONGEST_GAP } => false,
            (_, b'\n' | b'\r') => {
                if !self.is_broken {
                    self.break_line();
                }
                true
            }
            (Base::Base64, b' ' | b'\t') => self.is_broken,
            (Base::Hex, b' ' | b'\t' | b':' | b',' | b'-') => {
                if self.gap == 1 && !self.is_broken {
                    self.end_byte();
                }
                true
            }
            (Base::Hex, b'x' | b'X') if self.gap == 1 && matches!(self.last, Some((0, _))) => {
                // This digit belongs to no byte.
                (self.last, self.count, self.line) = (None, self.count - 1, self.line.saturating_sub(1));
                true
            }
            _ => false,
        };
        if !goes_on {
            self.clear();
        }
    }

    /// Ends what is read of a byte: its two digits stand together.
    fn end_byte(&mut self) {
        self.last = None;
        self.trackers[self.count % self.base.period()].clear();
    }

    /// Ends a line; its digits may go on in the next.
    fn break_line(&mut self) {
        if self.line < self.base.long_line() {
            self.trackers.iter_mut().filter(|tracker| tracker.depth() < NO_CHANCE).for_each(Tracker::let_go);
        }
        (self.line, self.is_broken) = (0, true);
    }

    fn clear(&mut self) {
        self.trackers.iter_mut().for_each(Tracker::clear);
        (self.last, self.is_open, self.count) = (None, false, 0);
        (self.line, self.gap, self.is_broken) = (0, 0, false);
    }

    /// Where what may become a secret begins.
    pub(super) fn start(&self, words: &Words) -> Option<usize> {
        // A digit may begin a secret, or go on with one whose beginning was shown. Before the end of a line it may not: see
        // `read_digit`.
        let goes_on = self.trackers.iter().any(Tracker::has_let_go);
        let begun = self.last.filter(|(digit, _)| !self.is_broken && (goes_on || self.base.may_begin(*digit, words)));
        let begun = begun.map(|(_, start)| start);
        self.trackers.iter().filter_map(Tracker::start).chain(begun).min()
    }

    pub(super) fn stands_as(&self, other: &Self) -> bool {
        let state = |digits: &Self| {
            let digit = digits.last.map(|(digit, _)| digit);
            (digit, digits.is_open, digits.count % digits.base.period(), digits.line, digits.gap, digits.is_broken)
        };
        state(self) == state(other)
            && self.trackers.iter().zip(&other.trackers).all(|(tracker, other)| tracker.stands_as(other))
    }
}
