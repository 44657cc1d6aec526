//! A table that fits: columns are cut where a terminal ends, and left alone where none is.

use std::borrow::Cow;

use anstyle::Style;
use cycod_engine::diagnostic::{Shown, visible};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::printer::{HEADING, Printer, paint};

/// Rows of text under a head.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    head: Vec<Cell<'a>>,
    rows: Vec<Vec<Cell<'a>>>,
    minor: Vec<usize>,
}

/// A text on one line, some of it in styles, and how wide it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell<'a> {
    parts: Vec<(Cow<'a, str>, Style)>,
    width: usize,
}

impl<'a> Cell<'a> {
    /// A plain text.
    pub(crate) fn new(text: impl Into<Cow<'a, str>>) -> Self {
        Self::default().with(text, Style::new())
    }

    /// Adds a text in a style; line breaks become spaces, what a terminal would act on becomes visible.
    pub(crate) fn with(mut self, text: impl Into<Cow<'a, str>>, style: Style) -> Self {
        let text = text.into();
        // Nearly every text is of this kind, and a list may hold thousands of them.
        let is_simple = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let line = if is_simple {
            text
        } else if text.contains(['\n', '\t', '\r']) {
            Cow::Owned(visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned())
        } else {
            Cow::Owned(visible(&text).into_owned())
        };
        if !line.is_empty() {
            self.width += if is_simple { line.len() } else { line.width() };
            self.parts.push((line, style));
        }
        self
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Writes the text in at most `width` columns and returns how many it took.
    fn write(&self, width: usize, colour: bool, out: &mut Shown) -> usize {
        let is_cut = self.width > width;
        if !is_cut && !colour {
            self.parts.iter().for_each(|(text, _)| out.push(&**text));
            return self.width;
        }
        let mut room = if is_cut { width.saturating_sub(1) } else { width };
        let start = room;
        for (text, style) in &self.parts {
            let kept = fitting(text, room);
            room -= kept.width();
            if !kept.is_empty() {
                out.push(paint(colour && *style != Style::new(), *style, kept));
            }
            if kept.len() < text.len() {
                break;
            }
        }
        if is_cut && width > 0 {
            out.push('…');
        }
        start - room + usize::from(is_cut && width > 0)
    }
}

/// As much of the beginning of `text` as `width` columns hold.
fn fitting(text: &str, width: usize) -> &str {
    let mut taken = 0;
    for (at, character) in text.char_indices() {
        taken += character.width().unwrap_or(0);
        if taken > width {
            return &text[..at];
        }
    }
    text
}

/// Between two columns.
const GAP: usize = 2;
/// No column is made narrower than this.
const NARROWEST: usize = 8;

impl<'a> Table<'a> {
    /// An empty table.
    pub(crate) fn new(head: &[&'a str]) -> Self {
        let head = head.iter().map(|&name| Cell::default().with(name, HEADING)).collect();
        Self { head, rows: Vec::new(), minor: Vec::new() }
    }

    /// The columns that are left out, in this order, where there is no room for the first column otherwise.
    pub(crate) fn with_minor(mut self, columns: &[usize]) -> Self {
        self.minor = columns.to_vec();
        self
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<Cell<'a>>) {
        debug_assert_eq!(cells.len(), self.head.len());
        self.rows.push(cells);
    }

    /// Writes the table to standard output, as wide as the terminal.
    pub(crate) fn print(&self, printer: &mut Printer) {
        printer.text(self.render(printer.width, printer.data_colour));
    }

    /// Writes the table, cut to `width` columns if there is a limit. A column without any text is left out.
    pub(crate) fn render(&self, width: Option<usize>, colour: bool) -> Shown {
        let mut widths = vec![0; self.head.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width.max(*width);
            }
        }
        for (width, name) in widths.iter_mut().zip(&self.head) {
            if *width > 0 {
                *width = name.width.max(*width);
            }
        }
        if let Some(limit) = width {
            for &column in &self.minor {
                if least(&widths) > limit {
                    widths[column] = 0;
                }
            }
            fit(&mut widths, limit);
        }
        let last = widths.iter().rposition(|width| *width > 0);
        let mut out = Shown::default();
        for row in std::iter::once(&self.head).chain(&self.rows) {
            // Spaces are owed until something stands after them, so that no line ends with any.
            let mut owed = 0;
            for (index, (cell, &width)) in row.iter().zip(&widths).enumerate().filter(|(_, (_, width))| **width > 0) {
                if cell.width > 0 {
                    out.push(&" ".repeat(owed));
                    owed = width - cell.write(width, colour, &mut out);
                } else {
                    owed += width;
                }
                owed += if Some(index) == last { 0 } else { GAP };
            }
            out.push('\n');
        }
        out
    }
}

/// How narrow a table can be with the first column whole.
fn least(widths: &[usize]) -> usize {
    let shown: Vec<usize> = widths.iter().copied().filter(|width| *width > 0).collect();
    let [first, others @ ..] = shown.as_slice() else { return 0 };
    first + others.iter().map(|width| (*width).min(NARROWEST) + GAP).sum::<usize>()
}

/// Makes columns narrower until they fit, from the right: the first holds names, which a person wants to copy.
fn fit(widths: &mut [usize], limit: usize) {
    let gaps = GAP * widths.iter().filter(|width| **width > 0).count().saturating_sub(1);
    let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(limit);
    for (at, width) in widths.iter_mut().rev().enumerate() {
        let floor = if at == 0 { NARROWEST.max(limit * 2 / 5) } else { NARROWEST };
        let given = width.saturating_sub(floor).min(over);
        *width -= given;
        over -= given;
    }
}

#[cfg(test)]
mod tests {
    use anstyle::{AnsiColor, Style};
    use expect_test::{Expect, expect};
    use unicode_width::UnicodeWidthStr;

