use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use cycod_engine::diagnostic::Refusal;

use crate::terminal::Terminal;

/// The one way to the terminal: stdout is data, stderr is talk.
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
    closed: bool,
    failure: Option<io::Error>,
}

/// The style of the word `error`.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The style of the word `warning`, and of notes that limit a tool.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The style of headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// The style of what matters less.
pub(crate) const DIM: Style = Style::new().dimmed();

impl Printer {
    /// The printer of this process, on the terminal it has.
    pub(crate) fn new(terminal: &Terminal) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let is_data_seen = io::stdout().is_terminal();
        Self {
            colour: terminal.colours(is_terminal),
            is_terminal,
            data_colour: terminal.colours(is_data_seen),
            width: is_data_seen.then(|| terminal.width()),
            closed: false,
            failure: None,
        }
    }

    /// Writes data.
    pub(crate) fn data(&mut self, bytes: &[u8]) {
        if self.closed {
            return;
        }
        if let Err(error) = write_out(bytes) {
            self.closed = true;
            self.failure = (error.kind() != io::ErrorKind::BrokenPipe).then_some(error);
        }
    }

    /// Writes a line of data.
    pub(crate) fn line(&mut self, text: &str) {
        self.data(format!("{text}\n").as_bytes());
    }

    /// Whether nobody reads the data any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes talk.
    pub(crate) fn talk(&mut self, bytes: &[u8]) {
        // Nobody is left to be told when this fails.
        drop(io::stderr().lock().write_all(bytes));
    }

    /// Writes a line of talk.
    pub(crate) fn say(&mut self, text: &str) {
        self.talk(format!("{text}\n").as_bytes());
    }

    /// Says that something is not as it should be, and goes on.
    pub(crate) fn warn(&mut self, text: &str) {
        self.say(&format!("{}: {text}", paint(self.colour, WARNING, "warning")));
    }

    /// Says why a run was not a plain exit, and what to do.
    pub(crate) fn refusal(&mut self, refusal: &Refusal) {
        let head = format!("error[{}]", refusal.code);
        self.say(&format!("{}: {}", paint(self.colour, ERROR, &head), refusal.why));
        if let Some(attempt) = &refusal.attempt {
            self.say(&format!("  try: {attempt}"));
        }
        self.say(&format!("  more: cycod explain {}", refusal.code));
    }

    /// Why data could not be written, when it could not and somebody was there to read it.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }
}

/// Puts `text` in a style, if colours are wanted.
pub(crate) fn paint(colour: bool, style: Style, text: &str) -> String {
    if colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// Writes to standard output at once. The standard library's own handle looks through everything for line breaks,
/// which costs more than writing.
#[cfg(unix)]
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
fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}
