use cycod_syntax::emit::{Emit, to_yaml};
use serde_json::Value;

/// Writes JSON as YAML; short lists of plain values on one line.
pub(crate) fn yaml_text(value: &Value) -> String {
    to_yaml(&emit(value))
}

fn emit(value: &Value) -> Emit {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Emit::Bare(value.to_string()),
        Value::String(text) => Emit::text(text),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            Emit::Sequence(items.iter().map(emit).collect())
        }
        Value::Array(items) => Emit::FlowSequence(items.iter().map(emit).collect()),
        Value::Object(fields) => Emit::Mapping(fields.iter().map(|(key, value)| (key.clone(), emit(value))).collect()),
    }
}
