//! What the connections of one run share: when to stop, what to wait for, where they may go.
//!
//! Every wait is a `poll` that also watches one pipe. A byte in that pipe, which nobody reads, ends every wait there is
//! and every one that would follow; so a run's connections end at once, wherever they are. The one thing that cannot be
//! waited for like this is the system's resolver: it runs in a thread that nobody waits for when it is no longer wanted.

use std::{
    io::{self, ErrorKind, PipeReader, Read, Write},
    net::{IpAddr, SocketAddr, TcpStream},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use cycod_thread::Thread;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt::socket_error},
};

use crate::{
    host::HostName,
    proxy::Inner,
    report::{DenialKind, Denied, Records, lock},
    rules::Grant,
    stream::Stream,
};

/// How long one address is waited for before the next is tried beside it.
const NEXT_ADDRESS: Duration = Duration::from_millis(250);
/// Addresses of one name that are tried.
const ADDRESSES: usize = 8;
/// How long we read on after a refusal, so that it is not lost with the connection.
const LINGER: Duration = Duration::from_secs(1);

pub(crate) struct Session {
    pub(crate) proxy: Arc<Inner>,
    pub(crate) records: Records,
    pub(crate) stop: PipeReader,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It may not be.
    Denied(Denied),
    /// It cannot be, and why.
    Unreachable(io::Error),
}

impl Session {
    /// A moment that a handshake, a head or a lookup has to be over by.
    pub(crate) fn soon(&self) -> Instant {
        Instant::now() + self.proxy.limits.handshake
    }

    /// A moment until which nothing at all may happen.
    pub(crate) fn idle(&self) -> Instant {
        Instant::now() + self.proxy.limits.idle
    }

