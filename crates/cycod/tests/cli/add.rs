use std::process::Stdio;

use expect_test::{Expect, expect};

use crate::support::Place;

/// Runs a script, and shows how it ended with what is in the tools directory then.
#[track_caller]
fn check(place: &Place, script: &str, expect: &Expect) {
    let ran = place.shell(script);
    expect.assert_eq(&format!("{}--- tools\n{}", ran.block(), tools(place)));
}

/// The text of every local tool.
fn tools(place: &Place) -> String {
    let directory = place.project().join(".cycod/tools");
    let names = std::fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name != ".lock").collect();
    names.sort();
    names.iter().map(|name| format!("{name}:\n{}", place.read(&format!(".cycod/tools/{name}")))).collect()
}

#[test]
fn the_example_of_the_specification() {
    check(
        &Place::new(),
        r#"cycod tool add weather-lookup \
  --description "Get weather for a location" \
  --bash "curl -s 'wttr.in/{LOCATION}?format={FORMAT}'" \
  --parameter LOCATION "City or airport code" required=true example=London \
  --parameter FORMAT "Output format" default=3 \
  --tag weather --tag api --tag read \
  --timeout 10000
cycod run weather-lookup --param 'LOCATION=New York' --show-command"#,
        &expect![[r#"
            exit: 0
            --- stdout
            curl -s 'wttr.in/New York?format=3'
            --- stderr
            Added local tool `weather-lookup`: .cycod/tools/weather-lookup.yaml
              run it: cycod run weather-lookup LOCATION=London
            --- tools
            weather-lookup.yaml:
            name: weather-lookup
            description: Get weather for a location
            bash: curl -s 'wttr.in/{LOCATION}?format={FORMAT}'

            parameters:
              LOCATION:
                type: string
                description: City or airport code
                required: true
                examples: [London]
              FORMAT:
                type: string
                description: Output format
                default: "3"

            tags: [weather, api, read]
            timeout: 10000
        "#]],
    );
}

#[test]
fn an_example_with_steps_and_a_test_of_its_own() {
    check(
        &Place::new(),
        r#"cycod tool add count --description "Count words" --tag read \
  --step split "tr ' ' '\n' <<< {TEXT}" --retry-attempts 1 --retry-delay 10 \
  --step count "wc -l <<< '{split.output}'" --run-condition "{split.exit-code} == 0" \
  --parameter TEXT "The words" required=true example="-n a b" escape-shell=true \
  --test dashes "A value is data" --test-param TEXT="-n a b" --expect-output 3 --expect-exit-code 0 &&
cycod test count | sed 's/[0-9]* ms/N ms/'"#,
        &expect![[r#"
            exit: 0
            --- stdout
            count
              ✓ dashes  N ms

            1 passed  N ms
            --- stderr
            Added local tool `count`: .cycod/tools/count.yaml
              run it: cycod run count TEXT='-n a b'
            --- tools
            count.yaml:
            name: count
            description: Count words

            steps:
              - name: split
                bash: tr ' ' '\n' <<< {TEXT}
                error-handling:
                  retry:
                    attempts: 1
                    delay: 10
              - name: count
                bash: wc -l <<< '{split.output}'
                run-condition: "{split.exit-code} == 0"

            parameters:
              TEXT:
                type: string
                description: The words
                required: true
                examples: ["-n a b"]
                security:
                  escape-shell: true

            tags: [read]

            tests:
              - name: dashes
                description: A value is data
                parameters:
                  TEXT: "-n a b"
                expected:
                  exit-code: 0
                  output-contains: "3"
        "#]],
    );
}

#[test]
fn nothing_is_replaced_unasked() {
    check(
        &Place::with_tool("t", "description: old\nbash: echo old\n"),
        "cycod tool add t --description new --bash 'echo new'; echo $?
cycod tool add T --description new --bash 'echo new' --user; echo $?
cycod tool add t --description new --bash 'echo new' --override; echo $?",
        &expect![[r#"
            exit: 0
            --- stdout
            1
            0
            0
            --- stderr
            error: tool `t` is already there: .cycod/tools/t.yaml
              give --override to replace it
            Added user tool `T`: ~/.cycod/tools/T.yaml
              the local tool of this name comes before it: .cycod/tools/t.yaml
              run it: cycod run T
            Replaced local tool `t`: .cycod/tools/t.yaml
              it comes before the user tool of this name: ~/.cycod/tools/T.yaml
              run it: cycod run t
            --- tools
            t.yaml:
            name: t
            description: new
            bash: echo new
        "#]],
    );
}

#[test]
fn a_tool_that_is_wrong_is_not_added() {
    check(
        &Place::new(),
        "cycod tool add bad --description x --bash 'echo {N}' --timeout soon --parameter N count type=numbr",
        &expect![[r#"
            exit: 1
            --- stdout
            --- stderr
            error[unknown-choice]: `type` cannot be `numbr`
             --> bad.yaml (as written from the options):7:11
              |
            7 |     type: numbr
              |           ^^^^^
              |
              = note: it is `string`, `number`, `integer`, `boolean`, `array`, `object`, `any`, `numeric`, `double`, `character`, `logical`, `list`, `bool` or `int`
              = help: did you mean `number`?

            error[wrong-type]: `timeout` takes milliseconds, at least 1
              --> bad.yaml (as written from the options):10:10
               |
            10 | timeout: soon
               |          ^^^^

            error: tool `bad` was not added: 2 errors
            --- tools
        "#]],
    );
    check(
        &Place::new(),
        "cycod tool add 'a/b' --description x --bash ls; echo $?
cycod tool add --description x --bash ls; echo $?
cycod tool add x --bash ls; echo $?
cycod tool add x --description y; echo $?
cycod tool add x --description y --bash a --run b; echo $?
cycod tool add x --step a b --parameter P d --fallback c; echo $?
cycod tool add x --any --description y --bash a; echo $?
cycod tool add x --from-file y --bash z; echo $?",
        &expect![[r#"
            exit: 0
            --- stdout
            2
            2
            2
            2
            2
            2
            2
            2
            --- stderr
            error: `a/b` cannot name a tool
              names start with a letter or digit and hold letters, digits, `_`, `.` and `-`, at most 64
            error: the tool's name is missing
              cycod tool add TOOL_NAME --description "DESC" --bash "COMMAND"
            error: a tool needs a description
              --description "what it is for": people and models choose by it
            error: no option defines what the tool does
              give one of --bash, --cmd, --pwsh, --run, --script, --command-default, --step
              or --from-file PATH, or --editor
            error: a tool does one thing: give only one of --bash, --run
            error: `--fallback` belongs to a step, but stands behind `--parameter P`
              put it behind the --step it is about
            error: a tool is added to one scope
              give --local, --user or --global
            error: --from-file and options that define the tool exclude each other
              the file is the whole definition
            --- tools
        "#]],
    );
}

#[test]
fn help_is_its_page() {
    let place = Place::new();
    let (short, page) = (place.run(&["tool", "add", "x", "-h"]), place.run(&["help", "tool", "add"]));
    assert_eq!((short.code(), short.stdout()), (0, page.stdout()));
    assert!(short.stdout().starts_with("CYCOD TOOL ADD\n"), "{}", short.block());
}

#[test]
fn from_a_file() {
    let place = Place::new();
    place.write("mine.yaml", "# kept\nname: greet   # as it is\ndescription: Greet\nbash: echo hi\n");
    place.write("nameless.yaml", "description: Greet\nbash: echo hi\n");
    check(
        &place,
        "cycod tool add --from-file mine.yaml; cycod tool add --from-file nameless.yaml; cycod tool add other --from-file nameless.yaml
cycod tool add --from-file gone.yaml",
        &expect![[r#"
            exit: 1
            --- stdout
            --- stderr
            Added local tool `greet`: .cycod/tools/greet.yaml
              run it: cycod run greet
            Added local tool `nameless`: .cycod/tools/nameless.yaml
              run it: cycod run nameless
            Added local tool `other`: .cycod/tools/other.yaml
              run it: cycod run other
            error: cannot read `gone.yaml`: No such file or directory (os error 2)
            --- tools
            greet.yaml:
            # kept
            name: greet   # as it is
            description: Greet
            bash: echo hi
            nameless.yaml:
            description: Greet
            bash: echo hi
            other.yaml:
            description: Greet
            bash: echo hi
        "#]],
    );
}

#[test]
fn from_a_file_under_another_name() {
    let place = Place::new();
    place.write("mine.yaml", "# kept\nname: greet   # as it is\ndescription: Greet\nbash: echo hi\n");
    check(
        &place,
        "cycod tool add other --from-file mine.yaml",
        &expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        `greet` is called `other` here.
        Added local tool `other`: .cycod/tools/other.yaml
          run it: cycod run other
        --- tools
        other.yaml:
        # kept
        name: other   # as it is
        description: Greet
        bash: echo hi
    "#]],
    );
}

#[test]
fn eight_at_once() {
    let place = Place::new();
    let start = |name: &str, text: &str| {
        let mut command = place.command(&["tool", "add", name, "--description", text, "--bash", "true"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    // Of eight that want one name exactly one gets it, and what is there is what that one wrote.
    let children: Vec<_> = (0..8).map(|index| start("same", &format!("number {index}"))).collect();
    let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect();
    let winners: Vec<usize> =
        outputs.iter().enumerate().filter(|(_, output)| output.status.success()).map(|(index, _)| index).collect();
    let [winner] = winners.as_slice() else { panic!("{winners:?} {outputs:?}") };
    assert_eq!(
        place.read(".cycod/tools/same.yaml"),
        format!("name: same\ndescription: number {winner}\nbash: \"true\"\n")
    );
    for output in outputs.iter().filter(|output| !output.status.success()) {
        assert!(String::from_utf8_lossy(&output.stderr).contains("is already there"), "{output:?}");
    }
    // Of eight that want eight names all get theirs.
    let children: Vec<_> = (0..8).map(|index| start(&format!("own-{index}"), "x")).collect();
    assert!(children.into_iter().all(|mut child| child.wait().expect("it ends").success()));
    let names = std::fs::read_dir(place.project().join(".cycod/tools")).expect("it is there").flatten();
    let mut names: Vec<_> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name != ".lock").collect();
    names.sort();
    let expected: Vec<String> =
        (0..8).map(|index| format!("own-{index}.yaml")).chain(["same.yaml".to_owned()]).collect();
    assert_eq!(names, expected, "and nothing else is left");
}

#[test]
fn in_an_editor() {
    let place = Place::new();
    place.write("good", "#!/bin/sh\nsed -i 's/world/moon/' \"$1\"\n");
    check(
        &place,
        "export EDITOR='sh good'
cycod tool add greet --editor && cycod run greet
cycod tool add greet --editor
EDITOR=true cycod tool add other --editor
EDITOR='sed -i s/x/y/' cycod tool add prefilled --editor --description x --bash 'echo x'
EDITOR=false cycod tool add other --editor
EDITOR=no-such-editor cycod tool add other --editor
EDITOR= cycod tool add other --editor
rm .cycod/tools/greet.yaml",
        &expect![[r#"
            exit: 0
            --- stdout
            Hello, moon!
            --- stderr
            Added local tool `greet`: .cycod/tools/greet.yaml
              run it: cycod run greet
            error: tool `greet` is already there: .cycod/tools/greet.yaml
              change it: cycod tool edit greet
              or give --override to replace it
            error: the text was left as it was: no tool `other` was added
            Added local tool `prefilled`: .cycod/tools/prefilled.yaml
              run it: cycod run prefilled
            error: the editor `/usr/bin/false` failed: exit status: 1
            error: cannot find program `no-such-editor` in the search path
              give --editor, or set VISUAL or EDITOR
            error: no editor is known, and there is no terminal for `vi`
              give --editor, or set VISUAL or EDITOR
            --- tools
            prefilled.yaml:
            name: prefilled
            description: y
            bash: echo y
        "#]],
    );
}

/// A description is asked for where somebody can answer.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_description_is_asked_for() {
    let place = Place::new();
    let ran = place.shell(
        "echo 'Say hello' | script -qec \"cycod tool add hi --bash 'echo hello'\" /dev/null; cat .cycod/tools/hi.yaml",
    );
    let (asked, file) = ran
        .stdout()
        .split_once("name: hi")
        .map(|(asked, file)| (asked.to_owned(), file.to_owned()))
        .unwrap_or_else(|| panic!("{}", ran.block()));
    assert!(asked.contains("What is the tool for? "), "{asked}");
    assert_eq!(file, "\ndescription: Say hello\nbash: echo hello\n");
}
