//! Where the lines of a chat come from: a terminal with keys, one without, or a pipe.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal},
};

use super::complete::Names;
use crate::printer::talk;

/// What came from the person who types.
#[derive(Debug)]
pub(super) enum Input {
    /// A text, of several lines where it goes on behind a backslash or was pasted.
    Text(String),
    /// Ctrl-C.
    Interrupted {
        /// Whether nothing had been typed.
        was_empty: bool,
    },
    /// There is no more.
    End,
    /// This signal wants us to end.
    Signal(i32),
}

/// Somebody who types, or something that does.
pub(super) trait Reader {
    /// Waits for a text, and completes by these names.
    ///
    /// # Errors
    /// When what is typed cannot be read.
    fn read(&mut self, names: Names) -> io::Result<Input>;

    /// Keeps a text, so that the person can have it again.
    fn remember(&mut self, _text: &str) {}
}

/// The signal of Ctrl-C.
pub(super) const INTERRUPT: i32 = 2;

/// What is shown before a text, and before each further line of it.
pub(super) const PROMPT: &str = "> ";
const PROMPT_OF_MORE: &str = ". ";

/// Lines as they are: of a pipe, or of a terminal that can do no more than that.
#[derive(Debug)]
pub(super) struct Lines {
    input: BufReader<File>,
    /// Whether somebody is to be told that it is their turn.
    is_prompted: bool,
    /// How many lines came so far.
    count: usize,
}

impl Lines {
    /// The lines of standard input.
    ///
    /// # Errors
    /// When there is no standard input.
    pub(super) fn of_stdin() -> io::Result<Self> {
        // A handle of its own: what the library has read ahead would be hidden from the code that waits.
        let input = BufReader::new(stdin_file()?);
        Ok(Self { input, is_prompted: io::stdin().is_terminal(), count: 0 })
    }

    /// Reads a line without its end; nothing at the end of input.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        if self.input.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.count += 1;
        let line = String::from_utf8(bytes).map_err(|_| {
            let why = format!("line {} of standard input is not UTF-8", self.count);
            io::Error::new(io::ErrorKind::InvalidData, why)
        })?;
        let line = line.strip_suffix('\n').unwrap_or(&line);
        Ok(Some(line.strip_suffix('\r').unwrap_or(line).to_owned()))
    }

    fn prompt(&self, prompt: &str) {
        if self.is_prompted {
            talk(prompt);
        }
    }
}

impl Reader for Lines {
    fn read(&mut self, _names: Names) -> io::Result<Input> {
        let mut text = String::new();
        let mut prompt = PROMPT;
        loop {
            self.prompt(prompt);
            if self.is_prompted
                && self.input.buffer().is_empty()
                && let Some(signal) = wait::signal()?
            {
                self.prompt("\n");
                let was_empty = text.is_empty();
                return Ok(if signal == INTERRUPT { Input::Interrupted { was_empty } } else { Input::Signal(signal) });
            }
            match self.line()? {
                None if text.is_empty() => {
                    self.prompt("\n");
                    return Ok(Input::End);
                }
                None => return Ok(Input::Text(text)),
                Some(line) => match line.strip_suffix('\\') {
                    Some(line) => text.push_str(&format!("{line}\n")),
                    None => return Ok(Input::Text(text + &line)),
                },
            }
            prompt = PROMPT_OF_MORE;
        }
    }
}

/// All that a pipe holds, as one text.
#[derive(Debug, Default)]
pub(super) struct Whole {
    was_read: bool,
}

impl Reader for Whole {
    fn read(&mut self, _names: Names) -> io::Result<Input> {
        if std::mem::replace(&mut self.was_read, true) {
            return Ok(Input::End);
        }
        let text = io::read_to_string(io::stdin())?;
        Ok(if text.trim().is_empty() { Input::End } else { Input::Text(text) })
    }
}

#[cfg(unix)]
fn stdin_file() -> io::Result<File> {
    Ok(File::from(rustix::io::dup(io::stdin())?))
}

#[cfg(windows)]
fn stdin_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

#[cfg(unix)]
mod wait {
    use std::{io, time::Duration};

    use cycod_engine::Stop;
    use cycod_process::host_interrupts;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    /// How often it is looked whether a signal came.
    const LOOK: Duration = Duration::from_millis(100);

    /// Waits until there is something to read, and returns a signal that came before.
    pub(super) fn signal() -> io::Result<Option<i32>> {
        let stop = Stop::new()?;
        let interrupts = host_interrupts(&stop)?;
        let longest = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        let stdin = io::stdin();
        loop {
            if let Some(signal) = interrupts.signal() {
                return Ok(Some(signal));
            }
            match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&longest)) {
                Ok(1..) => return Ok(None),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(not(unix))]
mod wait {
    use std::io;

    /// There are no signals to look for.
    pub(super) fn signal() -> io::Result<Option<i32>> {
        Ok(None)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn lines(bytes: &[u8]) -> Lines {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("it takes them");
        file.rewind().expect("it has a beginning");
        Lines { input: BufReader::new(file), is_prompted: false, count: 0 }
    }

    #[test]
    fn a_line_goes_on_behind_a_backslash() {
        let mut lines = lines(b"one\r\n\ntwo\\\nthree\\\n\nfour\\");
        let mut texts = Vec::new();
        while let Input::Text(text) = lines.read(Names::default()).expect("it can be read") {
            texts.push(text);
        }
        assert_eq!(texts, ["one", "", "two\nthree\n", "four\n"]);
    }

    #[test]
    fn what_is_no_text_is_told_by_its_line() {
        let mut lines = lines(b"one\n\xff\n");
        assert!(matches!(lines.read(Names::default()), Ok(Input::Text(_))));
        let error = lines.read(Names::default()).expect_err("it is no text");
        assert_eq!(error.to_string(), "line 2 of standard input is not UTF-8");
    }
}
