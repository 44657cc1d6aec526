//! Bodies, read as far as they reach and no further.

use std::{
    io::{self, ErrorKind},
    os::fd::AsFd,
};

use zeroize::Zeroizing;

use crate::{http::head::Framing, session::Session, stream::Stream, swap::Replacer};

/// Bytes of the line before a chunk, or of a trailer.
const LINE: usize = 4096;
/// Trailers, which go no further.
const TRAILERS: usize = 64;

/// How much of a body is left.
struct Body {
    framing: Framing,
    /// Of the length, or of the chunk.
    left: u64,
    line: Line,
}

/// The line that comes next in a body of chunks, behind the chunk that is being read.
enum Line {
    Size,
    /// The empty one behind a chunk.
    EndOfChunk,
    /// A trailer, behind this many others.
    Trailer(usize),
}

/// What is buffered of a body.
enum Ready {
    Bytes(usize),
    /// Nothing that can go on; more has to be read.
    Nothing,
    End,
}

impl Body {
    fn new(framing: Framing) -> Self {
        let left = if let Framing::Length(length) = framing { length } else { 0 };
        Self { framing, left, line: Line::Size }
    }

    /// What is buffered of it. Does not wait.
    fn ready(&mut self, from: &mut Stream) -> io::Result<Ready> {
        if self.framing == Framing::Chunked && self.left == 0 && !self.next_chunk(from)? {
            return Ok(Ready::Nothing);
        }
        let most = match self.framing {
            Framing::Empty => return Ok(Ready::End),
            Framing::Length(_) if self.left == 0 => return Ok(Ready::End),
            Framing::Close => usize::MAX,
            Framing::Length(_) | Framing::Chunked => usize::try_from(self.left).unwrap_or(usize::MAX),
        };
        let ready = from.buffered().len().min(most);
        Ok(if ready == 0 { Ready::Nothing } else { Ready::Bytes(ready) })
    }

    /// Waits for more of it.
    fn more(&mut self, session: &Session, from: &mut Stream) -> io::Result<()> {
        if session.more(from, session.idle())? == 0 {
            if self.framing != Framing::Close {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.framing = Framing::Empty;
        }
        Ok(())
    }

    fn took(&mut self, from: &mut Stream, bytes: usize) {
        from.consume(bytes);
        self.left = self.left.saturating_sub(bytes as u64);
    }

    /// Reads the lines before the next chunk, or behind the last one. Whether all of them were buffered.
    fn next_chunk(&mut self, from: &mut Stream) -> io::Result<bool> {
        while let Some(line) = line(from)? {
            match self.line {
                Line::EndOfChunk if line.is_empty() => self.line = Line::Size,
                Line::EndOfChunk => return Err(broken("a chunk is longer than it says")),
                Line::Size => {
                    self.left = size(&line).ok_or_else(|| broken("the size of a chunk is no number"))?;
                    if self.left > 0 {
                        self.line = Line::EndOfChunk;
                        return Ok(true);
                    }
                    self.line = Line::Trailer(0);
                }
                Line::Trailer(_) if line.is_empty() => {
                    self.framing = Framing::Empty;
                    return Ok(true);
                }
                Line::Trailer(before) if before + 1 == TRAILERS => return Err(broken("there are too many trailers")),
                Line::Trailer(before) => self.line = Line::Trailer(before + 1),
            }
        }
        Ok(false)
    }
}

/// The size that the line before a chunk says.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
    let is_short = (1..=15).contains(&digits.len());
    let digit = |sum: u64, byte: &u8| Some(sum << 4 | u64::from(char::from(*byte).to_digit(16)?));
    digits.iter().try_fold(0, digit).filter(|_| is_short)
}

