use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use rustix::net::{Shutdown, shutdown};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::TcpStream,
    time::Sleep,
};

/// How often a connection is looked at whose client has sent more than is read.
const LOOK: Duration = Duration::from_millis(250);

/// How long a client may be silent that has its last answer, before the connection is closed.
const SILENCE: Duration = Duration::from_secs(2);

/// A connection that breaks off when its client leaves unread what it is sent.
pub(crate) struct Wire {
    stream: Arc<TcpStream>,
    limit: Duration,
    /// Runs while a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream, limit: Duration) -> Self {
        Self { stream: Arc::new(stream), limit, deadline: None }
    }

    /// Waits until the client has closed the connection.
    ///
    /// Who reads learns of it at the end of what was sent, and nobody reads while a request is being answered: a client
    /// that sends one after the other would be taken to be there until it is its turn.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + use<> {
        let stream = Arc::clone(&self.stream);
        async move {
            // First there is time to hear what somebody says in leaving.
            let mut is_closed = false;
            while !is_closed {
                tokio::time::sleep(LOOK).await;
                is_closed = stream.ready(Interest::READABLE).await.is_ok_and(|ready| ready.is_read_closed());
            }
        }
    }

    /// Lets the client read what it was told: a connection that is closed with something unread is reset, and what was told is lost
    /// with it. So what the client still sends is taken, and forgotten, until it stops or takes too long.
    pub(crate) fn lingering(&self) -> impl Future<Output = ()> + use<> {
        let (stream, limit) = (Arc::clone(&self.stream), self.limit);
        let lingering = async move {
            shutdown(&*stream, Shutdown::Write)?;
            let mut unread = [0; 16 * 1024];
            loop {
                tokio::time::timeout(SILENCE, stream.readable()).await??;
                match stream.try_read(&mut unread) {
                    Ok(0) => return Ok::<_, io::Error>(()),
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                    Ok(_) | Err(_) => {}
                }
            }
        };
        async move { drop(tokio::time::timeout(limit, lingering).await) }
    }

    fn limited<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.deadline = None;
            return polled;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        deadline.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            match self.stream.try_read_buf(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = loop {
            match self.stream.poll_write_ready(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
            match self.stream.try_write_vectored(parts) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => break Poll::Ready(written),
            }
        };
        self.limited(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Nothing is kept back.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The connection closes when it is dropped, after [`Self::lingering`].
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
