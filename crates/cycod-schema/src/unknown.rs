//! Words in a schema that no draft knows: remarks, or rules that were misspelt.

use serde_json::Value as Json;

use crate::{keyword::children, pointer::join};

/// Every keyword that says something about values.
pub const RULES: [&str; 42] = [
    "$dynamicRef",
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];

/// Keywords that say nothing about values.
const REMARKS: [&str; 20] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$schema",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// Returns the words in a schema, and in those in it, that are no keywords, each with the JSON Pointer to it.
pub fn unknown_words(schema: &Json) -> Vec<(String, String)> {
    let mut unknown = Vec::new();
    let mut waiting = vec![(String::new(), schema)];
    while let Some((pointer, schema)) = waiting.pop() {
        let Json::Object(fields) = schema else { continue };
        let words = fields.keys().filter(|word| !RULES.contains(&&***word) && !REMARKS.contains(&&***word));
        unknown.extend(words.map(|word| (join(&pointer, word), word.clone())));
        waiting.extend(children(fields).into_iter().map(|child| (child.pointer(&pointer), child.schema)));
    }
    unknown
}