/// Takes a line that ends in CRLF, when all of it is buffered.
fn line(from: &mut Stream) -> io::Result<Option<Vec<u8>>> {
    let Some(end) = memchr::memchr(b'\n', from.buffered()) else {
        return if from.buffered().len() > LINE { Err(broken("a line of the body is too long")) } else { Ok(None) };
    };
    let text = from.buffered()[..end].strip_suffix(b"\r").filter(|text| !text.contains(&b'\r'));
    let line = text.ok_or_else(|| broken("a line of the body does not end in CRLF"))?.to_vec();
    from.consume(end + 1);
    Ok(Some(line))
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// Reads a whole body that says how long it is.
pub(crate) fn collect(session: &Session, from: &mut Stream, framing: Framing) -> io::Result<Vec<u8>> {
    let (mut body, mut whole) = (Body::new(framing), Vec::new());
    loop {
        match body.ready(from)? {
            Ready::Bytes(ready) => {
                whole.extend_from_slice(&from.buffered()[..ready]);
                body.took(from, ready);
            }
            Ready::Nothing => body.more(session, from)?,
            Ready::End => return Ok(whole),
        }
    }
}

/// What came of passing a body on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// All of it went.
    Whole,
    /// The other side answered before it had all of it.
    Answered,
}

/// Passes a body on, in another framing if need be, and with texts replaced.
pub(crate) struct Copy<'a> {
    pub(crate) session: &'a Session,
    pub(crate) from: &'a mut Stream,
    pub(crate) to: &'a mut Stream,
    pub(crate) replacer: Option<Replacer>,
    /// Whether the other side may answer before it has all.
    pub(crate) may_answer: bool,
}

impl Copy<'_> {
    pub(crate) fn pass(mut self, framing: Framing, onward: Framing) -> io::Result<Passed> {
        let mut body = Body::new(framing);
        // It may hold the value of a secret.
        let mut piece = Zeroizing::new(Vec::new());
        loop {
            piece.clear();
            let has_ended = self.gather(&mut body, &mut piece)?;
            if onward == Framing::Chunked {
                if !piece.is_empty() {
                    let size = format!("{:x}\r\n", piece.len());
                    piece.splice(..0, size.into_bytes());
                    piece.extend_from_slice(b"\r\n");
                }
                if has_ended {
                    piece.extend_from_slice(b"0\r\n\r\n");
                }
            }
            if self.send(&piece)? == Passed::Answered {
                return Ok(Passed::Answered);
            }
            if has_ended {
                return Ok(Passed::Whole);
            }
            body.more(self.session, self.from)?;
        }
    }

    /// Takes all that is buffered, however many chunks it is: sending each of them on costs more than all of them together.
    /// Whether it was the end.
    fn gather(&mut self, body: &mut Body, piece: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            match (body.ready(self.from)?, &mut self.replacer) {
                (Ready::Bytes(ready), replacer) => {
                    let bytes = &self.from.buffered()[..ready];
                    match replacer {
                        Some(replacer) => replacer.push(bytes, piece),
                        None => piece.extend_from_slice(bytes),
                    }
                    body.took(self.from, ready);
                }
                (Ready::Nothing, _) => return Ok(false),
                (Ready::End, replacer) => {
                    if let Some(replacer) = replacer {
                        replacer.finish(piece);
                    }
                    return Ok(true);
                }
            }
        }
    }

    fn send(&mut self, mut bytes: &[u8]) -> io::Result<Passed> {
        while self.may_answer && !bytes.is_empty() {
            match self.to.write(bytes) {
                Ok(written) => {
                    bytes = &bytes[written..];
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Who answers early and hangs up may have left the answer.
                Err(_) if self.has_answered().unwrap_or(false) => return Ok(Passed::Answered),
                Err(error) => return Err(error),
            }
            if self.has_answered()? {
                return Ok(Passed::Answered);
            }
            self.session.wait(&[(self.to.as_fd(), self.to.interest(true, true))], self.session.idle())?;
        }
        self.session.write(self.to, bytes).map(|()| Passed::Whole)
    }

    fn has_answered(&mut self) -> io::Result<bool> {
        if !self.to.buffered().is_empty() {
            return Ok(true);
        }
        match self.to.fill() {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}
