//! Lines of a terminal that change while something runs.
//!
//! ```text
//!   ok   build  1.2 s          kept until all lines go away
//!   ⠹ test  4 s  running 12 …  running: its name, its time, the last thing it said
//!   1 of 3 steps  5 s          the last line stays below the others
//! ```
//!
//! All lines are drawn by one function, ten times a second and after each change that must be seen at once. It knows how wide
//! the rows are that stand there, so that it takes away as many as the terminal makes of them, also after it was resized. No
//! row is as wide as the terminal, so that none is wrapped.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use cycod_engine::diagnostic::Shown;
use cycod_thread::Thread;
use unicode_width::UnicodeWidthStr;

use super::streams;
use crate::run::{duration, fitted};

/// How long a row stays as it is while something runs.
const TICK: Duration = Duration::from_millis(100);

/// What turns in front of what runs.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Lines that change, at the end of the terminal.
#[derive(Debug)]
pub(crate) struct Lines(Arc<Shared>);

/// One of them. It stays until it is ended, or all are.
#[derive(Debug)]
pub(crate) struct RunningLine {
    lines: Arc<Shared>,
    number: u64,
}

/// Where a line is added.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Below all others.
    Last,
    /// Above the last one, which stays where it is.
    AboveLast,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    rows: Vec<Row>,
    /// How wide the rows are that stand on the terminal.
    drawn: Vec<usize>,
    /// The number of the next row.
    next: u64,
    frame: usize,
    is_ticking: bool,
    is_over: bool,
}

#[derive(Debug)]
struct Row {
    number: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Running { name: String, since: Instant, message: String },
    Counter { name: String, since: Instant },
    Kept { mark: Shown, columns: usize, text: String },
}

impl Lines {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Whether standard error ends at a terminal on which lines can change.
    pub(crate) fn can_be_drawn() -> bool {
        streams::talk_size().is_some()
    }

    /// Writes a line above the others.
    pub(crate) fn say(&self, line: impl Into<Shown>) {
        self.0.lock().draw(&format!("{}\n", line.into().as_str()));
    }

    /// Adds a line that begins with `what`, for something that runs.
    pub(crate) fn add(&self, what: impl Into<Shown>, place: Place) -> RunningLine {
        let kind = Kind::Running { name: one_line(what), since: Instant::now(), message: String::new() };
        let row = match place {
            Place::Last => usize::MAX,
            Place::AboveLast => self.0.lock().rows.len().saturating_sub(1),
        };
        self.insert(row, kind)
    }

    /// Adds a line that counts, and stays the last one.
    pub(crate) fn count(&self, what: impl Into<Shown>) -> RunningLine {
        self.insert(usize::MAX, Kind::Counter { name: one_line(what), since: Instant::now() })
    }

    /// Adds a line that does not change, as number `row` from above: a mark of so many columns, and a text that is cut where
    /// the terminal ends.
    pub(crate) fn keep(&self, row: usize, (mark, columns): (Shown, usize), text: &str) -> RunningLine {
        self.insert(row, Kind::Kept { mark, columns, text: one_line(text) })
    }

    fn insert(&self, row: usize, kind: Kind) -> RunningLine {
        let mut state = self.0.lock();
        let number = state.next;
        state.next += 1;
        let row = row.min(state.rows.len());
        state.rows.insert(row, Row { number, kind });
        state.draw("");
        if !std::mem::replace(&mut state.is_ticking, true) {
            let shared = Arc::clone(&self.0);
            // Without it the lines change when something happens.
            drop(Thread::named("lines").detach(move || shared.tick()));
        }
        self.0.changed.notify_all();
        RunningLine { lines: Arc::clone(&self.0), number }
    }

    /// Writes something else while the lines stand aside.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        let mut state = self.0.lock();
        state.erase();
        write();
        state.draw("");
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_over = true;
        state.erase();
        self.0.changed.notify_all();
    }
}

impl RunningLine {
    /// Sets what the line ends with.
    pub(crate) fn set(&self, message: impl Into<Shown>) {
        let said = one_line(message);
        self.lines.lock().change(self.number, |kind| {
            if let Kind::Running { message, .. } = kind {
                *message = said;
            }
        });
    }

    /// Sets what the line begins with.
    pub(crate) fn rename(&self, what: impl Into<Shown>) {
        let new = one_line(what);
        self.lines.lock().change(self.number, |kind| {
            if let Kind::Running { name, .. } | Kind::Counter { name, .. } = kind {
                *name = new;
            }
        });
    }

