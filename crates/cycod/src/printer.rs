use std::io::{self, IsTerminal, Write};

use cycod_engine::diagnostic::Refusal;

/// The one way to the terminal: stdout is data, stderr is talk.
///
/// A reader that goes away (`| head`) ends the output quietly.
#[derive(Debug)]
pub(crate) struct Printer {
    /// Whether talk may carry colours.
    pub(crate) colour: bool,
    /// Whether a person reads the talk as it comes.
    pub(crate) is_terminal: bool,
    closed: bool,
}

impl Printer {
    /// The printer of this process; `no_color` is whether the environment asks for none.
    pub(crate) fn new(no_color: bool) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { colour: is_terminal && !no_color, is_terminal, closed: false }
    }

    /// Writes data.
    pub(crate) fn data(&mut self, bytes: &[u8]) {
        if !self.closed {
            let mut out = io::stdout().lock();
            self.closed = out.write_all(bytes).and_then(|()| out.flush()).is_err();
        }
    }

    /// Writes a line of data.
    pub(crate) fn line(&mut self, text: &str) {
        self.data(format!("{text}\n").as_bytes());
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

    /// Says why a run was not a plain exit, and what to do.
    pub(crate) fn refusal(&mut self, refusal: &Refusal) {
        self.say(&format!("error[{}]: {}", refusal.code, refusal.why));
        if let Some(attempt) = &refusal.attempt {
            self.say(&format!("  try: {attempt}"));
        }
    }
}
