use serde_json::{Map, Value as Json};

/// How to bring arguments back from a dialect.
///
/// What cannot be undone stays as it is: the validation afterwards has words for it.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    parts: Vec<Part>,
}

/// What was done to a schema, with those below it by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The value travels as JSON text.
    pub(crate) is_text: bool,
    /// Texts that stand for other values.
    pub(crate) spellings: Vec<(String, Json)>,
    pub(crate) properties: Vec<Property>,
    /// What was done to the values of other properties.
    pub(crate) others: Option<usize>,
    pub(crate) items: Option<usize>,
    /// What else was done to the same value.
    pub(crate) same: Vec<usize>,
    /// What was done to it if it looks like one of these schemas.
    pub(crate) alternatives: Vec<(Json, usize)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) written: String,
    pub(crate) name: String,
    /// Null stands for an absent one.
    pub(crate) is_absent_when_null: bool,
    pub(crate) part: usize,
}

impl Undo {
    pub(crate) fn new(parts: Vec<Part>) -> Self {
        Self { parts }
    }

    /// Turns arguments as the provider's model wrote them into arguments of the original function.
    pub fn apply(&self, arguments: Json) -> Json {
        if self.parts.is_empty() { arguments } else { self.undone(0, arguments) }
    }

    fn undone(&self, number: usize, value: Json) -> Json {
        let part = &self.parts[number];
        let value = match value {
            Json::String(text) if part.is_text => {
                return serde_json::from_str(&text).unwrap_or(Json::String(text));
            }
            Json::String(text) => {
                let meant = part.spellings.iter().find(|(spelling, _)| *spelling == text);
                meant.map_or(Json::String(text), |(_, value)| value.clone())
            }
            value => value,
        };
        let alternative = part.alternatives.iter().find(|(schema, _)| looks_like(&value, schema));
        let same = part.same.iter().copied().chain(alternative.map(|(_, part)| *part));
        match same.fold(value, |value, part| self.undone(part, value)) {
            Json::Object(entries) => Json::Object(self.undone_entries(part, entries)),
            Json::Array(items) => Json::Array(match part.items {
                Some(below) => items.into_iter().map(|item| self.undone(below, item)).collect(),
                None => items,
            }),
            value => value,
        }
    }

    fn undone_entries(&self, part: &Part, entries: Map<String, Json>) -> Map<String, Json> {
        let entry = |(written, value): (String, Json)| {
            let Some(property) = part.properties.iter().find(|property| property.written == written) else {
                let value = match part.others {
                    Some(below) => self.undone(below, value),
                    None => value,
                };
                return Some((written, value));
            };
            if value.is_null() && property.is_absent_when_null {
                return None;
            }
            Some((property.name.clone(), self.undone(property.part, value)))
        };
        entries.into_iter().filter_map(entry).collect()
    }
}

/// Whether `value` has the shape of `schema`, as far as types, constants and the presence of properties tell.
fn looks_like(value: &Json, schema: &Json) -> bool {
    let is_of_type = |name: &Json| match (name.as_str(), value) {
        (Some("null"), Json::Null) | (Some("boolean"), Json::Bool(_)) | (Some("string"), Json::String(_)) => true,
        (Some("number"), Json::Number(_)) | (Some("array"), Json::Array(_)) | (Some("object"), Json::Object(_)) => true,
        (Some("integer"), Json::Number(number)) => number.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    };
    let is_typed = match &schema["type"] {
        Json::Null => true,
        Json::Array(names) => names.iter().any(is_of_type),
        name => is_of_type(name) || (value.is_null() && schema["nullable"] == true),
    };
    let is_listed = schema["enum"].as_array().is_none_or(|values| values.contains(value))
        && schema.get("const").is_none_or(|constant| constant == value);
    let has_properties = value.as_object().is_none_or(|entries| {
        let is_there = |name: &Json| name.as_str().is_some_and(|name| entries.contains_key(name));
        let below = schema["properties"].as_object();
        schema["required"].as_array().is_none_or(|names| names.iter().all(is_there))
            && below.is_none_or(|below| {
                entries.iter().all(|(name, value)| match below.get(name) {
                    Some(schema) => looks_like(value, schema),
                    None => schema["additionalProperties"] != false,
                })
            })
    });
    let is_one = ["anyOf", "oneOf"]
        .iter()
        .all(|keyword| schema[keyword].as_array().is_none_or(|any| any.iter().any(|one| looks_like(value, one))));
    let has_items = value.as_array().is_none_or(|items| items.iter().all(|item| looks_like(item, &schema["items"])));
    is_typed && is_listed && has_properties && is_one && has_items
}
