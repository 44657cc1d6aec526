//! What models are told about a tool.

use cycod_definition::function_schema;
use expect_test::{Expect, expect};

use crate::{report, spec::examples};

fn check(yaml: &str, expect: Expect) {
    let (loaded, lines) = report(yaml, Some("tool"));
    let tool = loaded.tool.unwrap_or_else(|| panic!("the tool loads:\n{lines}"));
    let schema = serde_json::to_string_pretty(&function_schema(&tool)).expect("JSON writes");
    expect.assert_eq(&schema);
}

#[test]
fn weather_lookup_is_as_published() {
    let (_, yaml) = examples().into_iter().find(|(name, _)| name == "weather-lookup").expect("is there");
    check(
        &yaml,
        expect![[r#"
            {
              "name": "weather-lookup",
              "description": "Get weather for a location",
              "parameters": {
                "type": "object",
                "properties": {
                  "LOCATION": {
                    "type": "string",
                    "description": "City or airport code"
                  },
                  "FORMAT": {
                    "type": "string",
                    "description": "Output format",
                    "default": "3"
                  }
                },
                "required": [
                  "LOCATION"
                ]
              }
            }"#]],
    );
}

#[test]
fn every_keyword() {
    check(
        r#"
description: d
bash: ls {A} {B} {C} '{D}' {E} {F}
parameters:
  A: {type: integer, description: a, default: 5, validation: {minimum: 1, maximum: 9, multipleOf: 1}}
  B: {type: array, description: b}
  C: {description: c, default: "x/{A}", required: true, validation: {enum: [x, "1"], pattern: "^x", minLength: 1, maxLength: 9}}
  D: {type: object, description: d, validation: {required: [k], properties: {k: {type: number, description: key}}}}
  E: {type: any, description: e, examples: [1, two], deprecated-alternative: A}
  F: {type: character, description: f, validation: {minItems: 1, uniqueItems: true}}
function-calling: {schema-generation: {example-generation: true, parameter-mapping: {integer: number}}}
"#,
        expect![[r#"
            {
              "name": "tool",
              "description": "d",
              "parameters": {
                "type": "object",
                "properties": {
                  "A": {
                    "type": "number",
                    "description": "a",
                    "default": 5,
                    "minimum": 1,
                    "maximum": 9,
                    "multipleOf": 1
                  },
                  "B": {
                    "type": "array",
                    "description": "b",
                    "items": {
                      "type": "string"
                    }
                  },
                  "C": {
                    "type": "string",
                    "description": "c (default: x/{A})",
                    "minLength": 1,
                    "maxLength": 9,
                    "pattern": "^x",
                    "enum": [
                      "x",
                      "1"
                    ]
                  },
                  "D": {
                    "type": "object",
                    "description": "d",
                    "properties": {
                      "k": {
                        "type": "number",
                        "description": "key"
                      }
                    },
                    "required": [
                      "k"
                    ]
                  },
                  "E": {
                    "description": "e (deprecated: use A)",
                    "examples": [
                      1,
                      "two"
                    ]
                  },
                  "F": {
                    "type": "array",
                    "description": "f",
                    "minItems": 1,
                    "uniqueItems": true,
                    "items": {
                      "type": "string"
                    }
                  }
                }
              }
            }"#]],
    );
}

#[test]
fn nothing_but_types() {
    check(
        r#"
description: d
bash: ls {A}
parameters:
  A: {description: a, default: x}
function-calling: {schema-generation: {include-descriptions: false, include-defaults: false}}
"#,
        expect![[r#"
            {
              "name": "tool",
              "description": "d",
              "parameters": {
                "type": "object",
                "properties": {
                  "A": {
                    "type": "string"
                  }
                }
              }
            }"#]],
    );
}
