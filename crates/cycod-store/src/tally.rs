//! Counts what passes by: bytes, lines and where each of them begins, so that any line of a large output is found at once.

use std::{fmt, io};

use sha2::{Digest as _, Sha256};

use crate::{Digest, kept::read_block};

/// How many checkpoints an index may have before every other one is dropped.
pub(crate) const MOST_CHECKPOINTS: u64 = 4096;

/// What is learnt about an output while it passes by, in memory that does not grow with it.
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) index: LineIndex,
    hash: Sha256,
    text: Utf8,
    last: Option<u8>,
}

/// What is known of a complete output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) bytes: u64,
    pub(crate) newlines: u64,
    /// Whether bytes follow the last newline.
    pub(crate) open_line: bool,
    pub(crate) is_text: bool,
    /// Bytes that came in and were not kept.
    pub(crate) dropped: u64,
    pub(crate) sha256: Digest,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally { bytes: 0, index: LineIndex::new(64 * 1024), hash: Sha256::new(), text: Utf8::default(), last: None }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.text.add(bytes);
        self.index.add(self.bytes, bytes);
        self.bytes += bytes.len() as u64;
        self.last = bytes.last().copied().or(self.last);
    }

    /// Whether the next byte begins a line.
    pub(crate) fn ends_line(&self) -> bool {
        self.last.is_none_or(|byte| byte == b'\n')
    }

    pub(crate) fn finish(self, dropped: u64) -> (Totals, LineIndex) {
        let totals = Totals {
            bytes: self.bytes,
            newlines: self.index.newlines,
            open_line: self.last.is_some_and(|byte| byte != b'\n'),
            is_text: self.text.is_complete(),
            dropped,
            sha256: Digest(self.hash.finalize().into()),
        };
        (totals, self.index)
    }
}

/// Whether bytes that come in pieces are UTF-8 without NUL.
#[derive(Default)]
struct Utf8 {
    is_broken: bool,
    /// The begun character at the end of the last piece.
    begun: Vec<u8>,
}

impl Utf8 {
    fn add(&mut self, mut bytes: &[u8]) {
        while !self.is_broken && !self.begun.is_empty() {
            let Some((&byte, rest)) = bytes.split_first() else { return };
            self.begun.push(byte);
            bytes = rest;
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) => self.is_broken = error.error_len().is_some(),
            }
        }
        if self.is_broken {
            return;
        }
        let valid = match std::str::from_utf8(bytes) {
            Ok(_) => bytes.len(),
            Err(error) => {
                self.is_broken = error.error_len().is_some();
                error.valid_up_to()
            }
        };
        self.is_broken |= memchr::memchr(0, bytes).is_some();
        self.begun.extend_from_slice(&bytes[valid..][..if self.is_broken { 0 } else { bytes.len() - valid }]);
    }

    fn is_complete(&self) -> bool {
        !self.is_broken && self.begun.is_empty()
    }
}

/// Finds lines without reading from the beginning: the number of newlines before every `stride` bytes.
///
/// When there are too many checkpoints, every other one is dropped and the stride doubles, so the index of a terabyte
/// is as small as that of a gigabyte.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct LineIndex {
    pub(crate) stride: u64,
    /// Element `i` counts the newlines in the first `i * stride` bytes.
    pub(crate) checkpoints: Vec<u64>,
    newlines: u64,
}

impl LineIndex {
    pub(crate) fn new(stride: u64) -> LineIndex {
        LineIndex { stride, checkpoints: vec![0], newlines: 0 }
    }

    pub(crate) fn from_parts(stride: u64, checkpoints: Vec<u64>, newlines: u64) -> LineIndex {
        LineIndex { stride, checkpoints, newlines }
    }

    fn add(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.checkpoints.len() as u64 * self.stride - offset;
            let (piece, rest) = bytes.split_at(bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
            self.newlines += count_newlines(piece);
            offset += piece.len() as u64;
            bytes = rest;
            if piece.len() as u64 == room {
                self.checkpoints.push(self.newlines);
                if self.checkpoints.len() as u64 > MOST_CHECKPOINTS {
                    let mut index = 0;
                    self.checkpoints.retain(|_| {
                        index += 1;
                        index % 2 == 1
                    });
                    self.stride *= 2;
                }
            }
        }
    }

    /// Counts the newlines before `offset`.
    pub(crate) fn newlines_before(&self, offset: u64, read: ReadAt<'_>) -> io::Result<u64> {
        let nearest = usize::try_from(offset / self.stride).unwrap_or(usize::MAX).min(self.checkpoints.len() - 1);
        let mut count = self.checkpoints[nearest];
        let mut at = nearest as u64 * self.stride;
        while at < offset {
            let block = read_block(read, at, offset - at)?;
            if block.is_empty() {
                break;
            }
            count += count_newlines(&block);
            at += block.len() as u64;
        }
        Ok(count)
    }

    /// Returns where the line after `newlines` newlines begins; `None` if there are not as many.
    pub(crate) fn line_start(&self, newlines: u64, read: ReadAt<'_>) -> io::Result<Option<u64>> {
        if newlines == 0 {
            return Ok(Some(0));
        }
        let nearest = self.checkpoints.partition_point(|&count| count < newlines) - 1;
        let mut missing = newlines - self.checkpoints[nearest];
        let mut at = nearest as u64 * self.stride;
        loop {
            let block = read_block(read, at, u64::MAX)?;
            if block.is_empty() {
                return Ok(None);
            }
            for newline in memchr::memchr_iter(b'\n', &block) {
                missing -= 1;
                if missing == 0 {
                    return Ok(Some(at + newline as u64 + 1));
                }
            }
            at += block.len() as u64;
        }
    }
}

/// Reads at an offset; fewer bytes than asked for only at the end.
pub(crate) type ReadAt<'a> = &'a dyn Fn(u64, &mut [u8]) -> io::Result<usize>;

pub(crate) fn count_newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

impl fmt::Debug for LineIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LineIndex({} newlines, every {} bytes)", self.newlines, self.stride)
    }
}
