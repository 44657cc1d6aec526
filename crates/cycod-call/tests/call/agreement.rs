//! Our judgement of arguments beside that of JSON Schema.
//!
//! A tool and arguments are made of bytes: each choice takes one, and when there are none left every choice is the first.
//! The tool's exported schema, applied by a validator that is not ours, must take what a call takes. It is held to the
//! letter but for what the reference documents, and each of those is made good here, one by one:
//!
//! - null is the same as no argument; names may differ in case where that leaves no doubt;
//! - a value of another type is read as the declared one where there is one sensible reading (see [`read`]);
//! - a text with NUL is refused, because no command can carry it.

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use cycod_call::{Given, RunContext, TransformRunner, bind};
use cycod_definition::{Host, Platform, Value, arguments_schema, load};
use cycod_diagnostic::SourceFile;
use cycod_schema::Schema;
use serde_json::{Map, Value as Json, json};

/// How a case was judged, by both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// The definition itself is wrong, so that there is nothing to judge.
    NoTool,
    /// The arguments are right.
    Taken,
    /// They are wrong.
    Refused,
}

/// Judges the case that `bytes` are.
///
/// # Panics
/// When the two do not agree.
pub(crate) fn judge(bytes: &[u8]) -> Judged {
    let mut choices = Choices { bytes, has_large_numbers: false };
    choices.has_large_numbers = choices.one_in(3);
    let parameters = parameters(&mut choices);
    let file = json!({"name": "t", "description": "d", "bash": "true", "parameters": parameters}).to_string();
    let Some(tool) = load(&SourceFile::new("t.json", &*file), Some("t")).tool else { return Judged::NoTool };
    let exported = arguments_schema(&tool);
    let arguments = arguments(&exported, &mut choices);

    let ours = {
        let given = arguments.iter().map(|(name, value)| (name.clone(), Given::Value(Value::from(value.clone()))));
        bind(&Arc::new(tool), given.collect(), &host(), &run_context(), &NoScripts)
    };
    let meant = meant(&exported, &arguments);
    let violations = Schema::compile(&exported).expect("we export schemas").validate(&meant);
    let theirs = violations.is_empty() && !holds_nul(&meant);
    assert_eq!(
        ours.is_ok(),
        theirs,
        "parameters: {}\narguments: {}\nread as: {meant}\nours: {:?}\ntheirs: {violations:?}",
        Json::Object(parameters),
        Json::Object(arguments),
        ours.err()
    );
    if theirs { Judged::Taken } else { Judged::Refused }
}

/// Choices made by bytes.
struct Choices<'a> {
    bytes: &'a [u8],
    /// Whether numbers may be larger than machine numbers are exact for. Then nothing asks for multiples: the other
    /// validator divides in machine numbers.
    has_large_numbers: bool,
}

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        let (byte, rest) = self.bytes.split_first().map_or((0, self.bytes), |(byte, rest)| (*byte, rest));
        self.bytes = rest;
        usize::from(byte) % count
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const NAMES: [&str; 5] = ["a", "b", "long-name", "é", "c"];
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "any"];
const PATTERNS: [&str; 9] = ["a", "^a", "b$", "^[a-z]+$", "^\\d+$", "\\w", "^.$", "a|é", "^\\s*$"];
/// Numbers, the large ones last.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "10",
    "1.5",
    "0.5",
    "0.1",
    "0.3",
    "5.0",
    "-0.0",
    "9007199254740992",
    "9007199254740993",
    "18446744073709551615",
    "1e300",
];
const TEXTS: [&str; 26] = [
    "",
    "a",
    "ab",
    "b",
    "é",
    "x y",
    "A",
    "3",
    " 7 ",
    "-1",
    "1.0",
    "1.5",
    "05",
    "1e2",
    "٣",
    "true",
    "No",
    "on",
    "null",
    "[1, 2]",
    "[]",
    "{\"a\": 1}",
    "{",
    "\n",
    "a\u{0}",
    "𝒳",
];

