//! The standard streams of the server, as its client connected them.
//!
//! Most clients connect pipes. Programs of Node.js connect sockets, which can't be opened a second time as a pipe can. A second
//! description is what makes a stream non-blocking for us alone: the client may share the one that we inherited. But each
//! single transfer of a socket can be non-blocking. What is neither, such as a file or a terminal, is read and written on
//! threads that may wait.

use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};

#[cfg(target_os = "linux")]
pub(crate) use linux::open;

#[cfg(not(target_os = "linux"))]
pub(crate) fn open() -> (StdioReader, StdioWriter) {
    stdio_pipes()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        io,
        os::fd::{AsFd, OwnedFd},
        pin::Pin,
        task::{Context, Poll, ready},
    };

    use rustix::net::{RecvFlags, SendFlags, SocketType, recv, send, sockopt::socket_type};
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, unix::AsyncFd};
    use tokio_util::either::Either;

    use super::{StdioReader, StdioWriter, stdio_pipes};

    /// The standard input and output. Needs a runtime.
    #[expect(clippy::disallowed_methods, reason = "it is connected, and only messages of the protocol go through it")]
    pub(crate) fn open() -> (Either<Socket, StdioReader>, Either<Socket, StdioWriter>) {
        match (Socket::new(io::stdin()), Socket::new(io::stdout())) {
            (Some(input), Some(output)) => (Either::Left(input), Either::Left(output)),
            _ => {
                let (input, output) = stdio_pipes();
                (Either::Right(input), Either::Right(output))
            }
        }
    }

    /// A socket whose own flags stay as they are.
    #[derive(Debug)]
    pub(crate) struct Socket(AsyncFd<OwnedFd>);

    impl Socket {
        /// Nothing when the descriptor is no socket for a stream of bytes.
        fn new(stream: impl AsFd) -> Option<Self> {
            let is_stream = socket_type(&stream).is_ok_and(|kind| kind == SocketType::STREAM);
            let own = is_stream.then(|| stream.as_fd().try_clone_to_owned().ok()).flatten()?;
            AsyncFd::new(own).ok().map(Self)
        }
    }

    impl AsyncRead for Socket {
        fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            loop {
                let mut ready = ready!(self.0.poll_read_ready(context))?;
                let free = room.initialize_unfilled();
                if let Ok(received) = ready.try_io(|socket| Ok(recv(socket, free, RecvFlags::DONTWAIT)?.0)) {
                    return Poll::Ready(received.map(|length| room.advance(length)));
                }
            }
        }
    }

    impl AsyncWrite for Socket {
        fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            loop {
                let mut ready = ready!(self.0.poll_write_ready(context))?;
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                if let Ok(sent) = ready.try_io(|socket| Ok(send(socket, bytes, flags)?)) {
                    return Poll::Ready(sent);
                }
            }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
}
