//! Says quickly where no secret can begin: most of a text is only looked at here.

use std::ops::Range;

use crate::{digits::Base, words::SHORTEST};

/// How many bytes in a row are looked at: no secret is written with fewer, whatever the spelling.
const WIDTH: usize = SHORTEST;

/// How many kinds of beginnings are told apart.
const KINDS: usize = 32;

/// A bit for each kind, in the lane of the first byte.
const BEGIN: u128 = (1 << KINDS) - 1;

/// Where the lane of the last byte begins.
const LAST: usize = KINDS * (WIDTH - 1);

/// Which four bytes in a row may be the first of a secret, in any spelling.
///
/// Nearly all of a text is no secret, and nearly all of that is told by its bytes alone: a text is read in every way at once
/// only from such a place on. For each kind of beginning and each of the four bytes there is a bit, so that one step decides
/// about all of them (Baeza-Yates and Gonnet, "A new approach to text searching"). It may be wrong in one direction: what
/// begins a secret is always found.
pub(super) struct Windows(Box<[u128; 256]>);

/// The kinds of beginnings of which the last bytes are a part.
#[derive(Clone, Copy, Default)]
pub(super) struct Window(u128);

impl Window {
    /// Whether the last bytes may be the first of a secret.
    fn is_whole(self) -> bool {
        self.0 >> LAST != 0
    }

    /// How many of the last bytes may be the first of a secret.
    pub(super) fn begun(self) -> usize {
        (1..=WIDTH).rev().find(|length| self.0 >> (KINDS * (length - 1)) & BEGIN != 0).unwrap_or(0)
    }
}

/// What any spelling but quotes and digits may go on with.
const ESCAPES: &[u8] = br"\%&";
const QUOTES: &[u8] = b"'\"";
const BREAKS: &[u8] = b"\n\r";
/// What stands between bytes of hexadecimal digits.
const GAPS: &[u8] = b" \t:,-";
/// What names of entities are made of.
const ENTITY: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const HEX: &[u8] = b"0123456789abcdefABCDEF";

impl Windows {
    pub(super) fn new(words: &[Vec<u8>]) -> Self {
        let mut windows = Self(Box::new([0; 256]));
        let mut prefixes: Vec<[u8; WIDTH]> =
            words.iter().filter_map(|word| word.first_chunk::<WIDTH>().copied()).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        windows.add_escapes(&prefixes);
        windows.add_plain(&prefixes);
        windows.add_digits(Base::Base64, 18..26, &prefixes);
        windows.add_digits(Base::Hex, 26..32, &prefixes);
        windows
    }

    /// Goes on by a byte.
    pub(super) fn step(&self, window: &mut Window, byte: u8) -> bool {
        window.0 = ((window.0 << KINDS) | BEGIN) & self.0[usize::from(byte)];
        window.is_whole()
    }

    /// How many bytes are read until the last of them may be the first of a secret.
    pub(super) fn find(&self, window: &mut Window, bytes: &[u8]) -> Option<usize> {
        let mut at = *window;
        let found = bytes.iter().position(|byte| self.step(&mut at, *byte));
        *window = at;
        found.map(|index| index + 1)
    }

