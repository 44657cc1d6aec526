//! Undoes the spellings of one kind each: of addresses, of JSON and of HTML. What a spelling means is decided a character at a
//! time, so that a stream can be read as it comes.

use std::{collections::HashMap, sync::LazyLock};

use crate::words::Unit;

/// The named entities of HTML (WHATWG, "Named character references"): a name and its code points a line.
static ENTITIES: LazyLock<HashMap<&'static str, String>> = LazyLock::new(|| {
    let of_line = |line: &'static str| {
        let (name, points) = line.split_once(' ')?;
        let point = |text| char::from_u32(u32::from_str_radix(text, 16).ok()?);
        Some((name, points.split(' ').map(point).collect::<Option<String>>()?))
    };
    include_str!("entities.txt").lines().filter_map(of_line).collect()
});

/// No name of an entity is longer.
const LONGEST_NAME: usize = 31;

/// No number of a character has more digits, zeros before it included.
const LONGEST_NUMBER: usize = 8;

/// Which spellings of a character one way of reading undoes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escapes {
    /// `%41` of addresses, `%u00e4` of JavaScript's `escape`.
    pub(super) percent: bool,
    /// `+` for a blank in addresses.
    pub(super) plus: bool,
    /// `\n`, `\x41`, `\u0041`, `\101` and any other character behind a backslash: JSON, C, JavaScript, Python, shells.
    pub(super) backslash: bool,
    /// `&amp;`, `&#65;` and `&#x41;` of HTML and XML.
    pub(super) entity: bool,
    /// `=41` of quoted-printable mail, with its broken lines (RFC 2045).
    pub(super) equals: bool,
    /// Quotes and backslashes count for nothing, in the text and in the secret: `'it'\''s'`, `"a""b"`, `a\ b`.
    pub(super) quotes: bool,
    /// Whether `%e4` and `\xe4` are the character of this number, as in Python's texts, or one byte of it.
    pub(super) points: bool,
}

impl Escapes {
    pub(super) const NONE: Self = Self {
        percent: false,
        plus: false,
        backslash: false,
        entity: false,
        equals: false,
        quotes: false,
        points: false,
    };

    /// Those that any text may have.
    pub(super) const COMMON: Self = Self { percent: true, backslash: true, entity: true, ..Self::NONE };

    pub(super) const QUOTES: Self = Self { quotes: true, ..Self::NONE };

    /// Whether such a spelling may begin with this byte.
    pub(super) fn begin_with(self, byte: u8) -> bool {
        match byte {
            b'%' => self.percent,
            b'+' => self.plus,
            b'\\' => self.backslash || self.quotes,
            b'&' => self.entity,
            b'=' => self.equals,
            b'\'' | b'"' => self.quotes,
            _ => false,
        }
    }

    /// What the first bytes of a text spell.
    fn read(self, text: &[u8]) -> Read {
        match text[0] {
            byte if !self.begin_with(byte) => Read::literal(byte, 1),
            b'%' => self.read_percent(text),
            b'+' => Read::literal(b' ', 1),
            b'\\' if self.backslash => self.read_backslash(text),
            b'&' => read_entity(text),
            b'=' => read_equals(text),
            _ => Read::nothing(1),
        }
    }

    fn read_percent(self, text: &[u8]) -> Read {
        let Some(second) = text.get(1) else { return Read::More };
        let read = if *second == b'u' && self.points {
            number(text, 2, 4).map(|number| surrogates(text, number, b"%u"))
        } else {
            number(text, 1, 2).map(|number| self.byte(number, 3))
        };
        read.unwrap_or_else(|| Read::unless_more(text, 3 + usize::from(*second == b'u') * 3, b'%'))
    }

