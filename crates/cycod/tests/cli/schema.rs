use expect_test::{Expect, expect};

use crate::support::Place;

/// The tool of the specification, whose schema it prints.
const WEATHER: &str = include_str!("../../../cycod-definition/tests/spec/weather-lookup.yaml");

fn check(place: &Place, arguments: &[&str], expect: Expect) {
    let arguments = [&["tool", "schema"], arguments].concat();
    expect.assert_eq(&place.run(&arguments).block());
}

#[test]
fn one_tool_is_an_object() {
    check(
        &Place::with_tool("weather-lookup", WEATHER),
        &["weather-lookup"],
        expect![[r#"
        exit: 0
        --- stdout
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
        }
        --- stderr
    "#]],
    );
}

#[test]
fn several_are_an_array() {
    let place = Place::with_tool("a", "description: A\nbash: ls\n");
    place.tool("b", "description: B\nbash: ls {L}\nparameters:\n  L: {type: array, description: l, required: true}\n");
    check(
        &place,
        &["b", "a"],
        expect![[r#"
        exit: 0
        --- stdout
        [
          {
            "name": "b",
            "description": "B",
            "parameters": {
              "type": "object",
              "properties": {
                "L": {
                  "type": "array",
                  "description": "l",
                  "items": {
                    "type": "string"
                  }
                }
              },
              "required": [
                "L"
              ]
            }
          },
          {
            "name": "a",
            "description": "A",
            "parameters": {
              "type": "object",
              "properties": {}
            }
          }
        ]
        --- stderr
    "#]],
    );
}

#[test]
fn all_that_can_be_called_here() {
    let place = Place::with_tool("a", "description: A\nbash: ls\n");
    place.tool("broken", "description: A\n");
    place.tool("elsewhere", "description: A\nbash: ls\nrequires: {commands: [no-such-program]}\n");
    place.write("../home/.cycod/tools/a.yaml", "description: Hidden\nbash: ls\n");
    check(
        &place,
        &["--all"],
        expect![[r#"
        exit: 0
        --- stdout
        [
          {
            "name": "a",
            "description": "A",
            "parameters": {
              "type": "object",
              "properties": {}
            }
          }
        ]
        --- stderr
        warning: left out: `broken` is broken: line 1: a tool does not define what to execute
        warning: left out: `elsewhere` requires `no-such-program`, which is not on the PATH
    "#]],
    );
    check(
        &Place::new(),
        &["--all"],
        expect![[r#"
        exit: 0
        --- stdout
        []
        --- stderr
    "#]],
    );
}

#[test]
fn an_alias_takes_what_its_base_takes() {
    let place = Place::with_tool(
        "base",
        "description: Base\nbash: echo {X} {Y}\nparameters:\n  X: {type: string, description: x, required: true}\n  Y: {type: number, description: y, required: true}\n",
    );
    place.tool("alias", "type: alias\nbase-tool: base\ndefault-parameters: {X: one}\n");
    place.tool("alias-of-alias", "description: Deep\ntype: alias\nbase-tool: alias\ndefault-parameters: {Y: 2}\n");
    check(
        &place,
        &["alias", "alias-of-alias"],
        expect![[r#"
        exit: 0
        --- stdout
        [
          {
            "name": "alias",
            "description": "Base",
            "parameters": {
              "type": "object",
              "properties": {
                "X": {
                  "type": "string",
                  "description": "x",
                  "default": "one"
                },
                "Y": {
                  "type": "number",
                  "description": "y"
                }
              },
              "required": [
                "Y"
              ]
            }
          },
          {
            "name": "alias-of-alias",
            "description": "Deep",
            "parameters": {
              "type": "object",
              "properties": {
                "X": {
                  "type": "string",
                  "description": "x",
                  "default": "one"
                },
                "Y": {
                  "type": "number",
                  "description": "y",
                  "default": 2
                }
              }
            }
          }
        ]
        --- stderr
    "#]],
    );
}

#[test]
fn a_circle_of_aliases_ends() {
    let place = Place::with_tool("a", "type: alias\nbase-tool: b\ndefault-parameters: {X: 1}\n");
    place.tool("b", "type: alias\nbase-tool: a\ndefault-parameters: {X: 1}\n");
    assert_eq!(place.run(&["tool", "schema", "a"]).code(), 0);
}

#[test]
fn the_schema_of_the_file_is_the_committed_one() {
    let committed = include_str!("../../../../docs/tool-file.schema.json");
    assert_eq!(Place::new().run(&["tool", "schema-file"]).stdout(), committed);
    let of_programs = include_str!("../../../../docs/programs-file.schema.json");
    assert_eq!(Place::new().run(&["tool", "schema-file", "--for", "programs"]).stdout(), of_programs);
}

#[test]
fn mistakes() {
    let place = Place::with_tool("weather", WEATHER);
    check(
        &place,
        &[],
        expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: no tool is named
          give the names of tools, or --all
    "#]],
    );
    check(
        &place,
        &["wether"],
        expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[unknown-tool]: no tool is called `wether`
          try: cycod list
          more: cycod explain unknown-tool
    "#]],
    );
    check(
        &place,
        &["--all", "weather"],
        expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `--all` cannot be used with `TOOL_NAME`
          see: cycod help tool schema
    "#]],
    );
}

/// A tool that every dialect has to do something about.
const ROTATE: &str = r#"
name: log.rotate
description: Rotate logs
bash: echo {KEEP} {dry-run} {LABELS}
parameters:
  KEEP: {type: integer, description: How many, default: 4, validation: {minimum: 1, multipleOf: 2}}
  dry-run: {type: boolean, description: Only look}
  LABELS: {type: object, description: Labels}
"#;

#[test]
fn a_dialect_changes_what_it_must_and_says_so() {
    let place = Place::with_tool("log.rotate", ROTATE);
    check(
        &place,
        &["log.rotate", "--dialect", "openai-strict"],
        expect![[r#"
        exit: 0
        --- stdout
        {
          "type": "function",
          "function": {
            "name": "log_rotate",
            "description": "Rotate logs",
            "parameters": {
              "type": "object",
              "properties": {
                "KEEP": {
                  "type": [
                    "integer",
                    "null"
                  ],
                  "description": "How many (default: 4)",
                  "minimum": 1,
                  "multipleOf": 2
                },
                "dry-run": {
                  "type": [
                    "boolean",
                    "null"
                  ],
                  "description": "Only look"
                },
                "LABELS": {
                  "type": [
                    "string",
                    "null"
                  ],
                  "description": "Labels (a JSON object as text)"
                }
              },
              "required": [
                "KEEP",
                "dry-run",
                "LABELS"
              ],
              "additionalProperties": false
            },
            "strict": true
          }
        }
        --- stderr
        log.rotate: reversible
          /name: is called `log_rotate`
          /parameters/properties/KEEP/default: moved into the description
          /parameters/properties/KEEP: null means an absent value
          /parameters/properties/dry-run: null means an absent value
          /parameters/properties/LABELS: is a JSON object as text
          /parameters/properties/LABELS: null means an absent value
    "#]],
    );
    check(
        &place,
        &["log.rotate", "--dialect", "gemini", "--format", "text"],
        expect![[r#"
        exit: 0
        --- stdout
        log.rotate: Rotate logs
          KEEP (integer) How many (multipleOf: 2)
          dry_run (boolean) Only look
          LABELS (string) Labels (a JSON object as text)
        --- stderr
        log.rotate: lossy
          /parameters/properties/KEEP/multipleOf: moved into the description
          /parameters/properties/dry-run: is called `dry_run`
          /parameters/properties/LABELS: is a JSON object as text
    "#]],
    );
    check(
        &place,
        &["log.rotate", "--dialect", "anthropic", "--report"],
        expect![[r#"
        exit: 0
        --- stdout
        [
          {
            "tool": "log.rotate",
            "name": "log_rotate",
            "fidelity": "reversible",
            "losses": [
              {
                "pointer": "/name",
                "keyword": "name",
                "fidelity": "reversible",
                "what": "is called `log_rotate`"
              }
            ]
          }
        ]
        --- stderr
    "#]],
    );
    check(
        &place,
        &["log.rotate", "--format", "text"],
        expect![[r#"
        exit: 0
        --- stdout
        log.rotate: Rotate logs
          KEEP (integer) How many
          dry-run (boolean) Only look
          LABELS (object) Labels
        --- stderr
    "#]],
    );
}

#[test]
fn a_refused_tool_is_left_out_and_the_winning_scope_keeps_the_name() {
    let place = Place::with_tool("a.b", "description: Dots\nbash: ls\n");
    place.write("../home/.cycod/tools/a_b.yaml", "description: Bars\nbash: ls\n");
    place.write(
        ".cycod/tools/whole.yaml",
        "description: Any\nbash: ls\ninput-schema: {type: object, anyOf: [{required: [x]}], properties: {x: {type: string}}}\n",
    );
    check(
        &place,
        &["--all", "--dialect", "openai-responses"],
        expect![[r#"
        exit: 1
        --- stdout
        [
          {
            "type": "function",
            "name": "a_b",
            "description": "Dots",
            "parameters": {
              "type": "object",
              "properties": {}
            },
            "strict": false
          }
        ]
        --- stderr
        a.b: reversible
          /name: is called `a_b`
        warning: left out: whole: refused
          /parameters/anyOf: the provider takes no such keyword at the top level
        warning: left out: a_b: refused
          /name: `a.b` is called `a_b` already
    "#]],
    );
    check(
        &place,
        &["whole", "--dialect", "gemini"],
        expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        warning: left out: whole: refused
          /parameters/anyOf: the provider takes no such keyword at the top level
    "#]],
    );
    check(
        &place,
        &["whole", "--dialect", "mcp"],
        expect![[r#"
        exit: 0
        --- stdout
        {
          "name": "whole",
          "description": "Any",
          "inputSchema": {
            "type": "object",
            "anyOf": [
              {
                "required": [
                  "x"
                ]
              }
            ],
            "properties": {
              "x": {
                "type": "string"
              }
            }
          }
        }
        --- stderr
        whole: exact
    "#]],
    );
}

#[test]
fn a_dialect_must_be_known_and_a_report_is_about_one() {
    let place = Place::with_tool("weather", WEATHER);
    check(
        &place,
        &["weather", "--dialect", "opnai"],
        expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `opnai` is not a value of `--dialect`
          did you mean `openai`?
          see: cycod help tool schema
    "#]],
    );
    check(
        &place,
        &["weather", "--report"],
        expect![[r#"
            exit: 2
            --- stdout
            --- stderr
            error: `--dialect` is missing
              see: cycod help tool schema
        "#]],
    );
}
