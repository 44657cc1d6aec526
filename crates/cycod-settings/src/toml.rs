//! TOML: read into the same tree as JSON, changed by cutting bytes out and putting bytes in.

#[cfg(test)]
mod tests;

use std::ops::Range;

use serde_json::Value as Json;
use toml_edit::{Document, Item, Table, Value};

use crate::{
    jsonc::BOM,
    lines::{end_of_line, newline, start_of_line},
    tree::{Kind, Member, Node, Wrong},
};

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Node, Wrong> {
    let document = document(text)?;
    let kind = Kind::Table(members(document.as_table(), text));
    Ok(Node { span: 0..text.len(), kind })
}

/// Adds the table `[table.name]` at the end.
pub(crate) fn append(text: &str, table: &str, name: &str, value: &Json) -> Result<String, Wrong> {
    let after = format!("{text}{}", block(text, table, name, value));
    // A table that is written inline has its end behind it.
    let inline = |wrong: Wrong| {
        Wrong::new(wrong.at.min(text.len()), format!("`{table}` is written so that no table can be added to it"))
    };
    document(text)?;
    document(&after).map_err(inline)?;
    Ok(after)
}

/// Sets one key of the table `[table.name]`, which is there.
pub(crate) fn set_key(text: &str, table: &str, name: &str, key: &str, value: &Json) -> Result<String, Wrong> {
    let document = document(text)?;
    let (at, entry) = find(&document, table, name)?;
    let missing = || Wrong::new(at.start, format!("there is no `{key}` in `{table}.{name}`"));
    let old = entry.get(key).and_then(Item::span).ok_or_else(missing)?;
    Ok(format!("{}{}{}", &text[..old.start], scalar(value), &text[old.end..]))
}

/// Takes the table `[table.name]` out with everything below it.
pub(crate) fn remove(text: &str, table: &str, name: &str) -> Result<Option<String>, Wrong> {
    let root = parse(text)?;
    let document = document(text)?;
    let (key, entry) = find(&document, table, name)?;
    let value = root.member(table)?.and_then(|outer| outer.value.member(name).ok().flatten());
    let value = value.map_or(Json::Null, |entry| entry.value.to_json());
    for ending in ENDINGS {
        let before = text.strip_suffix(&block(ending, table, name, &value));
        if let Some(before) =
            before.filter(|before| append(before, table, name, &value).is_ok_and(|after| after == text))
        {
            return Ok((!before.is_empty()).then(|| before.to_owned()));
        }
    }
    let mut ranges = Vec::new();
    match entry {
        Item::Table(entry) if !entry.is_dotted() => lines_of(entry, text, &mut ranges),
        _ if document.get(table).is_some_and(Item::is_table) => {
            let end = entry.span().map_or(key.end, |span| span.end.max(key.end));
            ranges.push(start_of_line(text, key.start)..end_of_line(text, end));
        }
        _ => return Err(Wrong::new(key.start, format!("`{table}` is written on one line: take `{name}` out by hand"))),
    }
    ranges.sort_by_key(|range| range.start);
    let mut after = text.to_owned();
    for range in ranges.into_iter().rev() {
        after.replace_range(range, "");
    }
    let is_gone = parse(&after).is_ok_and(|root| {
        root.member(table)
            .is_ok_and(|outer| outer.is_none_or(|outer| outer.value.members().iter().all(|member| member.key != name)))
    });
    if is_gone {
        Ok(Some(after))
    } else {
        Err(Wrong::new(key.start, format!("`{table}.{name}` is written in several ways: take it out by hand")))
    }
}

/// The ways in which a text may end for [`block`].
const ENDINGS: [&str; 5] = ["", "x\n", "x\r\n", "x", "\r\nx"];

/// The table as we write it behind `before`. Whether the last line ends tells what was there.
fn block(before: &str, table: &str, name: &str, value: &Json) -> String {
    let newline = newline(before);
    let lines = value.as_object().into_iter().flatten().map(|(key, value)| format!("{key} = {}", scalar(value)));
    let lines: Vec<String> = [format!("[{table}.{name}]")].into_iter().chain(lines).collect();
    let (head, tail) = match before.strip_prefix(BOM).unwrap_or(before) {
        "" => ("", newline),
        before if before.ends_with('\n') => (newline, newline),
        _ => (if newline == "\n" { "\n\n" } else { "\r\n\r\n" }, ""),
    };
    format!("{head}{}{tail}", lines.join(newline))
}

