//! Messages as lines, read within limits.

use std::io::{ErrorKind, Read};

use super::LONGEST_LINE;
use crate::r;

/// How much is read at once, and kept between two lines.
const CHUNK: usize = 64 << 10;

/// Reads lines, or frames of R, that may not be longer than [`LONGEST_LINE`], from anything that can be read.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: R,
    longest: usize,
    buffer: Vec<u8>,
    /// Up to where lines have been handed out.
    taken: usize,
    /// Up to where no end of a line was found.
    searched: usize,
    ended: bool,
}

/// Why there is no further line.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line is longer than what is taken.
    #[error("the line is longer than {limit} bytes")]
    TooLong {
        /// What is taken.
        limit: usize,
    },
    /// What begins here is no frame.
    #[error("`{excerpt}` is written where only messages may be")]
    NoFrame {
        /// How it begins.
        excerpt: String,
    },
    /// The other side ended within a line.
    #[error("the other side ended within a line, after {size} bytes of it")]
    Cut {
        /// What came of the line.
        size: usize,
    },
    /// The other side could not be read.
    #[error("the other side cannot be read")]
    Read(#[source] std::io::Error),
}

impl<R: Read> FrameReader<R> {
    /// Reads from `input`, which needs no buffer of its own.
    pub fn new(input: R) -> Self {
        Self::with_longest(input, LONGEST_LINE)
    }

    fn with_longest(input: R, longest: usize) -> Self {
        Self { input, longest, buffer: Vec::new(), taken: 0, searched: 0, ended: false }
    }