fn number(choices: &mut Choices<'_>) -> Json {
    const LARGE: usize = 4;
    let most = if choices.has_large_numbers { NUMBERS.len() } else { NUMBERS.len() - LARGE };
    serde_json::from_str(choices.of(&NUMBERS[..most])).expect("a number")
}

fn parameters(choices: &mut Choices<'_>) -> Map<String, Json> {
    let count = 1 + choices.below(3);
    let parameter = |at: usize| {
        let kind = choices.of(&TYPES);
        let is_required = choices.one_in(3);
        let rules = rules(kind, 2, choices);
        let parameter = json!({"type": kind, "description": "d", "required": is_required, "validation": rules});
        (NAMES[at].to_owned(), parameter)
    };
    (0..count).map(parameter).collect()
}

/// Rules, mostly for values of the type; a rule for others must not matter.
fn rules(kind: &str, depth: usize, choices: &mut Choices<'_>) -> Map<String, Json> {
    let concerned: &[&str] = match kind {
        "string" => &["minLength", "maxLength", "pattern", "enum"],
        "integer" | "number" => &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum"],
        "array" => &["minItems", "maxItems", "uniqueItems", "items", "items"],
        "object" => &["properties", "properties", "required"],
        _ => &["enum", "minLength", "maximum", "minItems", "items", "properties", "required", "uniqueItems"],
    };
    let mut rules = Map::new();
    for _ in 0..choices.below(4) {
        let keyword = choices.of(concerned);
        let value = match keyword {
            "minLength" | "minItems" => json!(choices.below(3)),
            "maxLength" | "maxItems" => json!(1 + choices.below(3)),
            "pattern" => json!(choices.of(&PATTERNS)),
            "uniqueItems" => json!(true),
            "enum" => (0..1 + choices.below(3)).map(|_| value(&json!({"type": kind}), 1, choices)).collect(),
            "items" if depth > 0 => shape(depth, choices),
            "properties" if depth > 0 => {
                (0..1 + choices.below(2)).map(|at| (NAMES[at].to_owned(), shape(depth, choices))).collect()
            }
            "required" => json!([choices.of(&NAMES[..3])]),
            "items" | "properties" => continue,
            "multipleOf" if choices.has_large_numbers => continue,
            _ => number(choices),
        };
        rules.insert(keyword.to_owned(), value);
    }
    rules
}

fn shape(depth: usize, choices: &mut Choices<'_>) -> Json {
    let kind = choices.of(&TYPES);
    let mut shape = rules(kind, depth - 1, choices);
    shape.insert("type".to_owned(), json!(kind));
    Json::Object(shape)
}

fn arguments(exported: &Json, choices: &mut Choices<'_>) -> Map<String, Json> {
    let mut arguments = Map::new();
    for (name, schema) in exported["properties"].as_object().into_iter().flatten() {
        if choices.one_in(5) {
            continue;
        }
        let name = if choices.one_in(12) { name.to_uppercase() } else { name.clone() };
        arguments.insert(name, value(schema, 3, choices));
    }
    if choices.one_in(10) {
        arguments.insert(choices.of(&["zzz", "A", ""]).to_owned(), json!(1));
    }
    arguments
}

/// A value that often is right, or nearly.
fn value(schema: &Json, depth: usize, choices: &mut Choices<'_>) -> Json {
    if let Some(values) = schema["enum"].as_array().filter(|_| !choices.one_in(3)) {
        return values[choices.below(values.len())].clone();
    }
    let kind = match schema["type"].as_str() {
        Some(kind) if !choices.one_in(5) => kind,
        _ => choices.of(&["string", "number", "boolean", "null", "array", "object"]),
    };
    match kind {
        "string" => json!(choices.of(&TEXTS)),
        "integer" | "number" => number(choices),
        "boolean" => json!(choices.one_in(2)),
        "array" if depth > 0 => (0..choices.below(4)).map(|_| value(&schema["items"], depth - 1, choices)).collect(),
        "object" if depth > 0 => {
            let names: Vec<&str> = NAMES[..4].iter().copied().filter(|_| !choices.one_in(2)).collect();
            let entry = |name: &str| (name.to_owned(), value(&schema["properties"][name], depth - 1, choices));
            Json::Object(names.into_iter().map(entry).collect())
        }
        "array" => json!([]),
        "object" => json!({}),
        _ => Json::Null,
    }
}

