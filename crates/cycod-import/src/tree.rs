//! TOML, YAML and JSON as one kind of tree, in which every value knows its line.

use std::collections::HashMap;

use cycod_diagnostic::{Diagnostic, Severity, Span};
use cycod_syntax::yaml;
use serde_json::Value as Json;
use toml_edit::{Document, Item, Table, Value as Toml};

use crate::source::{TaskSource, syntax};

/// A value with the line it begins on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A number as it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }

    /// The value behind several keys, one in the other.
    pub(crate) fn at(&self, keys: &[&str]) -> Option<&Node> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    pub(crate) fn entries(&self) -> &[(String, Node)] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// A text, as it is.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Any scalar as text; nothing has none.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            Value::Bool(is) => Some(is.to_string()),
            _ => None,
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        self.value == Value::Bool(true)
    }

    /// One text, or a list of texts.
    pub(crate) fn texts(&self) -> Vec<String> {
        match &self.value {
            Value::List(items) => items.iter().filter_map(Node::scalar).collect(),
            _ => self.scalar().into_iter().collect(),
        }
    }

    /// The text behind a key, where it is a scalar.
    pub(crate) fn text_of(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Node::scalar).filter(|text| !text.trim().is_empty())
    }

    /// Whether a key is `true`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(Node::is_true)
    }
}

/// Collects every text below a node.
pub(crate) fn texts(node: &Node, into: &mut Vec<String>) {
    match &node.value {
        Value::Text(text) => into.push(text.clone()),
        Value::List(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Table(entries) => entries.iter().for_each(|(_, node)| texts(node, into)),
        _ => {}
    }
}

/// Reads TOML.
pub(crate) fn toml(source: &TaskSource<'_>) -> Result<Node, Vec<Diagnostic>> {
    source.check()?;
    let document = Document::parse(source.text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        vec![syntax(Span::new(at.start, at.end), format!("this is no TOML: {}", error.message().trim()))]
    })?;
    Ok(Node { line: 1, value: toml_table(document.as_table(), source, 1) })
}

fn toml_table(table: &Table, source: &TaskSource<'_>, line: usize) -> Value {
    let entry = |(name, item): (&str, &Item)| {
        let at = table.key(name).and_then(toml_edit::Key::span).map_or(line, |span| source.line(span.start));
        (name.to_owned(), toml_item(item, source, at))
    };
    Value::Table(table.iter().map(entry).collect())
}

fn toml_item(item: &Item, source: &TaskSource<'_>, line: usize) -> Node {
    match item {
        Item::None => Node { line, value: Value::Null },
        Item::Value(value) => toml_value(value, source, line),
        Item::Table(table) => {
            let line = table.span().map_or(line, |span| source.line(span.start));
            Node { line, value: toml_table(table, source, line) }
        }
        Item::ArrayOfTables(tables) => {
            let one = |table: &Table| {
                let line = table.span().map_or(line, |span| source.line(span.start));
                Node { line, value: toml_table(table, source, line) }
            };
            Node { line, value: Value::List(tables.iter().map(one).collect()) }
        }
    }
}

fn toml_value(value: &Toml, source: &TaskSource<'_>, line: usize) -> Node {
    let line = value.span().map_or(line, |span| source.line(span.start));
    let read = match value {
        Toml::String(text) => Value::Text(text.value().clone()),
        Toml::Integer(number) => Value::Number(number.value().to_string()),
        Toml::Float(number) => Value::Number(number.value().to_string()),
        Toml::Boolean(is) => Value::Bool(*is.value()),
        Toml::Datetime(time) => Value::Text(time.value().to_string()),
        Toml::Array(items) => Value::List(items.iter().map(|item| toml_value(item, source, line)).collect()),
        Toml::InlineTable(table) => {
            let entry = |(name, value): (&str, &Toml)| (name.to_owned(), toml_value(value, source, line));
            Value::Table(table.iter().map(entry).collect())
        }
    };
    Node { line, value: read }
}