    fn read_backslash(self, text: &[u8]) -> Read {
        let Some(second) = text.get(1) else { return Read::More };
        let control = |byte: u8| Read::literal(byte, 2);
        match second {
            b'\n' => Read::nothing(2),
            b'n' => control(b'\n'),
            b't' => control(b'\t'),
            b'r' => control(b'\r'),
            b'b' => control(8),
            b'f' => control(12),
            b'v' => control(11),
            b'a' => control(7),
            b'e' | b'E' => control(27),
            b'0'..=b'7' => {
                let digits = text[1..].iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                if digits < 3 && text.len() == 1 + digits {
                    return Read::More;
                }
                let number = text[1..=digits].iter().fold(0, |number, digit| number * 8 + u32::from(digit - b'0'));
                self.byte(number & 0xff, 1 + digits)
            }
            b'x' => match number(text, 2, 2) {
                Some(number) => self.byte(number, 4),
                None => Read::unless_more(text, 4, b'\\'),
            },
            b'u' if text.get(2) == Some(&b'{') => match text.iter().position(|byte| *byte == b'}') {
                Some(end) => point_of(&text[3..end], 16).map_or(Read::literal(b'\\', 1), |c| Read::point(c, end + 1)),
                None => Read::unless_more(text, 4 + LONGEST_NUMBER, b'\\'),
            },
            b'u' => match number(text, 2, 4) {
                Some(number) => surrogates(text, number, b"\\u"),
                None => Read::unless_more(text, 6, b'\\'),
            },
            b'U' => match number(text, 2, 8) {
                Some(number) => char::from_u32(number).map_or(Read::literal(b'\\', 1), |c| Read::point(c, 10)),
                None => Read::unless_more(text, 10, b'\\'),
            },
            other => Read::literal(*other, 2),
        }
    }

    /// What a number below 256 stands for.
    fn byte(self, number: u32, used: usize) -> Read {
        let byte = u8::try_from(number).unwrap_or_default();
        if self.points { Read::point(char::from(byte), used) } else { Read::literal(byte, used) }
    }
}

fn read_entity(text: &[u8]) -> Read {
    let longest = 3 + LONGEST_NAME;
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let Some(end) = text.iter().skip(1).take(longest).position(|byte| !is_of_name(byte)) else {
        return if text.len() > longest { Read::literal(b'&', 1) } else { Read::More };
    };
    let (name, used) = (&text[1..=end], end + 2);
    let point = match name {
        [b'#', b'x' | b'X', digits @ ..] => point_of(digits, 16),
        [b'#', digits @ ..] => point_of(digits, 10),
        _ => {
            let characters = std::str::from_utf8(name).ok().and_then(|name| ENTITIES.get(name));
            let characters = characters.filter(|_| text[end + 1] == b';');
            return characters.map_or(Read::literal(b'&', 1), |characters| Read::text(characters, used));
        }
    };
    // Browsers read a number without its end too.
    let used = if text[end + 1] == b';' { used } else { used - 1 };
    point.map_or(Read::literal(b'&', 1), |point| Read::point(point, used))
}

fn read_equals(text: &[u8]) -> Read {
    match text {
        [_, b'\n', ..] => Read::nothing(2),
        [_, b'\r', b'\n', ..] => Read::nothing(3),
        [_] | [_, b'\r'] => Read::More,
        _ => match number(text, 1, 2) {
            Some(number) => Read::literal(u8::try_from(number).unwrap_or_default(), 3),
            None => Read::unless_more(text, 3, b'='),
        },
    }
}

/// The hexadecimal number of exactly `length` digits at `from`.
fn number(text: &[u8], from: usize, length: usize) -> Option<u32> {
    let digits = text.get(from..from + length)?;
    digits.iter().try_fold(0, |number, digit| Some(number << 4 | char::from(*digit).to_digit(16)?))
}

fn point_of(digits: &[u8], radix: u32) -> Option<char> {
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| !digits.is_empty() && digits.len() <= LONGEST_NUMBER)?;
    char::from_u32(u32::from_str_radix(digits, radix).ok()?)
}

/// The character of a number of UTF-16, which may be half of one whose other half follows.
fn surrogates(text: &[u8], first: u32, mark: &[u8; 2]) -> Read {
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map_or(Read::literal(mark[0], 1), |point| Read::point(point, 6));
    }
    let begins = text[6..].iter().zip(mark).all(|(byte, mark)| byte == mark);
    match number(text, 8, 4) {
        Some(second) if begins && (0xdc00..0xe000).contains(&second) => {
            let point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            char::from_u32(point).map_or(Read::literal(mark[0], 1), |point| Read::point(point, 12))
        }
        None if begins && text.len() < 12 && text[6..].iter().skip(2).all(u8::is_ascii_hexdigit) => Read::More,
        _ => Read::literal(mark[0], 1),
    }
}

