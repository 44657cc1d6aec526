//! Reads a text in several ways at once, as it is and as each kind of program would have written it, and says which bytes of it
//! hold a secret in any of them.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    digits::{BEFORE, Base, Digits},
    masks::Out,
    undo::{Escapes, Undo},
    windows::{Window, Windows},
    words::{SHORTEST, Tracker, Unit, Words},
};

/// The ways in which a text is read beside as it is. Each undoes what one kind of program writes and nothing else, so that it
/// is exact; the last ones undo what several programs after each other write.
const WAYS: [&[Escapes]; 11] = [
    &[Escapes { percent: true, ..Escapes::NONE }],
    &[Escapes { percent: true, plus: true, ..Escapes::NONE }],
    &[Escapes { percent: true, points: true, ..Escapes::NONE }],
    &[Escapes { backslash: true, ..Escapes::NONE }],
    &[Escapes { backslash: true, points: true, ..Escapes::NONE }],
    &[Escapes { entity: true, ..Escapes::NONE }],
    &[Escapes { equals: true, ..Escapes::NONE }],
    &[Escapes::QUOTES],
    &[Escapes::COMMON],
    &[Escapes::COMMON, Escapes::COMMON],
    &[Escapes::COMMON, Escapes::QUOTES],
];

/// The first of them that may hold digits: what undoes less may be in the way of these.
const WITH_DIGITS: std::ops::Range<usize> = 8..9;

/// More bytes than this that yield nothing end what was read before.
const LONGEST_SILENCE: usize = 64;

/// One way of reading a text, and how far it is.
#[derive(Clone)]
struct Reading {
    undo: Vec<Undo>,
    plain: Tracker,
    digits: Vec<Digits>,
    silence: usize,
}

impl Reading {
    fn new(escapes: &[Escapes], has_digits: bool) -> Self {
        let digits: &[Base] = if has_digits { &[Base::Base64, Base::Hex] } else { &[] };
        Self {
            undo: escapes.iter().copied().map(Undo::new).collect(),
            plain: Tracker::default(),
            digits: digits.iter().copied().map(Digits::new).collect(),
            silence: 0,
        }
    }

    /// Goes on from where another is, which undoes nothing.
    fn begin_from(&mut self, other: &Self) {
        self.undo.iter_mut().for_each(Undo::clear);
        self.plain.copy(&other.plain);
        self.digits.iter_mut().zip(&other.digits).for_each(|(digits, other)| digits.copy(other));
        self.silence = 0;
    }

    fn read(&mut self, words: &Words, unit: Unit, found: &mut impl FnMut((usize, usize))) {
        self.silence += 1;
        let Self { undo, plain, digits, silence } = self;
        through(undo, unit, &mut |unit| {
            *silence = 0;
            take(words, plain, digits, unit, found);
        });
        if self.silence > LONGEST_SILENCE {
            self.plain.clear();
        }
    }

    fn finish(&mut self, words: &Words, found: &mut impl FnMut((usize, usize))) {
        let Self { undo, plain, digits, .. } = self;
        let mut rest = &mut undo[..];
        while let Some((first, others)) = rest.split_first_mut() {
            first.finish(&mut |unit| through(others, unit, &mut |unit| take(words, plain, digits, unit, found)));
            rest = others;
        }
    }

    /// Where what may become a secret begins.
    fn start(&self, words: &Words) -> Option<usize> {
        let open = self.undo.iter().filter_map(Undo::start);
        open.chain(self.plain.start()).chain(self.digits.iter().filter_map(|digits| digits.start(words))).min()
    }

    /// Whether it has read nothing of a secret, but for a digit.
    fn is_quiet(&self) -> bool {
        self.plain.is_quiet() && self.digits.iter().all(Digits::is_quiet)
    }

    /// Whether it will read what the other reads.
    fn agrees_with(&self, other: &Self) -> bool {
        self.undo.iter().all(|undo| undo.start().is_none())
            && self.plain.stands_as(&other.plain)
            && self.digits.iter().zip(&other.digits).all(|(digits, other)| digits.stands_as(other))
    }
}

