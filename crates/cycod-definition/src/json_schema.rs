use std::{
    fmt,
    sync::{Arc, OnceLock},
};

pub use cycod_schema::SchemaViolation;
use cycod_schema::{Schema, SchemaProblem};
use serde_json::Value as Json;

/// A JSON Schema as its author wrote it, compiled when the first value is held against it.
#[derive(Clone)]
pub struct JsonSchema(Arc<Written>);

struct Written {
    json: Json,
    compiled: OnceLock<Result<Schema, SchemaProblem>>,
}

impl JsonSchema {
    /// The schema, word for word.
    pub fn json(&self) -> &Json {
        &self.0.json
    }

    /// Tells what is wrong with a value; nothing when it is right.
    ///
    /// # Errors
    /// When this is no schema that can be applied.
    pub fn violations(&self, value: &Json) -> Result<Vec<SchemaViolation>, &SchemaProblem> {
        Ok(self.compiled()?.validate(value))
    }

    /// Whether it means the same as a part of another schema: no reference in it starts at the root.
    pub fn stands_alone(&self) -> bool {
        fn refers_to_root(json: &Json) -> bool {
            match json {
                Json::Object(entries) => entries.iter().any(|(key, value)| match (key.as_str(), value) {
                    ("$ref" | "$dynamicRef", Json::String(_)) => true,
                    _ => refers_to_root(value),
                }),
                Json::Array(items) => items.iter().any(refers_to_root),
                _ => false,
            }
        }
        !refers_to_root(self.json())
    }

    /// Compiles it, once.
    pub(crate) fn compiled(&self) -> Result<&Schema, &SchemaProblem> {
        self.0.compiled.get_or_init(|| Schema::compile(&self.0.json)).as_ref()
    }
}

impl From<Json> for JsonSchema {
    fn from(json: Json) -> Self {
        Self(Arc::new(Written { json, compiled: OnceLock::new() }))
    }
}

impl fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.json().fmt(f)
    }
}
