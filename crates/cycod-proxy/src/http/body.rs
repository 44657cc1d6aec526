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
    is_first: bool,
}

impl Body {
    fn new(framing: Framing) -> Self {
        let left = if let Framing::Length(length) = framing { length } else { 0 };
        Self { framing, left, is_first: true }
    }

    /// Waits until some of it is buffered, and says how much; nothing at its end.
    fn ready(&mut self, session: &Session, from: &mut Stream) -> io::Result<usize> {
        match self.framing {
            Framing::Empty => return Ok(0),
            Framing::Length(_) if self.left == 0 => return Ok(0),
            Framing::Chunked if self.left == 0 => {
                self.left = self.next_chunk(session, from)?;
                if self.left == 0 {
                    self.framing = Framing::Empty;
                    return Ok(0);
                }
            }
            _ => {}
        }
        if from.buffered().is_empty() && session.more(from, session.idle())? == 0 {
            return if self.framing == Framing::Close { Ok(0) } else { Err(ErrorKind::UnexpectedEof.into()) };
        }
        let most =
            if self.framing == Framing::Close { usize::MAX } else { usize::try_from(self.left).unwrap_or(usize::MAX) };
        Ok(from.buffered().len().min(most))
    }

    fn took(&mut self, from: &mut Stream, bytes: usize) {
        from.consume(bytes);
        self.left = self.left.saturating_sub(bytes as u64);
    }

    fn next_chunk(&mut self, session: &Session, from: &mut Stream) -> io::Result<u64> {
        if !self.is_first && !line(session, from)?.is_empty() {
            return Err(broken("a chunk is longer than it says"));
        }
        self.is_first = false;
        let size = line(session, from)?;
        let digits = size.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
        let size = (1..=15).contains(&digits.len()).then(|| {
            digits.iter().try_fold(0_u64, |sum, byte| Some(sum << 4 | u64::from(char::from(*byte).to_digit(16)?)))
        });
        let size = size.flatten().ok_or_else(|| broken("the size of a chunk is no number"))?;
        if size == 0 {
            for _ in 0..TRAILERS {
                if line(session, from)?.is_empty() {
                    return Ok(0);
                }
            }
            return Err(broken("there are too many trailers"));
        }
        Ok(size)
    }
}

/// Reads a line that ends in CRLF.
fn line(session: &Session, from: &mut Stream) -> io::Result<Vec<u8>> {
    let mut seen = 0;
    loop {
        if let Some(at) = memchr::memchr(b'\n', &from.buffered()[seen..]) {
            let text = &from.buffered()[..seen + at];
            let text = text.strip_suffix(b"\r").filter(|text| !text.contains(&b'\r'));
            let line = text.ok_or_else(|| broken("a line of the body does not end in CRLF"))?.to_vec();
            from.consume(seen + at + 1);
            return Ok(line);
        }
        seen = from.buffered().len();
        if seen > LINE {
            return Err(broken("a line of the body is too long"));
        }
        if session.more(from, session.idle())? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// Reads a whole body that says how long it is.
pub(crate) fn collect(session: &Session, from: &mut Stream, framing: Framing) -> io::Result<Vec<u8>> {
    let (mut body, mut whole) = (Body::new(framing), Vec::new());
    loop {
        let ready = body.ready(session, from)?;
        if ready == 0 {
            return Ok(whole);
        }
        whole.extend_from_slice(&from.buffered()[..ready]);
        body.took(from, ready);
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
            let ready = body.ready(self.session, self.from)?;
            piece.clear();
            match &mut self.replacer {
                Some(replacer) if ready == 0 => replacer.finish(&mut piece),
                Some(replacer) => replacer.push(&self.from.buffered()[..ready], &mut piece),
                None => piece.extend_from_slice(&self.from.buffered()[..ready]),
            }
            body.took(self.from, ready);
            if onward == Framing::Chunked {
                if !piece.is_empty() {
                    let size = format!("{:x}\r\n", piece.len());
                    piece.splice(..0, size.into_bytes());
                    piece.extend_from_slice(b"\r\n");
                }
                if ready == 0 {
                    piece.extend_from_slice(b"0\r\n\r\n");
                }
            }
            if self.send(&piece)? == Passed::Answered {
                return Ok(Passed::Answered);
            }
            if ready == 0 {
                return Ok(Passed::Whole);
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