    /// Waits until one of them is ready, and says for what.
    pub(crate) fn wait(&self, on: &[(BorrowedFd<'_>, PollFlags)], until: Instant) -> io::Result<Vec<PollFlags>> {
        let mut fds = vec![PollFd::from_borrowed_fd(self.stop.as_fd(), PollFlags::IN)];
        fds.extend(on.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)));
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) if left.is_zero() => return Err(ErrorKind::TimedOut.into()),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) if !fds[0].revents().is_empty() => return Err(ErrorKind::ConnectionAborted.into()),
                Ok(_) => return Ok(fds[1..].iter().map(PollFd::revents).collect()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for more bytes; none at the end.
    pub(crate) fn more(&self, stream: &mut Stream, until: Instant) -> io::Result<usize> {
        loop {
            match stream.fill() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(&[(stream.as_fd(), stream.interest(true, false))], until)?;
                    stream.flush()?;
                }
                done => return done,
            }
        }
    }

    /// Writes everything, waiting as long as some of it goes now and then.
    pub(crate) fn write(&self, stream: &mut Stream, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(&[(stream.as_fd(), stream.interest(false, true))], self.idle())?;
                }
                Err(error) => return Err(error),
            }
        }
        while !stream.flush()? {
            self.wait(&[(stream.as_fd(), stream.interest(false, true))], self.idle())?;
        }
        Ok(())
    }

    /// Carries a TLS handshake to its end.
    pub(crate) fn handshake(&self, stream: &mut Stream) -> io::Result<()> {
        let until = self.soon();
        while stream.is_handshaking() {
            stream.flush()?;
            match stream.advance_tls() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(&[(stream.as_fd(), stream.interest(true, false))], until)?;
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// Says the last thing on a connection, and makes sure that it can arrive.
    pub(crate) fn farewell(&self, stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
        self.write(stream, bytes)?;
        stream.finish();
        // Closing a socket that holds unread bytes would throw away what was written as well.
        let until = Instant::now() + LINGER;
        loop {
            stream.consume(stream.buffered().len());
            if self.more(stream, until)? == 0 {
                return Ok(());
            }
        }
    }

    pub(crate) fn deny(&self, host: &HostName, port: u16, kind: DenialKind) -> Denied {
        self.records.deny(Denied::new(host, port, kind))
    }

    /// Connects to a host, if it was declared and leads where it may.
    pub(crate) fn dial(&self, host: &HostName, port: u16) -> Result<(Stream, Grant), Failure> {
        let rules = &self.proxy.rules;
        let Some(grant) = rules.grant(host, port) else {
            return Err(Failure::Denied(self.deny(host, port, DenialKind::Undeclared)));
        };
        let addresses = match (&grant, host) {
            (Grant::Loopback(addresses), _) => addresses.clone(),
            (Grant::External { .. }, HostName::Address(address)) => vec![*address],
            (Grant::External { .. }, HostName::Name(name)) => self.look_up(name).map_err(Failure::Unreachable)?,
        };
        let is_external = matches!(grant, Grant::External { .. });
        let (good, bad): (Vec<IpAddr>, Vec<IpAddr>) =
            addresses.into_iter().partition(|address| !is_external || rules.may_lead_to(*address, port));
        if let (true, Some(address)) = (good.is_empty(), bad.first()) {
            return Err(Failure::Denied(self.deny(host, port, DenialKind::Address(address.to_canonical()))));
        }
        let route = |address: IpAddr| self.proxy.resolver.route((address, port).into());
        let addresses: Vec<SocketAddr> = good.into_iter().take(ADDRESSES).map(route).collect();
        let socket = self.connect(&addresses).map_err(Failure::Unreachable)?;
        let meter = self.records.reached(host, port);
        Ok((Stream::new(socket, Some(meter)).map_err(Failure::Unreachable)?, grant))
    }

    fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let (reader, mut writer) = io::pipe()?;
        let answer = Arc::new(Mutex::new(None));
        let (slot, proxy, name) = (Arc::clone(&answer), Arc::clone(&self.proxy), name.to_owned());
        Thread::named("proxy-lookup").detach(move || {
            let found = proxy.resolver.resolve(&name);
            *lock(&slot) = Some(found);
            // Nobody may be waiting any more.
            writer.write_all(&[0]).ok();
        })?;
        self.wait(&[(reader.as_fd(), PollFlags::IN)], self.soon())?;
        // A lookup that panicked leaves nothing.
        let found = lock(&answer).take().unwrap_or_else(|| Err(io::Error::other("the lookup failed")))?;
        if found.is_empty() {
            return Err(io::Error::new(ErrorKind::NotFound, "the name has no address"));
        }
        Ok(found)
    }

    /// Connects to the first that answers, each a moment after the one before.
    fn connect(&self, addresses: &[SocketAddr]) -> io::Result<TcpStream> {
        let until = self.soon();
        let mut left = addresses.iter();
        let mut pending: Vec<OwnedFd> = Vec::new();
        let mut failure = io::Error::from(ErrorKind::AddrNotAvailable);
        loop {
            if let Some(address) = left.next() {
                match begin(*address) {
                    Ok(socket) => pending.push(socket),
                    Err(error) => failure = error,
                }
            }
            let is_last = left.as_slice().is_empty();
            if pending.is_empty() && is_last {
                return Err(failure);
            }
            let patience = if is_last { until } else { until.min(Instant::now() + NEXT_ADDRESS) };
            let waiting: Vec<_> = pending.iter().map(|socket| (socket.as_fd(), PollFlags::OUT)).collect();
            let ready = match self.wait(&waiting, patience) {
                Err(error) if error.kind() == ErrorKind::TimedOut && !is_last && Instant::now() < until => continue,
                ready => ready?,
            };
            let mut still = Vec::new();
            for (socket, ready) in pending.into_iter().zip(ready) {
                if ready.is_empty() {
                    still.push(socket);
                    continue;
                }
                match socket_error(&socket)? {
                    Ok(()) => return Ok(socket.into()),
                    Err(error) => failure = error.into(),
                }
            }
            pending = still;
        }
    }
}

fn begin(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Empties a pipe that only says that something happened.
pub(crate) fn drain(mut pipe: &PipeReader) -> io::Result<()> {
    pipe.read(&mut [0; 64]).map(drop)
}
