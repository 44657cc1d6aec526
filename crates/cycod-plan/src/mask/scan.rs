use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    digits::{Base, Digits},
    undo::{Escapes, Undo},
    words::{Tracker, Unit, Words},
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

/// Reads a text that comes in pieces in every way at once.
///
/// Each way begins where an escape of its own stands and ends where it stands as the plain reading does, so that a text without
/// escapes is read once.
#[derive(Clone)]
pub(super) struct Scan {
    as_it_is: Reading,
    ways: [Option<Reading>; WAYS.len()],
    at: usize,
    /// Where secrets stand, which are not shown yet.
    found: BinaryHeap<Reverse<(usize, usize)>>,
    /// What is not shown yet: from `shown` on, of which the first bytes are `passed`.
    pub(super) held: Vec<u8>,
    passed: usize,
    shown: usize,
}

impl Scan {
    pub(super) fn new() -> Self {
        let digits = [Base::Base64, Base::Hex].map(Digits::new).to_vec();
        Self {
            as_it_is: Reading { undo: Vec::new(), plain: Tracker::default(), digits, silence: 0 },
            ways: [const { None }; WAYS.len()],
            at: 0,
            found: BinaryHeap::new(),
            held: Vec::new(),
            passed: 0,
            shown: 0,
        }
    }

    /// Takes bytes in and writes those that can be shown.
    pub(super) fn read(&mut self, words: &Words, bytes: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
        let Self { as_it_is, ways, at, found, .. } = self;
        let mut found = |place| found.push(Reverse(place));
        let mut active = ways.iter().flatten().count();
        for &byte in bytes {
            let unit = Unit { byte, start: *at, end: *at + 1 };
            if matches!(byte, b'%' | b'+' | b'\\' | b'&' | b'=' | b'\'' | b'"') {
                for (index, way) in ways.iter_mut().enumerate().filter(|(_, way)| way.is_none()) {
                    if WAYS[index][0].begin_with(byte) {
                        let digits = if WITH_DIGITS.contains(&index) { as_it_is.digits.clone() } else { Vec::new() };
                        let undo = WAYS[index].iter().copied().map(Undo::new).collect();
                        *way = Some(Reading { undo, plain: as_it_is.plain.clone(), digits, silence: 0 });
                        active += 1;
                    }
                }
            }
            as_it_is.read(words, unit, &mut found);
            if active > 0 {
                for way in &mut *ways {
                    let Some(reading) = way else { continue };
                    reading.read(words, unit, &mut found);
                    if reading.agrees_with(as_it_is) {
                        *way = None;
                        active -= 1;
                    }
                }
            }
            *at += 1;
        }
        let readings = std::iter::once(&self.as_it_is).chain(self.ways.iter().flatten());
        let settled = readings.filter_map(|reading| reading.start(words)).min().unwrap_or(self.at);
        self.show(settled, out);
    }

    /// Writes what was held back, at the end of the text, and begins another.
    pub(super) fn finish(&mut self, words: &Words, out: &mut Vec<u8>) {
        let Self { ways, found, .. } = self;
        ways.iter_mut().flatten().for_each(|way| way.finish(words, &mut |place| found.push(Reverse(place))));
        self.show(self.at, out);
        *self = Self::new();
    }

    /// Shows what stands before `settled`: no secret that is yet to be found begins there.
    fn show(&mut self, settled: usize, out: &mut Vec<u8>) {
        while let Some(&Reverse((start, end))) = self.found.peek().filter(|Reverse((start, _))| *start < settled) {
            self.found.pop();
            if start >= self.shown {
                self.pass(start, |bytes| out.extend_from_slice(bytes));
                out.extend_from_slice(MASK);
            }
            self.pass(end, |_| {});
        }
        self.pass(settled, |bytes| out.extend_from_slice(bytes));
        if self.passed > self.held.len() / 2 {
            self.held.drain(..self.passed);
            self.passed = 0;
        }
    }

    fn pass(&mut self, until: usize, mut how: impl FnMut(&[u8])) {
        if until > self.shown {
            let length = until - self.shown;
            how(&self.held[self.passed..self.passed + length]);
            (self.passed, self.shown) = (self.passed + length, until);
        }
    }
}

/// What stands in the place of a secret.
const MASK: &[u8] = b"****";
