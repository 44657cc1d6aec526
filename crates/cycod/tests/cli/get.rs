use expect_test::{Expect, expect};

use crate::support::Place;

const WEATHER: &str = r#"# Kept as it is.
name: weather
description: Get the weather
version: 1.0
bash: curl -s "wttr.in/{LOCATION}?format={FORMAT}"   # and this
parameters:
  LOCATION:
    type: string
    description: City or airport code
    required: true
    examples: ["New York", SFO]
    validation: {minLength: 2, maxLength: 40, pattern: "^[A-Z]"}
    detailed-help: |
      A city, or the code
      of an airport.
  DAYS: {type: integer, description: How many days, required: true, validation: {minimum: 2}}
  FORMAT:
    type: string
    description: Output format
    default: "3"
    validation: {enum: ["1", "2", "3"]}
  TOKEN: {type: string, description: A key, sensitive: true, security: {escape-shell: true}}
tags: [weather, read]
timeout: 90000
environment: {variables: {KEY: "{TOKEN}"}, secrets: [KEY]}
security:
  execution-privilege: reduced
  justification: It is only a request
tests:
  - {name: london, description: Rain, parameters: {LOCATION: London, DAYS: 2}}
"#;

const FLOW: &str = r#"description: Fetch and count
steps:
  - name: fetch
    bash: curl -sf "{URL}"
    error-handling: {retry: {attempts: 3, delay: 1000}, fallback: "cat cache"}
    timeout: 5000
  - name: note
    bash: |
      echo a
      echo b
    parallel: true
    continue-on-error: true
  - name: count
    use-tool: lines
    with: {TEXT: "{fetch.output}"}
    run-condition: "{fetch.exit-code} == 0"
parameters:
  URL: {type: string, description: The page, required: true}
tags: [read]
"#;

fn check(place: &Place, arguments: &[&str], expect: Expect) {
    let arguments = [&["tool", "get"], arguments].concat();
    expect.assert_eq(&place.run(&arguments).block());
}

#[test]
fn yaml_is_the_text_of_the_file() {
    let place = Place::with_tool("weather", WEATHER);
    let ran = place.run(&["tool", "get", "WEATHER"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, WEATHER));
    place.tool("future", "description: d\nbash: 'true'\nmin-cycod-version: 99.0.0\n");
    let ran = place.run(&["tool", "get", "future"]);
    assert!(ran.stderr().starts_with("warning: `future` is unavailable: "), "{}", ran.block());
}

