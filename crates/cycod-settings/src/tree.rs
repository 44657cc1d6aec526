use std::ops::Range;

use serde_json::{Map, Value};

/// A value of a configuration file, with the bytes it stands in: JSON, JSON with comments, and TOML become this.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Its bytes.
    pub(crate) span: Range<usize>,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What a [`Node`] is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Member>),
}

/// A key of a table with its value; a key may be there twice.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    /// The key.
    pub(crate) key: String,
    /// Its bytes, quotes included.
    pub(crate) key_span: Range<usize>,
    /// The value.
    pub(crate) value: Node,
    /// Where the comma after it is.
    pub(crate) comma: Option<usize>,
}

/// What is wrong in a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Wrong {
    /// The byte.
    pub(crate) at: usize,
    /// What: a lowercase fragment.
    pub(crate) message: String,
}

impl Wrong {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl Node {
    /// The members of a table; nothing has none.
    pub(crate) fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Table(members) => members,
            _ => &[],
        }
    }

    /// The member of a name.
    ///
    /// # Errors
    /// When there are two: which one counts depends on who reads.
    pub(crate) fn member(&self, key: &str) -> Result<Option<&Member>, Wrong> {
        let mut found = self.members().iter().filter(|member| member.key == key);
        let first = found.next();
        match found.next() {
            Some(again) => Err(Wrong::new(again.key_span.start, format!("`{key}` is there twice"))),
            None => Ok(first),
        }
    }

    /// What it is, for messages.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Table(_) => "a table",
        }
    }

    /// The text of a scalar: numbers and booleans as they are written.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.kind {
            Kind::Text(text) | Kind::Number(text) => Some(text.clone()),
            Kind::Bool(is) => Some(is.to_string()),
            _ => None,
        }
    }

    /// The value without its places; of a key that is there twice, the last.
    pub(crate) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(is) => Value::Bool(*is),
            Kind::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Table(members) => Value::Object(
                members.iter().map(|member| (member.key.clone(), member.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }
}
