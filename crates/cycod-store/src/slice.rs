use std::fmt;

use crate::{
    StoreError, StoredOutput,
    excerpt::{first, is_continuation, room, whole_characters, widest},
    tally::count_newlines,
};

/// A place in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputPosition {
    /// The beginning of a line, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Byte(u64),
}

/// Says such as `line 12` or `byte 4096`.
impl fmt::Display for OutputPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutputPosition::Line(number) => write!(f, "line {number}"),
            OutputPosition::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// A part of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The bytes; of text, whole characters.
    pub bytes: Vec<u8>,
    /// Where they begin.
    pub offset: u64,
    /// In which line they begin, counted from 1.
    pub line: u64,
    /// Where to go on, if there is more. A line that did not fit goes on at a byte.
    pub next: Option<OutputPosition>,
}

impl StoredOutput {
    /// Returns `count` lines or bytes, whichever `from` is, but not more than `cap` tokens.
    ///
    /// Bytes that are not text count as the base64 they will be written in. At least one character or byte is returned
    /// unless `from` is the end, so who goes on at `next` arrives.
    pub fn slice(&self, from: OutputPosition, count: u64, cap: usize) -> Result<Slice, StoreError> {
        let count = count.max(1);
        let (offset, wanted) = match from {
            OutputPosition::Line(number) => (self.line_start(number)?, u64::MAX),
            OutputPosition::Byte(offset) => (self.character_start(offset.min(self.bytes()))?, count),
        };
        let room = room(cap);
        let mut bytes = if self.is_text() {
            // The first character counts however many bytes it is, so a few more than wanted are looked at.
            let mut bytes = self.block(offset, widest(room).min(wanted.saturating_add(3)))?;
            let whole = whole_characters(&bytes);
            let text = std::str::from_utf8(&bytes[..whole]);
            let text = text.map_err(|error| self.failed_to_read()(std::io::Error::other(error)))?;
            let most = usize::try_from(wanted).unwrap_or(usize::MAX);
            let least = text.chars().next().map_or(0, char::len_utf8);
            let end = text.floor_char_boundary(most).max(least).min(first(text, room).len());
            bytes.truncate(end);
            bytes
        } else {
            self.block(offset, (room as u64 / 4 * 3).min(wanted))?
        };
        if let OutputPosition::Line(_) = from {
            let nth = memchr::memchr_iter(b'\n', &bytes).nth(usize::try_from(count - 1).unwrap_or(usize::MAX));
            let is_cut = nth.is_none() && offset + (bytes.len() as u64) < self.bytes();
            let end = if is_cut { memchr::memrchr(b'\n', &bytes) } else { nth };
            bytes.truncate(end.map_or(bytes.len(), |newline| newline + 1));
        }
        let (line, end) = (self.line_of(offset)?, offset + bytes.len() as u64);
        let next = match from {
            _ if end >= self.bytes() => None,
            OutputPosition::Line(_) if bytes.ends_with(b"\n") => {
                Some(OutputPosition::Line(line + count_newlines(&bytes)))
            }
            _ => Some(OutputPosition::Byte(end)),
        };
        Ok(Slice { bytes, offset, line, next })
    }

    /// Returns where the character begins that holds the byte.
    fn character_start(&self, offset: u64) -> Result<u64, StoreError> {
        let before = offset.min(3);
        let bytes = self.block(offset - before, before + 1)?;
        let is_within = self.is_text() && bytes.len() as u64 > before;
        let back = bytes.iter().rev().take_while(|byte| is_within && is_continuation(**byte)).count() as u64;
        Ok(offset - back.min(before))
    }
}
