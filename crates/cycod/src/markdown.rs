//! The guides and the pages of errors, as they are read on a terminal.

use cycod_engine::diagnostic::Shown;
use unicode_width::UnicodeWidthStr;

use crate::{
    folded::fill,
    printer::{DIM, HEADING, paint},
};

/// The width where there is no terminal: that of the source.
const WIDE: usize = 120;

/// Between two columns of a table.
const GAP: usize = 2;

/// Renders a page: code indented instead of fenced, headings that stand out, paragraphs folded to `width` columns, and links
/// as the command that shows the page they lead to. `folder` is the folder of the page in the documentation.
pub(crate) fn rendered(page: &str, folder: &str, width: Option<usize>, colour: bool) -> Shown {
    let width = width.unwrap_or(WIDE);
    let mut text = Shown::default();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("<!--") {
            // A comment is for those who write the page; the line that ends it may be the same one.
            if !trimmed.contains("-->") {
                lines.by_ref().find(|line| line.contains("-->"));
            }
            lines.next_if(|line| line.trim().is_empty());
        } else if let Some(fence) = fence(trimmed) {
            let indent = line.len() - trimmed.len();
            for line in lines.by_ref().take_while(|line| !line.trim_start().starts_with(fence)) {
                let line = line.get(indent..).filter(|_| line[..indent].trim().is_empty()).unwrap_or(line);
                text.push(if line.is_empty() { "" } else { "    " });
                text.line(paint(colour && !line.is_empty(), DIM, line));
            }
        } else if line.starts_with('#') {
            text.line(paint(colour, HEADING, &inline(line.trim_start_matches('#').trim(), folder)));
        } else if trimmed.is_empty() {
            text.line("");
        } else if trimmed.starts_with('|') {
            let mut rows = vec![cells(trimmed, folder)];
            while let Some(line) = lines.next_if(|line| line.trim_start().starts_with('|')) {
                rows.push(cells(line.trim_start(), folder));
            }
            table(&rows, width, colour, &mut text);
        } else {
            let (label, first) = line.split_at(line.len() - trimmed.len() + mark(trimmed));
            let mut words = first.to_owned();
            while let Some(line) = lines.next_if(|line| goes_on(line)) {
                words.push(' ');
                words.push_str(line.trim());
            }
            let mut filled = String::new();
            fill(&inline(&words, folder), label, &" ".repeat(label.width()), width, &mut filled);
            text.push(filled.as_str());
        }
    }
    text
}

/// What opens a block of code, which is what closes it.
fn fence(line: &str) -> Option<&str> {
    let marks = line.len() - line.trim_start_matches('`').len();
    (marks >= 3).then(|| &line[..marks])
}

/// How long the mark is with which an item of a list begins.
fn mark(line: &str) -> usize {
    let digits = line.len() - line.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    match line {
        _ if line.starts_with("- ") => 2,
        _ if digits > 0 && line[digits..].starts_with(". ") => digits + 2,
        _ => 0,
    }
}

/// Whether a line continues a paragraph.
fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty()
        && mark(line) == 0
        && fence(line).is_none()
        && !line.starts_with(['|', '#'])
        && !line.starts_with("<!--")
}

/// The cells of a row of a table.
fn cells(row: &str, folder: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|');
    let (mut cells, mut cell, mut is_escaped) = (Vec::new(), String::new(), false);
    for character in row.chars() {
        match character {
            '|' if is_escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' => cells.push(inline(std::mem::take(&mut cell).trim(), folder)),
            _ => cell.push(character),
        }
        is_escaped = character == '\\';
    }
    if !cell.trim().is_empty() {
        cells.push(inline(cell.trim(), folder));
    }
    cells
}

/// Writes a table in columns where they fit, and else each row below its first cell.
fn table(rows: &[Vec<String>], width: usize, colour: bool, text: &mut Shown) {
    let is_rule =
        |row: &[String]| row.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':')));
    let (head, body) = match rows {
        [head, rule, body @ ..] if is_rule(rule) => (Some(head), body),
        _ => (None, rows),
    };
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let column = |at: usize| {
        let cells = head.into_iter().chain(body).filter_map(|row| row.get(at));
        cells.map(|cell| cell.width()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..count).map(column).collect();
    let fixed: usize = widths.iter().take(count.saturating_sub(1)).map(|width| width + GAP).sum();
    let is_wide = width >= fixed + 24;
    if let Some(head) = head.filter(|head| is_wide && head.iter().any(|cell| !cell.is_empty())) {
        let line: String = head.iter().zip(&widths).map(|(cell, width)| padded(cell, width + GAP)).collect();
        text.line(paint(colour, HEADING, line.trim_end()));
    }
    for row in body {
        let mut filled = String::new();
        if is_wide {
            let (last, others) =
                row.split_last().map_or(("", row.as_slice()), |(last, others)| (last.as_str(), others));
            let before: String = others.iter().zip(&widths).map(|(cell, width)| padded(cell, width + GAP)).collect();
            fill(last, &before, &" ".repeat(before.width()), width, &mut filled);
        } else {
            for (at, cell) in row.iter().enumerate() {
                let indent = if at == 0 { "" } else { "    " };
                fill(cell, indent, "    ", width, &mut filled);
            }
        }
        text.push(filled.as_str());
    }
}

