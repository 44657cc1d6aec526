use super::words::{Tracker, Unit, Words};

/// A line of at least this many digits may be one of several of the same number, broken by the program that wrote it. In
/// shorter ones, what was read of a secret is in digits by chance, as long as it is short too.
const LONG_LINE: usize = 20;

/// So much of a secret is not read by chance.
const NO_CHANCE: usize = 4;

/// More than this between two digits ends them.
const LONGEST_GAP: usize = 64;

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

    /// How many digits go by before a digit begins a byte again.
    fn period(self) -> usize {
        match self {
            Self::Base64 => 4,
            Self::Hex => 2,
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

    /// Reads on; tells `found` where secrets stand.
    pub(super) fn read(&mut self, words: &Words, unit: Unit, found: &mut impl FnMut((usize, usize))) {
        match self.base.digit(unit.byte) {
            Some(digit) => self.read_digit(words, digit, unit, found),
            None if self.is_open => self.read_between(unit.byte),
            None => {}
        }
    }

    fn read_digit(&mut self, words: &Words, digit: u8, unit: Unit, found: &mut impl FnMut((usize, usize))) {
        (self.is_open, self.gap, self.is_broken) = (true, 0, false);
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
            if let Some(place) = self.trackers[index].read(words, Unit { byte, start, end: unit.end }) {
                found(place);
            }
        }
    }

    fn read_between(&mut self, byte: u8) {
        self.gap += 1;
        let goes_on = match (self.base, byte) {
            _ if self.gap > LONGEST_GAP => false,
            (_, b'\n' | b'\r') => self.is_broken || self.break_line(),
            (Base::Base64, b' ' | b'\t') => self.is_broken,
            (Base::Hex, b' ' | b'\t' | b':' | b',' | b'-') => true,
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

    /// Ends a line; returns whether its digits may go on in the next.
    fn break_line(&mut self) -> bool {
        let is_long = self.line >= LONG_LINE;
        if !is_long {
            self.trackers.iter_mut().filter(|tracker| tracker.depth() < NO_CHANCE).for_each(Tracker::clear);
        }
        (self.line, self.is_broken) = (0, true);
        is_long || self.trackers.iter().any(|tracker| tracker.depth() > 0)
    }

    fn clear(&mut self) {
        self.trackers.iter_mut().for_each(Tracker::clear);
        (self.last, self.is_open, self.count) = (None, false, 0);
        (self.line, self.gap, self.is_broken) = (0, 0, false);
    }

    /// Where what may become a secret begins.
    pub(super) fn start(&self, words: &Words) -> Option<usize> {
        let begun = self.last.filter(|(digit, _)| self.base.may_begin(*digit, words)).map(|(_, start)| start);
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
