use std::{borrow::Cow, path::Path};

use regex::bytes::{NoExpand, RegexBuilder};

use crate::{failure::Failure, say};

/// How many lines are named when a pattern is in several places.
const MOST_NAMED: usize = 8;

/// A change of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit<'a> {
    /// What is replaced: a text, or a regular expression.
    pub(crate) pattern: &'a str,
    /// What takes its place; for an expression, `$1` and `${name}` stand for its groups.
    pub(crate) replacement: &'a str,
    /// Whether the pattern is an expression.
    pub(crate) regex: bool,
    /// Whether every place is changed; else there must be only one.
    pub(crate) all: bool,
}

/// Changes a text; returns it with the numbers of the lines where it was changed.
///
/// In a text whose lines end with CRLF, line breaks of the pattern and the replacement are meant as such.
pub(crate) fn edit(text: &[u8], edit: Edit<'_>, shown: &Path) -> Result<(Vec<u8>, Vec<usize>), Failure> {
    if edit.pattern.is_empty() {
        return Err(Failure::new(
            "`pattern` is empty: give the text to replace; to add to a file, replace existing text",
        ));
    }
    if !edit.regex && edit.pattern == edit.replacement {
        return Err(Failure::new("`pattern` and `replacement` are the same, so there is nothing to change"));
    }
    let has_crlf = ends_with_crlf(text);
    let as_there = |part| if has_crlf { with_crlf(part) } else { Cow::Borrowed(part) };
    let (pattern, replacement) = (as_there(edit.pattern), as_there(edit.replacement));
    let literal = regex::escape(&pattern);
    let expression = if edit.regex { edit.pattern } else { &literal };
    // Everything is found by one engine, and a text that is not UTF-8 stays as it is.
    let expression =
        RegexBuilder::new(expression).multi_line(true).crlf(has_crlf).unicode(edit.regex).build().map_err(|error| {
            Failure::new(format!("`pattern` is not a regular expression that can be used: {error}"))
        })?;
    let mut places: Vec<usize> = expression.find_iter(text).map(|found| found.start()).collect();
    if let (&[place], false, false) = (places.as_slice(), edit.regex, edit.all) {
        // The text can occur again where it overlaps itself, and then it is unclear which place is meant.
        places.extend(expression.find_at(text, place + 1).map(|again| again.start()));
    }
    let lines = line_numbers(text, &places);
    match lines.as_slice() {
        [] => return Err(not_found(text, edit, shown)),
        several if several.len() > 1 && !edit.all => return Err(ambiguous(several, shown)),
        _ => {}
    }
    let changed = if edit.regex {
        expression.replace_all(text, replacement.as_bytes())
    } else {
        expression.replace_all(text, NoExpand(replacement.as_bytes()))
    };
    Ok((changed.into_owned(), lines))
}

/// Whether most lines of a text end with CRLF.
fn ends_with_crlf(text: &[u8]) -> bool {
    let breaks = text.iter().filter(|&&byte| byte == b'\n').count();
    let with_return = text.windows(2).filter(|pair| pair == b"\r\n").count();
    with_return * 2 > breaks
}

/// The text with CRLF for each line break.
fn with_crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { text.replace("\r\n", "\n").replace('\n', "\r\n").into() } else { text.into() }
}

/// The lines, from 1, of ascending places.
fn line_numbers(text: &[u8], places: &[usize]) -> Vec<usize> {
    let (mut line, mut seen) = (1, 0);
    let number = |&place: &usize| {
        line += text[seen..place].iter().filter(|&&byte| byte == b'\n').count();
        seen = place;
        line
    };
    places.iter().map(number).collect()
}

fn ambiguous(lines: &[usize], shown: &Path) -> Failure {
    let named: Vec<String> = lines.iter().take(MOST_NAMED).map(usize::to_string).collect();
    let more = if lines.len() > MOST_NAMED { ", …" } else { "" };
    Failure::new(format!(
        "`pattern` is in `{}` {} times (lines {}{more}): give more of the text around the place that is meant, or `all: true`",
        shown.display(),
        lines.len(),
        named.join(", "),
    ))
}

fn not_found(text: &[u8], edit: Edit<'_>, shown: &Path) -> Failure {
    let what = format!("`pattern` is not in `{}`", shown.display());
    if edit.regex {
        return Failure::new(format!("{what}: no part of it matches the expression; nothing was changed"));
    }
    let first = edit.pattern.lines().map(str::trim).find(|line| !line.is_empty());
    let near: Vec<usize> = match first {
        Some(first) => {
            let is_near = |(_, line): &(usize, &[u8])| String::from_utf8_lossy(line).trim() == first;
            let lines = text.split(|&byte| byte == b'\n').enumerate();
            lines.filter(is_near).map(|(at, _)| at + 1).take(MOST_NAMED).collect()
        }
        None => Vec::new(),
    };
    let hint = match near.as_slice() {
        [] => "read the file and copy the exact text, with its spaces".to_owned(),
        lines => {
            let named: Vec<String> = lines.iter().map(usize::to_string).collect();
            let where_ = say::lines(&named);
            format!("it begins like {where_}, but spaces or what follows differ; read them and copy the exact text")
        }
    };
    Failure::new(format!("{what}: {hint}"))
}