fn through(undo: &mut [Undo], unit: Unit, next: &mut dyn FnMut(Unit)) {
    match undo.split_first_mut() {
        None => next(unit),
        Some((first, rest)) => first.read(unit, &mut |unit| through(rest, unit, next)),
    }
}

fn take(words: &Words, plain: &mut Tracker, digits: &mut [Digits], unit: Unit, found: &mut impl FnMut((usize, usize))) {
    plain.read(words, unit).into_iter().for_each(&mut *found);
    digits.iter_mut().for_each(|digits| digits.read(words, unit, found));
}

/// Every way of reading a text.
///
/// Each begins where an escape of its own stands and ends where it stands as the plain reading does, so that a text without
/// escapes is read once.
#[derive(Clone)]
struct Readings {
    as_it_is: Reading,
    ways: Vec<Reading>,
    /// Which of the ways have begun, as a set of bits.
    begun: u32,
}

impl Readings {
    fn new() -> Self {
        let way = |(index, escapes): (usize, &&[Escapes])| Reading::new(escapes, WITH_DIGITS.contains(&index));
        Self { as_it_is: Reading::new(&[], true), ways: WAYS.iter().enumerate().map(way).collect(), begun: 0 }
    }

    /// Begins behind a text of which nothing is the beginning of a secret.
    fn begin(&mut self, before: &[u8]) {
        self.begun = 0;
        self.as_it_is.plain.clear();
        self.as_it_is.digits.iter_mut().for_each(|digits| digits.begin(before));
    }

    fn read(&mut self, words: &Words, byte: u8, at: usize, found: &mut impl FnMut((usize, usize))) {
        let Self { as_it_is, ways, begun } = self;
        let unit = Unit { byte, start: at, end: at + 1 };
        if matches!(byte, b'%' | b'+' | b'\\' | b'&' | b'=' | b'\'' | b'"') {
            for (index, way) in ways.iter_mut().enumerate() {
                if *begun >> index & 1 == 0 && WAYS[index][0].begin_with(byte) {
                    way.begin_from(as_it_is);
                    *begun |= 1 << index;
                }
            }
        }
        as_it_is.read(words, unit, found);
        let mut rest = *begun;
        while rest != 0 {
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            ways[index].read(words, unit, found);
            if ways[index].agrees_with(as_it_is) {
                *begun &= !(1 << index);
            }
        }
    }

    fn finish(&mut self, words: &Words, found: &mut impl FnMut((usize, usize))) {
        let begun = self.begun;
        let ways = self.ways.iter_mut().enumerate().filter(|(index, _)| begun >> index & 1 == 1);
        ways.for_each(|(_, way)| way.finish(words, found));
    }

    /// Where what may become a secret begins.
    fn start(&self, words: &Words) -> Option<usize> {
        let ways = self.ways.iter().enumerate().filter(|(index, _)| self.begun >> index & 1 == 1).map(|(_, way)| way);
        std::iter::once(&self.as_it_is).chain(ways).filter_map(|reading| reading.start(words)).min()
    }

    /// Whether nothing is read that only a reading from here on could tell.
    fn is_quiet(&self) -> bool {
        self.begun == 0 && self.as_it_is.is_quiet()
    }
}

/// Reads a text that comes in pieces.
///
/// What the windows say cannot begin a secret is passed over. Where one may begin, the text is read in every way at once until
/// nothing that was read can become one.
#[derive(Clone)]
pub(super) struct Scan {
    readings: Box<Readings>,
    window: Window,
    /// Whether the text is read in every way.
    is_close: bool,
    /// How many bytes were.
    #[cfg(test)]
    pub(super) closely: usize,
    #[cfg(test)]
    is_always_close: bool,
    /// What is not shown yet, behind what was read last.
    pub(super) text: Vec<u8>,
    /// Where that begins.
    base: usize,
    shown: usize,
    /// Where secrets stand, which are not shown yet.
    found: BinaryHeap<Reverse<(usize, usize)>>,
}

