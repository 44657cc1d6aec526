//! Values of any spelling become values of the declared type.
//!
//! Models and command lines write `"42"` where a number is meant. What has exactly one sensible reading is read
//! that way; everything else is an error, because a guess would run a command that nobody asked for.

use crate::{
    Decimal, ParameterType, ParameterValidation, Shape, Value, json,
    violations::{Findings, Place, found},
};

/// Reads `value` as `kind`; what cannot be read is left as it is and reported.
///
/// It looks into lists and objects only as far as the author described them.
pub(crate) fn coerce(
    value: Value,
    kind: ParameterType,
    rules: &ParameterValidation,
    place: Place<'_>,
    findings: &mut Findings<'_>,
) -> Value {
    let read = match (kind, value) {
        (ParameterType::Any, value) => Ok(value),
        (ParameterType::String, Value::Text(text) | Value::Number(text)) => Ok(Value::Text(text)),
        (ParameterType::String, Value::Bool(value)) => Ok(Value::Text(value.to_string())),
        (ParameterType::Number, Value::Text(text) | Value::Number(text)) => read_number(text),
        (ParameterType::Integer, Value::Text(text) | Value::Number(text)) => read_integer(text),
        (ParameterType::Boolean, Value::Text(text) | Value::Number(text)) => read_boolean(text),
        (ParameterType::Boolean, Value::Bool(value)) => Ok(Value::Bool(value)),
        (ParameterType::Array, Value::Text(text)) => read_json(text, '['),
        (ParameterType::Object, Value::Text(text)) => read_json(text, '{'),
        (ParameterType::Array, value @ Value::List(_)) => Ok(value),
        (ParameterType::Object, value @ Value::Object(_)) => Ok(value),
        (_, value) => Err((value, None)),
    };
    match read {
        Ok(Value::List(items)) => {
            let Some(shape) = rules.items.as_deref() else { return Value::List(items) };
            let items = items.into_iter().enumerate();
            Value::List(
                items.map(|(at, item)| coerce_part(item, shape, Place::Element(&place, at), findings)).collect(),
            )
        }
        Ok(Value::Object(entries)) => {
            if rules.properties.is_empty() {
                return Value::Object(entries);
            }
            let entry = |(key, value): (String, Value)| {
                let value = match rules.property(&key) {
                    Some(shape) => coerce_part(value, shape, Place::Property(&place, &key), findings),
                    None => value,
                };
                (key, value)
            };
            Value::Object(entries.into_iter().map(entry).collect())
        }
        Ok(value) => value,
        Err((value, help)) => {
            findings.report(place, |disclosure| {
                let message = format!("expected {}, found {}", expected(kind), found(&value, disclosure));
                (message, help.or_else(|| advice(kind).map(str::to_owned)))
            });
            value
        }
    }
}

fn coerce_part(value: Value, shape: &Shape, place: Place<'_>, findings: &mut Findings<'_>) -> Value {
    coerce(value, shape.kind, &shape.validation, place, findings)
}

type Read = Result<Value, (Value, Option<String>)>;

fn read_number(text: String) -> Read {
    let trimmed = text.trim_ascii();
    if json::is_number(trimmed) {
        return Ok(Value::Number(if trimmed.len() == text.len() { text } else { trimmed.to_owned() }));
    }
    Err((Value::Text(text), None))
}

/// An integer may be spelt `5.0` or `5e3`, but programs want digits, so only digits are kept.
fn read_integer(text: String) -> Read {
    let trimmed = text.trim_ascii();
    let is_plain = trimmed.bytes().all(|byte| byte.is_ascii_digit()) && json::is_number(trimmed);
    let digits =
        if is_plain { Some(trimmed.to_owned()) } else { Decimal::parse(trimmed).and_then(|n| n.integer_text()) };
    match digits {
        Some(digits) => Ok(Value::Number(digits)),
        None if json::is_number(trimmed) => Err((Value::Number(text), None)),
        None => Err((Value::Text(text), None)),
    }
}

fn read_boolean(text: String) -> Read {
    let is_one_of = |words: [&str; 4]| words.iter().any(|word| text.trim_ascii().eq_ignore_ascii_case(word));
    if is_one_of(["true", "1", "yes", "on"]) {
        Ok(Value::Bool(true))
    } else if is_one_of(["false", "0", "no", "off"]) {
        Ok(Value::Bool(false))
    } else {
        Err((Value::Text(text), None))
    }
}

fn read_json(text: String, opening: char) -> Read {
    if !text.trim_ascii_start().starts_with(opening) {
        return Err((Value::Text(text), None));
    }
    json::parse(&text).map_err(|error| (Value::Text(text), Some(format!("the text starts like JSON, but has {error}"))))
}

fn expected(kind: ParameterType) -> &'static str {
    match kind {
        ParameterType::String => "a string",
        ParameterType::Number => "a number",
        ParameterType::Integer => "an integer",
        ParameterType::Boolean => "a boolean",
        ParameterType::Array => "an array",
        ParameterType::Object => "an object",
        ParameterType::Any => "a value",
    }
}

fn advice(kind: ParameterType) -> Option<&'static str> {
    match kind {
        ParameterType::String => Some("give an object or array as JSON text in a string"),
        ParameterType::Number => Some("write it as in JSON: `42`, `-0.5`, `1e3`"),
        ParameterType::Integer => Some("write it in digits, such as `42`"),
        ParameterType::Boolean => Some("use `true` or `false` (also 1/0, yes/no, on/off)"),
        ParameterType::Array => Some("give JSON such as `[\"a\", \"b\"]`; a comma in a text separates nothing"),
        ParameterType::Object => Some("give JSON such as `{\"key\": \"value\"}`"),
        ParameterType::Any => None,
    }
}
