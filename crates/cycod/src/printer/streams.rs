//! Where bytes leave for the standard streams: nothing else in this program writes to them.

use std::io::{self, IsTerminal, Write};
#[cfg(windows)]
use std::os::windows::io::AsRawHandle;

use cycod_engine::diagnostic::{Passing, Shown};

/// Standard output or standard error.
#[derive(Debug)]
pub(super) struct Stream {
    which: Which,
    /// Whether it ends at a terminal; then only [`Shown`] text goes there.
    pub(super) is_terminal: bool,
    /// Whether it ends at a terminal that obeys escape sequences.
    pub(super) has_styles: bool,
    /// What a program writes to the terminal, and has not ended yet.
    passing: Passing,
}

#[derive(Clone, Copy, Debug)]
enum Which {
    Out,
    Err,
}

impl Which {
    /// Whether the terminal at its end obeys escape sequences.
    #[cfg(unix)]
    fn shows_styles(self) -> bool {
        true
    }

    #[cfg(windows)]
    #[expect(clippy::disallowed_methods, reason = "it is asked, and nothing is written")]
    fn shows_styles(self) -> bool {
        match self {
            Self::Out => cycod_process::shows_styles(&io::stdout()),
            Self::Err => cycod_process::shows_styles(&io::stderr()),
        }
    }
}

impl Stream {
    pub(super) fn out() -> Self {
        Self::new(Which::Out, out_is_terminal())
    }

    pub(super) fn err() -> Self {
        Self::new(Which::Err, err_is_terminal())
    }

    fn new(which: Which, is_terminal: bool) -> Self {
        Self { which, is_terminal, has_styles: is_terminal && which.shows_styles(), passing: Passing::default() }
    }

    /// Writes a text of ours.
    pub(super) fn show(&mut self, text: &Shown) -> io::Result<()> {
        let rest = self.passing.finish();
        if !rest.is_empty() {
            self.write(rest.as_str().as_bytes())?;
        }
        self.write(text.as_str().as_bytes())
    }

    /// Writes what a program said, or what a program is to read: as it is into a pipe or a file, as text at a terminal.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_terminal {
            return self.write(bytes);
        }
        let text = self.passing.pass(bytes);
        self.write(text.as_str().as_bytes())
    }

    /// Writes what a program said, and has ended.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.show(&Shown::default())
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self.which {
            Which::Out => write_out(bytes),
            Which::Err => write_err(bytes),
        }
    }
}

/// Writes signs of ours, and between them text that is shown, to the terminal behind standard error.
pub(super) fn draw(text: &str) {
    // A terminal that has gone away has nobody to tell.
    drop(write_err(text.as_bytes()));
}

/// Writes talk where there is no printer.
pub(super) fn talk(text: &Shown) {
    // Nobody is left to be told when this fails.
    drop(write_err(text.as_str().as_bytes()));
}

#[expect(clippy::disallowed_methods, reason = "it is asked, and nothing is written")]
pub(super) fn out_is_terminal() -> bool {
    io::stdout().is_terminal()
}

#[expect(clippy::disallowed_methods, reason = "it is asked, and nothing is written")]
pub(super) fn err_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// How many columns the terminal behind standard output has.
pub(super) fn columns() -> Option<usize> {
    size().map(|(columns, _)| columns).filter(|&columns| columns > 0)
}

/// How many rows it has.
pub(super) fn rows() -> Option<usize> {
    size().map(|(_, rows)| rows).filter(|&rows| rows > 0)
}

#[expect(clippy::disallowed_methods, reason = "it is asked, and nothing is written")]
fn size() -> Option<(usize, usize)> {
    size_of(&io::stdout())
}

/// The columns and rows of the terminal behind standard error, if lines on it can change.
#[expect(clippy::disallowed_methods, reason = "it is asked, and nothing is written")]
pub(super) fn talk_size() -> Option<(usize, usize)> {
    let size = size_of(&io::stderr()).filter(|&(columns, rows)| columns > 0 && rows > 0);
    size.filter(|_| Which::Err.shows_styles())
}

#[cfg(unix)]
fn size_of(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<(usize, usize)> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(stream).ok()).flatten()?;
    Some((usize::from(size.ws_col), usize::from(size.ws_row)))
}

#[cfg(windows)]
fn size_of(console: &impl AsRawHandle) -> Option<(usize, usize)> {
    cycod_process::console_size(console)
}

/// Writes to standard output at once. The standard library's own handle looks through everything for line breaks,
/// which costs more than writing.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "this is the one place that writes to it")]
fn write_out(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(io::stdout(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "this is the one place that writes to it")]
fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that writes to it")]
fn write_err(bytes: &[u8]) -> io::Result<()> {
    io::stderr().lock().write_all(bytes)
}
