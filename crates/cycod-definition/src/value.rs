use std::fmt;

use cycod_syntax::template::Template;

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

impl fmt::Display for Value {
    /// Writes text as it is and everything else as compact JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            other => other.write_json(f),
        }
    }
}

impl Value {
    fn write_json(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(text) => f.write_str(text),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    item.write_json(f)?;
                }
                f.write_str("]")
            }
            Self::Object(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{}:", if index == 0 { "" } else { "," }, quoted(key))?;
                    value.write_json(f)?;
                }
                f.write_str("}")
            }
        }
    }
}
