//! The predefined transforms. One that does not fit the value is an error, never the value itself.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_definition::{NamedTransform, Value};

use crate::{bytes::delivered, json};

/// Returns the transform called `name`.
pub(crate) fn named(name: &str) -> Option<NamedTransform> {
    NamedTransform::NAMES.iter().find(|(known, _)| *known == name).map(|(_, transform)| *transform)
}

/// The name a transform has in a file.
pub(crate) fn name(transform: NamedTransform) -> &'static str {
    NamedTransform::NAMES.iter().find(|(_, known)| *known == transform).map_or("", |(name, _)| name)
}

/// Applies a transform: to each element of a list, to the JSON of an object, to the text of anything else.
pub(crate) fn apply(transform: NamedTransform, value: &Value) -> Result<Value, String> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::List(items) => {
            items.iter().map(|item| apply(transform, item)).collect::<Result<_, _>>().map(Value::List)
        }
        Value::Number(text) | Value::Text(text) => apply_text(transform, text).map(Value::Text),
        Value::Bool(_) | Value::Object(_) => apply_text(transform, &plain_text(value)).map(Value::Text),
    }
}

/// A value as text: scalars as they are, lists and objects as compact JSON, no value as nothing.
pub(crate) fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Number(text) | Value::Text(text) => text.clone(),
        Value::List(_) | Value::Object(_) => json::write(value),
    }
}

/// Applies a transform to a text that carries bytes; says whether what comes of it still does.
pub(crate) fn apply_bytes(transform: NamedTransform, text: &str) -> Result<(String, bool), String> {
    match transform {
        NamedTransform::Base64Encode => Ok((STANDARD.encode(delivered(text)), false)),
        NamedTransform::UrlEncode => Ok((url_encode(&delivered(text)), false)),
        NamedTransform::JsonEscaped => Err("the value is not UTF-8 text".to_owned()),
        _ => apply_text(transform, text).map(|text| (text, true)),
    }
}

fn apply_text(transform: NamedTransform, text: &str) -> Result<String, String> {
    Ok(match transform {
        NamedTransform::Lowercase => text.to_lowercase(),
        NamedTransform::Uppercase => text.to_uppercase(),
        NamedTransform::Trim => text.trim().to_owned(),
        NamedTransform::Base64Encode => STANDARD.encode(text),
        NamedTransform::Base64Decode => {
            let bytes = STANDARD.decode(text).map_err(|_| "the value is not standard base64".to_owned())?;
            String::from_utf8(bytes).map_err(|_| "the decoded bytes are not UTF-8 text".to_owned())?
        }
        NamedTransform::UrlEncode => url_encode(text.as_bytes()),
        NamedTransform::UrlDecode => url_decode(text)?,
        NamedTransform::JsonEscaped => {
            let mut quoted = String::with_capacity(text.len() + 2);
            json::write_text(text, &mut quoted);
            quoted[1..quoted.len() - 1].to_owned()
        }
        NamedTransform::ShellEscaped => shell_quote(text),
    })
}

/// Always quoted, also where it would not be necessary, so that a result has the same shape whatever the value
/// and is never taken for a reserved word.
fn shell_quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            quoted.push_str(r"'\''");
        }
        quoted.push_str(part);
    }
    quoted.push('\'');
    quoted
}

/// RFC 3986: everything but unreserved characters is written as `%XX` of its bytes.
fn url_encode(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    encoded
}

/// The inverse of [`url_encode`]; `+` is a plus, as RFC 3986 has it.
fn url_decode(text: &str) -> Result<String, String> {
    let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)).map(|digit| digit as u8);
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(high), Some(low)) => decoded.push(high << 4 | low),
            _ => return Err("a `%` is not followed by two hexadecimal digits".to_owned()),
        }
    }
    String::from_utf8(decoded).map_err(|_| "the decoded bytes are not UTF-8 text".to_owned())
}
