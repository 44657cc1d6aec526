//! JSON text to and from [`Value`], with the text of numbers kept.
//!
//! `serde_json` turns numbers into machine numbers, so that `5.0`, `1e3` and an identifier of twenty digits
//! would not arrive as they were written.

use std::{collections::HashSet, fmt, fmt::Write as _};

use cycod_syntax::decimal::number_length;

use crate::Value;

pub use cycod_syntax::decimal::is_number;

/// Why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong there.
    pub reason: &'static str,
    /// Where, in bytes from the start.
    pub offset: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for JsonError {}

/// How deep lists and objects may lie in each other.
pub const MAX_DEPTH: usize = 128;

/// Reads one JSON value that fills the whole text; a key given twice is an error.
pub fn parse(text: &str) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() { Err(reader.error("more text after the value")) } else { Ok(value) }
}

/// Returns the value as compact JSON.
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    write_into(value, &mut text);
    text
}

/// Writes an object of the given entries.
pub fn write_object<'a>(entries: impl IntoIterator<Item = (&'a str, &'a Value)>, text: &mut String) {
    text.push('{');
    for (index, (key, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_text(key, text);
        text.push(':');
        write_into(value, text);
    }
    text.push('}');
}

fn write_into(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => text.push_str(number),
        Value::Text(value) => write_text(value, text),
        Value::List(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_into(item, text);
            }
            text.push(']');
        }
        Value::Object(entries) => {
            write_object(entries.iter().map(|(key, value)| (key.as_str(), value)), text);
        }
    }
}

/// Writes a JSON string with its quotes.
pub fn write_text(value: &str, text: &mut String) {
    text.push('"');
    let mut plain = 0;
    for (at, byte) in value.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        text.push_str(&value[plain..at]);
        plain = at + 1;
        if short.is_empty() {
            write!(text, "\\u{byte:04x}").expect("a String takes everything");
        } else {
            text.push_str(short);
        }
    }
    text.push_str(&value[plain..]);
    text.push('"');
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn error(&self, reason: &'static str) -> JsonError {
        JsonError { reason, offset: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        if depth > MAX_DEPTH {
            return Err(self.error("too many lists and objects in each other"));
        }
        self.blanks();
        match self.peek() {
            Some(b'"') => self.string().map(Value::Text),
            Some(b'[') => self.list(depth),
            Some(b'{') => self.object(depth),
            Some(b'-' | b'0'..=b'9') => {
                let start = self.at;
                self.number()?;
                Ok(Value::Number(self.text[start..self.at].to_owned()))
            }
            Some(_) => [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
                .into_iter()
                .find(|(word, _)| self.text[self.at..].starts_with(word))
                .map(|(word, value)| {
                    self.at += word.len();
                    value
                })
                .ok_or_else(|| self.error("no value")),
            None => Err(self.error("no value")),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.more(b']', "no `,` or `]`")? {
                return Ok(Value::List(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(entries));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.error("no key in double quotes"));
            }
            let start = self.at;
            let key = self.string()?;
            if !seen.insert(key.clone()) {
                return Err(JsonError { reason: "the same key a second time", offset: start });
            }
            self.blanks();
            if self.peek() != Some(b':') {
                return Err(self.error("no `:`"));
            }
            self.at += 1;
            entries.push((key, self.value(depth + 1)?));
            if self.more(b'}', "no `,` or `}`")? {
                return Ok(Value::Object(entries));
            }
        }
    }

    /// Steps over `,` (false) or the closing bracket (true).
    fn more(&mut self, close: u8, reason: &'static str) -> Result<bool, JsonError> {
        self.blanks();
        match self.peek() {
            Some(byte) if byte == close || byte == b',' => {
                self.at += 1;
                Ok(byte == close)
            }
            _ => Err(self.error(reason)),
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        self.at += 1;
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(0..0x20) => return Err(self.error("a control character inside a string")),
                Some(_) => self.at += 1,
                None => return Err(JsonError { reason: "a string without an end", offset: start }),
            }
        }
        self.at += 1;
        let quoted = &self.text[start..self.at];
        if escaped {
            serde_json::from_str(quoted).map_err(|_| JsonError { reason: "a bad escape in a string", offset: start })
        } else {
            Ok(quoted[1..quoted.len() - 1].to_owned())
        }
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let (length, result) = match number_length(&self.text[self.at..]) {
            Ok(length) => (length, Ok(())),
            Err(length) => (length, Err("no digit")),
        };
        self.at += length;
        result.map_err(|reason| self.error(reason))
    }
}
