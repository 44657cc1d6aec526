//! Text that may go to a terminal: everything hidden in it is written out, and all styles are ours.

use std::borrow::Cow;

use anstyle::Style;

use crate::visible::{escaped, push_escape, visible, waits_for_more};

/// Text that may go to a terminal.
///
/// It is made of texts of any origin, in which everything hidden is written out as [`visible`] does, and of styles that we
/// choose. There is no other way to make one, so nothing that a file, a program or a model says can drive the terminal.
/// It has no `Display` on purpose: put into another text it would have to be read again, and its colours would be shown as
/// characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    /// A text in a style.
    pub fn styled(text: &str, style: Style) -> Self {
        Self(format!("{style}{}{style:#}", visible(text)))
    }

    /// What a program wrote; bytes that are not UTF-8 are written as `\x9b`.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let mut passing = Passing::default();
        let mut shown = passing.pass(bytes);
        shown.push(passing.finish());
        shown
    }

    /// What a renderer made of texts that are shown already.
    pub(crate) fn rendered(text: String) -> Self {
        Self(text)
    }

    /// Adds another text.
    pub fn push(&mut self, text: impl Into<Self>) {
        self.0.push_str(&text.into().0);
    }

    /// Adds a line.
    pub fn line(&mut self, text: impl Into<Self>) {
        self.push(text);
        self.0.push('\n');
    }

    /// The text as it goes to a terminal.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text on one line: line feeds are written out, and tabs are spaces.
    #[must_use]
    pub fn on_one_line(self) -> Self {
        if !self.0.contains(['\n', '\t']) {
            return self;
        }
        Self(self.0.replace('\n', "\\n").replace('\t', " "))
    }

    /// The text with a mark before each of its lines: a text of somebody else in a place that is ours.
    #[must_use]
    pub fn quoted(self, mark: &str) -> Self {
        let mark = visible(mark);
        let lines: Vec<String> = self.0.split('\n').map(|line| format!("{mark}{line}").trim_end().to_owned()).collect();
        Self(lines.join("\n"))
    }

    /// The text with at least `indent` spaces before each line but the first, so that none of it looks like a line of ours.
    #[must_use]
    pub fn hanging(self, indent: usize) -> Self {
        let Some((first, rest)) = self.0.split_once('\n') else { return self };
        let mut text = first.to_owned();
        for line in rest.split('\n') {
            text.push('\n');
            let has_less = line.len() - line.trim_start_matches(' ').len() < indent;
            text.push_str(&" ".repeat(if has_less && !line.is_empty() { indent } else { 0 }));
            text.push_str(line);
        }
        Self(text)
    }
}

impl From<&str> for Shown {
    fn from(text: &str) -> Self {
        Self(visible(text).into_owned())
    }
}

impl From<&String> for Shown {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&Cow<'_, str>> for Shown {
    fn from(text: &Cow<'_, str>) -> Self {
        (&**text).into()
    }
}

impl From<char> for Shown {
    fn from(character: char) -> Self {
        (&*character.encode_utf8(&mut [0; 4])).into()
    }
}

impl From<&Shown> for Shown {
    fn from(shown: &Shown) -> Self {
        shown.clone()
    }
}

impl<T: Into<Shown>> FromIterator<T> for Shown {
    fn from_iter<I: IntoIterator<Item = T>>(parts: I) -> Self {
        let mut shown = Self::default();
        parts.into_iter().for_each(|part| shown.push(part));
        shown
    }
}

/// Puts parts together to a text that may go to a terminal.
#[macro_export]
macro_rules! shown {
    ($($part:expr),* $(,)?) => {{
        let mut shown = $crate::Shown::default();
        $(shown.push($part);)*
        shown
    }};
}

/// What a program writes piece by piece, on its way to a terminal.
///
/// A piece may end within a character, within the end of a line, and before what decides whether a joiner is hidden; that
/// much waits for the next one.
#[derive(Clone, Debug, Default)]
pub struct Passing {
    held: Vec<u8>,
    before: Option<char>,
}

impl Passing {
    /// Takes the next bytes, and returns what can be shown by now.
    pub fn pass(&mut self, bytes: &[u8]) -> Shown {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let whole = whole(&all);
        self.held = all.split_off(whole);
        self.show(&all)
    }

    /// Returns what waits for a piece that does not come.
    pub fn finish(&mut self) -> Shown {
        let held = std::mem::take(&mut self.held);
        let shown = self.show(&held);
        self.before = None;
        shown
    }

    fn show(&mut self, bytes: &[u8]) -> Shown {
        let mut shown = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            // A carriage return before a line feed is the end of a line, as programs for Windows write it.
            let text = chunk.valid().replace("\r\n", "\n");
            let text = escaped(&text, self.before, push_escape);
            shown.push_str(&text);
            self.before = text.chars().next_back().or(self.before);
            for byte in chunk.invalid() {
                shown.push_str(&format!("\\x{byte:02x}"));
                self.before = None;
            }
        }
        Shown(shown)
    }
}

/// How much of the bytes can be shown whatever follows them.
fn whole(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    if let Some(last) = bytes.utf8_chunks().last()
        && let rest = last.invalid()
        && str::from_utf8(rest).is_err_and(|error| error.error_len().is_none())
    {
        end -= rest.len();
    }
    let tail = &bytes[end.saturating_sub(4)..end];
    let last = tail.utf8_chunks().last().filter(|chunk| chunk.invalid().is_empty());
    match last.and_then(|chunk| chunk.valid().chars().next_back()) {
        Some(last) if last == '\r' || waits_for_more(last) => end - last.len_utf8(),
        _ => end,
    }
}