impl Scan {
    pub(super) fn new() -> Self {
        Self {
            readings: Box::new(Readings::new()),
            window: Window::default(),
            is_close: false,
            #[cfg(test)]
            closely: 0,
            #[cfg(test)]
            is_always_close: false,
            text: Vec::new(),
            base: 0,
            shown: 0,
            found: BinaryHeap::new(),
        }
    }

    /// One that passes over nothing.
    #[cfg(test)]
    pub(super) fn all_closely() -> Self {
        Self { is_close: true, is_always_close: true, ..Self::new() }
    }

    fn at(&self) -> usize {
        self.base + self.text.len()
    }

    /// Takes bytes in and writes those that can be shown.
    pub(super) fn read(&mut self, words: &Words, windows: &Windows, bytes: &[u8], out: &mut impl Out) {
        let mut index = self.text.len();
        self.text.extend_from_slice(bytes);
        while index < self.text.len() {
            if self.is_close {
                windows.step(&mut self.window, self.text[index]);
                self.read_closely(words, index..index + 1);
                index += 1;
                continue;
            }
            match windows.find(&mut self.window, &self.text[index..]) {
                None => break,
                Some(length) => {
                    index += length;
                    self.begin(index - self.window.begun());
                    self.read_closely(words, index - self.window.begun()..index);
                }
            }
        }
        let settled = if self.is_close {
            self.readings.start(words)
        } else if self.window.begun() > 0 {
            // Whether that is the beginning of a secret is clear once it is read.
            let length = self.text.len();
            self.begin(length - self.window.begun());
            self.read_closely(words, length - self.window.begun()..length);
            self.is_close = false;
            self.readings.start(words)
        } else {
            None
        };
        self.show(settled.unwrap_or(self.at()), out);
    }

    fn begin(&mut self, index: usize) {
        self.readings.begin(&self.text[index.saturating_sub(BEFORE)..index]);
    }

    fn read_closely(&mut self, words: &Words, range: std::ops::Range<usize>) {
        #[cfg(test)]
        {
            self.closely += range.len();
        }
        let Self { readings, text, base, found, .. } = self;
        for index in range {
            readings.read(words, text[index], *base + index, &mut |place| found.push(Reverse(place)));
        }
        self.is_close = !self.readings.is_quiet();
        #[cfg(test)]
        {
            self.is_close |= self.is_always_close;
        }
    }

    /// Writes what was held back, at the end of the text, and begins another.
    pub(super) fn finish(&mut self, words: &Words, out: &mut impl Out) {
        if self.is_close {
            let Self { readings, found, .. } = self;
            readings.finish(words, &mut |place| found.push(Reverse(place)));
        }
        self.show(self.at(), out);
        let Self { window, is_close, text, base, shown, .. } = self;
        (*window, *is_close, *base, *shown) = (Window::default(), false, 0, 0);
        text.clear();
    }

    /// Shows what stands before `settled`: no secret that is yet to be found begins there.
    fn show(&mut self, settled: usize, out: &mut impl Out) {
        while let Some(&Reverse((start, end))) = self.found.peek().filter(|Reverse((start, _))| *start < settled) {
            self.found.pop();
            let is_next = start < self.shown;
            self.pass(start, |bytes| out.show(bytes));
            out.hide(start, end, is_next);
            self.pass(end, |_| {});
        }
        self.pass(settled, |bytes| out.show(bytes));
        // What was shown is still needed where a reading begins.
        let passed = (self.shown - self.base).min(self.text.len().saturating_sub(BEFORE + SHORTEST));
        if passed > self.text.len() / 2 {
            self.text.drain(..passed);
            self.base += passed;
        }
    }

    fn pass(&mut self, until: usize, mut how: impl FnMut(&[u8])) {
        if until > self.shown {
            how(&self.text[self.shown - self.base..until - self.base]);
            self.shown = until;
        }
    }
}
