//! Text that was written for wide lines, folded to the width of a terminal.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

/// Beyond this, what belongs to a label stands below it and not next to it.
const NARROWEST: usize = 26;

/// How long a line of a page is at least, if the next one continues it.
const FULL: usize = 92;

/// Folds a help page to `width` columns. Examples, which are typed as they are, stay on one line each.
pub(crate) fn folded(page: &str, width: Option<usize>) -> Cow<'_, str> {
    let Some(width) = width.filter(|width| page.lines().any(|line| line.width() > *width)) else { return page.into() };
    let mut text = String::new();
    let mut is_example = false;
    let mut open: Option<Block> = None;
    for line in page.lines() {
        let is_heading = line.starts_with(|first: char| first.is_ascii_uppercase()) && !line.contains(": ");
        if is_heading {
            is_example = matches!(line, "EXAMPLES" | "FIRST STEPS");
        }
        if open.as_ref().is_some_and(|block| block.goes_on_with(line)) {
            open.as_mut().expect("it is open").add(line);
            continue;
        }
        if let Some(block) = open.take() {
            block.write(width, &mut text);
        }
        let indent = indent(line);
        if line.is_empty() || is_heading || (is_example && indent >= 4) || line.ends_with('\\') {
            text.push_str(line);
            text.push('\n');
        } else {
            open = Some(Block::of(line));
        }
    }
    if let Some(block) = open {
        block.write(width, &mut text);
    }
    text.into()
}

/// Folds lines, each with its own indent, to `width` columns.
pub(crate) fn folded_lines(lines: &str, width: usize) -> String {
    let mut text = String::new();
    for line in lines.lines() {
        if line.width() <= width {
            text.push_str(line);
            text.push('\n');
        } else {
            let indent = " ".repeat(indent(line));
            fill(line.trim_start(), &indent, &format!("{indent}  "), width, &mut text);
        }
    }
    text
}

/// Writes words in lines of at most `width` columns; the first line begins with `first`, the others with `others`.
pub(crate) fn fill(words: &str, first: &str, others: &str, width: usize, text: &mut String) {
    text.push_str(first);
    let mut used = first.width();
    let mut is_first = true;
    for word in words.split_whitespace() {
        let columns = word.width();
        if is_first {
            is_first = false;
        } else if used + 1 + columns > width {
            text.push('\n');
            text.push_str(others);
            used = others.width();
        } else {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += columns;
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Lines that belong together: a paragraph, or a label with what it means.
struct Block {
    /// What stands before the words: an indent, a mark of a list, or a label with the space behind it.
    label: String,
    words: String,
    /// How long its last line is.
    last: usize,
}

impl Block {
    fn of(line: &str) -> Self {
        let at = label_end(line).unwrap_or_else(|| indent(line));
        Self { label: line[..at].to_owned(), words: line[at..].to_owned(), last: line.width() }
    }

    fn is_labelled(&self) -> bool {
        !self.label.trim().is_empty()
    }

    /// Whether a line continues it: it begins where the words begin, and its first word did not fit before.
    fn goes_on_with(&self, line: &str) -> bool {
        let first = line.split_whitespace().next().unwrap_or_default();
        indent(line) == self.label.width()
            && !first.is_empty()
            && label_end(line).is_none()
            && (self.is_labelled() || self.last + 1 + first.width() > FULL)
    }

    fn add(&mut self, line: &str) {
        self.words.push(' ');
        self.words.push_str(line.trim());
        self.last = line.width();
    }

    fn write(&self, width: usize, text: &mut String) {
        let column = self.label.width();
        let indent = indent(&self.label);
        if !self.is_labelled() || width >= column + NARROWEST || column <= indent + 2 {
            return fill(&self.words, &self.label, &" ".repeat(column), width, text);
        }
        let own = " ".repeat(indent);
        fill(self.label.trim(), &own, &format!("{own}  "), width, text);
        let below = " ".repeat(indent + 4);
        fill(&self.words, &below, &below, width, text);
    }
}

/// Where the words of a line begin that has a label: `--option   Words`, `- Words`, `USAGE: words`.
fn label_end(line: &str) -> Option<usize> {
    let start = indent(line);
    let rest = &line[start..];
    if let Some(usage) = ["USAGE: ", "OR: "].into_iter().find(|word| rest.starts_with(word)) {
        return Some(start + usage.len());
    }
    if rest.starts_with("- ") && !rest.starts_with("-  ") {
        return Some(start + 2);
    }
    let gap = rest.find("  ")?;
    let words = rest[gap..].trim_start_matches(' ');
    (start > 0 && !words.is_empty()).then(|| line.len() - words.len())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{folded, folded_lines};

    const PAGE: &str = "CYCOD X

  Some words about a command that were written for lines of more than a hundred columns, as most terminals
  have them. And more.
  A line of its own.

USAGE: cycod x NAME [options]
   OR: cycod x --all [options] [more]

OPTIONS

    --short        Words that go on and on until the line is full, which takes a while, and then some more of
                   them
    -              Read it
    --a-very-long-option VALUE

  - one of a list, long enough
  - another

EXAMPLES

  EXAMPLE 1: Do something that is described at length

    cycod x a-name-that-is-long --with many --options and values
";

    #[test]
    fn a_page_fits_a_narrow_terminal() {
        assert_eq!(folded(PAGE, None), PAGE);
        assert_eq!(folded(PAGE, Some(120)), PAGE);
        expect![[r#"
            CYCOD X

              Some words about a command that were written for lines of
              more than a hundred columns, as most terminals have them.
              And more.
              A line of its own.

            USAGE: cycod x NAME [options]
               OR: cycod x --all [options] [more]

            OPTIONS

                --short        Words that go on and on until the line is
                               full, which takes a while, and then some
                               more of them
                -              Read it
                --a-very-long-option VALUE

              - one of a list, long enough
              - another

            EXAMPLES

              EXAMPLE 1: Do something that is described at length

                cycod x a-name-that-is-long --with many --options and values
        "#]]
        .assert_eq(&folded(PAGE, Some(60)));
        expect![[r#"
            CYCOD X

              Some words about a command
              that were written for lines of
              more than a hundred columns,
              as most terminals have them.
              And more.
              A line of its own.

            USAGE:
                cycod x NAME [options]
               OR:
                   cycod x --all [options]
                   [more]

            OPTIONS

                --short
                    Words that go on and on
                    until the line is full,
                    which takes a while, and
                    then some more of them
                -
                    Read it
                --a-very-long-option VALUE

              - one of a list, long enough
              - another

            EXAMPLES

              EXAMPLE 1: Do something that
              is described at length

                cycod x a-name-that-is-long --with many --options and values
        "#]]
        .assert_eq(&folded(PAGE, Some(32)));
    }

    #[test]
    fn lines_keep_their_indent() {
        expect![[r#"
            one
              two three
                four five
                six
        "#]]
        .assert_eq(&folded_lines("one\n  two three four five six\n", 14));
    }
}
