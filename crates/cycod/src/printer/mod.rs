//! The one way to a terminal.
//!
//! What goes there is [`Shown`]: text in which everything hidden is written out, and styles of ours. The streams and the
//! terminal itself are opened below this module and nowhere else, which `clippy.toml` and `cargo xtask tidy` hold. Data goes
//! as it is into a pipe or a file, and is shown as text at a terminal.

mod hidden;
mod lines;
mod streams;
mod tty;

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io,
};

use anstyle::{AnsiColor, Style};
use cycod_engine::diagnostic::{Refusal, Shown, shown, visible_json};
use serde::Serialize;

pub(crate) use hidden::{Unasked, ask_hidden};
pub(crate) use lines::{Lines, Place, RunningLine};
use streams::Stream;
pub(crate) use tty::{Line, Tty};

use crate::{folded::folded, terminal::Terminal};

/// The standard streams: stdout is data, stderr is talk.
///
/// A reader that goes away (`| head`) ends the output quietly; a full disk does not.
#[derive(Debug)]
pub(crate) struct Printer {
    /// Whether talk may carry colours.
    pub(crate) colour: bool,
    /// Whether a person reads the talk as it comes.
    pub(crate) is_terminal: bool,
    /// Whether data may carry colours.
    pub(crate) data_colour: bool,
    /// How wide the terminal is that data goes to; nothing when it goes elsewhere, and is cut nowhere.
    pub(crate) width: Option<usize>,
    out: Stream,
    err: Stream,
    closed: bool,
    failure: Option<io::Error>,
}

/// The style of the word `error`.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The style of the word `warning`, and of notes that limit a tool.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The style of what is gone.
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
/// The style of what is new.
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
/// The style of what went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// The style of headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// The style of what matters less.
pub(crate) const DIM: Style = Style::new().dimmed();

impl Printer {
    /// The printer of this process, on the terminal it has.
    pub(crate) fn new(terminal: &Terminal) -> Self {
        let (out, err) = (Stream::out(), Stream::err());
        Self {
            colour: terminal.colours(err.has_styles),
            is_terminal: err.is_terminal,
            data_colour: terminal.colours(out.has_styles),
            width: out.is_terminal.then(|| terminal.width()),
            out,
            err,
            closed: false,
            failure: None,
        }
    }

    /// Writes data: what programs read, and what they wrote. It is exact in a pipe or a file.
    pub(crate) fn data(&mut self, bytes: &[u8]) {
        self.write(|out| out.pass(bytes));
    }

    /// Writes a line of JSON.
    pub(crate) fn json(&mut self, json: &str) {
        let json = if self.out.is_terminal { visible_json(json) } else { json.into() };
        self.data(format!("{json}\n").as_bytes());
    }

    /// Writes what a program wants to know, on several lines.
    pub(crate) fn json_of(&mut self, view: &impl Serialize) {
        self.json(&serde_json::to_string_pretty(view).expect("a view can be written as JSON"));
    }

    /// Writes a text for people to standard output, where it is safe to look at wherever it goes.
    pub(crate) fn text(&mut self, text: impl Into<Shown>) {
        let text = text.into();
        self.write(|out| out.show(&text));
    }

    /// Writes a help page, folded where it is wider than the terminal.
    pub(crate) fn page(&mut self, page: &str) {
        self.text(&*folded(page, self.width));
    }

    /// Writes a line for people to standard output.
    pub(crate) fn line(&mut self, text: impl Into<Shown>) {
        self.text(shown![text, "\n"]);
    }

    fn write(&mut self, write: impl FnOnce(&mut Stream) -> io::Result<()>) {
        if self.closed {
            return;
        }
        if let Err(error) = write(&mut self.out) {
            self.closed = true;
            self.failure = (error.kind() != io::ErrorKind::BrokenPipe).then_some(error);
        }
    }

    /// Whether nobody reads the data any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes talk.
    pub(crate) fn talk(&mut self, text: impl Into<Shown>) {
        // Nobody is left to be told when this fails.
        drop(self.err.show(&text.into()));
    }

    /// Writes what a program said beside its data. It is exact in a pipe or a file.
    pub(crate) fn talk_of_program(&mut self, bytes: &[u8]) {
        drop(self.err.pass(bytes));
    }

    /// Writes a line of talk.
    pub(crate) fn say(&mut self, text: impl Into<Shown>) {
        self.talk(shown![text, "\n"]);
    }

    /// Says that something is not as it should be, and goes on.
    pub(crate) fn warn(&mut self, text: impl Into<Shown>) {
        self.say(shown![paint(self.colour, WARNING, "warning"), ": ", text.into().hanging(2)]);
    }

    /// Says why a run was not a plain exit, and what to do.
    pub(crate) fn refusal(&mut self, refusal: &Refusal) {
        let head = format!("error[{}]", refusal.code);
        self.say(shown![paint(self.colour, ERROR, &head), ": ", Shown::from(&refusal.why).hanging(2)]);
        if let Some(attempt) = &refusal.attempt {
            self.say(shown!["  try: ", attempt].hanging(4));
        }
        self.say(&format!("  more: cycod explain {}", refusal.code));
    }

    /// Why data could not be written, when it could not and somebody was there to read it.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.write(Stream::end);
        drop(self.err.end());
        self.failure.take()
    }
}

/// Writes talk where no printer is at hand.
pub(crate) fn talk(text: impl Into<Shown>) {
    streams::talk(&text.into());
}

/// Makes a panic speak as everything else does: its message may quote what made it.
pub(crate) fn show_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = Backtrace::capture();
        let is_wanted = backtrace.status() == BacktraceStatus::Captured;
        let backtrace = if is_wanted { format!("{backtrace}\n") } else { String::new() };
        talk(shown![Shown::from(&panic.to_string()).hanging(2), "\n", &backtrace]);
    }));
}

/// Whether standard output ends at a terminal.
pub(crate) fn out_is_terminal() -> bool {
    streams::out_is_terminal()
}

/// Whether standard error ends at a terminal.
pub(crate) fn talk_is_terminal() -> bool {
    streams::err_is_terminal()
}

/// How many columns the terminal behind standard output has.
pub(crate) fn columns() -> Option<usize> {
    streams::columns()
}

/// How many columns and rows the terminal behind standard error has.
pub(crate) fn talk_size() -> Option<(usize, usize)> {
    streams::talk_size()
}

/// How many rows it has.
pub(crate) fn rows() -> Option<usize> {
    streams::rows()
}

/// Puts `text` in a style, if colours are wanted.
pub(crate) fn paint(colour: bool, style: Style, text: &str) -> Shown {
    if colour { Shown::styled(text, style) } else { text.into() }
}
