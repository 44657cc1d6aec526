//! Markdown with YAML between two lines of `---` at its beginning.

use cycod_diagnostic::{Diagnostic, Span};

use crate::{
    source::{TaskSource, syntax},
    tree::{self, Node},
};

/// A document in its two parts.
pub(crate) struct Document<'a> {
    pub(crate) head: Node,
    pub(crate) body: &'a str,
    /// The line on which the body begins.
    pub(crate) body_line: usize,
}

/// Takes a document apart.
pub(crate) fn read<'a>(source: &TaskSource<'a>) -> Result<Document<'a>, Vec<Diagnostic>> {
    source.check()?;
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let missing = |why: &str| {
        let help = "write `---`, then keys such as `description: …`, then `---`, at the beginning of the file";
        vec![syntax(Span::new(0, 0), why.to_owned()).help(help)]
    };
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Err(missing("the file does not begin with front matter"));
    }
    let mut at = first.len();
    for line in text[first.len()..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            // What is read keeps its place: the line of dashes becomes a comment.
            let mark = &source.text[..source.text.len() - text.len()];
            let text_of_head = format!("{mark}#{}{}", &first[1..], &text[first.len()..at]);
            let inner = source.with_text(&text_of_head);
            let head = tree::yaml(&inner)?;
            let body = &text[at + line.len()..];
            let body_line = source.line(source.text.len() - body.len());
            return Ok(Document { head, body, body_line });
        }
        at += line.len();
    }
    Err(missing("the front matter is never closed"))
}