/// Reads YAML.
pub(crate) fn yaml(source: &TaskSource<'_>) -> Result<Node, Vec<Diagnostic>> {
    source.check()?;
    let file = source.file();
    let (root, diagnostics) = yaml::parse(&file);
    let errors: Vec<Diagnostic> =
        diagnostics.into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
    match root {
        Some(root) if errors.is_empty() => Ok(from_yaml(&root, source)),
        _ if errors.is_empty() => Ok(Node { line: 1, value: Value::Null }),
        _ => Err(errors),
    }
}

fn from_yaml(node: &yaml::Node, source: &TaskSource<'_>) -> Node {
    let value = match &node.kind {
        yaml::NodeKind::Scalar(scalar) => match scalar.resolve() {
            yaml::Resolved::Null => Value::Null,
            yaml::Resolved::Bool(is) => Value::Bool(is),
            yaml::Resolved::Integer(_) | yaml::Resolved::BigInteger | yaml::Resolved::Float(_) => {
                Value::Number(scalar.text.clone())
            }
            yaml::Resolved::Text => Value::Text(scalar.text.clone()),
        },
        yaml::NodeKind::Sequence(items) => Value::List(items.iter().map(|item| from_yaml(item, source)).collect()),
        yaml::NodeKind::Mapping(entries) => {
            let entry = |entry: &yaml::MappingEntry| {
                let line = source.line(entry.key_span.start as usize);
                (entry.key.clone(), Node { line, ..from_yaml(&entry.value, source) })
            };
            Value::Table(entries.iter().map(entry).collect())
        }
    };
    Node { line: source.line(node.span.start as usize), value }
}

/// Reads JSON, and says where the keys of its first two levels stand, each as often as it is written.
pub(crate) fn json(source: &TaskSource<'_>) -> Result<(Node, Vec<Key>), Vec<Diagnostic>> {
    source.check()?;
    // Some editors put a mark at the beginning of the file.
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let read: Json = serde_json::from_str(text).map_err(|error| {
        let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let at = source.text.len() - text.len() + before + error.column().saturating_sub(1);
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default().to_owned();
        vec![syntax(Span::new(at, at), format!("this is no JSON: {said}"))]
    })?;
    let keys = keys(source.text);
    let line = |key: &Key| source.line(key.span.start as usize);
    let lines: Lines<'_> = keys.iter().map(|key| ((key.above.as_str(), key.name.as_str()), line(key))).collect();
    let root = from_json(&read, &lines, Some(""), 1);
    Ok((root, keys))
}

/// Where a key stands.
pub(crate) struct Key {
    /// The key above it; empty at the top.
    pub(crate) above: String,
    pub(crate) name: String,
    pub(crate) span: Span,
}

/// The lines of keys, by the key above and their own.
type Lines<'a> = HashMap<(&'a str, &'a str), usize>;

/// `above` is the key whose value this is, where the lines of what is in it are known.
fn from_json(value: &Json, lines: &Lines<'_>, above: Option<&str>, line: usize) -> Node {
    let read = match value {
        Json::Null => Value::Null,
        Json::Bool(is) => Value::Bool(*is),
        Json::Number(number) => Value::Number(number.to_string()),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(|item| from_json(item, lines, None, line)).collect()),
        Json::Object(members) => {
            let entry = |(name, value): (&String, &Json)| {
                // Deeper than the keys that are known, all stands where its parent does.
                let known = above.and_then(|above| lines.get(&(above, name.as_str())));
                let below = Some(name.as_str()).filter(|_| above == Some(""));
                (name.clone(), from_json(value, lines, below, known.copied().unwrap_or(line)))
            };
            Value::Table(members.iter().map(entry).collect())
        }
    };
    Node { line, value: read }
}

/// Finds the keys of the first two levels of a text that is known to be JSON.
fn keys(text: &str) -> Vec<Key> {
    let bytes = text.as_bytes();
    let mut found: Vec<Key> = Vec::new();
    let mut depth = 0_usize;
    let mut above = String::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at;
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let end = (at + 1).min(bytes.len());
                let is_key = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                let name = text.get(start..end).and_then(|quoted| serde_json::from_str::<String>(quoted).ok());
                if let Some(name) = name.filter(|_| is_key && depth <= 2) {
                    if depth == 1 {
                        above.clone_from(&name);
                    }
                    let above = if depth == 1 { String::new() } else { above.clone() };
                    found.push(Key { above, name, span: Span::new(start, end) });
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}
