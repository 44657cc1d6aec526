//! Writes R's own serialisation (XDR, version 3) of JSON values.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::MAGIC;
use crate::protocol::{ArgumentType, ToWorker, WorkerCall};

const NIL: u32 = 254;
const SYMBOL: u32 = 1;
const PAIRLIST: u32 = 2;
const CHARACTERS: u32 = 9;
const LOGICAL: u32 = 10;
const INTEGER: u32 = 13;
const DOUBLE: u32 = 14;
const TEXT: u32 = 16;
const LIST: u32 = 19;

const HAS_ATTRIBUTES: u32 = 1 << 9;
const HAS_TAG: u32 = 1 << 10;
/// The text is UTF-8, and says so.
const UTF8: u32 = 8 << 12;
/// The text is ASCII, which R is told too because it compares such texts faster.
const ASCII: u32 = 64 << 12;

/// The bits of a missing double: not a number, with 1954 in the lower half.
const MISSING_DOUBLE: u64 = 0x7FF0_0000_0000_07A2;
const MISSING_INTEGER: i32 = i32::MIN;

/// Writes a message as a frame.
pub(super) fn message(message: &ToWorker) -> Result<Vec<u8>, String> {
    let mut writer = Writer { bytes: Vec::new() };
    writer.bytes.extend(MAGIC);
    writer.bytes.extend([0; 4]);
    writer.bytes.extend(b"X\n");
    // The version of the format, of the R that wrote, and of the oldest that can read.
    writer.int(2);
    writer.int(0x0002_0300);
    writer.int(0x0002_0300);
    match message {
        ToWorker::Call { id, call } => {
            writer.list(2);
            writer.double(*id as f64);
            writer.call(call)?;
            writer.names(["id", "call"].into_iter())?;
        }
        // R asks for nothing. An answer is understood all the same.
        ToWorker::Reply { .. } => {
            let json = serde_json::to_value(message).map_err(|error| error.to_string())?;
            writer.value(&json, None)?;
        }
    }
    let size = writer.bytes.len() - MAGIC.len() - 4;
    let size = u32::try_from(size).map_err(|_| format!("{size} bytes do not fit into a frame"))?;
    writer.bytes[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&size.to_be_bytes());
    Ok(writer.bytes)
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn call(&mut self, call: &WorkerCall) -> Result<(), String> {
        let WorkerCall { tool, key, file, code, line, args, types, produces, context, .. } = call;
        self.list(if produces.is_some() { 8 } else { 7 });
        for text in [tool, key, file.as_deref().unwrap_or_default(), code] {
            self.text(text)?;
        }
        self.integer(i32::try_from(*line).unwrap_or(i32::MAX));
        self.arguments(args, types)?;
        let environment = context.environment.as_ref().map_or(Value::Null, |environment| {
            Value::Object(environment.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect())
        });
        self.list(3);
        self.text(&context.directory)?;
        self.text(&context.workspace)?;
        self.value(&environment, None)?;
        self.names(["directory", "workspace", "environment"].into_iter())?;
        let mut names = vec!["tool", "key", "file", "code", "line", "args", "context"];
        if let Some(media_type) = produces {
            self.text(media_type)?;
            names.push("produces");
        }
        self.names(names.into_iter())
    }

    fn arguments(&mut self, args: &Map<String, Value>, types: &BTreeMap<String, ArgumentType>) -> Result<(), String> {
        self.list(args.len());
        for (name, value) in args {
            self.value(value, types.get(name).copied()).map_err(|why| format!("argument `{name}`: {why}"))?;
        }
        self.names(args.keys().map(String::as_str))
    }

    /// Writes a value as what it is declared as, if it can be that, and else as what it looks like.
    fn value(&mut self, value: &Value, declared: Option<ArgumentType>) -> Result<(), String> {
        match value {
            Value::Null => self.int(NIL),
            Value::Object(map) => {
                self.list(map.len());
                for value in map.values() {
                    self.value(value, None)?;
                }
                self.names(map.keys().map(String::as_str))?;
            }
            Value::Array(items) => match vector(items, declared) {
                Some(kind) => self.vector(kind, items)?,
                None => {
                    self.list_flags(items.len(), LIST);
                    for item in items {
                        self.value(item, None)?;
                    }
                }
            },
            scalar => {
                let scalar = std::slice::from_ref(scalar);
                // Every scalar can be a vector of its own kind.
                self.vector(vector(scalar, declared).unwrap_or(Vector::Text), scalar)?;
            }
        }
        Ok(())
    }

    fn vector(&mut self, kind: Vector, items: &[Value]) -> Result<(), String> {
        match kind {
            Vector::Text => {
                self.flags_and_length(TEXT, items.len());
                for item in items {
                    match item {
                        Value::String(text) => self.characters(text)?,
                        _ => {
                            self.int(CHARACTERS);
                            self.int(u32::MAX);
                        }
                    }
                }
            }
            Vector::Logical => {
                self.flags_and_length(LOGICAL, items.len());
                items.iter().for_each(|item| self.signed(item.as_bool().map_or(MISSING_INTEGER, i32::from)));
            }
            Vector::Integer => {
                self.flags_and_length(INTEGER, items.len());
                items.iter().for_each(|item| self.signed(integer(item).unwrap_or(MISSING_INTEGER)));
            }
            Vector::Double => {
                self.flags_and_length(DOUBLE, items.len());
                for item in items {
                    let bits = item.as_f64().map_or(MISSING_DOUBLE, f64::to_bits);
                    self.bytes.extend(bits.to_be_bytes());
                }
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), String> {
        self.flags_and_length(TEXT, 1);
        self.characters(text)
    }

    fn characters(&mut self, text: &str) -> Result<(), String> {
        if text.contains('\0') {
            return Err("it holds a NUL character, which text in R cannot hold".to_owned());
        }
        self.int(CHARACTERS | if text.is_ascii() { ASCII } else { UTF8 });
        self.length(text.len());
        self.bytes.extend(text.as_bytes());
        Ok(())
    }

    fn integer(&mut self, value: i32) {
        self.flags_and_length(INTEGER, 1);
        self.signed(value);
    }

    fn double(&mut self, value: f64) {
        self.flags_and_length(DOUBLE, 1);
        self.bytes.extend(value.to_bits().to_be_bytes());
    }

    /// Begins a list whose `names` follow its items.
    fn list(&mut self, length: usize) {
        self.list_flags(length, LIST | HAS_ATTRIBUTES);
    }

    fn list_flags(&mut self, length: usize, flags: u32) {
        self.int(flags);
        self.length(length);
    }

    fn names<'a>(&mut self, names: impl ExactSizeIterator<Item = &'a str>) -> Result<(), String> {
        self.int(PAIRLIST | HAS_TAG);
        self.int(SYMBOL);
        self.characters("names")?;
        self.flags_and_length(TEXT, names.len());
        for name in names {
            self.characters(name)?;
        }
        self.int(NIL);
        Ok(())
    }

    fn flags_and_length(&mut self, flags: u32, length: usize) {
        self.int(flags);
        self.length(length);
    }

    /// A length that does not fit makes a frame that is refused as a whole.
    fn length(&mut self, length: usize) {
        self.int(u32::try_from(length).unwrap_or(u32::MAX));
    }

    fn signed(&mut self, value: i32) {
        self.bytes.extend(value.to_be_bytes());
    }

    fn int(&mut self, value: u32) {
        self.bytes.extend(value.to_be_bytes());
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Vector {
    Text,
    Logical,
    Integer,
    Double,
}

/// Returns the kind of vector that holds all of `items`, `null` as a missing one; `None` when only a list does.
fn vector(items: &[Value], declared: Option<ArgumentType>) -> Option<Vector> {
    let all = |fits: fn(&Value) -> bool| items.iter().all(|item| item.is_null() || fits(item));
    let holds = |kind| match kind {
        Vector::Text => all(Value::is_string),
        Vector::Logical => all(Value::is_boolean),
        Vector::Integer => all(|item| integer(item).is_some()),
        Vector::Double => all(Value::is_number),
    };
    let wanted = match declared {
        Some(ArgumentType::List) => return None,
        Some(ArgumentType::Text) => Some(Vector::Text),
        Some(ArgumentType::Logical) => Some(Vector::Logical),
        Some(ArgumentType::Integer) => Some(Vector::Integer),
        Some(ArgumentType::Double) => Some(Vector::Double),
        None => None,
    };
    if let Some(kind) = wanted.filter(|kind| holds(*kind)) {
        return Some(kind);
    }
    if items.is_empty() {
        return None;
    }
    [Vector::Logical, Vector::Integer, Vector::Double, Vector::Text].into_iter().find(|kind| holds(*kind))
}

/// A number without a fraction that R's integers hold.
fn integer(value: &Value) -> Option<i32> {
    let number = value.as_i64().or_else(|| {
        let double = value.as_f64()?;
        (double.fract() == 0.0 && double.abs() < f64::from(i32::MAX)).then_some(double as i64)
    })?;
    i32::try_from(number).ok().filter(|number| *number != MISSING_INTEGER)
}
