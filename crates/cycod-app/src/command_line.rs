//! Command lines that people are shown, to be given as they are.

use cycod_engine::{
    definition::{Literal, Parameter, Tool, Value},
    diagnostic::visible,
    json, sample,
};
use cycod_shell::quoted_if_needed;
use cycod_syntax::template::KnownNames;

/// An argument as a shell takes it; nothing where no command line can carry it, or not as it is shown.
pub fn pair(name: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::Text(text) => text.clone(),
        other => json::write(other),
    };
    (visible(&text) == text).then(|| format!("{name}={}", quoted_if_needed(&text)))
}

/// An argument that the parameter takes, or a place for one.
pub fn sample_pair(parameter: &Parameter) -> String {
    sample(parameter).map_or_else(|| place(&parameter.name), |value| pair_or_place(&parameter.name, &value))
}

/// An argument as a shell takes it, or a place for one.
pub fn pair_or_place(name: &str, value: &Value) -> String {
    pair(name, value).unwrap_or_else(|| place(name))
}

/// Where somebody writes what we do not know.
pub fn place(name: &str) -> String {
    format!("{name}=...")
}

/// The arguments that a call of the tool needs, each after a blank.
pub fn sample_arguments(tool: &Tool) -> String {
    let needed = tool.given_parameters().filter(|parameter| parameter.is_needed());
    needed.map(|parameter| format!(" {}", sample_pair(parameter))).collect()
}

/// A text as a shell takes it, or a place for it.
pub(crate) fn quoted(value: &str) -> String {
    if value.contains('\0') { "...".to_owned() } else { quoted_if_needed(value) }
}

/// A value as its author wrote it.
pub fn literal(literal: &Literal) -> String {
    fn value(literal: &Literal) -> Value {
        match literal {
            Literal::Null => Value::Null,
            Literal::Bool(value) => Value::Bool(*value),
            Literal::Number(text) => Value::Number(text.clone()),
            Literal::Text(template) => Value::Text(template.source(&KnownNames::default())),
            Literal::List(items) => Value::List(items.iter().map(value).collect()),
            Literal::Object(fields) => Value::Object(fields.iter().map(|(key, of)| (key.clone(), value(of))).collect()),
        }
    }
    match value(literal) {
        Value::Text(text) if text.is_empty() => "''".to_owned(),
        value => value.to_string(),
    }
}