fn padded(cell: &str, width: usize) -> String {
    format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
}

/// Text without marks of emphasis, and with links as what to type; code stays as it is.
fn inline(text: &str, folder: &str) -> String {
    let mut result = String::new();
    for (at, part) in text.split('`').enumerate() {
        // Every other part is code.
        if at > 0 {
            result.push('`');
        }
        if at % 2 == 0 { result.push_str(&part.replace("**", "")) } else { result.push_str(part) }
    }
    linked(&result, folder)
}

/// The text with each `[words](target)` as its words and the way to its target.
fn linked(text: &str, folder: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, words, target, after)) = link(rest) {
        result.push_str(before);
        result.push_str(words);
        if let Some(way) = way(target, folder).filter(|way| way != words.trim_matches('`')) {
            result.push_str(&format!(" ({way})"));
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// Text with links as their words.
pub(crate) fn plain(text: &str) -> String {
    match link(text) {
        Some((before, words, _, after)) => format!("{before}{words}{}", plain(after)),
        None => text.to_owned(),
    }
}

/// The first link of a text: what is before it, its words, its target, and what is after it.
fn link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = text.find("](")?;
    let start = text[..middle].rfind('[')?;
    let end = middle + text[middle..].find(')')?;
    Some((&text[..start], &text[start + 1..middle], &text[middle + 2..end], &text[end + 1..]))
}

/// How to get to the target of a link.
fn way(target: &str, folder: &str) -> Option<String> {
    if target.contains("://") {
        return Some(target.to_owned());
    }
    let (path, _) = target.split_once('#').unwrap_or((target, ""));
    if path.is_empty() {
        return None;
    }
    let path = path.strip_prefix("../").map_or_else(|| format!("{folder}/{path}"), str::to_owned);
    Some(match path.strip_suffix(".md").and_then(|path| path.split_once('/')) {
        Some(("guide", name)) => format!("cycod help guide {name}"),
        Some(("errors", code)) => format!("cycod explain {code}"),
        _ => format!("docs/{path}"),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::rendered;

    const PAGE: &str = "# A `page`

A paragraph with a [link](trust.md#here), a [page of an error](../errors/no-name.md), **emphasis** and `**code**`, which is
longer than a narrow terminal. See [the site](https://example.com).

- an item that goes on
  for a while
- another:

  ```console
  $ cycod list
  ```

<!-- setup
echo not shown
-->

<!-- not run: it is not shown either -->
1. first

| key | what it means |
|---|---|
| `a` | `x \\| y`, or something longer |
| `bb` | [more](../reference/limits.md) |

````text
```
````
";

    #[test]
    fn a_page_as_it_is_read() {
        expect![[r#"
            A `page`

            A paragraph with a link (cycod help guide trust), a page of an error (cycod explain no-name), emphasis and `**code**`,
            which is longer than a narrow terminal. See the site (https://example.com).

            - an item that goes on for a while
            - another:

                $ cycod list

            1. first

            key   what it means
            `a`   `x | y`, or something longer
            `bb`  more (docs/reference/limits.md)

                ```
        "#]].assert_eq(rendered(PAGE, "guide", None, false).as_str());
        expect![[r#"
            A `page`

            A paragraph with a link (cycod help
            guide trust), a page of an error (cycod
            explain no-name), emphasis and
            `**code**`, which is longer than a
            narrow terminal. See the site
            (https://example.com).

            - an item that goes on for a while
            - another:

                $ cycod list

            1. first

            key   what it means
            `a`   `x | y`, or something longer
            `bb`  more (docs/reference/limits.md)

                ```
        "#]]
        .assert_eq(rendered(PAGE, "guide", Some(40), false).as_str());
        expect![[r#"
            A `page`

            A paragraph with a link
            (cycod help guide
            trust), a page of an
            error (cycod explain
            no-name), emphasis and
            `**code**`, which is
            longer than a narrow
            terminal. See the site
            (https://example.com).

            - an item that goes on
              for a while
            - another:

                $ cycod list

            1. first

            `a`
                `x | y`, or
                something longer
            `bb`
                more
                (docs/reference/limits.md)

                ```
        "#]]
        .assert_eq(rendered(PAGE, "guide", Some(24), false).as_str());
    }
}
