use std::fmt;

use cycod_syntax::template::Template;
use serde_json::Value as Json;

/// A value as it crosses from a caller to a tool: JSON with the text of numbers kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as written (`5`, not `5.0`).
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// An object, keys in the order given.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value for those who take JSON as a tree; a number that is too large for it becomes text.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.clone())),
            Self::Text(text) => Json::String(text.clone()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Object(entries) => {
                Json::Object(entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect())
            }
        }
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => Self::Number(number.to_string()),
            Json::String(text) => Self::Text(text),
            Json::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Json::Object(entries) => {
                Self::Object(entries.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
            }
        }
    }
}

/// A value that an author wrote in a file: its texts are templates.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A text that may refer to parameters, predefined variables and, in `with`, to steps.
    Text(Template),
    /// A list.
    List(Vec<Literal>),
    /// An object.
    Object(Vec<(String, Literal)>),
}

impl Literal {
    /// The value that it is, with what `text` makes of each of its texts.
    ///
    /// # Errors
    /// The first one of `text`.
    pub fn value<E>(&self, text: &impl Fn(&Template) -> Result<Value, E>) -> Result<Value, E> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(template) => text(template)?,
            Self::List(items) => Value::List(items.iter().map(|item| item.value(text)).collect::<Result<_, _>>()?),
            Self::Object(entries) => {
                let entries = entries.iter().map(|(key, item)| Ok((key.clone(), item.value(text)?)));
                Value::Object(entries.collect::<Result<_, E>>()?)
            }
        })
    }
}

impl fmt::Display for Value {
    /// Writes text as it is and everything else as compact JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            other => f.write_str(&crate::json::write(other)),
        }
    }
}

impl From<Value> for Literal {
    /// The literal that stands for exactly this value: braces in its texts are text.
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(text) => Self::Number(text),
            Value::Text(text) => Self::Text(Template::text(text)),
            Value::List(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(entries) => {
                Self::Object(entries.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
            }
        }
    }
}

impl Literal {
    /// Every text in it.
    pub fn templates(&self) -> Vec<&Template> {
        let mut found = Vec::new();
        self.collect_templates(&mut found);
        found
    }

    pub(crate) fn collect_templates<'a>(&'a self, into: &mut Vec<&'a Template>) {
        match self {
            Self::Text(template) => into.push(template),
            Self::List(items) => items.iter().for_each(|item| item.collect_templates(into)),
            Self::Object(entries) => entries.iter().for_each(|(_, value)| value.collect_templates(into)),
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }
}
