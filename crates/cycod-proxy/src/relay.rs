//! Bytes both ways, until both sides said that nothing more comes.

use std::{
    io::{self, ErrorKind},
    os::fd::AsFd,
};

use rustix::event::PollFlags;

use crate::{
    hello::{Pass, Second},
    session::Session,
    stream::Stream,
};

/// Buffers passed in one direction before the other has its turn.
const TURN: usize = 16;

/// One direction: whether its end was passed on.
struct Direction<'a> {
    over: bool,
    second: Option<&'a mut Second>,
    /// More has to be read before anything of what was read may pass.
    held: bool,
}

/// Passes everything on, and the end of each direction by itself. What cannot be passed on cuts both off.
pub(crate) fn relay(
    session: &Session,
    client: &mut Stream,
    host: &mut Stream,
    second: Option<&mut Second>,
) -> io::Result<()> {
    let result = pass_all(session, client, host, second);
    if result.is_err() {
        client.cut();
        host.cut();
    }
    result
}

fn pass_all(session: &Session, client: &mut Stream, host: &mut Stream, second: Option<&mut Second>) -> io::Result<()> {
    let mut out = Direction { over: false, second, held: false };
    let mut back = Direction { over: false, second: None, held: false };
    loop {
        let moved = out.pass(client, host)? | back.pass(host, client)?;
        if out.over && back.over {
            return Ok(());
        }
        if moved {
            continue;
        }
        let of_client = client.interest(out.reads(client), !host.buffered().is_empty());
        let of_host = host.interest(back.reads(host), !client.buffered().is_empty() && !out.held);
        // Who is not read from, for the other cannot take it, may have hung up long ago: that is seen in its turn.
        let on: Vec<_> = [(client.as_fd(), of_client, out.over), (host.as_fd(), of_host, back.over)]
            .into_iter()
            .filter(|(_, flags, over)| *over || !flags.is_empty())
            .collect();
        let fds: Vec<_> = on.iter().map(|(fd, flags, _)| (*fd, *flags)).collect();
        for (ready, (_, _, over)) in session.wait(&fds, session.idle())?.into_iter().zip(&on) {
            // A side that will never be read again and cannot be written to is gone.
            if ready.contains(PollFlags::ERR) || (*over && ready.contains(PollFlags::HUP)) {
                return Err(ErrorKind::ConnectionReset.into());
            }
        }
    }
}

impl Direction<'_> {
    fn reads(&self, from: &Stream) -> bool {
        !self.over && (from.buffered().is_empty() || self.held)
    }

    /// Passes on what is there; whether anything happened.
    fn pass(&mut self, from: &mut Stream, to: &mut Stream) -> io::Result<bool> {
        let mut moved = false;
        for _ in 0..TURN {
            if self.over || !self.pass_buffered(from, to, &mut moved)? || !to.flush()? {
                break;
            }
            if from.has_ended() {
                to.finish();
                self.over = true;
                return Ok(true);
            }
            match from.fill() {
                Ok(_) => moved = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(moved)
    }

    /// Writes what was read; whether more has to be read.
    fn pass_buffered(&mut self, from: &mut Stream, to: &mut Stream, moved: &mut bool) -> io::Result<bool> {
        self.held = false;
        while !from.buffered().is_empty() {
            let mut may = from.buffered().len();
            if let Some(second) = &mut self.second {
                match second.pass(from.buffered()) {
                    Pass::Bytes(bytes) => may = bytes,
                    Pass::All => self.second = None,
                    // The end of a stream inside a record says nothing to anybody.
                    Pass::More if from.has_ended() => self.second = None,
                    Pass::More => {
                        self.held = true;
                        return Ok(true);
                    }
                    Pass::Nothing => return Err(ErrorKind::PermissionDenied.into()),
                }
            }
            let mut left = may;
            while left > 0 {
                match to.write(&from.buffered()[..left]) {
                    Ok(written) => {
                        from.consume(written);
                        left -= written;
                        *moved = true;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        if let Some(second) = &mut self.second {
                            second.give_back(left);
                        }
                        return Ok(false);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(true)
    }
}
