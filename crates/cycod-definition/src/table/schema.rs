use serde_json::{Map, Value, json};

use super::{Key, MARKDOWN, MIMIR, PROGRAMS, Section, TOOL, Takes};
use crate::FileFormat;

/// Returns the JSON Schema (draft 2020-12) of a tool file, for editors; of its front matter, where it has one.
pub fn file_schema(format: FileFormat) -> Value {
    let mut definitions = Map::new();
    let (title, root) = match format {
        FileFormat::Cycod => {
            let mut root = object(&TOOL, &mut definitions);
            root.insert("oneOf".to_owned(), forms(&TOOL, &["description"], true));
            ("cycod tool", root)
        }
        FileFormat::Markdown => {
            let mut root = object(&MARKDOWN, &mut definitions);
            root.insert("required".to_owned(), json!(["description"]));
            ("front matter of a Markdown tool", root)
        }
        FileFormat::Mimir => {
            let mut root = object(&MIMIR, &mut definitions);
            root.insert("required".to_owned(), json!(["description", "schema", "code"]));
            ("Mimir tool", root)
        }
    };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(title));
    schema.extend(root);
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(schema)
}

/// Exactly one key that says what is executed.
fn forms(section: &Section, also: &[&str], alias: bool) -> Value {
    let mut forms: Vec<Value> = section
        .keys
        .iter()
        .filter(|key| key.executes)
        .map(|key| {
            let required: Vec<&str> = std::iter::once(key.name).chain(also.iter().copied()).collect();
            json!({"required": required})
        })
        .collect();
    if alias {
        forms.push(json!({"required": ["type", "base-tool"]}));
    }
    Value::Array(forms)
}

/// Returns the JSON Schema of a `programs.yaml`.
pub fn programs_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "cycod programs file",
        "description": "What programs that cycod doesn't know do with their arguments, for all tools next to the file: `text` (text and files), `plain` (plain words, such as names of tasks), `command` (a command that they run), `code`.",
        "type": ["object", "null"],
        "propertyNames": {"pattern": "^\\S+$"},
        "additionalProperties": value(PROGRAMS, &mut Map::new()),
    })
}

fn object(section: &'static Section, definitions: &mut Map<String, Value>) -> Map<String, Value> {
    let mut properties = Map::new();
    for key in section.keys {
        properties.insert(key.name.to_owned(), Value::Object(property(key, definitions)));
    }
    let mut schema = Map::new();
    schema.insert("description".to_owned(), json!(section.doc));
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !section.strict {
        schema.insert("patternProperties".to_owned(), json!({"^x-": true}));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

fn property(key: &Key, definitions: &mut Map<String, Value>) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("description".to_owned(), json!(key.doc));
    let default = serde_json::from_str::<Value>(key.default).ok().or_else(|| match key.takes {
        Takes::Choice(words) => words.iter().find(|word| **word == key.default).map(|word| json!(word)),
        Takes::Size => Some(json!(key.default)),
        _ => None,
    });
    if let Some(default) = default.filter(|_| !key.default.is_empty()) {
        schema.insert("default".to_owned(), default);
    }
    if key.synonym_of.is_some() {
        schema.insert("deprecated".to_owned(), json!(true));
    }
    schema.extend(value(key.takes, definitions));
    schema
}

fn value(takes: Takes, definitions: &mut Map<String, Value>) -> Map<String, Value> {
    let scalar = || json!({"type": ["string", "number", "boolean"]});
    let one_or_many = |one: Value| json!({"anyOf": [one, {"type": "array", "items": one}]});
    let schema = match takes {
        Takes::Text | Takes::Template | Takes::Command | Takes::Condition | Takes::Pattern => scalar(),
        Takes::Bool => json!({"type": "boolean"}),
        Takes::Integer(i64::MIN) => json!({"type": "integer"}),
        Takes::Integer(min) | Takes::Milliseconds(min) => json!({"type": "integer", "minimum": min}),
        Takes::Size => json!({"anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^[0-9.]+ *([KkMmGgTt]?([Ii]?[Bb])?)$"},
        ]}),
        Takes::Number => json!({"type": "number"}),
        Takes::Choice(words) => json!({"enum": words}),
        Takes::Texts | Takes::Templates => one_or_many(scalar()),
        Takes::Choices(words) => one_or_many(json!({"enum": words})),
        Takes::Object(section) => reference(section, definitions),
        Takes::Named(section) => {
            let of = reference(section, definitions);
            json!({"anyOf": [{"type": "array", "items": of}, {"type": "object", "additionalProperties": of}]})
        }
        Takes::List(item) => json!({"type": "array", "items": value(*item, definitions)}),
        Takes::Map(_, of) => json!({"type": "object", "additionalProperties": value(*of, definitions)}),
        Takes::Either(section, other) => {
            json!({"anyOf": [reference(section, definitions), value(*other, definitions)]})
        }
        Takes::TextsOr(section) => one_or_many(json!({"anyOf": [scalar(), reference(section, definitions)]})),
        Takes::Schema => json!({"type": "object"}),
        Takes::Any => json!({}),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn reference(section: &'static Section, definitions: &mut Map<String, Value>) -> Value {
    let id = section.id();
    if !definitions.contains_key(&id) {
        // Entered before it is filled, because shapes hold shapes.
        definitions.insert(id.clone(), Value::Null);
        let mut schema = object(section, definitions);
        if section.keys.iter().any(|key| key.executes) {
            schema.insert("oneOf".to_owned(), forms(section, &["name"], false));
        }
        definitions.insert(id.clone(), Value::Object(schema));
    }
    json!({"$ref": format!("#/$defs/{id}")})
}