    use super::{Cell, Table};

    fn table() -> Table<'static> {
        let mut table = Table::new(&["NAME", "TAGS", "WHAT"]);
        let style = AnsiColor::Red.on_default();
        table.row(vec![Cell::new("weather"), Cell::new("read"), Cell::new("Get the weather for a place")]);
        table.row(vec![
            Cell::new("天気"),
            Cell::default(),
            Cell::default().with("[bad] ", style).with("気象\nin\tJapan", Style::new()),
        ]);
        table.row(vec![Cell::new("x"), Cell::default(), Cell::default()]);
        table
    }

    fn check(width: Option<usize>, colour: bool, expect: &Expect) {
        let text = table().render(width, colour);
        let text = text.as_str();
        if let (Some(width), false) = (width, colour) {
            assert!(text.lines().all(|line| line.width() <= width), "{text}");
        }
        expect.assert_eq(text);
    }

    #[test]
    fn minor_columns_make_room_for_the_first() {
        let mut table = Table::new(&["RUN", "WHO", "END"]).with_minor(&[1, 2]);
        table.row(vec![Cell::new("01a219b0ce8a0f8d"), Cell::new("a person"), Cell::new("exit 3")]);
        expect![[r#"
            RUN               WHO       END
            01a219b0ce8a0f8d  a person  exit 3
        "#]]
        .assert_eq(table.render(Some(34), false).as_str());
        expect![[r#"
            RUN               END
            01a219b0ce8a0f8d  exit 3
        "#]]
        .assert_eq(table.render(Some(33), false).as_str());
    }

    #[test]
    fn without_a_limit() {
        check(
            None,
            false,
            &expect![[r#"
                NAME     TAGS  WHAT
                weather  read  Get the weather for a place
                天気           [bad] 気象 in Japan
                x
            "#]],
        );
    }

    #[test]
    fn the_last_column_is_cut_first() {
        check(
            Some(30),
            false,
            &expect![[r#"
                NAME     TAGS  WHAT
                weather  read  Get the weathe…
                天気           [bad] 気象 in …
                x
            "#]],
        );
    }

    #[test]
    fn a_narrow_terminal_still_shows_something() {
        check(
            Some(24),
            false,
            &expect![[r#"
                NAME     TAGS  WHAT
                weather  read  Get the …
                天気           [bad] 気…
                x
            "#]],
        );
    }

    #[test]
    fn colours_take_no_room() {
        check(
            Some(26),
            true,
            &expect![[r#"
            [1mNAME[0m     [1mTAGS[0m  [1mWHAT[0m
            weather  read  Get the we…
            天気           [31m[bad] [0m気象…
            x
        "#]],
        );
    }

    #[test]
    fn a_text_cannot_drive_the_terminal() {
        let mut table = Table::new(&["A"]);
        table.row(vec![Cell::new("\u{1b}[2Jx\u{202e}y")]);
        assert_eq!(table.render(None, false).as_str(), "A\n\\u{1b}[2Jx\\u{202e}y\n");
    }

    #[test]
    fn an_empty_column_is_left_out() {
        let mut table = Table::new(&["A", "B", "C"]);
        table.row(vec![Cell::new("a"), Cell::default(), Cell::new("c")]);
        assert_eq!(table.render(None, false).as_str(), "A  C\na  c\n");
    }
}