    /// Takes the line away.
    pub(crate) fn end(self) {
        let mut state = self.lines.lock();
        state.rows.retain(|row| row.number != self.number);
        state.draw("");
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the lines again and again while there are any.
    fn tick(&self) {
        let mut state = self.lock();
        while !state.is_over {
            let waited = if state.rows.is_empty() {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0
            };
            state = waited;
            if !state.is_over && !state.rows.is_empty() {
                state.frame += 1;
                state.draw("");
            }
        }
    }
}

impl State {
    fn change(&mut self, number: u64, change: impl FnOnce(&mut Kind)) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.number == number) {
            change(&mut row.kind);
        }
    }

    /// Takes what is drawn away.
    fn erase(&mut self) {
        let (columns, _) = streams::talk_size().unwrap_or(USUAL);
        streams::draw(&taken_away(rows_of(&self.drawn, columns)));
        self.drawn.clear();
    }

    /// Draws all lines where they were, below a text of whole lines that stays.
    fn draw(&mut self, above: &str) {
        let (columns, rows) = streams::talk_size().unwrap_or(USUAL);
        if above.is_empty() && (self.rows.is_empty() || self.is_over) {
            return self.erase();
        }
        let mut text = to_the_top(rows_of(&self.drawn, columns));
        text.push_str(&above.replace('\n', &format!("{REST_OF_ROW}\n")));
        self.drawn.clear();
        // What does not fit would be out of reach when it is to be taken away.
        let first = self.rows.len().saturating_sub(rows.saturating_sub(1).max(1));
        for row in self.rows.iter().skip(first).filter(|_| !self.is_over) {
            let (line, width) = row.kind.line(columns.saturating_sub(1), self.frame);
            if !self.drawn.is_empty() {
                text.push_str(REST_OF_ROW);
                text.push('\n');
            }
            text.push_str(&line);
            self.drawn.push(width);
        }
        text.push_str(REST_OF_SCREEN);
        streams::draw(&text);
    }
}

/// What a terminal has that does not say it.
const USUAL: (usize, usize) = (80, 24);

/// The sign that clears what stands behind the cursor in its row.
const REST_OF_ROW: &str = "\u{1b}[K";

/// The sign that clears what stands behind the cursor and below it. At the upper left corner, some terminals take it for a new
/// screen, and keep the old one among what has scrolled away; so it is written behind a line.
const REST_OF_SCREEN: &str = "\u{1b}[J";

/// How many rows the terminal makes of rows of these widths. One that has become narrower has made several of one.
fn rows_of(widths: &[usize], columns: usize) -> usize {
    widths.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum()
}

/// The signs that lead from the end of so many rows to their beginning.
fn to_the_top(rows: usize) -> String {
    match rows {
        0 => String::new(),
        1 => "\r".to_owned(),
        rows => format!("\r\u{1b}[{}A", rows - 1),
    }
}

/// The signs that take so many rows away. The cursor stands behind the last of them.
fn taken_away(rows: usize) -> String {
    match rows {
        0 => String::new(),
        // From the last to the first.
        rows => format!("\r{REST_OF_ROW}{}", format!("\u{1b}[A{REST_OF_ROW}").repeat(rows - 1)),
    }
}

impl Kind {
    /// The line, and how wide it is: at the most so many columns.
    fn line(&self, columns: usize, frame: usize) -> (String, usize) {
        match self {
            Self::Running { name, since, message } => {
                let spinner = SPINNER[frame % SPINNER.len()];
                cut("", 0, &format!("  {spinner} {name}  {}  {message}", elapsed(*since)), columns)
            }
            Self::Counter { name, since } => cut("", 0, &format!("  {name}  {}", elapsed(*since)), columns),
            Self::Kept { mark, columns: width, text } => cut(mark.as_str(), *width, text, columns),
        }
    }
}

/// A text behind a mark, cut to so many columns in all.
fn cut(mark: &str, width: usize, text: &str, columns: usize) -> (String, usize) {
    let text = fitted(text.trim_end(), columns.saturating_sub(width));
    (format!("{mark}{text}"), width + text.width())
}

fn elapsed(since: Instant) -> String {
    match since.elapsed() {
        time if time < Duration::from_secs(60) => format!("{} s", time.as_secs()),
        time => duration(time),
    }
}

fn one_line(text: impl Into<Shown>) -> String {
    text.into().on_one_line().as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_go_away_as_a_narrower_terminal_made_of_them() {
        let signs = |widths, columns| to_the_top(rows_of(widths, columns));
        assert_eq!(signs(&[], 80), "");
        assert_eq!(signs(&[79], 80), "\r");
        assert_eq!(signs(&[0, 40], 80), "\r\u{1b}[1A");
        assert_eq!(signs(&[79, 10], 40), "\r\u{1b}[2A");
        assert_eq!(taken_away(2), "\r\u{1b}[K\u{1b}[A\u{1b}[K");
    }

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        let since = Instant::now();
        let said = "日本語テキスト🎉 and more than fits into the columns that there are";
        for columns in [10, 39, 79] {
            let running = Kind::Running { name: "步骤".to_owned(), since, message: said.to_owned() };
            let kept = Kind::Kept { mark: Shown::from("  ok  "), columns: 6, text: format!(" {said}") };
            for kind in [running, kept] {
                let (line, width) = kind.line(columns, 3);
                assert_eq!(line.width(), width);
                assert!(width <= columns, "{width} columns of {columns}: {line}");
            }
        }
    }
}
