//! The terminal of a person who is asked something that matters, whatever the standard streams are used for.

/// What came back for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// What was typed.
    Text(String),
    /// The person wants out: Ctrl-C or Ctrl-D.
    Out,
    /// More came at once than a person types. It was thrown away.
    Pasted,
    /// Nobody needs the answer any more.
    Over,
    /// The terminal is gone.
    Gone,
}

#[cfg(unix)]
pub(crate) use unix::Tty;

#[cfg(not(unix))]
pub(crate) use elsewhere::Tty;

#[cfg(unix)]
mod unix {
    use std::{
        fs::File,
        io::{self, IsTerminal, Read, Write},
        time::Duration,
    };

    use cycod_engine::diagnostic::{Shown, is_hidden};
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        process::getpgrp,
        termios::{
            InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
            tcgetpgrp, tcgetwinsize, tcsetattr,
        },
    };

    use super::{
        super::streams::{err_is_terminal, out_is_terminal},
        Line,
    };

    /// How long what is typed does not count: it was meant for something else.
    const UNREAD: Duration = Duration::from_millis(250);

    /// How soon after the end of a line nothing more comes, when a person typed it.
    const QUIET: Duration = Duration::from_millis(30);

    /// How often it is looked whether anybody still needs the answer.
    const LOOK: Duration = Duration::from_millis(100);

    /// The longest line.
    const LONGEST: usize = 4096;

    /// The terminal that controls this process.
    #[derive(Debug)]
    pub(crate) struct Tty {
        file: File,
    }

    impl Tty {
        /// Opens the terminal where a person is at it: one of the standard streams leads there, too, and we are not in
        /// the background.
        pub(crate) fn open() -> Option<Self> {
            let is_attended = io::stdin().is_terminal() || out_is_terminal() || err_is_terminal();
            let file = File::options().read(true).write(true).open("/dev/tty").ok().filter(|_| is_attended)?;
            (tcgetpgrp(&file).ok()? == getpgrp()).then_some(Self { file })
        }

        /// How many columns there are.
        pub(crate) fn width(&self) -> usize {
            let columns = tcgetwinsize(&self.file).map_or(0, |size| usize::from(size.ws_col));
            if columns == 0 { 80 } else { columns.max(20) }
        }

        /// How many rows there are.
        pub(crate) fn height(&self) -> usize {
            let rows = tcgetwinsize(&self.file).map_or(0, |size| usize::from(size.ws_row));
            if rows == 0 { 24 } else { rows }
        }

        /// Writes a text.
        pub(crate) fn say(&self, text: impl Into<Shown>) {
            self.write(text.into().as_str());
        }

        fn write(&self, text: &str) {
            // Nobody is left to be told when this fails; what is asked next fails, too.
            drop((&self.file).write_all(text.as_bytes()));
        }

        /// Takes back as many columns of what was typed.
        fn take_back(&self, columns: usize) {
            self.write(&"\u{8} \u{8}".repeat(columns));
        }

        /// Asks for a line, unless `is_over` by then.
        ///
        /// What was typed before the question was there does not count, and nothing that is pasted: an answer is one
        /// line, and then nothing for a moment.
        pub(crate) fn ask(&self, question: impl Into<Shown>, is_over: &mut dyn FnMut() -> bool) -> Line {
            let Ok(raw) = Raw::enter(&self.file) else { return Line::Gone };
            self.say(question);
            std::thread::sleep(UNREAD);
            if tcflush(&self.file, QueueSelector::IFlush).is_err() {
                return Line::Gone;
            }
            let line = self.line(is_over);
            drop(raw);
            self.say("\n");
            line
        }

        fn line(&self, is_over: &mut dyn FnMut() -> bool) -> Line {
            let (mut text, mut begun) = (String::new(), Vec::new());
            loop {
                match self.wait(LOOK) {
                    Ok(false) if is_over() => return Line::Over,
                    Ok(false) => continue,
                    Ok(true) => {}
                    Err(_) => return Line::Gone,
                }
                let mut bytes = [0; LONGEST];
                let count = match (&self.file).read(&mut bytes) {
                    Ok(0) => return Line::Gone,
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return Line::Gone,
                };
                begun.extend_from_slice(&bytes[..count]);
                let whole = match std::str::from_utf8(&begun) {
                    Ok(whole) => whole.len(),
                    // A character that has not come to its end.
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    Err(_) => begun.len(),
                };
                let came: Vec<u8> = begun.drain(..whole).collect();
                let came = String::from_utf8_lossy(&came).into_owned();
                let mut characters = came.chars();
                while let Some(character) = characters.next() {
                    match character {
                        '\n' | '\r' => {
                            let is_more = !characters.as_str().is_empty() || !matches!(self.wait(QUIET), Ok(false));
                            if !is_more {
                                return Line::Text(text);
                            }
                            _ = tcflush(&self.file, QueueSelector::IFlush);
                            return Line::Pasted;
                        }
                        '\u{3}' | '\u{4}' => return Line::Out,
                        '\u{8}' | '\u{7f}' => {
                            if let Some(last) = text.pop() {
                                let width = unicode_width::UnicodeWidthChar::width(last).unwrap_or(0);
                                self.take_back(width);
                            }
                        }
                        '\u{15}' => {
                            let width = unicode_width::UnicodeWidthStr::width(text.as_str());
                            self.take_back(width);
                            text.clear();
                        }
                        // Keys that move the cursor come as one piece.
                        '\u{1b}' => break,
                        '\t' => {}
                        _ if is_hidden(character) || text.len() >= LONGEST => {}
                        _ => {
                            text.push(character);
                            self.say(character);
                        }
                    }
                }
            }
        }

        /// Waits for input, and says whether there is any.
        fn wait(&self, longest: Duration) -> io::Result<bool> {
            let mut files = [PollFd::new(&self.file, PollFlags::IN)];
            let longest = Timespec { tv_sec: 0, tv_nsec: i64::from(longest.subsec_nanos()) };
            match poll(&mut files, Some(&longest)) {
                Ok(ready) => Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => Ok(false),
                Err(error) => Err(error.into()),
            }
        }
    }

    /// A terminal that hands over each key and shows none; dropping it brings back what was there before.
    struct Raw<'a>(&'a File, Termios);

    impl<'a> Raw<'a> {
        fn enter(file: &'a File) -> io::Result<Self> {
            let before = tcgetattr(file)?;
            let mut raw = before.clone();
            raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
            raw.input_modes |= InputModes::ICRNL;
            raw.special_codes[SpecialCodeIndex::VMIN] = 1;
            raw.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(file, OptionalActions::Flush, &raw)?;
            Ok(Self(file, before))
        }
    }

    impl Drop for Raw<'_> {
        fn drop(&mut self) {
            _ = tcsetattr(self.0, OptionalActions::Drain, &self.1);
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use cycod_engine::diagnostic::Shown;

    use super::Line;

    /// There is no way yet to a terminal that is surely a person's.
    #[derive(Debug)]
    pub(crate) enum Tty {}

    impl Tty {
        pub(crate) fn open() -> Option<Self> {
            None
        }

        pub(crate) fn width(&self) -> usize {
            match *self {}
        }

        pub(crate) fn height(&self) -> usize {
            match *self {}
        }

        pub(crate) fn say(&self, _text: impl Into<Shown>) {
            match *self {}
        }

        pub(crate) fn ask(&self, _question: impl Into<Shown>, _is_over: &mut dyn FnMut() -> bool) -> Line {
            match *self {}
        }
    }
}
