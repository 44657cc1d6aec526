//! Text for a person: headings, facts, paragraphs.

use cycod_engine::diagnostic::Shown;

use crate::{
    folded::folded_lines,
    printer::{HEADING, paint},
};

/// Lines of text; headings start at the margin and nothing else does.
#[derive(Default)]
pub(crate) struct Page(String);

impl Page {
    /// A line that begins something.
    pub(crate) fn heading(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    /// A heading with a line before it.
    pub(crate) fn section(&mut self, title: &str) {
        self.blank();
        self.heading(title);
    }

    /// An empty line, unless there is one.
    pub(crate) fn blank(&mut self) {
        if !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    /// Lines at one indent.
    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        self.lines(indent, indent, text);
    }

    /// A text whose first line has a label before it: the others stand deeper.
    pub(crate) fn code(&mut self, indent: usize, text: &str) {
        self.lines(indent, indent + 2, text);
    }

    fn lines(&mut self, first: usize, others: usize, text: &str) {
        for (index, line) in text.trim_end().lines().enumerate() {
            let indent = if index == 0 { first } else { others };
            self.0.push_str(&" ".repeat(if line.trim().is_empty() { 0 } else { indent }));
            self.0.push_str(line.trim_end());
            self.0.push('\n');
        }
    }

    /// A paragraph behind a label, if there is a text.
    pub(crate) fn labelled(&mut self, indent: usize, label: &str, text: &str) {
        if !text.is_empty() {
            self.paragraph(indent, &format!("{label}: {text}"));
        }
    }

    /// A line of a table with two columns, if there is a text.
    pub(crate) fn fact(&mut self, label: &str, text: &str) {
        if !text.trim().is_empty() {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.0.push_str(&format!("  {label:<14} {line}\n"));
        }
    }

    /// The page in lines of at most `width` columns.
    pub(crate) fn folded(self, width: Option<usize>) -> Self {
        match width {
            Some(width) => Self(folded_lines(&self.0, width)),
            None => self,
        }
    }

    /// The page. Text of a file cannot drive the terminal.
    pub(crate) fn finish(self, colour: bool) -> Shown {
        let mut text = Shown::default();
        for line in self.0.lines() {
            let is_heading = !line.is_empty() && !line.starts_with(' ');
            text.line(paint(colour && is_heading, HEADING, line));
        }
        text
    }
}