#[test]
fn json_is_the_definition() {
    let place = Place::with_tool(
        "small",
        "description: A \"small\" one\nbash: ls {N}\nparameters:\n  N: {type: number, description: n, default: 1.50}\n",
    );
    check(
        &place,
        &["small", "--format", "json"],
        expect![[r#"
        exit: 0
        --- stdout
        {
          "description": "A \"small\" one",
          "bash": "ls {N}",
          "parameters": {
            "N": {
              "type": "number",
              "description": "n",
              "default": "1.50"
            }
          }
        }
        --- stderr
    "#]],
    );
}

#[test]
fn everything_about_a_command() {
    check(
        &Place::with_tool("weather", WEATHER),
        &["weather", "--detail"],
        expect![[r#"
            exit: 0
            --- stdout
            weather 1.0
              Get the weather

              file           .cycod/tools/weather.yaml
              scope          local
              state          can be called
              level          read (tagged `read`)
              tags           weather, read
              timeout        1 min 30 s
              environment    KEY=****
              privilege      reduced
              justification  It is only a request

            PARAMETERS
              LOCATION  string, required
                  City or airport code
                  must: have 2 to 40 characters; match ^[A-Z]
                  examples: New York, SFO
                  placed as: data: `curl` takes it as a URL; without `..`, `?` or `#`, because it is in the path of an address; without `[`, `]`, `{` or `}`
                  A city, or the code
                  of an airport.
              DAYS  integer, required
                  How many days
                  must: be at least 2
              FORMAT  string, default 3
                  Output format
                  must: be one of 1, 2, 3
                  placed as: free: its values are numbers, booleans or texts of the author
              TOKEN  string, optional, masked
                  A key
                  placed as: data: it is the value of a variable

            COMMAND
              bash: curl -s "wttr.in/{LOCATION}?format={FORMAT}"

            TESTS
              london  Rain

            RUN IT
              cycod run weather LOCATION='New York' DAYS=2
            --- stderr
        "#]],
    );
}

#[test]
fn everything_about_a_workflow() {
    let place = Place::with_tool("flow", FLOW);
    place.tool(
        "lines",
        "description: Count lines\nbash: wc -l\nparameters:\n  TEXT: {type: string, description: What}\n",
    );
    check(
        &place,
        &["flow", "--detail"],
        expect![[r#"
            exit: 0
            --- stdout
            flow
              Fetch and count

              file           .cycod/tools/flow.yaml
              scope          local
              state          can be called
              level          run (because of what it uses: lines)
              tags           read
              timeout        1 min 00 s

            PARAMETERS
              URL  string, required
                  The page
                  placed as: data: `curl` takes it as a URL; not beginning with `-`, which `curl` would read as an option; not beginning with `file:`, which means something to `curl`

            STEPS
              fetch  starts at once
                bash: curl -sf "{URL}"
                tried again 3 times, first after 1.0 s
                if all tries fail:
                  bash: cat cache
                each try may take 5.0 s
              note  starts at once
                bash: echo a
                  echo b
                may fail: the run continues
              count  after fetch, note
                use-tool: lines
                  TEXT: {fetch.output}
                only if {fetch.exit-code} == 0

            RUN IT
              cycod run flow URL=...
            --- stderr
        "#]],
    );
}

#[test]
fn everything_about_an_alias() {
    let place = Place::with_tool("weather", WEATHER);
    place.tool("paris", "description: Paris\ntype: alias\nbase-tool: weather\ndefault-parameters: {LOCATION: Paris}\n");
    check(
        &place,
        &["paris", "--detail"],
        expect![[r#"
            exit: 0
            --- stdout
            paris
              Paris

              file           .cycod/tools/paris.yaml
              scope          local
              state          can be called
              level          read (that of the tool it is an alias of)
              timeout        1 min 30 s

            PARAMETERS
              LOCATION  string, default Paris
                  City or airport code
                  must: have 2 to 40 characters; match ^[A-Z]
                  examples: New York, SFO
                  A city, or the code
                  of an airport.
              DAYS  integer, required
                  How many days
                  must: be at least 2
              FORMAT  string, default 3
                  Output format
                  must: be one of 1, 2, 3
              TOKEN  string, optional, masked
                  A key

            ALIAS
              base-tool: weather
                LOCATION: Paris

            RUN IT
              cycod run paris DAYS=2
            --- stderr
        "#]],
    );
}

#[test]
fn a_page_for_programs() {
    let place = Place::with_tool(
        "small",
        "description: S\nbash: ls {N}\nparameters:\n  N: {type: boolean, description: n, required: true}\n",
    );
    check(
        &place,
        &["small", "--detail", "--format", "json"],
        expect![[r#"
            exit: 0
            --- stdout
            {
              "name": "small",
              "scope": "local",
              "path": "[PLACE]/project/.cycod/tools/small.yaml",
              "level": "run",
              "description": "S",
              "tags": [],
              "platforms": [],
              "parameters": 1,
              "tests": 0,
              "state": "active",
              "trust": "trusted",
              "enabled": true,
              "available": true,
              "unavailable-reasons": [],
              "deprecated": false,
              "run": "cycod run small N=true",
              "origin": {
                "source": "custom"
              },
              "definition": {
                "description": "S",
                "bash": "ls {N}",
                "parameters": {
                  "N": {
                    "type": "boolean",
                    "description": "n",
                    "required": true
                  }
                }
              }
            }
            --- stderr
        "#]],
    );
}

#[test]
fn what_is_shadowed_can_be_looked_at() {
    let place = Place::with_tool("x", "description: Local\nbash: ls\ntags: [read]\n");
    place.write("../home/.cycod/tools/x.yaml", "description: User\nbash: ls\ntags: [read]\n");
    check(
        &place,
        &["x", "--user"],
        expect![[r#"
        exit: 0
        --- stdout
        description: User
        bash: ls
        tags: [read]
        --- stderr
        warning: `x` is shadowed by .cycod/tools/x.yaml
    "#]],
    );
    check(
        &place,
        &["x", "--user", "--detail"],
        expect![[r#"
        exit: 0
        --- stdout
        x
          User

          file           ~/.cycod/tools/x.yaml
          scope          user
          state          shadowed by .cycod/tools/x.yaml
          level          read (tagged `read`)
          tags           read
          timeout        1 min 00 s

        COMMAND
          bash: ls

        RUN IT
          cycod run x --scope user
        --- stderr
    "#]],
    );
    check(
        &place,
        &["x", "--detail"],
        expect![[r#"
        exit: 0
        --- stdout
        x
          Local

          file           .cycod/tools/x.yaml
          scope          local
          hides          ~/.cycod/tools/x.yaml
          state          can be called
          level          read (tagged `read`)
          tags           read
          timeout        1 min 00 s

        COMMAND
          bash: ls

        RUN IT
          cycod run x
        --- stderr
    "#]],
    );
}

#[test]
fn what_is_broken_can_be_looked_at() {
    let place = Place::with_tool("x", "description: X\nbash: ls\ncmd: dir\n");
    check(
        &place,
        &["x"],
        expect![[r#"
        exit: 0
        --- stdout
        description: X
        bash: ls
        cmd: dir
        --- stderr
        warning: `x` is broken: line 2: a tool says in two ways what it executes
          see: cycod validate x
    "#]],
    );
    check(
        &place,
        &["x", "--detail"],
        expect![[r#"
        exit: 0
        --- stdout
        x

          file           .cycod/tools/x.yaml
          scope          local
          state          broken: line 2: a tool says in two ways what it executes

        error[several-commands]: a tool says in two ways what it executes
         --> .cycod/tools/x.yaml:2:1
          |
        2 | bash: ls
          | ^^^^ the first
        3 | cmd: dir
          | --- another
          |
          = help: keep one of them, or make them steps
        --- stderr
    "#]],
    );
}

/// What a file says is shown, never carried out: not by a list, not by an error.
#[test]
fn a_file_cannot_drive_the_terminal() {
    let text = "description: \"a\\e[2Jb\"\nbash: ls\ndeprecated: true\ndeprecated-message: \"c\\e[2Jd\"\nrequires: {commands: [\"e\\e[2Jf\"]}\n";
    let place = Place::with_tool("x", text);
    place.tool("y\u{1b}[2Jz", "description: Y\nbash: ls\n");
    place.tool("u", "description: U\nuse-tool: \"g\\e[2Jh\"\n");
    for arguments in [
        &["tool", "list"][..],
        &["tool", "list", "--format", "simple"],
        &["tool", "list", "--format", "json"],
        &["tool", "list", "--format", "yaml"],
        &["tool", "get", "x"],
        &["tool", "get", "x", "--detail"],
        &["tool", "get", "y\u{1b}[2Jz", "--detail"],
        &["tool", "get", "no\u{1b}[2J"],
        &["tool", "validate", "--detailed"],
        &["tool", "validate", "--format", "json"],
        &["tool", "\u{1b}[2J"],
    ] {
        let ran = place.run(arguments);
        assert!(!ran.block().contains('\u{1b}'), "{arguments:?}\n{}", ran.block());
    }
}

#[test]
fn mistakes() {
    let place = Place::with_tool("weather", WEATHER);
    check(
        &place,
        &["wether"],
        expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[unknown-tool]: no tool is called `wether`
          did you mean `weather`?
          more: cycod explain unknown-tool
    "#]],
    );
    check(
        &place,
        &["zebra"],
        expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[unknown-tool]: no tool is called `zebra`
          try: cycod list
          more: cycod explain unknown-tool
    "#]],
    );
    check(
        &place,
        &["weather", "--user"],
        expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[unknown-tool]: no tool is called `weather` in the user scope
          there is one in the local scope: leave out --scope
          more: cycod explain unknown-tool
    "#]],
    );
    check(
        &place,
        &[],
        expect![[r#"
            exit: 2
            --- stdout
            --- stderr
            error: `TOOL_NAME` is missing
              usage: cycod tool get TOOL_NAME [--scope] [options]
              tools: cycod list
              see: cycod help tool get
        "#]],
    );
}