fn scalar(value: &Json) -> String {
    match value {
        Json::String(text) => Value::from(text.as_str()).to_string(),
        Json::Array(items) => format!("[{}]", items.iter().map(scalar).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn document(text: &str) -> Result<Document<&str>, Wrong> {
    Document::parse(text).map_err(|error| {
        let message = error.message().trim().replace('\n', "; ");
        Wrong::new(error.span().map_or(0, |span| span.start), message)
    })
}

/// The entry of a name with the bytes of its key.
fn find<'a>(document: &'a Document<&str>, table: &str, name: &str) -> Result<(Range<usize>, &'a Item), Wrong> {
    let missing = || Wrong::new(0, format!("there is no `{name}` in `{table}`"));
    let outer = document.get(table).ok_or_else(missing)?;
    let entry = outer.get(name).ok_or_else(missing)?;
    let key = outer.as_table_like().and_then(|outer| outer.get_key_value(name)).and_then(|(key, _)| key.span());
    Ok((key.unwrap_or(0..0), entry))
}

/// The lines on which a table stands, those of the tables below it included.
fn lines_of(table: &Table, text: &str, ranges: &mut Vec<Range<usize>>) {
    fn end(table: &Table) -> usize {
        table
            .iter()
            .map(|(_, item)| match item {
                Item::Table(below) if below.is_dotted() => end(below),
                Item::Value(value) => value.span().map_or(0, |span| span.end),
                _ => 0,
            })
            .max()
            .unwrap_or(0)
    }
    if let Some(header) = table.span().filter(|_| !table.is_implicit() && !table.is_dotted()) {
        ranges.push(start_of_line(text, header.start)..end_of_line(text, header.end.max(end(table))));
    }
    for (_, item) in table {
        match item {
            Item::Table(below) => lines_of(below, text, ranges),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|below| lines_of(below, text, ranges)),
            _ => {}
        }
    }
}

fn members(table: &Table, text: &str) -> Vec<Member> {
    let member = |(name, item): (&str, &Item)| {
        let key_span = table.key(name).and_then(toml_edit::Key::span).unwrap_or(0..0);
        Member { key: name.to_owned(), value: node(item, &key_span, text), key_span, comma: None }
    };
    table.iter().map(member).collect()
}

fn node(item: &Item, key: &Range<usize>, text: &str) -> Node {
    let kind = match item {
        Item::None => Kind::Null,
        Item::Value(value) => return value_node(value, key, text),
        Item::Table(table) => Kind::Table(members(table, text)),
        Item::ArrayOfTables(tables) => {
            let table = |table: &Table| Node {
                span: table.span().unwrap_or(key.clone()),
                kind: Kind::Table(members(table, text)),
            };
            Kind::List(tables.iter().map(table).collect())
        }
    };
    Node { span: item.span().unwrap_or(key.clone()), kind }
}

fn value_node(value: &Value, key: &Range<usize>, text: &str) -> Node {
    let span = value.span().unwrap_or(key.clone());
    let kind = match value {
        Value::String(string) => Kind::Text(string.value().clone()),
        Value::Integer(number) => Kind::Number(number.value().to_string()),
        Value::Float(number) => Kind::Number(number.value().to_string()),
        Value::Boolean(is) => Kind::Bool(*is.value()),
        Value::Datetime(_) => Kind::Text(text[span.clone()].to_owned()),
        Value::Array(items) => Kind::List(items.iter().map(|item| value_node(item, key, text)).collect()),
        Value::InlineTable(table) => {
            let member = |(name, value): (&str, &Value)| {
                let key_span = table.key(name).and_then(toml_edit::Key::span).unwrap_or(key.clone());
                Member { key: name.to_owned(), value: value_node(value, &key_span, text), key_span, comma: None }
            };
            Kind::Table(table.iter().map(member).collect())
        }
    };
    Node { span, kind }
}
