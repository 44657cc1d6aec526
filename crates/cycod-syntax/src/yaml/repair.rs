//! Commands written without quotes.
//!
//! People write `bash: jq '{author: .name}'`, as the documentation of this very format does, and YAML refuses
//! it because `: ` starts a value. When the strict reading fails, such one-line values are quoted in a copy
//! of the text and the copy is read instead, with a warning for each. A ` #`, on the other hand, is silently
//! taken for a comment, so that one is looked for in files that read well.

use cycod_diagnostic::{Code, Diagnostic, Edit, Span};

use super::{COMMAND_KEYS, Node, NodeKind, Places, ScalarStyle};

/// A copy of the text with commands quoted.
pub(super) struct Repaired {
    pub(super) text: String,
    pub(super) places: Places,
    pub(super) warnings: Vec<Diagnostic>,
}

/// Quotes the one-line command values that YAML cannot take; nothing when there are none.
pub(super) fn repair(text: &str) -> Option<Repaired> {
    let mut repaired = Repaired { text: String::new(), places: Places::same(), warnings: Vec::new() };
    let mut copied = 0;
    for line in commands(text) {
        let value = &text[line.start..line.end];
        let Some(trouble) = trouble(value) else { continue };
        repaired.text.push_str(&text[copied..line.start]);
        // The opening quote stands where the value starts, and so does the value.
        repaired.places.piece(repaired.text.len(), line.start);
        repaired.text.push('\'');
        let mut at = line.start;
        for piece in value.split_inclusive('\'') {
            repaired.places.piece(repaired.text.len(), at);
            repaired.text.push_str(piece);
            at += piece.len();
            if piece.ends_with('\'') {
                repaired.places.piece(repaired.text.len(), at - 1);
                repaired.text.push('\'');
            }
        }
        repaired.places.piece(repaired.text.len(), line.end);
        repaired.text.push('\'');
        repaired.places.piece(repaired.text.len(), line.end);
        copied = line.end;
        let key = line.key;
        repaired.warnings.push(
            Diagnostic::warning(
                Code::UnquotedCommand,
                Span::new(line.start, line.end),
                format!("the value of `{key}` must be quoted, because {trouble}"),
            )
            .label("read as if it were quoted")
            .fix("quote the command", vec![Edit { span: Span::new(line.start, line.end), replacement: quoted(value) }]),
        );
    }
    repaired.text.push_str(&text[copied..]);
    if repaired.warnings.is_empty() { None } else { Some(repaired) }
}

/// Returns the text as a YAML scalar in single quotes.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// Why a value cannot stand without quotes; nothing when it can.
fn trouble(value: &str) -> Option<&'static str> {
    let mut characters = value.chars();
    let first = characters.next()?;
    match first {
        '\'' | '"' => {
            let after = after_quote(value)?;
            (!after.trim_start_matches([' ', '\t']).is_empty()).then_some("it continues after the closing quote")
        }
        '[' | '{' => {
            let close = if first == '[' { ']' } else { '}' };
            (!value.ends_with(close)).then_some("it starts with a bracket")
        }
        '@' | '`' | '%' => Some("no value can start with this character"),
        '|' | '>' | '&' | '*' | '!' | '#' => None,
        _ if value.contains(": ") || value.contains(":\t") || value.ends_with(':') => {
            Some("`: ` in it would start another value")
        }
        _ => None,
    }
}

/// Returns what follows a quoted text, or nothing when the quote is not closed.
fn after_quote(value: &str) -> Option<&str> {
    let quote = value.chars().next()?;
    let mut rest = value.get(1..)?;
    loop {
        let at = rest.find(['\\', quote])?;
        let found = &rest[at..];
        if found.starts_with('\\') && quote == '"' {
            let mut escaped = found.chars();
            escaped.next();
            escaped.next();
            rest = escaped.as_str();
        } else if found.starts_with("''") && quote == '\'' {
            rest = &found[2..];
        } else if found.starts_with(quote) {
            return Some(&found[1..]);
        } else {
            rest = &found[1..];
        }
    }
}

/// A line `key: value` whose key is that of a command.
struct CommandLine<'a> {
    key: &'a str,
    start: usize,
    end: usize,
}

