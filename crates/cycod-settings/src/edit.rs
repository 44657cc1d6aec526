//! Changing one value of a JSON text; every other byte stays.
//!
//! What is written tells what was there before, so that taking it out again restores the text: a member joins others
//! in their own style; a table that was empty is filled on one line; a table that was missing is written in full.
//! [`remove`] guesses the text before and keeps the guess that [`set`] turns into the text at hand.

#[cfg(test)]
mod tests;

use std::ops::Range;

use serde_json::{Map, Value};

use crate::{
    jsonc::{is_blank, parse},
    lines::{newline, start_of_line},
    tree::{Kind, Node, Wrong},
};

/// A text to put in the place of some bytes.
type Splice = (Range<usize>, String);

/// The whole file when there was none.
pub(crate) fn fresh(path: &[&str], value: &Value) -> String {
    render(&nested(path, value), Some(("", "  ", "\n"))) + "\n"
}

/// Puts a value where `path` leads, and makes the tables on the way that are missing.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Wrong> {
    if is_blank(text) {
        return Ok(fresh(path, value));
    }
    let root = parse(text)?;
    let style = Style::of(text, &root);
    let mut table = &root;
    for (depth, &key) in path.iter().enumerate() {
        let Kind::Table(_) = table.kind else {
            return Err(Wrong::new(table.span.start, format!("{} is here, where a table is expected", table.what())));
        };
        let Some(member) = table.member(key)? else {
            let value = nested(&path[depth + 1..], value);
            return Ok(apply(text, style.add(text, table, key, &value)));
        };
        if depth + 1 == path.len() {
            let line = own_line(text, member.key_span.start);
            let new = render(value, line.map(|(_, indent)| (indent, style.unit, style.newline)));
            return Ok(apply(text, vec![(member.value.span.clone(), new)]));
        }
        table = &member.value;
    }
    Ok(text.to_owned())
}

/// Takes out the member `name` of the table `table`; nothing is left of a file that held nothing else.
///
/// # Errors
/// When the text is no JSON, or the member is not there.
pub(crate) fn remove(text: &str, table: &str, name: &str) -> Result<Option<String>, Wrong> {
    let root = parse(text)?;
    let missing = || Wrong::new(root.span.start, format!("there is no `{name}` in `{table}`"));
    let outer = root.member(table)?.ok_or_else(missing)?;
    let inner = outer.value.member(name)?.ok_or_else(missing)?;
    let value = inner.value.to_json();
    if text == fresh(&[table, name], &value) {
        return Ok(None);
    }
    let mut guesses = guesses(text, &outer.value, name);
    if outer.value.members().len() == 1 {
        guesses.extend(self::guesses(text, &root, table));
    }
    let before =
        guesses.into_iter().find(|before| set(before, &[table, name], &value).is_ok_and(|after| after == text));
    Ok(Some(before.unwrap_or_else(|| apply(text, out(text, &outer.value, name)))))
}

/// The value inside a table for each key on the way to it.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |value, key| Value::Object(Map::from_iter([((*key).to_owned(), value)])))
}

fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|(range, _)| range.start);
    let mut result = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (range, new) in splices {
        result.push_str(&text[at..range.start]);
        result.push_str(&new);
        at = range.end;
    }
    result + &text[at..]
}

/// How a file is laid out.
struct Style<'a> {
    unit: &'a str,
    newline: &'static str,
}

impl<'a> Style<'a> {
    fn of(text: &'a str, root: &Node) -> Self {
        let first = root.members().first().and_then(|member| own_line(text, member.key_span.start));
        let unit = first.map_or("", |(_, indent)| indent);
        Self { unit: if unit.is_empty() { "  " } else { unit }, newline: newline(text) }
    }

    /// Adds a member to a table that lacks it.
    fn add(&self, text: &str, table: &Node, key: &str, value: &Value) -> Vec<Splice> {
        let entry = |layout| format!("{}: {}", Value::from(key), render(value, layout));
        let insert = |at: usize, new: String| (at..at, new);
        let open = table.span.start + 1;
        let Some(last) = table.members().last() else {
            let blank = &text[open..table.span.end - 1];
            if !blank.contains('\n') {
                return vec![insert(open, format!(" {} ", entry(None)))];
            }
            let line = start_of_line(text, open);
            let indent: String =
                text[line..open].chars().take_while(|character| matches!(character, ' ' | '\t')).collect();
            return vec![insert(open, format!("{}{indent}{}{}", self.newline, self.unit, entry(None)))];
        };
        let after = last.comma.map_or(last.value.span.end, |comma| comma + 1);
        let comma = |at: usize| insert(at, ",".to_owned());
        let Some((_, indent)) = own_line(text, last.key_span.start) else {
            return match last.comma {
                Some(_) => vec![insert(after, format!(" {},", entry(None)))],
                None => vec![insert(after, format!(", {}", entry(None)))],
            };
        };
        let new = format!("{}{indent}{}", self.newline, entry(Some((indent, self.unit, self.newline))));
        // What is said at the end of the line is about the last member.
        let end = end_of_remarks(text, after);
        match last.comma {
            Some(_) => vec![insert(end, new + ",")],
            None if end == after => vec![insert(after, format!(",{new}"))],
            None => vec![comma(after), insert(end, new)],
        }
    }
}

