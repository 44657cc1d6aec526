//! What models are told about a tool.

use cycod_definition::{form_schema, function_schema};
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

#[test]
fn what_its_author_wrote_out_stays_word_for_word() {
    check(
        r##"
description: d
bash: ls {A}
input-schema:
  $schema: https://json-schema.org/draft/2020-12/schema
  type: object
  $defs: {a: {$anchor: a, type: [integer, "null"], minimum: 0.50}}
  properties: {A: {$ref: "#/$defs/a", x-mcp-header: A}}
  anyOf: [{required: [A]}, {maxProperties: 0}]
asks: {sure: {person: Sure?}}
"##,
        expect![[r##"
            {
              "name": "tool",
              "description": "d",
              "parameters": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": {
                  "a": {
                    "$anchor": "a",
                    "type": [
                      "integer",
                      "null"
                    ],
                    "minimum": 0.5
                  }
                },
                "properties": {
                  "A": {
                    "$ref": "#/$defs/a",
                    "x-mcp-header": "A"
                  }
                },
                "anyOf": [
                  {
                    "required": [
                      "A"
                    ]
                  },
                  {
                    "maxProperties": 0
                  }
                ]
              }
            }"##]],
    );
}

#[test]
fn answers_are_not_shown_and_schemas_of_parameters_stay() {
    check(
        r#"
description: d
bash: ls {A} {B} {C}
parameters:
  A: {description: a, required: true, schema: {anyOf: [{type: integer}, {const: all}], description: other}}
  B: {schema: {type: string, format: date, description: b, default: "2026-01-01"}}
asks: {q: {person: Which?, fields: {C: {required: true}}}, sure: {person: Sure?}}
"#,
        expect![[r#"
            {
              "name": "tool",
              "description": "d",
              "parameters": {
                "type": "object",
                "properties": {
                  "A": {
                    "anyOf": [
                      {
                        "type": "integer"
                      },
                      {
                        "const": "all"
                      }
                    ],
                    "description": "a"
                  },
                  "B": {
                    "type": "string",
                    "format": "date",
                    "description": "b",
                    "default": "2026-01-01"
                  }
                },
                "required": [
                  "A"
                ]
              }
            }"#]],
    );
}

#[test]
fn forms_are_flat() {
    let (loaded, lines) = report(
        r#"
description: d
bash: ls {A} {B} {C}
asks:
  q:
    person: Which?
    fields:
      A: {description: a, required: true, validation: {pattern: "^x", minLength: 1, maxLength: 9}}
      B: {type: integer, default: 5, validation: {minimum: 1, exclusiveMaximum: 9, multipleOf: 1}}
      C: {schema: {type: array, items: {anyOf: [{const: x, title: X}]}}}
  sure: {person: Sure?}
"#,
        Some("tool"),
    );
    let tool = loaded.tool.unwrap_or_else(|| panic!("the tool loads:\n{lines}"));
    let forms: Vec<String> = tool.asks.iter().map(|ask| form_schema(&tool, ask).to_string()).collect();
    expect![[r#"
        {"type":"object","properties":{"A":{"type":"string","description":"a","minLength":1,"maxLength":9},"B":{"type":"integer","minimum":1},"C":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}},"required":["A"]}
        {"type":"object","properties":{}}"#]].assert_eq(&forms.join("\n"));
}
