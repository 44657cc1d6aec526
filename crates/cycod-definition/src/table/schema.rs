/// Returns the JSON Schema of a tool file.
pub fn file_schema() -> serde_json::Value {
    serde_json::Value::Null
}