    fn add(&mut self, kind: usize, place: usize, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.0[usize::from(byte)] |= 1 << (kind + KINDS * place);
        }
    }

    fn add_all(&mut self, kind: usize, places: [&[u8]; WIDTH]) {
        places.into_iter().enumerate().for_each(|(place, bytes)| self.add(kind, place, bytes.iter().copied()));
    }

    /// Secrets whose first character is an escape, and what that may look like.
    fn add_escapes(&mut self, prefixes: &[[u8; WIDTH]]) {
        let any: Vec<u8> = (0..=u8::MAX).collect();
        let firsts: Vec<u8> = prefixes.iter().map(|prefix| prefix[0]).collect();
        self.add_all(0, [b"\\", &[behind_backslash(&firsts), b"/".to_vec()].concat(), &any, &any]);
        // An escape may stand for a byte, or for a character of that number.
        let nibbles = firsts.iter().flat_map(|first| match first {
            0xc2 => 8..=0xb,
            0xc3 => 0xc..=0xf,
            first => first >> 4..=first >> 4,
        });
        // `%25`, `%26` and `%5C` are the beginning of another one.
        let nibbles: Vec<u8> =
            nibbles.chain([2, 5]).flat_map(|nibble| Base::Hex.written(nibble)).chain(*b"u").collect();
        self.add_all(1, [b"%", &nibbles, HEX, &any]);
        self.add_all(2, [b"&", b"#", b"0123456789xX", &any]);
        self.add_all(3, [b"&", ENTITY, ENTITY, &[ENTITY, b";"].concat()]);
        let halves = |half: fn(u8) -> u8| -> Vec<u8> {
            firsts.iter().flat_map(|first| Base::Hex.written(half(*first))).collect()
        };
        self.add_all(4, [b"=", &halves(|first| first >> 4), &halves(|first| first & 15), &any]);
    }

    /// Secrets that begin as they are. An escape may stand for the second character, and so on.
    fn add_plain(&mut self, prefixes: &[[u8; WIDTH]]) {
        let any: Vec<u8> = (0..=u8::MAX).collect();
        let forms = |byte: u8| [byte, if byte == b' ' { b'+' } else { byte }];
        let all = |place: usize| -> Vec<u8> { prefixes.iter().flat_map(|prefix| forms(prefix[place])).collect() };
        let with_escapes = |bytes: &[u8]| [bytes, ESCAPES, QUOTES, b"="].concat();
        let (firsts, seconds, thirds) = (all(0), all(1), all(2));
        // Where quotes and backslashes count for nothing, the second character comes behind them.
        let behind = [&behind_backslash(&seconds), &seconds, QUOTES].concat();
        self.add_all(5, [&firsts, b"\\", &behind, &any]);
        self.add_all(6, [&firsts, b"%", &[HEX, b"u"].concat(), HEX]);
        self.add_all(7, [&firsts, b"&", &[ENTITY, b"#"].concat(), &[ENTITY, b";"].concat()]);
        self.add_all(8, [&firsts, b"=", &[BREAKS, HEX].concat(), &any]);
        self.add_all(9, [&firsts, QUOTES, &with_escapes(&seconds), &any]);
        self.add_all(10, [&firsts, &seconds, &[ESCAPES, b"="].concat(), &any]);
        self.add_all(11, [&firsts, &seconds, QUOTES, &with_escapes(&thirds)]);
        for (index, prefix) in prefixes.iter().enumerate() {
            // Similar ones stand together.
            let kind = 12 + index * 6 / prefixes.len();
            (0..WIDTH).for_each(|place| self.add(kind, place, forms(prefix[place])));
            self.add(kind, WIDTH - 1, with_escapes(&[]));
        }
    }

    /// Secrets that are written in digits, wherever in a digit they begin.
    fn add_digits(&mut self, base: Base, kinds: Range<usize>, prefixes: &[[u8; WIDTH]]) {
        let any: Vec<u8> = (0..=u8::MAX).collect();
        let begins: Vec<[Vec<u8>; WIDTH]> = prefixes.iter().flat_map(|prefix| base.begin(*prefix)).collect();
        let all = |place: usize| -> Vec<u8> { begins.iter().flat_map(|begin| begin[place].iter().copied()).collect() };
        let (firsts, seconds, thirds) = (all(0), all(1), all(2));
        let gaps = if base == Base::Hex { GAPS } else { b"" };
        let between = [ESCAPES, BREAKS].concat();
        let first = kinds.start;
        // Behind a digit, an escape is another one or the end of a line.
        self.add_all(first, [&firsts, b"\\", b"nr/uxU01234567\n:,- \t", &any]);
        self.add_all(first + 1, [&firsts, b"%&", &[ENTITY, b"#"].concat(), &[ENTITY, b";"].concat()]);
        self.add_all(first + 2, [&firsts, BREAKS, &any, &any]);
        self.add_all(first + 3, [&firsts, &seconds, &between, &any]);
        // The next byte may begin with `0x`.
        self.add_all(first + 4, [&firsts, &seconds, gaps, &[&thirds, gaps, &between, b"0"].concat()]);
        let own = first + 5..kinds.end;
        for (index, begin) in begins.iter().enumerate() {
            let kind = own.start + index * own.len() / begins.len();
            begin.iter().enumerate().for_each(|(place, bytes)| self.add(kind, place, bytes.iter().copied()));
            self.add(kind, WIDTH - 1, between.iter().copied());
        }
    }
}

/// What may stand behind a backslash so that both are one of these characters, or the beginning of a longer escape.
fn behind_backslash(characters: &[u8]) -> Vec<u8> {
    let controls = [(b'\n', b'n'), (b'\t', b't'), (b'\r', b'r'), (8, b'b'), (12, b'f'), (11, b'v'), (7, b'a')];
    let letters = controls.into_iter().chain([(27, b'e'), (27, b'E')]);
    let letters = letters.filter(|(byte, _)| characters.contains(byte)).map(|(_, letter)| letter);
    let others = characters.iter().copied().filter(|byte| !byte.is_ascii_alphanumeric());
    letters.chain(others).chain(*b"xuU01234567\\%&\n").collect()
}
