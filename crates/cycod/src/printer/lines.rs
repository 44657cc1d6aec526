//! Lines of a terminal that change while something runs.
#![expect(clippy::disallowed_types, reason = "what is drawn is a `Shown` text, or a sign of ours")]

use std::time::Duration;

use cycod_engine::diagnostic::Shown;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Running lines, each with the time it took so far.
#[derive(Debug)]
pub(crate) struct Lines(MultiProgress);

/// One of them.
#[derive(Debug)]
pub(crate) struct RunningLine(ProgressBar);

impl Lines {
    pub(crate) fn new() -> Self {
        Self(MultiProgress::new())
    }

    /// Whether standard error ends at a terminal on which lines can change.
    pub(crate) fn can_be_drawn() -> bool {
        !MultiProgress::new().is_hidden()
    }

    /// Writes a line above the running ones.
    pub(crate) fn say(&self, line: impl Into<Shown>) {
        // A terminal that has gone away has nobody to tell.
        drop(self.0.println(line.into().as_str()));
    }

    /// Adds a line that begins with `what`.
    pub(crate) fn add(&self, what: impl Into<Shown>) -> RunningLine {
        // Among the lines first: one that draws by itself would leave a copy behind.
        let line = self.0.add(ProgressBar::no_length());
        if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix}  {elapsed}  {wide_msg}") {
            line.set_style(style);
        }
        line.set_prefix(what.into().on_one_line().as_str().to_owned());
        line.enable_steady_tick(Duration::from_millis(100));
        RunningLine(line)
    }

    /// Writes something else while the running lines stand aside.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }
}

impl RunningLine {
    /// Sets what the line ends with.
    pub(crate) fn set(&self, message: impl Into<Shown>) {
        self.0.set_message(message.into().on_one_line().as_str().to_owned());
    }

    /// Takes the line away.
    pub(crate) fn end(self) {
        self.0.finish_and_clear();
    }
}