/// Finds the one-line command values outside of block scalars.
fn commands(text: &str) -> impl Iterator<Item = CommandLine<'_>> {
    let mut lines = Lines { text, at: 0 }.peekable();
    // Lines indented deeper than this belong to a block scalar.
    let mut block: Option<usize> = None;
    std::iter::from_fn(move || {
        loop {
            let (line_start, line) = lines.next()?;
            let trimmed = line.trim_start_matches(' ');
            let indent = line.len() - trimmed.len();
            if trimmed.is_empty() || block.is_some_and(|level| indent > level) {
                continue;
            }
            block = None;
            let mut column = indent;
            let mut rest = trimmed;
            let mut dash = None;
            while let Some(item) = rest.strip_prefix("- ") {
                dash = Some(column);
                let content = item.trim_start_matches(' ');
                column += rest.len() - content.len();
                rest = content;
            }
            let Some((key, value)) = rest.split_once(':').filter(|(_, value)| value.starts_with([' ', '\t'])) else {
                if dash.is_some() && opens_block(rest) {
                    block = dash;
                }
                continue;
            };
            let value_start =
                line_start + column + key.len() + 1 + (value.len() - value.trim_start_matches([' ', '\t']).len());
            let value = without_comment(value.trim_matches([' ', '\t'])).trim_end_matches([' ', '\t']);
            if opens_block(value) {
                block = Some(column);
                continue;
            }
            // A deeper line goes on with the value, which is then not a value of one line.
            let goes_on = lines.peek().is_some_and(|(_, next)| {
                let content = next.trim_start_matches(' ');
                !content.is_empty() && !content.starts_with('#') && next.len() - content.len() > column
            });
            if COMMAND_KEYS.contains(&key) && !value.is_empty() && !goes_on {
                return Some(CommandLine { key, start: value_start, end: value_start + value.len() });
            }
        }
    })
}

/// Lines without their line break, each with its offset.
struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let len = rest.find('\n').unwrap_or(rest.len());
        self.at = start + len + 1;
        Some((start, rest[..len].strip_suffix('\r').unwrap_or(&rest[..len])))
    }
}

/// Whether a value is nothing but the header of a block scalar.
fn opens_block(value: &str) -> bool {
    let value = without_comment(value).trim_end_matches([' ', '\t']);
    let header = value.rsplit([' ', '\t']).next().unwrap_or_default();
    // A tag or an anchor may stand before it.
    let alone = header.len() == value.len() || value.starts_with(['!', '&']);
    alone
        && header.strip_prefix(['|', '>']).is_some_and(|flags| {
            flags.len() <= 2 && flags.chars().all(|flag| flag.is_ascii_digit() || matches!(flag, '-' | '+'))
        })
}

/// Returns what stands before a comment: a `#` that follows a blank, outside of a leading quoted text.
fn without_comment(value: &str) -> &str {
    let quoted =
        if value.starts_with(['"', '\'']) { after_quote(value).map_or(0, |rest| value.len() - rest.len()) } else { 0 };
    let bytes = value.as_bytes();
    let comment = (quoted.max(1)..bytes.len()).find(|&at| bytes[at] == b'#' && matches!(bytes[at - 1], b' ' | b'\t'));
    comment.map_or(value, |at| &value[..at])
}

/// Warns where ` #` ends a command that has no quotes.
pub(super) fn find_comments(text: &str, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    match &node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => items.iter().for_each(|item| find_comments(text, item, diagnostics)),
        NodeKind::Mapping(entries) => {
            for entry in entries {
                find_comments(text, &entry.value, diagnostics);
                let key = entry.key.as_str();
                let plain = entry.value.as_scalar().is_some_and(|scalar| scalar.style == ScalarStyle::Plain);
                if plain && COMMAND_KEYS.contains(&key) {
                    comment_after(text, key, entry.value.span, diagnostics);
                }
            }
        }
    }
}

fn comment_after(text: &str, key: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) {
    let (start, end) = (span.start as usize, span.end as usize);
    let (Some(value), Some(rest)) = (text.get(start..end), text.get(end..)) else { return };
    let rest = rest.split(['\n', '\r']).next().unwrap_or_default().trim_end_matches([' ', '\t']);
    let comment = rest.trim_start_matches([' ', '\t']);
    // An alias is a plain value elsewhere; a quote was added to a value that is reported already.
    let skip = value.is_empty() || value.contains('\n') || value.starts_with(['*', '\'', '"']);
    if skip || comment.len() == rest.len() || !comment.starts_with('#') {
        return;
    }
    let whole = Span::new(start, end + rest.len());
    let comment_span = Span::new(end + rest.len() - comment.len(), end + rest.len());
    let message = format!("the value of `{key}` ends before ` #`, which starts a comment");
    let mut warning =
        Diagnostic::warning(Code::CommentInCommand, comment_span, message).label("not part of the command");
    // Where `#` starts a comment for the interpreter too, taking it in changes nothing but the warning. A
    // quote left open proves that the command was cut. Elsewhere only the author knows.
    let cut = ["\"", "'"].iter().any(|quote| value.matches(quote).count() % 2 == 1);
    if cut || matches!(key, "bash" | "pwsh" | "script" | "python") {
        let replacement = quoted(&text[start..end + rest.len()]);
        warning = warning.fix("quote the command with what follows", vec![Edit { span: whole, replacement }]);
    } else {
        warning = warning.help("quote the value if `#` belongs to it, or move the comment to a line of its own");
    }
    diagnostics.push(warning);
}
