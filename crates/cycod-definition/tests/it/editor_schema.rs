//! The JSON Schema for editors agrees with the loader on the examples and on plain mistakes.

use cycod_definition::{FileFormat, document_json, file_schema};
use cycod_diagnostic::SourceFile;
use serde_json::Value;

use crate::spec::examples;

/// Whether `value` satisfies `schema`, for the keywords that our schema uses.
fn valid(schema: &Value, value: &Value, root: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return schema == &Value::Bool(true) };
    schema.iter().all(|(keyword, rule)| match keyword.as_str() {
        "$ref" => {
            let pointer = rule.as_str().expect("a text").trim_start_matches('#');
            valid(root.pointer(pointer).expect("the definition is there"), value, root)
        }
        "type" => {
            let is = |name: &str| match name {
                "string" => value.is_string(),
                "number" => value.is_number(),
                "integer" => value.is_i64() || value.is_u64(),
                "boolean" => value.is_boolean(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                other => panic!("a type `{other}`"),
            };
            rule.as_str().map_or_else(|| rule.as_array().expect("types").iter().filter_map(Value::as_str).any(is), is)
        }
        "enum" => rule.as_array().expect("values").contains(value),
        "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number")),
        "pattern" => value
            .as_str()
            .is_none_or(|text| regex::Regex::new(rule.as_str().expect("a text")).expect("a pattern").is_match(text)),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| valid(rule, item, root))),
        "required" => value.as_object().is_none_or(|object| {
            rule.as_array().expect("names").iter().filter_map(Value::as_str).all(|name| object.contains_key(name))
        }),
        "anyOf" => rule.as_array().expect("schemas").iter().any(|schema| valid(schema, value, root)),
        "oneOf" => rule.as_array().expect("schemas").iter().filter(|schema| valid(schema, value, root)).count() == 1,
        "properties" => value.as_object().is_none_or(|object| {
            object.iter().all(|(key, value)| rule.get(key).is_none_or(|schema| valid(schema, value, root)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|object| {
            let known = |key: &str| {
                schema.get("properties").is_some_and(|properties| properties.get(key).is_some())
                    || (key.starts_with("x-") && schema.contains_key("patternProperties"))
            };
            object.iter().filter(|(key, _)| !known(key)).all(|(_, value)| valid(rule, value, root))
        }),
        "$schema" | "$defs" | "title" | "description" | "default" | "deprecated" | "patternProperties" => true,
        other => panic!("a keyword `{other}` that this test does not know"),
    })
}

fn accepts(yaml: &str) -> bool {
    let schema = file_schema(FileFormat::Cycod);
    let document = document_json(&SourceFile::new("tool.yaml", yaml)).expect("a document");
    valid(&schema, &document, &schema)
}

#[test]
fn the_examples_are_valid() {
    for (name, text) in examples() {
        assert!(accepts(&text), "{name}");
    }
    assert!(accepts("x-own: 1\ndescription: d\nbash: ls\n"));
    assert!(!accepts("own: 1\ndescription: d\nbash: ls\n"));
}

#[test]
fn mistakes_are_not() {
    for yaml in [
        "bash: ls\n",
        "description: d\n",
        "description: d\nbash: ls\npwsh: dir\n",
        "description: d\nbash: ls\ntimeout: soon\n",
        "description: d\nbash: ls\ntimeout: 0\n",
        "description: d\nbash: ls\ntags: {read: true}\n",
        "description: d\nbash: ls\nsecurity: {x-own: 1}\n",
        "description: d\nbash: ls\nplatforms: [solaris]\n",
        "description: d\nbash: ls\nresources: {max-memory: lots}\n",
        "description: d\nsteps: [{bash: ls}]\n",
        "description: d\nsteps: [{name: a, bash: ls, cmd: dir}]\n",
        "description: d\nbash: ls\nparameters: {P: {type: sting}}\n",
        "type: alias\n",
    ] {
        assert!(!accepts(yaml), "{yaml}");
    }
}

#[test]
fn the_file_with_every_key_is_valid() {
    let yaml = include_str!("../everything.yaml");
    // Editors complete platforms in lower case; the loader takes any.
    assert!(accepts(&yaml.replace("Linux", "linux")));
}