/// Where the line break before `at` begins, and the indent, if nothing else stands between.
fn own_line(text: &str, at: usize) -> Option<(usize, &str)> {
    let before = text[..at].trim_end_matches([' ', '\t']);
    let start = before.strip_suffix('\n')?;
    let start = start.strip_suffix('\r').unwrap_or(start).len();
    Some((start, &text[before.len()..at]))
}

/// Where the last comment ends that stands on the line of `at` with nothing but blanks before it; else `at`.
fn end_of_remarks(text: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        let blanks = text[end..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let rest = &text[end + blanks..];
        let length = match rest.as_bytes() {
            [b'/', b'/', ..] => rest.find('\n').map_or(rest.len(), |at| rest[..at].trim_end_matches('\r').len()),
            [b'/', b'*', ..] => match rest.find("*/") {
                Some(at) if !rest[..at].contains('\n') => at + 2,
                _ => return end,
            },
            _ => return end,
        };
        end += blanks + length;
    }
}

/// The texts that may have been there before a member was added.
fn guesses(text: &str, table: &Node, key: &str) -> Vec<String> {
    let members = table.members();
    let Some((last, others)) = members.split_last().filter(|(last, _)| last.key == key) else { return Vec::new() };
    let (start, end) = (last.key_span.start, last.value.span.end);
    let line = own_line(text, start).map(|(start, _)| start);
    let cut = |range: Range<usize>| (range, String::new());
    let without = |range| apply(text, vec![cut(range)]);
    match (others.last(), last.comma) {
        (None, _) => {
            let open = table.span.start + 1;
            let padded = text[end..].starts_with(' ').then(|| without(open..end + 1));
            padded.into_iter().chain([without(open..end)]).collect()
        }
        (Some(_), Some(comma)) => match line {
            Some(line) => vec![without(line..comma + 1)],
            None => vec![without(start - 1..comma + 1)],
        },
        (Some(previous), None) => previous.comma.map_or_else(Vec::new, |comma| match line {
            Some(line) => vec![apply(text, vec![cut(comma..comma + 1), cut(line..end)])],
            None => vec![without(comma..end)],
        }),
    }
}

/// What to take out for a member wherever it stands; comments stay.
fn out(text: &str, table: &Node, key: &str) -> Vec<Splice> {
    let members = table.members();
    let Some(index) = members.iter().position(|member| member.key == key) else { return Vec::new() };
    let member = &members[index];
    let end = member.value.span.end;
    let behind = member.comma.map_or(String::new(), |comma| text[end..comma].to_owned() + &text[comma + 1..]);
    let behind = if behind.is_empty() { &text[end..] } else { &behind }.trim_start_matches([' ', '\t']);
    let is_line = behind.starts_with(['\n', '\r']);
    // A line break may end a comment, so it goes only where another one follows.
    let line = own_line(text, member.key_span.start).filter(|_| is_line);
    let start = line.map_or(member.key_span.start, |(start, _)| start);
    let mut commas: Vec<usize> = member.comma.into_iter().collect();
    if index + 1 == members.len() && member.comma.is_none() && index > 0 {
        commas.extend(members[index - 1].comma);
    }
    let commas = commas.into_iter().map(|comma| comma..comma + 1);
    let entry = std::iter::once(start..end);
    entry.chain(commas).map(|range| (range, String::new())).collect()
}

/// Writes a value, on lines of its own if a layout (indent of its line, unit, line break) is given.
///
/// Lists of scalars stay on one line: they are command lines, and read best so.
pub(crate) fn render(value: &Value, layout: Option<(&str, &str, &str)>) -> String {
    let is_scalar = |value: &Value| !(value.is_object() || value.is_array());
    let (open, close, items): (_, _, Vec<(String, &Value)>) = match value {
        Value::Object(members) => {
            ('{', '}', members.iter().map(|(key, value)| (format!("{}: ", Value::from(key.as_str())), value)).collect())
        }
        Value::Array(items) => ('[', ']', items.iter().map(|item| (String::new(), item)).collect()),
        scalar => return scalar.to_string(),
    };
    let is_short = items.is_empty() || (value.is_array() && items.iter().all(|(_, item)| is_scalar(item)));
    match layout.filter(|_| !is_short) {
        None => {
            let items: Vec<String> = items.iter().map(|(key, item)| format!("{key}{}", render(item, None))).collect();
            format!("{open}{}{close}", items.join(", "))
        }
        Some((indent, unit, newline)) => {
            let inner = format!("{indent}{unit}");
            let items: Vec<String> = items
                .iter()
                .map(|(key, item)| format!("{newline}{inner}{key}{}", render(item, Some((&inner, unit, newline)))))
                .collect();
            format!("{open}{}{newline}{indent}{close}", items.join(","))
        }
    }
}
