use std::{
    cell::RefCell,
    io::{self, ErrorKind, Read, Write},
    os::fd::AsFd,
    rc::Rc,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
};

use crate::protocol::{self, FrameReader, FromWorker, LONGEST_LINE, LineError, MessageError, SendError, ToWorker};

/// A channel that the functions of a call share with the loop that waits for it.
pub(super) type Shared<R, W> = Rc<RefCell<Channel<R, W>>>;

/// The way to the host.
///
/// While it writes it reads too: a host that waits until its replies are read, before it reads what it is asked, would
/// otherwise wait for ever.
pub(super) struct Channel<R, W> {
    lines: FrameReader<R>,
    output: W,
}

/// What came of waiting for a message.
pub(super) enum Heard {
    Message(ToWorker),
    /// The host is gone.
    Ended,
    /// It said nothing until then.
    Late,
}

impl<R: Read + AsFd, W: Write + AsFd> Channel<R, W> {
    pub(super) fn new(input: R, output: W) -> io::Result<Self> {
        fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
        Ok(Self { lines: FrameReader::new(input), output })
    }

    pub(super) fn shared(self) -> Shared<R, W> {
        Rc::new(RefCell::new(self))
    }

    pub(super) fn receive(&mut self) -> Result<Option<ToWorker>, MessageError> {
        loop {
            match self.wait(None)? {
                Heard::Message(message) => return Ok(Some(message)),
                Heard::Ended => return Ok(None),
                Heard::Late => {}
            }
        }
    }

    /// Waits for a message, at most until then.
    pub(super) fn wait(&mut self, until: Option<Instant>) -> Result<Heard, MessageError> {
        while !self.lines.has_next() {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if !self.poll(PollFlags::empty(), left).map_err(LineError::Read)? {
                return Ok(Heard::Late);
            }
        }
        Ok(protocol::receive(&mut self.lines)?.map_or(Heard::Ended, Heard::Message))
    }

    pub(super) fn tell(&mut self, message: &FromWorker) -> Result<(), SendError> {
        let mut line = Vec::new();
        protocol::send(&mut line, message)?;
        self.send(&line)
    }

    /// Sends a line with its end.
    pub(super) fn send(&mut self, mut line: &[u8]) -> Result<(), SendError> {
        if line.len() > LONGEST_LINE {
            return Err(SendError::TooLong { size: line.len() });
        }
        while !line.is_empty() {
            match self.output.write(line) {
                Ok(0) => return Err(SendError::Write(ErrorKind::WriteZero.into())),
                Ok(written) => line = &line[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.poll(PollFlags::OUT, None).map_err(SendError::Write)?;
                }
                Err(error) => return Err(SendError::Write(error)),
            }
        }
        Ok(())
    }

    /// Waits until there is something to read, which is read, or the output takes more if that is wanted. Returns whether
    /// anything of this happened in time.
    fn poll(&mut self, output: PollFlags, longest: Option<Duration>) -> io::Result<bool> {
        let timeout = longest.map(|longest| Timespec {
            tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: longest.subsec_nanos().into(),
        });
        let is_readable = {
            let input = PollFd::new(self.lines.input(), PollFlags::IN);
            let mut both = [input, PollFd::new(&self.output, output)];
            // Once the input has ended it can always be read.
            let watched = match (output.is_empty(), self.lines.has_ended()) {
                (true, _) => &mut both[..1],
                (false, true) => &mut both[1..],
                (false, false) => &mut both[..],
            };
            match poll(watched, timeout.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
            !both[0].revents().is_empty()
        };
        if is_readable {
            match self.lines.fill() {
                Err(LineError::Read(error)) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        Ok(true)
    }
}
