use cycod_engine::{definition::Value, json};
use cycod_syntax::emit::Emit;

use super::draft::{Entries, boolean, mapping, number};

/// A parameter as its words give it.
#[derive(Clone, Debug)]
pub(crate) struct ParameterDraft {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Keys as they are written on the command line, with their values.
    pub(crate) settings: Vec<(&'static str, String)>,
}

/// The keys that may follow a parameter.
pub(crate) const KEYS: [&str; 17] = [
    "type",
    "required",
    "default",
    "min-length",
    "max-length",
    "pattern",
    "min",
    "max",
    "enum",
    "transform",
    "format",
    "example",
    "escape-shell",
    "delimiter",
    "path",
    "sensitive",
    "detailed-help",
];

impl ParameterDraft {
    /// Adds `key=value`.
    pub(crate) fn set(&mut self, key: &'static str, value: String) -> Result<(), String> {
        if key != "example" && self.settings.iter().any(|(known, _)| *known == key) {
            return Err(format!("gives `{key}` of `{}` twice", self.name));
        }
        self.settings.push((key, value));
        Ok(())
    }

    fn get(&self, key: &str) -> Option<&String> {
        self.settings.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// The type it declares.
    pub(crate) fn kind(&self) -> &str {
        self.get("type").map_or("string", String::as_str)
    }

    pub(crate) fn emit(&self) -> Emit {
        let kind = self.kind();
        let mut entries = Entries::default();
        entries.text("type", Some(&kind.to_owned()));
        entries.text("description", Some(&self.description));
        entries.add("required", self.get("required").map(|text| boolean(text)));
        entries.add("default", self.get("default").map(|text| typed(text, kind)));
        let mut validation = Entries::default();
        for (key, name) in [("min-length", "minLength"), ("max-length", "maxLength")] {
            validation.add(name, self.get(key).map(|text| number(text)));
        }
        validation.text("pattern", self.get("pattern"));
        for (key, name) in [("min", "minimum"), ("max", "maximum")] {
            validation.add(name, self.get(key).map(|text| number(text)));
        }
        validation.add("enum", self.get("enum").map(|text| allowed(text, kind)));
        entries.add("validation", mapping(validation.0));
        for key in ["transform", "format"] {
            entries.text(key, self.get(key));
        }
        let examples: Vec<Emit> =
            self.settings.iter().filter(|(key, _)| *key == "example").map(|(_, text)| typed(text, kind)).collect();
        entries.add("examples", (!examples.is_empty()).then_some(Emit::FlowSequence(examples)));
        entries.text("detailed-help", self.get("detailed-help"));
        entries.text("delimiter", self.get("delimiter"));
        for key in ["path", "sensitive"] {
            entries.add(key, self.get(key).map(|text| boolean(text)));
        }
        let mut security = Entries::default();
        security.add("escape-shell", self.get("escape-shell").map(|text| boolean(text)));
        entries.add("security", mapping(security.0));
        Emit::Mapping(entries.0)
    }
}

/// A value of a type; a text that is none of it stays text, and the loader says so.
pub(super) fn typed(text: &str, kind: &str) -> Emit {
    let parsed = || json::parse(text).ok();
    let emitted = match kind {
        "number" | "integer" => parsed().filter(|value| matches!(value, Value::Number(_))).map(|value| emit(&value)),
        "boolean" => parsed().filter(|value| matches!(value, Value::Bool(_))).map(|value| emit(&value)),
        "array" => Some(match parsed() {
            Some(value @ Value::List(_)) => emit(&value),
            _ => Emit::FlowSequence(super::options::list(text).map(Emit::Text).collect()),
        }),
        "object" => parsed().filter(|value| matches!(value, Value::Object(_))).map(|value| emit(&value)),
        _ => None,
    };
    emitted.unwrap_or_else(|| Emit::text(text))
}

/// The values of `enum=a,b`, or of `enum=["a","b"]` where one of them holds a comma.
fn allowed(text: &str, kind: &str) -> Emit {
    match json::parse(text) {
        Ok(value @ Value::List(_)) => emit(&value),
        _ => Emit::FlowSequence(super::options::list(text).map(|item| typed(&item, kind)).collect()),
    }
}

fn emit(value: &Value) -> Emit {
    match value {
        Value::Null => Emit::Bare("null".to_owned()),
        Value::Bool(value) => Emit::Bare(value.to_string()),
        Value::Number(text) => Emit::Bare(text.clone()),
        Value::Text(text) => Emit::text(text),
        Value::List(items) => Emit::FlowSequence(items.iter().map(emit).collect()),
        Value::Object(fields) => {
            Emit::Mapping(fields.iter().map(|(name, value)| (name.clone(), emit(value))).collect())
        }
    }
}
