//! The terminal of Unix, with the same face as the console of Windows has.

use std::{
    fs::File,
    io::{self, Read, Write},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::getpgrp,
    termios::{
        InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
        tcgetpgrp, tcgetwinsize, tcsetattr,
    },
};

/// How many bytes are read at once.
const PIECE: usize = 4096;

/// The terminal that controls this process.
#[derive(Debug)]
pub(super) struct Terminal(File);

impl Terminal {
    /// Opens it, unless we are in the background.
    pub(super) fn open() -> io::Result<Self> {
        let file = File::options().read(true).write(true).open("/dev/tty")?;
        if tcgetpgrp(&file)? == getpgrp() { Ok(Self(file)) } else { Err(io::ErrorKind::ResourceBusy.into()) }
    }

    /// How many columns and rows there are; 0 where nobody has told the terminal.
    pub(super) fn size(&self) -> Option<(usize, usize)> {
        let size = tcgetwinsize(&self.0).ok()?;
        Some((usize::from(size.ws_col), usize::from(size.ws_row)))
    }

    pub(super) fn write(&self, text: &str) -> io::Result<()> {
        (&self.0).write_all(text.as_bytes())
    }

    /// Has the terminal hand over each key and show none, until what is returned is dropped.
    pub(super) fn keys(&self) -> io::Result<Keys<'_>> {
        let before = tcgetattr(&self.0)?;
        let mut raw = before.clone();
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        raw.input_modes |= InputModes::ICRNL;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&self.0, OptionalActions::Flush, &raw)?;
        Ok(Keys { terminal: &self.0, before, begun: Vec::new() })
    }
}

/// The keys of a terminal, one by one.
pub(super) struct Keys<'a> {
    terminal: &'a File,
    /// The modes of the terminal before.
    before: Termios,
    /// The beginning of a character that has not come to its end.
    begun: Vec<u8>,
}

impl Keys<'_> {
    /// Throws away what was typed and not read.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        self.begun.clear();
        Ok(tcflush(self.terminal, QueueSelector::IFlush)?)
    }

    /// Waits until something was typed, at most for `longest` (less than a second), and gives the characters to `typed`.
    pub(super) fn read(&mut self, longest: Duration, typed: &mut dyn FnMut(char)) -> io::Result<()> {
        if !self.wait(longest)? {
            return Ok(());
        }
        let mut bytes = [0; PIECE];
        let count = match self.terminal.read(&mut bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        };
        self.begun.extend_from_slice(&bytes[..count]);
        let whole = match std::str::from_utf8(&self.begun) {
            Ok(whole) => whole.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.begun.len(),
        };
        let came: Vec<u8> = self.begun.drain(..whole).collect();
        String::from_utf8_lossy(&came).chars().for_each(typed);
        Ok(())
    }

    /// Waits for input, and says whether there is any.
    fn wait(&self, longest: Duration) -> io::Result<bool> {
        let mut files = [PollFd::new(self.terminal, PollFlags::IN)];
        let longest = Timespec { tv_sec: 0, tv_nsec: i64::from(longest.subsec_nanos()) };
        match poll(&mut files, Some(&longest)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Keys<'_> {
    fn drop(&mut self) {
        _ = tcsetattr(self.terminal, OptionalActions::Drain, &self.before);
    }
}
