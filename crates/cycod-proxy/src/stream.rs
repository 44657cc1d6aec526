//! One end of a connection, plain or inside TLS. Nothing here waits.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    os::fd::{AsFd, BorrowedFd},
    thread,
    time::Duration,
};

use rustix::event::PollFlags;

use crate::report::Meter;

const FIRST_BUFFER: usize = 32 << 10;

/// A socket with what was read from it and not yet used.
pub(crate) struct Stream {
    socket: TcpStream,
    /// Counts what goes through, on the side of the hosts.
    meter: Option<Meter>,
    tls: Option<Box<rustls::Connection>>,
    /// Bytes that were read before TLS began here, and are its beginning.
    early: Vec<u8>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
}

impl Stream {
    pub(crate) fn new(socket: TcpStream, meter: Option<Meter>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, meter, tls: None, early: Vec::new(), buffer: Vec::new(), start: 0, end: 0, ended: false })
    }

    /// Speaks TLS from here on, beginning with what was read and not used.
    pub(crate) fn begin_tls(&mut self, connection: rustls::Connection) {
        self.early = self.buffered().to_vec();
        self.consume(self.end - self.start);
        self.tls = Some(Box::new(connection));
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// What was read and not yet used.
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Whether everything was read that will ever come.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads what is there; nothing at the end.
    pub(crate) fn fill(&mut self) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end == self.buffer.len() {
                self.buffer.resize((self.buffer.len() * 2).max(FIRST_BUFFER), 0);
            }
        }
        let read = if self.tls.is_some() { self.read_tls()? } else { self.read_plain()? };
        self.end += read;
        self.ended = read == 0;
        Ok(read)
    }

    fn read_plain(&mut self) -> io::Result<usize> {
        let read = self.socket.read(&mut self.buffer[self.end..])?;
        self.meter.as_ref().map_or(Ok(()), |meter| meter.received(read))?;
        Ok(read)
    }

    fn read_tls(&mut self) -> io::Result<usize> {
        loop {
            let Some(tls) = &mut self.tls else { return Ok(0) };
            match tls.reader().read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.advance_tls()?,
                done => return done,
            }
        }
    }

    /// Takes in what the socket holds for TLS, and sends what TLS says to it.
    pub(crate) fn advance_tls(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        if self.early.is_empty() {
            let read = tls.read_tls(&mut self.socket)?;
            self.meter.as_ref().map_or(Ok(()), |meter| meter.received(read))?;
            if read == 0 && tls.is_handshaking() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        } else {
            let read = tls.read_tls(&mut self.early.as_slice())?;
            self.early.drain(..read);
        }
        let advanced =
            tls.process_new_packets().map(drop).map_err(|error| io::Error::new(ErrorKind::InvalidData, error));
        // An alert has to go out also, and first of all, when the handshake failed.
        let flushed = self.flush().map(drop);
        advanced.and(flushed)
    }

    /// Writes what can be written now.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.tls {
            None => {
                let written = self.socket.write(bytes)?;
                self.meter.as_ref().map_or(Ok(()), |meter| meter.sent(written))?;
                written
            }
            Some(tls) => {
                let taken = tls.writer().write(bytes)?;
                self.flush()?;
                if taken == 0 {
                    return Err(ErrorKind::WouldBlock.into());
                }
                taken
            }
        };
        if written == 0 && !bytes.is_empty() { Err(ErrorKind::WriteZero.into()) } else { Ok(written) }
    }

    /// Sends what TLS still holds; whether nothing is left of it.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(true) };
        while tls.wants_write() {
            match tls.write_tls(&mut self.socket) {
                Ok(sent) => self.meter.as_ref().map_or(Ok(()), |meter| meter.sent(sent))?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Tells the other side that nothing more comes; it may still send.
    pub(crate) fn finish(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // What does not fit any more was no longer read either.
            self.flush().ok();
        }
        self.socket.shutdown(Shutdown::Write).ok();
    }

    /// Ends the connection so that the other side sees that it was cut off, and takes nothing for the whole.
    pub(crate) fn cut(&self) {
        rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO)).ok();
    }

    /// What to wait for, in order to read, to write, or for TLS alone.
    pub(crate) fn interest(&self, read: bool, write: bool) -> PollFlags {
        let write = write || self.tls.as_ref().is_some_and(|tls| tls.wants_write());
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, read);
        flags.set(PollFlags::OUT, write);
        flags
    }

    /// Whether a connection that nobody used for a while can be used again.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.buffered().is_empty() && matches!(self.fill(), Err(error) if error.kind() == ErrorKind::WouldBlock)
    }
}

impl Drop for Stream {
    /// What a panic cut off must not look whole.
    fn drop(&mut self) {
        if thread::panicking() {
            self.cut();
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