enum Read {
    /// What follows decides.
    More,
    /// So many bytes spell these.
    Bytes { used: usize, bytes: [u8; 8], count: usize },
}

impl Read {
    fn literal(byte: u8, used: usize) -> Self {
        Self::Bytes { used, bytes: [byte, 0, 0, 0, 0, 0, 0, 0], count: 1 }
    }

    fn nothing(used: usize) -> Self {
        Self::Bytes { used, bytes: [0; 8], count: 0 }
    }

    fn point(point: char, used: usize) -> Self {
        Self::text(point.encode_utf8(&mut [0; 4]), used)
    }

    fn text(text: &str, used: usize) -> Self {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Self::Bytes { used, bytes, count: text.len() }
    }

    /// What begins like an escape of `length` bytes and is none is what it is, once it cannot become one.
    fn unless_more(text: &[u8], length: usize, byte: u8) -> Self {
        let prefix = text.iter().take(length).skip(1);
        let may_become =
            prefix.clone().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'u' | b'U' | b'{'));
        if text.len() < length && may_become { Self::More } else { Self::literal(byte, 1) }
    }
}

/// Undoes the spellings of characters in a text that comes in pieces.
#[derive(Clone)]
pub(super) struct Undo {
    escapes: Escapes,
    /// What may be the beginning of a spelling.
    open: Vec<Unit>,
    /// The bytes of that.
    text: Vec<u8>,
}

impl Undo {
    pub(super) fn new(escapes: Escapes) -> Self {
        Self { escapes, open: Vec::new(), text: Vec::new() }
    }

    /// Forgets what it read.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.text.clear();
    }

    /// Reads on; tells `next` what was read.
    pub(super) fn read(&mut self, unit: Unit, next: &mut impl FnMut(Unit)) {
        if self.open.is_empty() && !self.escapes.begin_with(unit.byte) {
            return next(unit);
        }
        self.open.push(unit);
        self.text.push(unit.byte);
        self.settle(false, next);
    }

    /// What is open at the end is what it is.
    pub(super) fn finish(&mut self, next: &mut impl FnMut(Unit)) {
        if self.open.len() > 1 {
            // Behind the end is nothing that a spelling could go on with.
            self.text.push(b'\n');
        }
        self.settle(true, next);
    }

    fn settle(&mut self, is_end: bool, next: &mut impl FnMut(Unit)) {
        let mut done = 0;
        while done < self.open.len() {
            let open = &self.open[done..];
            let (used, bytes, count) = match self.escapes.read(&self.text[done..]) {
                Read::More if is_end => (1, [open[0].byte; 8], 1),
                Read::More => break,
                Read::Bytes { used, bytes, count } => (used.min(open.len()), bytes, count),
            };
            let (start, end) = (open[0].start, open[used - 1].end);
            bytes[..count].iter().for_each(|byte| next(Unit { byte: *byte, start, end }));
            done += used;
        }
        if done == self.open.len() {
            self.clear();
        } else {
            self.open.drain(..done);
            self.text.drain(..done);
        }
    }

    pub(super) fn start(&self) -> Option<usize> {
        self.open.first().map(|unit| unit.start)
    }
}

/// A text with its escapes undone; it need not be UTF-8 any more.
pub(super) fn undone(text: &[u8], escapes: Escapes) -> Vec<u8> {
    let mut undo = Undo::new(escapes);
    let mut bytes = Vec::new();
    let unit = |(start, byte): (usize, u8)| Unit { byte, start, end: start + 1 };
    text.iter().copied().enumerate().for_each(|place| undo.read(unit(place), &mut |unit| bytes.push(unit.byte)));
    undo.finish(&mut |unit| bytes.push(unit.byte));
    bytes
}
