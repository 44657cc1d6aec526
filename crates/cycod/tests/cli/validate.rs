use expect_test::{Expect, expect};

use crate::support::Place;

const GOOD: &str =
    "description: Good\nbash: echo {X}\ntags: [read]\nparameters:\n  X: {type: string, description: x}\n";

fn check(place: &Place, arguments: &[&str], expect: Expect) {
    let arguments = [&["tool", "validate"], arguments].concat();
    expect.assert_eq(&place.run(&arguments).block());
}

#[test]
fn a_good_tool() {
    check(
        &Place::with_tool("good", GOOD),
        &["good"],
        expect![[r#"
        exit: 0
        --- stdout
        good: no problems
        --- stderr
    "#]],
    );
}

#[test]
fn a_name_that_nothing_gives_a_value() {
    let tool = "description: Counts\ntags: [read]\nenvironment: {secrets: [TOKEN]}\n\
                bash: |\n  wc -l -- {FILE} {FILE} \\{TEXT} {CI ? 'a' : 'b'} {HOME}\n  echo \"{TOKEN}\"\n";
    check(
        &Place::with_tool("count", tool),
        &["count"],
        expect![[r#"
        exit: 0
        --- stdout
        warning[unset-variable]: `FILE` is neither a parameter nor a variable that is set here
         --> .cycod/tools/count.yaml:5:12
          |
        5 |   wc -l -- {FILE} {FILE} \{TEXT} {CI ? 'a' : 'b'} {HOME}
          |            ^^^^^^
          |
          = help: declare it under `parameters`, set the variable where the tool runs, or write `\{FILE}` for the text

        count: 1 warning
        --- stderr
    "#]],
    );
}

#[test]
fn every_tool_of_the_place() {
    let place = Place::with_tool("good", GOOD);
    place.tool("bad", "description: Bad\nbash: echo\ncmd: echo\ntimout: 5\n");
    place.write("../home/.cycod/tools/other.yaml", "bash: ls\n");
    check(
        &place,
        &[],
        expect![[r#"
            exit: 1
            --- stdout
            error[several-commands]: a tool says in two ways what it executes
             --> .cycod/tools/bad.yaml:2:1
              |
            2 | bash: echo
              | ^^^^ the first
            3 | cmd: echo
              | --- another
              |
              = help: keep one of them, or make them steps

            warning[unknown-key]: a tool has no key `timout`
             --> .cycod/tools/bad.yaml:4:1
              |
            4 | timout: 5
              | ^^^^^^ ignored
              |
              = help: did you mean `timeout`?

            error[no-description]: a tool needs a `description`
             --> ~/.cycod/tools/other.yaml:1:1
              |
            1 | bash: ls
              | ^^^^
              |
              = help: describe its purpose; people and models choose tools by that

            3 tools: 2 errors, 1 warning; 2 tools cannot be used
            1 of them can be fixed with --fix
            --- stderr
        "#]],
    );
    check(
        &place,
        &["--local", "--scope", "project"],
        expect![[r#"
            exit: 1
            --- stdout
            error[several-commands]: a tool says in two ways what it executes
             --> .cycod/tools/bad.yaml:2:1
              |
            2 | bash: echo
              | ^^^^ the first
            3 | cmd: echo
              | --- another
              |
              = help: keep one of them, or make them steps

            warning[unknown-key]: a tool has no key `timout`
             --> .cycod/tools/bad.yaml:4:1
              |
            4 | timout: 5
              | ^^^^^^ ignored
              |
              = help: did you mean `timeout`?

            2 tools: 1 error, 1 warning; 1 tool cannot be used
            1 of them can be fixed with --fix
            --- stderr
        "#]],
    );
}

#[test]
fn an_empty_place() {
    check(
        &Place::new(),
        &[],
        expect![[r#"
        exit: 0
        --- stdout
        no tools here to validate
        --- stderr
    "#]],
    );
}

#[test]
fn strict_takes_unknown_keys_for_errors() {
    let place = Place::with_tool("x", "description: X\nbash: ls\ncolour: red\n");
    assert_eq!(place.run(&["tool", "validate", "x"]).code(), 0);
    check(
        &place,
        &["x", "--strict"],
        expect![[r#"
        exit: 1
        --- stdout
        error[unknown-key]: a tool has no key `colour`
         --> .cycod/tools/x.yaml:3:1
          |
        3 | colour: red
          | ^^^^^^

        x: 1 error
        --- stderr
    "#]],
    );
}

#[test]
fn fixing_keeps_comments() {
    let text = "# Mine.\ndescription: X\nbash: jq 'map({a: .b})' {F}  # here\ntimout: 5000 # soon\nparameters:\n  F: {type: string, descripton: f, description: f}\n";
    let place = Place::with_tool("x", text);
    check(
        &place,
        &["x", "--fix"],
        expect![[r#"
            exit: 0
            --- stdout
            fixed .cycod/tools/x.yaml: line 3: quote the command
            fixed .cycod/tools/x.yaml: line 4: write `timeout`
            hint[could-be-option]: a value of `F` that begins with `-` is refused: `jq` would read it as an option
             --> .cycod/tools/x.yaml:3:28
              |
            3 | bash: 'jq ''map({a: .b})'' {F}'  # here
              |                            ^^^
              |
              = help: nothing ends the options of `jq`; if `F` is a path, write `path: true`, and it begins with `./`

            warning[unknown-key]: a parameter has no key `descripton`
             --> .cycod/tools/x.yaml:6:21
              |
            6 |   F: {type: string, descripton: f, description: f}
              |                     ^^^^^^^^^^ ignored
              |
              = help: did you mean `description`?

            x: 1 warning, 1 hint
            --- stderr
        "#]],
    );
    expect![[r#"
        # Mine.
        description: X
        bash: 'jq ''map({a: .b})'' {F}'  # here
        timeout: 5000 # soon
        parameters:
          F: {type: string, descripton: f, description: f}
    "#]]
    .assert_eq(&place.read(".cycod/tools/x.yaml"));
    let ran = place.run(&["tool", "validate", "x", "--fix"]);
    assert!(!ran.stdout().contains("fixed"), "{}", ran.block());
}

#[test]
fn a_file_anywhere_is_validated_and_fixed() {
    let place = Place::new();
    place.write("elsewhere/tool.yaml", "description: X\nbash: ls\ntimout: 5000\n");
    check(
        &place,
        &["elsewhere/tool.yaml"],
        expect![[r#"
            exit: 0
            --- stdout
            warning[unknown-key]: a tool has no key `timout`
             --> elsewhere/tool.yaml:3:1
              |
            3 | timout: 5000
              | ^^^^^^ ignored
              |
              = help: did you mean `timeout`?

            tool: 1 warning
            it can be fixed with --fix
            --- stderr
        "#]],
    );
    check(
        &place,
        &["elsewhere/tool.yaml", "--fix"],
        expect![[r#"
        exit: 0
        --- stdout
        fixed elsewhere/tool.yaml: line 3: write `timeout`
        tool: no problems
        --- stderr
    "#]],
    );
    assert_eq!(place.read("elsewhere/tool.yaml"), "description: X\nbash: ls\ntimeout: 5000\n");
    let left: Vec<_> = std::fs::read_dir(place.project().join("elsewhere")).expect("it is there").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn nothing_is_written_that_needs_no_fix() {
    let place = Place::with_tool("good", GOOD);
    let path = place.project().join(".cycod/tools/good.yaml");
    let modified = || path.metadata().and_then(|metadata| metadata.modified()).expect("the file");
    let before = modified();
    assert_eq!(place.run(&["tool", "validate", "good", "--fix"]).code(), 0);
    assert_eq!(modified(), before);
}

#[test]
fn details_name_every_place_of_a_value() {
    let place = Place::with_tool(
        "x",
        "description: X\nsteps:\n  - name: one\n    bash: echo \"{A}\" {B} {RAW:C} {HOME}\n  - name: two\n    run: echo {one.output}\n  - name: three\n    script: print('{N}')\n    shell: python\nparameters:\n  A: {type: string, description: a}\n  B: {type: string, description: b, security: {escape-shell: true}}\n  C: {type: string, description: c}\n  N: {type: number, description: n}\ntests:\n  - {name: t}\n",
    );
    check(
        &place,
        &["x", "--detailed"],
        expect![[r#"
            exit: 0
            --- stdout
            warning[raw-placing]: the value is placed as program text
             --> .cycod/tools/x.yaml:4:26
              |
            4 |     bash: echo "{A}" {B} {RAW:C} {HOME}
              |                          ^^^^^^^ the caller chooses what runs
              |
              = note: this raises the tool to level run

            x (.cycod/tools/x.yaml)
              checked: 4 parameters, 3 steps, 1 test
              4:17  {A}  data: `echo` takes it as text
              4:22  {B}  data: `echo` takes it as text
              4:26  {RAW:C}  program text: it is program text, because its author declared that
              4:34  {HOME}  data: `echo` takes it as text
              6:15  {one.output}  data: `echo` takes it as text
              8:20  {N}  free: its values are numbers, booleans or texts of the author

            x: 1 warning
            --- stderr
        "#]],
    );
}

#[test]
fn what_is_given_to_other_tools_is_looked_at() {
    let place = Place::with_tool(
        "typed",
        "description: X\nbash: echo {N} {M}\nparameters: {N: {type: number, description: n, required: true}, M: {description: m}}\n",
    );
    place.tool("wrong", "description: X\nsteps:\n  - name: a\n    use-tool: typed\n    with: {n: many}\n  - name: b\n    use-tool: typed\n    with: {M: x}\n");
    place.tool("alias", "description: X\ntype: alias\nbase-tool: typed\ndefault-parameters: {N: many}\nparameters: {M: {description: mine}}\n");
    expect![[r#"
        exit: 1
        --- stdout
        error[wrong-argument-type]: `N` of `typed`: expected a number, found `many`
         --> .cycod/tools/wrong.yaml:5:12
          |
        5 |     with: {n: many}
          |            ^
          |
          = help: write it as in JSON: `42`, `-0.5`, `1e3`

        error[missing-argument]: `typed` needs `N`, which is not given
         --> .cycod/tools/wrong.yaml:7:15
          |
        7 |     use-tool: typed
          |               ^^^^^
          |
          = help: give `N` in `with`

        error[wrong-argument-type]: `N` of `typed`: expected a number, found `many`
         --> .cycod/tools/alias.yaml:4:22
          |
        4 | default-parameters: {N: many}
          |                      ^
          |
          = help: write it as in JSON: `42`, `-0.5`, `1e3`

        error[ignored-by-alias]: `typed` has a parameter `M`, which an alias cannot replace
         --> .cycod/tools/alias.yaml:5:14
          |
        5 | parameters: {M: {description: mine}}
          |              ^
          |
          = help: give its default in `default-parameters`, or call yours something else than `M`

        2 tools: 4 errors; 2 tools cannot be used
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "validate", "wrong", "alias"]).block());
    expect![[r#"
        exit: 1
        --- stdout
        error[wrong-argument-type]: `N` of `typed`: expected a number, found `many`
         --> .cycod/tools/wrong.yaml:5:12
          |
        5 |     with: {n: many}
          |            ^
          |
          = help: write it as in JSON: `42`, `-0.5`, `1e3`

        error[missing-argument]: `typed` needs `N`, which is not given
         --> .cycod/tools/wrong.yaml:7:15
          |
        7 |     use-tool: typed
          |               ^^^^^
          |
          = help: give `N` in `with`

        wrong: 2 errors
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "validate", "wrong"]).block());
    expect![[r#"
        exit: 1
        --- stdout
        error[wrong-argument-type]: `N` of `typed`: expected a number, found `many`
         --> .cycod/tools/alias.yaml:4:22
          |
        4 | default-parameters: {N: many}
          |                      ^
          |
          = help: write it as in JSON: `42`, `-0.5`, `1e3`

        error[ignored-by-alias]: `typed` has a parameter `M`, which an alias cannot replace
         --> .cycod/tools/alias.yaml:5:14
          |
        5 | parameters: {M: {description: mine}}
          |              ^
          |
          = help: give its default in `default-parameters`, or call yours something else than `M`

        alias: 2 errors
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "validate", "alias"]).block());
    expect![[r#"
        exit: 0
        --- stdout
        NAME   SCOPE  LEVEL  DESCRIPTION
        alias  local  run    unavailable: `typed` has a parameter `M`, which an alias cannot replace - X
        typed  local  run    X
        wrong  local  run    unavailable: step `a`: `N` of `typed`: expected a number, found `many` - X
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "list"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error[wrong-argument-type]: `wrong`, step `a`: `N` of `typed`: expected a number, found `many`
          try: cycod validate wrong
          more: cycod explain wrong-argument-type
    "#]]
    .assert_eq(&place.run(&["tool", "run", "wrong"]).block());
    let listed: serde_json::Value =
        serde_json::from_str(&place.run(&["tool", "list", "--format", "json"]).stdout()).expect("JSON");
    let of =
        |name: &str| listed.as_array().expect("a list").iter().find(|one| one["name"] == name).expect("listed").clone();
    assert_eq!((&of("wrong")["available"], &of("typed")["available"]), (&false.into(), &true.into()));
}

#[test]
fn other_tools_are_looked_at() {
    let place = Place::with_tool("good", GOOD);
    place.tool("gone", "description: X\nuse-tool: goood\n");
    place.tool("wrong", "description: X\nsteps:\n  - name: a\n    use-tool: good\n    with: {X: 1}\n  - name: b\n    use-tool: good\n    with: {Zebra: 1}\n");
    place.tool("one", "description: X\nuse-tool: two\n");
    place.tool("two", "description: X\nuse-tool: one\n");
    place.tool("alias", "description: X\ntype: alias\nbase-tool: good\ndefault-parameters: {Y: 1}\n");
    for (name, expect) in [
        (
            "gone",
            expect![[r#"
            exit: 0
            --- stdout
            warning[unknown-tool]: no tool is called `goood`
             --> .cycod/tools/gone.yaml:2:11
              |
            2 | use-tool: goood
              |           ^^^^^ running it fails until there is one
              |
              = help: did you mean `good`?

            gone: 1 warning
            --- stderr
        "#]],
        ),
        (
            "wrong",
            expect![[r#"
                exit: 1
                --- stdout
                error[unknown-argument]: `good` takes no `Zebra`
                 --> .cycod/tools/wrong.yaml:8:12
                  |
                8 |     with: {Zebra: 1}
                  |            ^^^^^
                  |
                  = help: `good` takes `X`

                wrong: 1 error
                --- stderr
            "#]],
        ),
        (
            "one",
            expect![[r#"
            exit: 1
            --- stdout
            error[tool-cycle]: a tool may not use itself: `one` → `two` → `one`
             --> .cycod/tools/one.yaml:2:11
              |
            2 | use-tool: two
              |           ^^^

            one: 1 error
            --- stderr
        "#]],
        ),
        (
            "alias",
            expect![[r#"
            exit: 1
            --- stdout
            error[unknown-argument]: `good` takes no `Y`
             --> .cycod/tools/alias.yaml:4:22
              |
            4 | default-parameters: {Y: 1}
              |                      ^
              |
              = help: did you mean `X`?

            alias: 1 error
            --- stderr
        "#]],
        ),
    ] {
        check(&place, &[name], expect);
    }
}

#[test]
fn what_this_machine_cannot_give() {
    let place = Place::with_tool("x", "description: X\nbash: ls\nrequires: {commands: [no-such-program]}\n");
    check(
        &place,
        &["x"],
        expect![[r#"
        exit: 0
        --- stdout
        note: `x` cannot run here: requires `no-such-program`, which is not on the PATH
        x: no problems
        --- stderr
    "#]],
    );
}

#[test]
fn for_programs() {
    let place = Place::with_tool(
        "x",
        "description: X\nbash: echo {A}\ntimout: 5\nparameters:\n  A: {type: string, description: a}\n",
    );
    check(
        &place,
        &["x", "--format", "json", "--detailed"],
        expect![[r#"
            exit: 0
            --- stdout
            {
              "valid": true,
              "errors": 0,
              "warnings": 1,
              "hints": 0,
              "tools": [
                {
                  "name": "x",
                  "file": ".cycod/tools/x.yaml",
                  "valid": true,
                  "diagnostics": [
                    {
                      "code": "unknown-key",
                      "severity": "warning",
                      "message": "a tool has no key `timout`",
                      "file": ".cycod/tools/x.yaml",
                      "line": 3,
                      "column": 1,
                      "end-line": 3,
                      "end-column": 7,
                      "labels": [
                        {
                          "line": 3,
                          "column": 1,
                          "end-line": 3,
                          "end-column": 7,
                          "text": "ignored"
                        }
                      ],
                      "notes": [],
                      "help": "did you mean `timeout`?",
                      "fix": {
                        "title": "write `timeout`",
                        "edits": [
                          {
                            "start": 30,
                            "end": 36,
                            "replacement": "timeout"
                          }
                        ]
                      }
                    }
                  ],
                  "unavailable-reasons": [],
                  "fixed": [],
                  "placeholders": [
                    {
                      "line": 2,
                      "column": 12,
                      "placeholder": "{A}",
                      "verdict": "data",
                      "reason": "`echo` takes it as text",
                      "guards": []
                    }
                  ],
                  "parameters": 1,
                  "steps": 0,
                  "tests": 0
                }
              ],
              "programs-files": []
            }
            --- stderr
        "#]],
    );
    check(
        &place,
        &["x", "--format", "json", "--fix"],
        expect![[r#"
            exit: 0
            --- stdout
            {
              "valid": true,
              "errors": 0,
              "warnings": 0,
              "hints": 0,
              "tools": [
                {
                  "name": "x",
                  "file": ".cycod/tools/x.yaml",
                  "valid": true,
                  "diagnostics": [],
                  "unavailable-reasons": [],
                  "fixed": [
                    "line 3: write `timeout`"
                  ]
                }
              ],
              "programs-files": []
            }
            --- stderr
        "#]],
    );
}

#[test]
fn two_files_with_one_name() {
    let place = Place::with_tool("a", "name: same\ndescription: A\nbash: ls\n");
    place.tool("b", "name: same\ndescription: B\nbash: ls\n");
    check(
        &place,
        &["same"],
        expect![[r#"
        exit: 1
        --- stdout
        warning[name-mismatch]: the tool is called `same`, its file `a`
         --> .cycod/tools/a.yaml:1:7
          |
        1 | name: same
          |       ^^^^ this name is used
          |
          = help: rename the file to `same.yaml`

        error[duplicate-name]: the name `same` is used twice in the local scope
         --> .cycod/tools/a.yaml:1:7
          |
        1 | name: same
          |       ^^^^
          |
          = note: `[PLACE]/project/.cycod/tools/b.yaml` has it too
          = help: rename one of the tools, or remove one of the files

        same: 1 error, 1 warning
        --- stderr
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn what_is_no_text() {
    let place = Place::new();
    std::fs::write(place.project().join("bytes.yaml"), b"description: \xff\n").expect("the file");
    check(
        &place,
        &["./bytes.yaml", "./.."],
        expect![[r#"
        exit: 1
        --- stdout
        error[not-utf8]: the file is not UTF-8: byte 13 belongs to no character
        --> bytes.yaml

        error[not-a-file]: this is not a file
        --> ..

        2 tools: 2 errors; 2 tools cannot be used
        --- stderr
    "#]],
    );
}

#[test]
fn mistakes() {
    let place = Place::with_tool("good", GOOD);
    check(
        &place,
        &["goood"],
        expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[unknown-tool]: no tool is called `goood`
          did you mean `good`?
          more: cycod explain unknown-tool
    "#]],
    );
    check(
        &place,
        &["./none.yaml"],
        expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: there is no file `./none.yaml`
    "#]],
    );
}

#[test]
fn the_name_of_a_built_in_tool_cannot_be_taken() {
    let place = Place::new();
    place.write(".cycod/tools/read_file.md", "---\ndescription: Mine\n---\n\n```r\nfunction() 'mine'\n```\n");
    let ran = place.run(&["tool", "validate", "read_file"]);
    assert_eq!(ran.code(), 1, "{}", ran.block());
    assert!(
        ran.stderr().contains("error[reserved-name]") || ran.stdout().contains("error[reserved-name]"),
        "{}",
        ran.block()
    );
    // The name still leads to the tool that has it.
    place.write("note", "hello\n");
    assert_eq!(place.run(&["tool", "run", "read_file", "filepath=note"]).stdout(), "hello\n");
}

#[test]
fn what_is_given_to_a_tool_of_commands_is_a_command() {
    for (command, expect) in [
        ("echo {X}", None),
        ("cat -- {X} | wc -l", None),
        ("{X}", Some("error[value-chooses-program]")),
        ("bash -c 'echo {X}'", Some("error[value-in-code]")),
        ("eval echo {X}", Some("error[evaluated-again]")),
        ("no-such-program {X}", Some("error[unknown-program]")),
    ] {
        let quoted = serde_json::Value::from(command).to_string();
        let steps = format!("steps:\n- {{name: a, use-tool: bash_execution, with: {{command: {quoted}}}}}\n");
        let uses = format!("use-tool: bash_execution\nwith: {{command: {quoted}}}\n");
        for body in [steps, uses] {
            let tool =
                format!("description: d\ntags: [run]\n{body}parameters: {{X: {{description: x, required: true}}}}\n");
            let place = Place::with_tool("t", &tool);
            let ran = place.run(&["tool", "validate", "t"]);
            match expect {
                Some(code) => assert!(ran.code() == 1 && ran.stdout().contains(code), "{command}\n{}", ran.block()),
                None => assert!(ran.code() == 0 && !ran.stdout().contains("error"), "{command}\n{}", ran.block()),
            }
        }
    }
}

/// Each fix has to help by itself, also beside others that do.
#[test]
fn a_fix_that_does_not_help_is_not_applied() {
    let text = "description: A test\nbash: echo {X}\nstep: echo a\nparameters:\n  X: {type: 'string[]', description: Any, required: true}\n";
    let place = Place::with_tool("x", text);
    let ran = place.run(&["tool", "validate", "x", "--fix"]);
    let (now, shown) = (place.read(".cycod/tools/x.yaml"), ran.block());
    assert!(now.contains("type: 'array'"), "{now}\n{shown}");
    assert!(now.contains("\nstep: echo a"), "`steps` would take a list: {now}\n{shown}");
    assert!(shown.contains("line 5: write `array`") && !shown.contains("line 3:"), "{shown}");
}

#[test]
fn what_a_shell_cannot_read_is_found() {
    let place = Place::new();
    let wrong = "description: d\ntags: [read]\nsteps:\n  - name: a\n    bash: |\n      if true; then\n        echo {X}\n      done\n  - name: b\n    bash: echo {X} (\nparameters: {X: {type: number, description: x}}\n";
    place.tool("wrong", wrong);
    let ran = place.run(&["tool", "validate", "wrong"]);
    assert_eq!(ran.code(), 1, "{}", ran.block());
    for part in [
        "error[script-syntax]: `bash` cannot read the command: syntax error near unexpected token `done`",
        " --> .cycod/tools/wrong.yaml:8:7\n",
        " --> .cycod/tools/wrong.yaml:10:11\n",
    ] {
        assert!(ran.stdout().contains(part), "{part:?} is not in {}", ran.block());
    }
    let right = "description: d\ntags: [read]\nparameters: {X: {type: number, description: x}, L: {type: array, description: l}}\nbash: |\n  shopt -s extglob\n  case {X} in\n    +([0-9])) echo \"$(( {X} + 1 ))\" ;;\n  esac\n  for one in {L}; do echo \"$one\"; done\n  cat <<EOF\n  {X}\n  EOF\n  EOF\n";
    place.tool("right", &right.replace("  EOF\n  EOF\n", "  EOF\n"));
    let ran = place.run(&["tool", "validate", "right"]);
    assert!(!ran.stdout().contains("script-syntax"), "{}", ran.block());
    place.tool("open", "description: d\ntags: [read]\nscript: \"echo 'a\"\nshell: sh\n");
    let ran = place.run(&["tool", "validate", "open"]);
    assert!(ran.stdout().contains("error[script-syntax]: `sh` cannot read the command: "), "{}", ran.block());
    place.tool("raw", "description: d\ntags: [run]\nbash: \"if true; then {RAW:X}\"\nparameters: {X: {type: string, description: x}}\n");
    assert!(!place.run(&["tool", "validate", "raw"]).stdout().contains("script-syntax"));
}

/// One end of options goes before the first operand. Where it can't go there, the file stays as it is.
#[test]
fn a_fix_leaves_a_command_what_it_was() {
    let commands = [
        ("mv {A} {B}", "mv -- {A} {B}"),
        ("cp -r src {A}", "cp -r -- src {A}"),
        ("grep -n -m 5 {A} {B}", "grep -n -m 5 -- {A} {B}"),
        ("scp -r \"{A}\" {B}:{C}", "scp -r -- \"{A}\" {B}:{C}"),
        ("git diff {A} {B}", "git diff --end-of-options {A} {B}"),
        ("git checkout {A}", "git checkout --end-of-options {A}"),
        ("ls \"dir/{A}\" {B}", "ls \"dir/{A}\" {B}"),
        ("grep {A} -r src", "grep {A} -r src"),
        ("createdb -O {A} app", "createdb -O {A} app"),
        ("git log --since {A}", "git log --since {A}"),
        ("grep $opts {A}", "grep $opts {A}"),
        ("aws logs tail group --since {A}", "aws logs tail group --since {A}"),
        ("a={A}; ls \"$a\"", "a={A}; ls \"$a\""),
        ("sudo grep {A} file", "sudo grep {A} file"),
        ("gem list --local {A}", "gem list --local {A}"),
        ("Rscript -e 'commandArgs(TRUE)' {A}", "Rscript -e 'commandArgs(TRUE)' {A}"),
        ("git bisect start {A} {B}", "git bisect start {A} {B}"),
        ("tox -- {A}", "tox -- {A}"),
    ];
    let place = Place::new();
    for (index, (command, _)) in commands.iter().enumerate() {
        let used = ["A", "B", "C"].into_iter().filter(|name| command.contains(&format!("{{{name}}}")));
        let parameters: Vec<String> = used.map(|name| format!("{name}: {{type: string, description: d}}")).collect();
        let parameters = parameters.join(", ");
        place.tool(
            &format!("t{index:02}"),
            &format!("description: d\nbash: |\n  {command}\nparameters: {{{parameters}}}\ntags: [read]\n"),
        );
    }
    let ran = place.run(&["tool", "validate", "--fix"]);
    for (index, (_, fixed)) in commands.iter().enumerate() {
        let now = place.read(&format!(".cycod/tools/t{index:02}.yaml"));
        assert_eq!(now.lines().nth(2), Some(&*format!("  {fixed}")), "{}", ran.block());
    }
}

/// A number in base 36 spells a word.
#[test]
fn what_a_script_makes_of_a_number_is_text() {
    let tool = |transform: &str| {
        format!(
            "description: d\nbash: sh -c '{{X}} a'\nparameters:\n  X: {{type: integer, description: d{transform}}}\ntags: [read]\n"
        )
    };
    let place = Place::with_tool("spells", &tool(", transform: \"value.toString(36)\""));
    place.tool("counts", &tool(""));
    assert_eq!(place.run(&["tool", "validate", "counts"]).code(), 0);
    let ran = place.run(&["tool", "validate", "spells"]);
    assert!(ran.code() == 1 && ran.stdout().contains("error[value-in-code]"), "{}", ran.block());
}