    /// Returns what is read from.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// Returns the next line without its end; `None` at the end of the input.
    ///
    /// # Errors
    /// When the line is too long, cut off or cannot be read. After an error of reading nothing is lost, so an input that
    /// would have to wait can be asked again.
    #[expect(clippy::should_implement_trait, reason = "a line lends from the buffer, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, LineError> {
        loop {
            let found = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n');
            let end = found.map_or(self.buffer.len(), |at| self.searched + at);
            if end - self.taken >= self.longest {
                return Err(LineError::TooLong { limit: self.longest });
            }
            if found.is_some() {
                let line = self.taken..end;
                (self.taken, self.searched) = (end + 1, end + 1);
                return Ok(Some(&self.buffer[line]));
            }
            self.searched = end;
            if self.ended {
                return match self.buffer.len() - self.taken {
                    0 => Ok(None),
                    size => Err(LineError::Cut { size }),
                };
            }
            self.fill()?;
        }
    }

    /// Returns the inside of the next frame; `None` at the end of the input.
    ///
    /// # Errors
    /// As for [`next`](Self::next).
    pub(crate) fn frame(&mut self) -> Result<Option<&[u8]>, LineError> {
        const HEAD: usize = r::MAGIC.len() + 4;
        loop {
            let rest = &self.buffer[self.taken..];
            let begin = rest.len().min(r::MAGIC.len());
            if rest[..begin] != r::MAGIC[..begin] {
                // It may be shown on a terminal.
                let line = rest[..rest.len().min(80)].split(|byte| byte.is_ascii_control()).next().unwrap_or_default();
                let excerpt = String::from_utf8_lossy(line).into_owned();
                return Err(LineError::NoFrame { excerpt });
            }
            if let Some(head) = rest.first_chunk::<HEAD>() {
                let [.., a, b, c, d] = *head;
                let size = u32::from_be_bytes([a, b, c, d]) as usize;
                if HEAD + size > self.longest {
                    return Err(LineError::TooLong { limit: self.longest });
                }
                if rest.len() >= HEAD + size {
                    let inside = self.taken + HEAD..self.taken + HEAD + size;
                    (self.taken, self.searched) = (inside.end, inside.end);
                    return Ok(Some(&self.buffer[inside]));
                }
            }
            if self.ended {
                return match rest.len() {
                    0 => Ok(None),
                    size => Err(LineError::Cut { size }),
                };
            }
            self.searched = self.buffer.len();
            self.fill()?;
        }
    }

    /// Returns whether a further line, the end, or that there is neither, can be told without reading.
    #[cfg(unix)]
    pub(crate) fn has_next(&mut self) -> bool {
        let found = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n');
        self.searched = found.map_or(self.buffer.len(), |at| self.searched + at);
        found.is_some() || self.ended || self.buffer.len() - self.taken >= self.longest
    }

    /// Returns whether the end of the input has been read.
    #[cfg(unix)]
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads some more, which nobody has to want yet.
    pub(crate) fn fill(&mut self) -> Result<(), LineError> {
        self.buffer.drain(..self.taken);
        self.searched -= self.taken;
        self.taken = 0;
        // One huge line is no reason to hold its room for ever.
        if self.buffer.len() < CHUNK {
            self.buffer.shrink_to(2 * CHUNK);
        }
        let start = self.buffer.len();
        // A long line is read in long pieces.
        self.buffer.resize(start + start.max(CHUNK), 0);
        let read = loop {
            match self.input.read(&mut self.buffer[start..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(start + *read.as_ref().unwrap_or(&0));
        self.ended = read.map_err(LineError::Read)? == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Gives what it holds piece by piece: an error, or bytes.
    struct Pieces(Vec<Result<&'static [u8], ErrorKind>>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0)?;
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    fn all(pieces: Vec<Result<&'static [u8], ErrorKind>>, longest: usize) -> Vec<String> {
        let mut lines = FrameReader::with_longest(Pieces(pieces), longest);
        let mut told = Vec::new();
        loop {
            match lines.next() {
                Ok(Some(line)) => told.push(String::from_utf8_lossy(line).into_owned()),
                Ok(None) => return told,
                Err(LineError::Read(error)) => told.push(error.to_string()),
                Err(error) => {
                    told.push(error.to_string());
                    return told;
                }
            }
        }
    }

    #[test]
    fn lines_come_whole_however_they_arrive() {
        assert_eq!(all(vec![], 10), [""; 0]);
        assert_eq!(all(vec![Ok(b"a\nb\n")], 10), ["a", "b"]);
        assert_eq!(all(vec![Ok(b"a"), Ok(b"b"), Ok(b"\n\nc\r\n")], 10), ["ab", "", "c\r"]);
        assert_eq!(all(vec![Ok(b"a\nb"), Ok(b"c\nd\n")], 10), ["a", "bc", "d"]);
    }

    #[test]
    fn what_must_wait_or_was_interrupted_is_read_again() {
        let pieces = vec![Ok(b"a".as_slice()), Err(ErrorKind::Interrupted), Err(ErrorKind::WouldBlock), Ok(b"b\n")];
        assert_eq!(all(pieces, 10), [ErrorKind::WouldBlock.to_string(), "ab".to_owned()]);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_with_its_end() {
        assert_eq!(all(vec![Ok(b"123\n1234\n")], 5), ["123", "1234"]);
        assert_eq!(all(vec![Ok(b"123\n12345\n")], 5), ["123", "the line is longer than 5 bytes"]);
        assert_eq!(all(vec![Ok(b"123\n12345")], 5), ["123", "the line is longer than 5 bytes"]);
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        assert_eq!(all(vec![Ok(b"a\nbc")], 10), ["a", "the other side ended within a line, after 2 bytes of it"]);
    }

    #[test]
    fn the_room_of_a_huge_line_is_given_back() {
        let mut input = vec![b'x'; 8 << 20];
        input.push(b'\n');
        input.extend(b"small\n".repeat(20_000));
        let mut lines = FrameReader::new(input.as_slice());
        assert_eq!(lines.next().expect("it can be read").map(<[u8]>::len), Some(8 << 20));
        let mut count = 0;
        while lines.next().expect("it can be read").is_some() {
            count += 1;
        }
        assert_eq!(count, 20_000);
        assert!(lines.buffer.capacity() <= 4 * CHUNK, "{} bytes are held", lines.buffer.capacity());
    }

    #[test]
    fn frames_come_whole_however_they_arrive() {
        let frames = |pieces: Vec<Result<&'static [u8], ErrorKind>>| {
            let mut lines = FrameReader::with_longest(Pieces(pieces), 20);
            let mut told = Vec::new();
            loop {
                match lines.frame() {
                    Ok(Some(frame)) => told.push(String::from_utf8_lossy(frame).into_owned()),
                    Ok(None) => return told,
                    Err(LineError::Read(error)) => told.push(error.to_string()),
                    Err(error) => {
                        told.push(error.to_string());
                        return told;
                    }
                }
            }
        };
        assert_eq!(frames(vec![]), [""; 0]);
        assert_eq!(frames(vec![Ok(b"cyR\x01\0\0\0\x01acyR\x01\0\0\0\0cyR\x01\0\0\0\x02b\n")]), ["a", "", "b\n"]);
        let pieces = vec![Ok(b"c".as_slice()), Ok(b"yR\x01\0\0"), Err(ErrorKind::WouldBlock), Ok(b"\0\x02a"), Ok(b"b")];
        assert_eq!(frames(pieces), [ErrorKind::WouldBlock.to_string(), "ab".to_owned()]);
        assert_eq!(
            frames(vec![Ok(b"cyR\x01\0\0\0\x02a")]),
            ["the other side ended within a line, after 9 bytes of it"]
        );
        assert_eq!(frames(vec![Ok(b"cyR\x01\0\0\0\x0d")]), ["the line is longer than 20 bytes"]);
        assert_eq!(frames(vec![Ok(b"cyR\x01\xff\xff\xff\xff")]), ["the line is longer than 20 bytes"]);
        assert_eq!(frames(vec![Ok(b"cyx\nrest")]), ["`cyx` is written where only messages may be"]);
        assert_eq!(frames(vec![Ok(b"\x1b[2J")]), ["`` is written where only messages may be"]);
    }
}
