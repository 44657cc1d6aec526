use std::io::Read;

use crate::{
    protocol::{self, FrameReader, FromWorker, LONGEST_LINE, MessageError, SendError, ToWorker},
    r,
};

/// How messages look on the way to and from a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// A line of JSON each.
    Json,
    /// A frame each, that holds a value as R itself writes it, because R can read JSON only with a package.
    R,
}

impl Codec {
    /// Returns the bytes that tell a worker `message`.
    ///
    /// # Errors
    /// When the message is too long, or holds what the worker's language cannot. The worker has seen nothing of it then.
    pub fn encode(self, message: &ToWorker) -> Result<Vec<u8>, SendError> {
        match self {
            Self::Json => {
                let mut line = Vec::new();
                protocol::send(&mut line, message)?;
                Ok(line)
            }
            Self::R => {
                let frame = r::encode(message).map_err(|why| SendError::Unfit { why })?;
                if frame.len() > LONGEST_LINE {
                    return Err(SendError::TooLong { size: frame.len() });
                }
                Ok(frame)
            }
        }
    }
}

/// What a worker says, read message by message.
#[derive(Debug)]
pub struct Answers<R> {
    codec: Codec,
    input: FrameReader<R>,
}

impl<R: Read> Answers<R> {
    /// Reads from `input`, which needs no buffer of its own.
    pub fn new(codec: Codec, input: R) -> Self {
        Self { codec, input: FrameReader::new(input) }
    }

    /// Returns what is read from.
    pub fn input(&self) -> &R {
        self.input.input()
    }

    /// Returns the next message; `None` when the worker has ended between two of them.
    ///
    /// A result that JSON cannot hold is a failure of its call, not an error.
    ///
    /// # Errors
    /// As [`protocol::receive`].
    #[expect(clippy::should_implement_trait, reason = "an error of reading that says to wait does not end it")]
    pub fn next(&mut self) -> Result<Option<FromWorker>, MessageError> {
        match self.codec {
            Codec::Json => protocol::receive(&mut self.input),
            Codec::R => {
                let Some(frame) = self.input.frame()? else { return Ok(None) };
                r::decode(frame)
                    .map(Some)
                    .map_err(|why| MessageError::Garbage { excerpt: "a frame of R".to_owned(), why: why.to_string() })
            }
        }
    }
}
