//! Pipes that the runtime watches.

use std::io::{self, PipeReader, PipeWriter};

pub(crate) use tokio::net::unix::pipe::{Receiver, Sender};

/// Reads a pipe on the runtime.
pub(crate) fn receiver(pipe: PipeReader) -> io::Result<Receiver> {
    Receiver::from_owned_fd(pipe.into())
}

/// Writes to a pipe on the runtime.
pub(crate) fn sender(pipe: PipeWriter) -> io::Result<Sender> {
    Sender::from_owned_fd(pipe.into())
}
