//! YAML: read into the same tree as JSON, changed by cutting lines out and putting lines in.
//!
//! YAML can say one thing in many ways, so each changed text is read again: it counts only if it says what it should.

#[cfg(test)]
mod tests;

use cycod_diagnostic::{Severity, SourceFile, Span};
use cycod_syntax::yaml::{self, NodeKind, Resolved};
use serde_json::Value as Json;

use crate::{
    jsonc::BOM,
    lines::{end_of_line, newline, start_of_line},
    tree::{Kind, Member, Node, Wrong},
};

/// How far an entry is indented, where nothing in the file says it.
const INDENT: &str = "  ";

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Node, Wrong> {
    let empty = Node { span: text.len()..text.len(), kind: Kind::Table(Vec::new()) };
    let content = text.strip_prefix(BOM).unwrap_or(text);
    if content.lines().map(str::trim_start).all(|line| line.is_empty() || line.starts_with('#')) {
        return Ok(empty);
    }
    let (root, problems) = yaml::parse(&SourceFile::new(String::new(), text));
    if let Some(problem) = problems.iter().find(|problem| problem.severity == Severity::Error) {
        let at = problem.span().map_or(0, |span| range(span).start);
        return Err(Wrong::new(at, problem.message.clone()));
    }
    let root = root.map_or(empty.clone(), |root| node(&root));
    if root.kind == Kind::Null { Ok(empty) } else { Ok(root) }
}

/// Adds the entry `name` to the mapping `table`, which is made if it is missing.
pub(crate) fn append(text: &str, table: &str, name: &str, value: &Json) -> Result<String, Wrong> {
    let newline = newline(text);
    let root = parse(text)?;
    let Some(outer) = root.member(table)? else {
        let added = format!("{table}:{newline}{}", block(INDENT, name, value, newline));
        return checked(&root, at_end(text, &added, newline), table, adding(name, value))
            .map_err(|()| by_hand(0, table));
    };
    let wrong = || by_hand(outer.key_span.start, table);
    let (key, behind) = text.split_at(outer.key_span.end);
    let after = if let Some(first) = outer.value.members().first() {
        let line = start_of_line(text, first.key_span.start);
        let indent = &text[line..first.key_span.start];
        if indent.is_empty() || !indent.bytes().all(|byte| byte == b' ') {
            return Err(wrong());
        }
        format!("{}{}{}", &text[..line], block(indent, name, value, newline), &text[line..])
    } else if let Some(rest) = behind.strip_prefix(": {}") {
        format!("{key}: {{{name}: {}}}{rest}", flow(value))
    } else {
        let line = end_of_line(behind, 0);
        if behind[..line].trim() != ":" {
            return Err(wrong());
        }
        let added = block(INDENT, name, value, newline);
        match &behind[line..] {
            "" => at_end(&text[..outer.key_span.end + line], &added, newline),
            rest => format!("{key}{}{added}{rest}", &behind[..line]),
        }
    };
    checked(&root, after, table, adding(name, value)).map_err(|()| wrong())
}

/// Sets one key of the entry `name` of `table`, which is there.
pub(crate) fn set_key(text: &str, table: &str, name: &str, key: &str, value: &Json) -> Result<String, Wrong> {
    let root = parse(text)?;
    let missing = || Wrong::new(0, format!("there is no `{key}` in `{table}.{name}`"));
    let entry = root.member(table)?.ok_or_else(missing)?.value.member(name)?.ok_or_else(missing)?;
    let after = match entry.value.member(key)? {
        Some(old) => {
            let behind = end(text, &old.value).max(old.key_span.end);
            format!("{}: {}{}", &text[..old.key_span.end], flow(value), &text[behind..])
        }
        None if text[entry.value.span.start..].starts_with('{') => {
            let (before, behind) = text.split_at(entry.value.span.start + 1);
            format!("{before}{key}: {}, {behind}", flow(value))
        }
        None => {
            let first = entry.value.members().first().ok_or_else(missing)?;
            let line = start_of_line(text, first.key_span.start);
            let indent = &text[line..first.key_span.start];
            format!("{}{indent}{key}: {}{}{}", &text[..line], flow(value), newline(text), &text[line..])
        }
    };
    let change = |entries: &mut Entries| {
        entries.get_mut(name).and_then(Json::as_object_mut).is_some_and(|entry| {
            entry.insert(key.to_owned(), value.clone());
            true
        })
    };
    checked(&root, after, table, change).map_err(|()| by_hand(entry.key_span.start, table))
}

