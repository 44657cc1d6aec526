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
        warning: left out: `broken` is broken: line 1: a tool does not say what it executes
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
          try: cycod tool list
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
