//! The terminal of a person who is asked something that matters, whatever the standard streams are used for.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use cycod_engine::diagnostic::{Shown, is_hidden};
#[cfg(windows)]
use cycod_process::{ConsoleKeys as Keys, UserConsole as Terminal};

use super::streams::{err_is_terminal, out_is_terminal};

#[cfg(unix)]
#[path = "tty/unix.rs"]
mod system;

#[cfg(unix)]
use system::{Keys, Terminal};

/// How long what is typed does not count: it was meant for something else.
const UNREAD: Duration = Duration::from_millis(250);

/// How soon after the end of a line nothing more comes, when a person typed it.
const QUIET: Duration = Duration::from_millis(30);

/// How often it is looked whether anybody still needs the answer.
const LOOK: Duration = Duration::from_millis(100);

/// The longest line.
const LONGEST: usize = 4096;

/// What came back for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// What was typed.
    Text(String),
    /// The person wants out: Ctrl-C or Ctrl-D, on Windows also Ctrl-Z.
    Out,
    /// More came at once than a person types. It was thrown away.
    Pasted,
    /// Nobody needs the answer any more.
    Over,
    /// The terminal is gone.
    Gone,
}

/// The terminal that controls this process; on Windows, its console.
#[derive(Debug)]
pub(crate) struct Tty(Terminal);

impl Tty {
    /// Opens the terminal where a person is at it: one of the standard streams leads there, too, and we are not in
    /// the background.
    pub(crate) fn open() -> Option<Self> {
        let is_attended = io::stdin().is_terminal() || out_is_terminal() || err_is_terminal();
        is_attended.then(Terminal::open)?.ok().map(Self)
    }

    /// How many columns there are.
    pub(crate) fn width(&self) -> usize {
        self.0.size().filter(|&(columns, _)| columns > 0).map_or(80, |(columns, _)| columns.max(20))
    }

    /// How many rows there are.
    pub(crate) fn height(&self) -> usize {
        self.0.size().filter(|&(_, rows)| rows > 0).map_or(24, |(_, rows)| rows)
    }

    /// Writes a text.
    pub(crate) fn say(&self, text: impl Into<Shown>) {
        self.write(text.into().as_str());
    }

    fn write(&self, text: &str) {
        // Nobody is left to be told when this fails; what is asked next fails, too.
        drop(self.0.write(text));
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
        let Ok(mut keys) = self.0.keys() else { return Line::Gone };
        self.say(question);
        std::thread::sleep(UNREAD);
        if keys.forget().is_err() {
            return Line::Gone;
        }
        let line = self.line(&mut keys, is_over);
        drop(keys);
        self.say("\n");
        line
    }

    fn line(&self, keys: &mut Keys<'_>, is_over: &mut dyn FnMut() -> bool) -> Line {
        let mut text = String::new();
        loop {
            let mut came = String::new();
            match keys.read(LOOK, &mut |character| came.push(character)) {
                Ok(()) if came.is_empty() && is_over() => return Line::Over,
                Ok(()) => {}
                Err(_) => return Line::Gone,
            }
            let mut characters = came.chars();
            while let Some(character) = characters.next() {
                match character {
                    '\n' | '\r' => {
                        let mut is_more = !characters.as_str().is_empty();
                        let read = keys.read(QUIET, &mut |_| is_more = true);
                        if read.is_ok() && !is_more {
                            return Line::Text(text);
                        }
                        _ = keys.forget();
                        return Line::Pasted;
                    }
                    '\u{3}' | '\u{4}' => return Line::Out,
                    '\u{1a}' if cfg!(windows) => return Line::Out,
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
}