/// Takes the entry `name` out of `table`; nothing is left of a file that held nothing else.
pub(crate) fn remove(text: &str, table: &str, name: &str) -> Result<Option<String>, Wrong> {
    let root = parse(text)?;
    let missing = || Wrong::new(0, format!("there is no `{name}` in `{table}`"));
    let outer = root.member(table)?.ok_or_else(missing)?;
    let entry = outer.value.member(name)?.ok_or_else(missing)?;
    let value = entry.value.to_json();
    let newline = newline(text);
    let cut = |from: usize| format!("{}{}", &text[..start_of_line(text, from)], &text[end_of_entry(text, entry)..]);
    let (without, alone) = (cut(entry.key_span.start), cut(outer.key_span.start));
    // What was there before us, if it was we who wrote this.
    let unended = |text: &String| text.strip_suffix(newline).map(str::to_owned);
    let filled = format!("{{{name}: {}}}", flow(&value));
    let before =
        [unended(&alone), Some(alone), unended(&without), Some(without.clone()), Some(text.replacen(&filled, "{}", 1))];
    let is_before = |before: &String| append(before, table, name, &value).is_ok_and(|after| after == text);
    if let Some(before) = before.into_iter().flatten().find(is_before) {
        return Ok((!before.is_empty()).then_some(before));
    }
    checked(&root, without, table, |entries| entries.remove(name).is_some())
        .map(Some)
        .map_err(|()| Wrong::new(entry.key_span.start, format!("take `{name}` out of `{table}` by hand")))
}

/// The entries of a table.
type Entries = serde_json::Map<String, Json>;

fn adding<'a>(name: &'a str, value: &'a Json) -> impl FnOnce(&mut Entries) -> bool + 'a {
    move |entries| entries.insert(name.to_owned(), value.clone()).is_none()
}

/// A text with lines at its end. Whether its last line ends stays as it is, and tells what was there.
fn at_end(text: &str, lines: &str, newline: &str) -> String {
    if text.strip_prefix(BOM).unwrap_or(text).is_empty() || text.ends_with('\n') {
        format!("{text}{lines}")
    } else {
        format!("{text}{newline}{}", lines.trim_end_matches(newline))
    }
}

/// The text, if it says what the old one said with a change to the entries of a table.
fn checked(old: &Node, text: String, table: &str, change: impl FnOnce(&mut Entries) -> bool) -> Result<String, ()> {
    let mut expected = old.to_json();
    let entries = expected.as_object_mut().ok_or(())?.entry(table).or_insert(Json::Null);
    if entries.is_null() {
        *entries = Json::Object(Entries::new());
    }
    if !change(entries.as_object_mut().ok_or(())?) {
        return Err(());
    }
    let mut found = parse(&text).map_err(drop)?.to_json();
    // A table without entries may as well say nothing.
    for json in [&mut expected, &mut found] {
        let entries = json.get_mut(table).filter(|entries| entries.as_object().is_some_and(Entries::is_empty));
        entries.into_iter().for_each(|entries| *entries = Json::Null);
    }
    if found == expected { Ok(text) } else { Err(()) }
}

fn by_hand(at: usize, table: &str) -> Wrong {
    Wrong::new(at, format!("`{table}` is written so that nothing can be added to it"))
}

/// An entry, a line for each of its keys. What JSON writes on one line, YAML reads.
fn block(indent: &str, name: &str, value: &Json, newline: &str) -> String {
    let lines =
        value.as_object().into_iter().flatten().map(|(key, value)| format!("{indent}{INDENT}{key}: {}", flow(value)));
    [format!("{indent}{name}:")].into_iter().chain(lines).map(|line| line + newline).collect()
}

/// A value on one line.
fn flow(value: &Json) -> String {
    let joined = |items: Vec<String>| items.join(", ");
    match value {
        Json::Array(items) => format!("[{}]", joined(items.iter().map(flow).collect())),
        Json::Object(fields) => {
            format!("{{{}}}", joined(fields.iter().map(|(key, value)| format!("{key}: {}", flow(value))).collect()))
        }
        other => other.to_string(),
    }
}

/// The end of the last line of an entry.
fn end_of_entry(text: &str, entry: &Member) -> usize {
    let end = end(text, &entry.value).max(entry.key_span.end);
    // A value that ends with its line ends before the next one.
    if text[..end].ends_with('\n') { end } else { end_of_line(text, end) }
}

/// The end of a value. A block ends with the last value in it.
fn end(text: &str, node: &Node) -> usize {
    let below = match &node.kind {
        _ if text[node.span.start..].starts_with(['[', '{']) => None,
        Kind::Table(members) => members.iter().map(|member| end(text, &member.value).max(member.key_span.end)).max(),
        Kind::List(items) => items.iter().map(|item| end(text, item)).max(),
        _ => None,
    };
    below.unwrap_or(node.span.end)
}

fn range(span: Span) -> std::ops::Range<usize> {
    span.start as usize..span.end as usize
}

fn node(from: &yaml::Node) -> Node {
    let kind = match &from.kind {
        NodeKind::Scalar(scalar) => match scalar.resolve() {
            Resolved::Null => Kind::Null,
            Resolved::Bool(is) => Kind::Bool(is),
            Resolved::Integer(_) | Resolved::BigInteger | Resolved::Float(_) => Kind::Number(scalar.text.clone()),
            Resolved::Text => Kind::Text(scalar.text.clone()),
        },
        NodeKind::Sequence(items) => Kind::List(items.iter().map(node).collect()),
        NodeKind::Mapping(entries) => Kind::Table(
            entries
                .iter()
                .map(|entry| Member {
                    key: entry.key.clone(),
                    key_span: range(entry.key_span),
                    value: node(&entry.value),
                    comma: None,
                })
                .collect(),
        ),
    };
    Node { span: range(from.span), kind }
}