/// The arguments as a call means them.
fn meant(schema: &Json, arguments: &Map<String, Json>) -> Json {
    let known = schema["properties"].as_object().expect("a schema of arguments has properties");
    let is_alone =
        |name: &str| arguments.keys().filter(|other| other.to_lowercase() == name.to_lowercase()).count() == 1;
    let entry = |(name, value): (&String, &Json)| {
        let folded = known.keys().find(|known| known.to_lowercase() == name.to_lowercase());
        let name = folded.filter(|_| is_alone(name)).unwrap_or(name);
        // That an argument has no such parameter is wrong even when there is nothing in it.
        let is_absent = value.is_null() && known.contains_key(name);
        (!is_absent)
            .then(|| (name.clone(), known.get(name).map_or_else(|| value.clone(), |schema| read(schema, value))))
    };
    Json::Object(arguments.iter().filter_map(entry).collect())
}

/// A value as its type has it, where it has one sensible reading as that.
fn read(schema: &Json, value: &Json) -> Json {
    let parsed = |text: &str| serde_json::from_str::<Json>(text.trim_ascii()).ok();
    let is_one_of = |words: &[&str], text: &str| words.contains(&&*text.trim_ascii().to_ascii_lowercase());
    let read_as_type = match (schema["type"].as_str().unwrap_or_default(), value) {
        ("string", Json::Number(_) | Json::Bool(_)) => Some(Json::String(value.to_string())),
        ("integer" | "number", Json::String(text)) => parsed(text).filter(Json::is_number),
        ("boolean", Json::String(text)) if is_one_of(&["true", "1", "yes", "on"], text) => Some(json!(true)),
        ("boolean", Json::String(text)) if is_one_of(&["false", "0", "no", "off"], text) => Some(json!(false)),
        ("boolean", Json::Number(number)) if number.as_u64() == Some(1) => Some(json!(true)),
        ("boolean", Json::Number(number)) if number.as_u64() == Some(0) => Some(json!(false)),
        ("array", Json::String(text)) => parsed(text).filter(Json::is_array),
        ("object", Json::String(text)) => parsed(text).filter(Json::is_object),
        _ => None,
    };
    match read_as_type.unwrap_or_else(|| value.clone()) {
        Json::Array(items) => items.iter().map(|item| read(&schema["items"], item)).collect(),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(name, value)| (name.clone(), read(&schema["properties"][name], value)));
            Json::Object(entries.collect())
        }
        value => value,
    }
}

fn holds_nul(value: &Json) -> bool {
    match value {
        Json::String(text) => text.contains('\0'),
        Json::Array(items) => items.iter().any(holds_nul),
        Json::Object(entries) => entries.iter().any(|(name, value)| name.contains('\0') || holds_nul(value)),
        _ => false,
    }
}

fn host() -> Arc<Host> {
    Arc::new(Host {
        platform: Platform::Linux,
        home: PathBuf::from("/home"),
        working_directory: PathBuf::from("/work"),
        workspace: PathBuf::from("/work"),
        temp: PathBuf::from("/tmp"),
        environment: Default::default(),
        now: SystemTime::UNIX_EPOCH,
        offered: cycod_definition::OfferedConfinement::nothing(),
    })
}

fn run_context() -> RunContext {
    RunContext { temp: PathBuf::from("/tmp/run"), tool_name: "t".to_owned() }
}

struct NoScripts;

impl TransformRunner for NoScripts {
    fn transform(&self, _script: &str, _value: &Value) -> Result<Value, cycod_call::ScriptFailed> {
        unreachable!("no tool here has transforms")
    }
}
