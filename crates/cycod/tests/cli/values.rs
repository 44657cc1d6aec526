//! Values are data on every surface: by hand, by a model, over MCP, and in what people are shown before.

use std::{fmt::Write as _, io::Write as _, process::Stdio};

use expect_test::expect_file;
use serde_json::{Value, json};

use crate::{serve::Client, support::Place};

/// The body of a tool of level read, and a value that would make the file `PWNED` if anything read more than text in it.
const ATTACKS: &[(&str, &str)] = &[
    // One value becomes many words.
    ("bash: find {X} -name '*.md'", ". -maxdepth 0 -exec touch PWNED ;"),
    ("run: tar -tf {X}", "x --checkpoint=1 --checkpoint-action=exec=touch PWNED"),
    ("run: tar -cf /dev/null . {X}", "--checkpoint=1 --checkpoint-action=exec=touch${IFS}PWNED"),
    ("bash: printf {X}", "-v a[$(touch PWNED)] x"),
    ("bash: \"[ {X} ]\"", "-v a[$(touch PWNED)]"),
    ("bash: timeout {X} ls", "5 touch PWNED"),
    // One word is an option.
    ("bash: git log \"{X}\"", "--output=PWNED"),
    ("bash: git ls-remote {X}", "--upload-pack=touch PWNED;"),
    ("bash: ssh {X} uptime", "-oProxyCommand=touch PWNED"),
    ("bash: make {X}", "--eval=$(shell touch PWNED)"),
    ("bash: python3 {X}", "-cimport os; os.system('touch PWNED')"),
    ("bash: vim -es \"{X}\" </dev/null", "+!touch PWNED"),
    ("bash: curl -s \"{X}\" http://127.0.0.1:9", "-oPWNED"),
    ("bash: sort \"{X}\" /dev/null", "-oPWNED"),
    ("bash: rsync -a \"{X}\" h:/x", "-etouch PWNED;"),
    // Interpreters behind options, clusters and wrappers.
    ("bash: bash -euo pipefail -c \"echo {X}\"", "; touch PWNED"),
    ("bash: echo a | xargs -rI % sh -c \"echo {X}\"", "; touch PWNED"),
    ("bash: find . -maxdepth 0 -exec true ';' -exec sh -c \"echo {X}\" ';'", "; touch PWNED"),
    ("bash: echo a | perl -ne'print if /{X}/'", "/;system+q,touch PWNED,;/"),
    ("bash: sed /etc/hostname -e \"s/a/{X}/\"", "b/;w PWNED\ns/x/"),
    ("bash: uv run python3 -c \"print('{X}')\"", "');import os;os.system('touch PWNED');('"),
    ("bash: script -qc \"echo {X}\" /dev/null", "; touch PWNED"),
    ("bash: $SHELL -c \"echo {X}\"", "; touch PWNED"),
    ("bash: env A=1 timeout 5 nice -n 1 sh -ec \"echo {X}\"", "; touch PWNED"),
    ("bash: awk \"/{X}/\" /etc/hostname", "/{system(\"touch PWNED\")}/"),
    ("bash: jq -n \"{X}\"", "$__prog_args | input_line_number"),
    ("run: sqlite3 x.db \"select '{X}'\"", "';\n.shell touch PWNED\n"),
    // Other ways in.
    ("run: sqlite3\ninput: \"select '{X}';\"", "';\n.shell touch PWNED\nselect '"),
    ("bash: eval \"$CMD\"\nenvironment: {variables: {CMD: \"echo {X}\"}}", "; touch PWNED"),
    ("bash: bash -c true\nenvironment: {variables: {BASH_ENV: \"{X}\"}}", "$(touch PWNED)"),
    ("steps:\n  - name: a\n    use-tool: bash_execution\n    with: {command: \"echo {X}\"}", "; touch PWNED"),
    ("steps:\n  - name: a\n    use-tool: bash_execution\n    with: {COMMAND: \"echo {X}\"}", "; touch PWNED"),
    (
        "steps:\n  - name: a\n    bash: printf '%s' {X}\n  - name: b\n    bash: sh -c \"echo {a.output}\"",
        "; touch PWNED",
    ),
    ("bash: |\n  cat > f.sh <<'END'\n  echo {X}\n  END\n  bash f.sh", "$(touch PWNED)"),
    ("bash: |\n  echo \"{X}\" > f\n  cat f | sh", "touch PWNED"),
    // Arithmetic and names.
    ("bash: t=1; for n in {X}; do t=$((t+n)); done", "a[$(touch PWNED)]"),
    ("bash: \"f() { echo $(($1*2)); }; f \\\"{X}\\\"\"", "a[$(touch PWNED)]"),
    ("bash: \"let t={X}\"", "a[$(touch PWNED)]"),
    ("bash: \"n={X}; echo ${!n}\"", "a[$(touch PWNED)]"),
    ("bash: \"n={X}; [[ -v $n ]]\"", "a[$(touch PWNED)]"),
    ("bash: \"read {X} <<< 1\"", "a[$(touch PWNED)]"),
    ("bash: \"n={X}; printf -v \\\"$n\\\" x\"", "a[$(touch PWNED)]"),
    ("script: \"my $n = {X};\"\nshell: perl", "system+q,touch PWNED,"),
    ("python: \"print({X})\"", "__import__('os').system('touch PWNED')"),
    // What people write every day takes any of these values as text.
    ("bash: echo \"Hello {X}\"", "$(touch PWNED)"),
    ("bash: cat -- {X} || true", "; touch PWNED"),
    ("bash: grep -- {X} /etc/hostname || true", "$(touch PWNED)"),
    ("bash: jq -n --arg v \"{X}\" '$v'", "; touch PWNED"),
    ("bash: |\n  v=\"{X}\"\n  for i in 1 2; do printf '%s\\n' \"$v\"; done", "`touch PWNED`"),
    ("run: echo {X}", "; touch PWNED"),
];

fn tool(body: &str) -> String {
    format!(
        "description: A test\n{body}\ntags: [read]\nparameters:\n  X: {{type: string, description: Any, required: true}}\n"
    )
}

/// Whether the canary is there; it is taken away.
fn has_acted(place: &Place) -> bool {
    std::fs::remove_file(place.project().join("PWNED")).is_ok()
}

/// How a model's call with `tool call` ends.
fn called(place: &Place, name: &str, value: &str) -> String {
    let arguments = json!({"X": value}).to_string();
    let call = json!({"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}});
    let mut command = place.command(&["tool", "call", "--from", "openai"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let message = json!({"role": "assistant", "tool_calls": [call]}).to_string();
    let _ = child.stdin.take().expect("a pipe").write_all(message.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first error code that a text names.
fn code_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("error[")?;
    rest.split_once(']').map(|(code, _)| code.to_owned())
}

#[test]
fn no_value_acts_on_any_surface() {
    let place = Place::new();
    for (number, (body, _)) in ATTACKS.iter().enumerate() {
        place.tool(&format!("t{number}"), &tool(body));
    }
    let mut server = Client::legacy(&place, &[], json!({}));
    let listed = server.ask("tools/list", json!({}))["result"]["tools"].take();
    let is_offered = |name: &str| listed.as_array().expect("a list").iter().any(|tool| tool["name"] == name);
    let mut table = String::new();
    for (number, (body, value)) in ATTACKS.iter().enumerate() {
        let name = format!("t{number}");
        let checked = place.run(&["tool", "validate", &name]);
        let by_hand = place.run(&["tool", "run", &name, &format!("X={value}")]);
        assert!(!has_acted(&place), "by hand: {body}");
        let by_model = called(&place, &name, value);
        assert!(!has_acted(&place), "by a model: {body}");
        let over_mcp: Value = server.call(&name, json!({"X": value}));
        assert!(!has_acted(&place), "over MCP: {body}");

        let is_refused = checked.code() != 0;
        assert_eq!(is_offered(&name), !is_refused, "{body}: what cannot be used is not offered");
        let ran = match code_in(&by_hand.stderr()) {
            Some(code) => {
                assert!(by_model.contains(&code) || is_refused, "{body}: by hand {code}, by a model {by_model}");
                assert!(over_mcp["isError"] != false, "{body}: by hand {code}, over MCP {over_mcp}");
                code
            }
            None => format!("ran, exit {}", by_hand.code()),
        };
        let verdict = code_in(&checked.stdout()).or_else(|| code_in(&checked.stderr()));
        let verdict = verdict.unwrap_or_else(|| "usable".to_owned());
        let _ = writeln!(table, "{}\n    X={value:?}\n    {verdict}; {ran}", body.replace('\n', "\n  "));
    }
    expect_file!["../values.txt"].assert_eq(&table);
}

/// What is shown before a call is what decides about it: one verdict for each place, in the same words everywhere.
#[test]
fn every_surface_shows_the_same_verdicts() {
    let place = Place::new();
    let stranger = Place::cloned();
    for (number, (body, value)) in ATTACKS.iter().enumerate() {
        let name = format!("t{number}");
        place.tool(&name, &tool(body));
        stranger.tool(&name, &tool(body));
        let checked = place.run(&["tool", "validate", &name, "--detailed"]);
        let detailed = checked.stdout();
        let verdicts = detailed.lines().filter_map(|line| line.split_once("{X}  ").map(|(_, verdict)| verdict.trim()));
        let verdicts: Vec<&str> = verdicts.collect();
        let info = place.run(&["tool", "info", &name]);
        let (info, broken) = (info.stdout(), info.stderr());
        if checked.code() != 0 {
            // It cannot be used, and each surface says so.
            assert!((info + &broken).contains("broken: line"), "{body}: info does not say that it is broken");
            for arguments in [
                &["tool", "run", &name, "X=a", "--dry-run"][..],
                &["tool", "run", &name, "X=a"],
                &["tool", "trust", &name],
            ] {
                assert!(place.run(arguments).stderr().contains("broken-tool"), "{arguments:?}: {body}");
            }
            continue;
        }
        let dry = place.run(&["tool", "run", &name, "X=a", "--dry-run"]).stdout();
        let trust = stranger.run(&["tool", "trust", &name]);
        let trust = trust.stdout() + &trust.stderr();
        for verdict in &verdicts {
            for (surface, text) in [("info", &info), ("dry run", &dry), ("trust", &trust)] {
                let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(text.contains(verdict), "{surface} of {body} shows\n{text}\nand not\n{verdict}");
            }
        }
        // The conditions that are shown are those that are checked.
        let ran = place.run(&["tool", "run", &name, &format!("X={value}")]).stderr();
        let guarded = verdicts.iter().any(|verdict| verdict.contains("; "));
        assert!(guarded || code_in(&ran).is_none(), "{body}: refused without a condition: {ran}\n{detailed}");
    }
}

/// The parts of workflows: tools that others use.
const PARTS: &[(&str, &str)] = &[
    (
        "get-source",
        "bash: cp -r -- {FROM} {TO}\nparameters: {FROM: {type: string, description: F, required: true}, TO: {type: string, description: T, default: r}}",
    ),
    ("build-source", "bash: sh r/run.sh"),
    (
        "build-in",
        "bash: 'cd -- {WHERE} && sh ./run.sh'\nparameters: {WHERE: {type: string, description: W, required: true}}",
    ),
    ("note", "bash: printf '%s' {TEXT} > notes\nparameters: {TEXT: {type: string, description: T, required: true}}"),
    ("run-note", "steps:\n  - {name: a, bash: cp notes s.sh}\n  - {name: b, bash: sh s.sh}"),
    (
        "get-through",
        "steps:\n  - {name: a, use-tool: get-source, with: {FROM: '{WHAT}'}}\nparameters: {WHAT: {type: string, description: W, required: true}}",
    ),
    (
        "write-in-python",
        "python: 'import os; open(\"notes\", \"w\").write(os.environ[\"CYCOD_PARAM_TEXT\"])'\nparameters: {TEXT: {type: string, description: T, required: true}}",
    ),
    (
        "note-as",
        "bash: 'echo {NAME}; printf %s {TEXT} > notes'\nparameters: {NAME: {type: string, description: N, required: true}, TEXT: {type: string, description: T, required: true}}",
    ),
    ("get-as", "type: alias\nbase-tool: get-source\ndefault-parameters: {TO: r}"),
];

/// Steps of which one lets a value decide what another one runs, and the value that would do it.
const ACROSS: &[(&str, &str)] = &[
    ("- {name: a, use-tool: get-source, with: {FROM: '{X}'}}\n  - {name: b, use-tool: build-source}", "evil"),
    ("- {name: a, use-tool: get-source, with: {FROM: '{X}'}}\n  - {name: b, bash: sh r/run.sh}", "evil"),
    ("- {name: a, bash: 'cp -r -- {X} r'}\n  - {name: b, use-tool: build-source}", "evil"),
    ("- {name: a, use-tool: get-through, with: {WHAT: '{X}'}}\n  - {name: b, use-tool: build-source}", "evil"),
    ("- {name: a, use-tool: get-as, with: {FROM: '{X}'}}\n  - {name: b, use-tool: build-source}", "evil"),
    (
        "- {name: a, use-tool: get-source, with: {FROM: '{X}', TO: other}}\n  - {name: b, use-tool: build-in, with: {WHERE: other}}",
        "evil",
    ),
    (
        "- {name: a, use-tool: get-source, with: {FROM: '{X}', TO: '{TEMP}/o'}}\n  - {name: b, bash: 'sh {TEMP}/o/run.sh'}",
        "evil",
    ),
    ("- {name: a, use-tool: note, with: {TEXT: '{X}'}}\n  - {name: b, use-tool: run-note}", "touch PWNED"),
    (
        "- {name: a, use-tool: write_file, with: {filepath: s.sh, content: '{X}'}}\n  - {name: b, bash: sh s.sh}",
        "touch PWNED",
    ),
    (
        "- {name: a, use-tool: write_file, with: {filepath: s.sh, content: \"echo '{X}'\"}}\n  - {name: b, bash: . ./s.sh}",
        "'; touch PWNED; '",
    ),
    (
        "- {name: a, use-tool: file_operations, with: {operation: write, path: s.sh, content: '{X}'}}\n  - {name: b, bash: sh s.sh}",
        "touch PWNED",
    ),
    (
        "- {name: a, use-tool: write_file, with: {filepath: notes, content: '{X}'}}\n  - {name: b, use-tool: run-note}",
        "touch PWNED",
    ),
    ("- {name: a, use-tool: write-in-python, with: {TEXT: '{X}'}}\n  - {name: b, use-tool: run-note}", "touch PWNED"),
    ("- {name: a, use-tool: write-in-python, with: {TEXT: '{X:trim}'}}\n  - {name: b, bash: sh notes}", "touch PWNED"),
    (
        "- {name: a, python: 'import os; open(\"s.sh\", \"w\").write(os.environ[\"CYCOD_PARAM_X\"])'}\n  - {name: b, bash: sh s.sh}",
        "touch PWNED",
    ),
    (
        "- {name: a, bash: 'cp -r -- {X} r'}\n  - {name: b, use-tool: bash_execution, with: {command: sh r/run.sh}}",
        "evil",
    ),
    (
        "- {name: a, use-tool: bash_execution, with: {command: 'cp -r -- {X} r'}}\n  - {name: b, bash: sh r/run.sh}",
        "evil",
    ),
    (
        "- {name: b, use-tool: build-source, parallel: true}\n  - {name: a, use-tool: get-source, with: {FROM: '{X}'}, parallel: true}",
        "evil",
    ),
];

/// The same with what people do every day.
const HARMLESS: &[&str] = &[
    "- {name: a, use-tool: get-source, with: {FROM: '{X}', TO: other}}\n  - {name: b, use-tool: build-source}",
    "- {name: a, use-tool: build-source}\n  - {name: b, use-tool: get-source, with: {FROM: '{X}'}}",
    "- {name: a, use-tool: get-source, with: {FROM: evil}}\n  - {name: b, use-tool: build-source}\n  - {name: c, bash: 'echo {X}'}",
    "- {name: a, use-tool: write_file, with: {filepath: report.md, content: 'Report: {X}'}}\n  - {name: b, bash: cat report.md}",
    "- {name: a, use-tool: write_file, with: {filepath: in.txt, content: '{X}'}}\n  - {name: b, bash: sort in.txt | uniq -c}",
    "- {name: a, use-tool: note, with: {TEXT: '{X}'}}\n  - {name: b, bash: grep -c . notes}",
    "- {name: a, use-tool: write-in-python, with: {TEXT: '{X}'}}\n  - {name: b, bash: grep -c . notes}",
];

/// What a step leaves, another tool finds: the verdict is about the placeholder that decides, and nothing runs.
#[test]
fn no_value_acts_across_tools() {
    let place = Place::new();
    place.write("evil/run.sh", "touch PWNED\n");
    for (name, body) in PARTS {
        place.tool(name, &format!("description: A part\n{body}\ntags: [run]\n"));
    }
    let workflow = |steps: &str| tool(&format!("steps:\n  {steps}")).replace("tags: [read]", "tags: [run]");
    let mut open = String::new();
    for (number, (steps, value)) in ACROSS.iter().enumerate() {
        let name = format!("across{number}");
        place.tool(&name, &workflow(steps));
        let checked = place.run(&["tool", "validate", &name]);
        let by_hand = place.run(&["tool", "run", &name, &format!("X={value}")]);
        let codes = (code_in(&checked.stdout()).or_else(|| code_in(&checked.stderr())), code_in(&by_hand.stderr()));
        if has_acted(&place) || codes.0.is_none() || codes.1.is_none() {
            let _ = writeln!(open, "{steps}\n{codes:?}\n{}{}", checked.block(), by_hand.block());
        }
    }
    assert!(open.is_empty(), "these are let through:\n{open}");
    // It is shown at the argument in which it stands, and not at another one with the same parameter.
    for written in ["{X}", "{X:trim}", "{RAW:X}", "{X:uppercase}"] {
        let with = format!("with: {{NAME: '{{X}}', TEXT: '{written}'}}");
        let first = format!("  - {{name: a, use-tool: note-as, {with}}}");
        place.tool("shown", &workflow(&format!("{}\n  - {{name: b, use-tool: run-note}}", first.trim_start())));
        let checked = place.run(&["tool", "validate", "shown"]).stdout();
        let column = first.find("TEXT").expect("the argument") + 1;
        assert!(checked.contains(&format!(":{column}\n")), "{written}, column {column}:\n{checked}");
    }
    for (number, steps) in HARMLESS.iter().enumerate() {
        let name = format!("harmless{number}");
        place.tool(&name, &workflow(steps));
        let checked = place.run(&["tool", "validate", &name]);
        assert_eq!(checked.code(), 0, "{steps}\n{}", checked.block());
    }
}

/// A value that may be missing moves the words behind it up: what is refused then names that value as the cause.
#[test]
fn a_value_that_may_be_missing_is_named() {
    let place = Place::new();
    let cases = [
        ("bash: kubectl -n {OTHER} get pods \"{X}\"", true),
        ("bash: git -C {OTHER} log -- \"{X}\"", true),
        ("bash: docker run --name {OTHER} alpine ls -- {X}", true),
        ("steps:\n  - {name: a, bash: 'sudo -u {OTHER} cat -- {X}'}\n  - {name: b, bash: ls}", true),
        // Another cause stays.
        ("bash: bash -c \"echo {X}\" x {OTHER}", false),
    ];
    for (number, (body, is_cause)) in cases.iter().enumerate() {
        let parameters =
            "  X: {type: string, description: x, required: true}\n  OTHER: {type: string, description: o}\n";
        let text = format!("description: Missing\n{body}\ntags: [read]\nparameters:\n{parameters}");
        let name = format!("missing{number}");
        place.tool(&name, &text);
        let checked = place.run(&["tool", "validate", &name]).stdout();
        let names_it = checked.contains("if `OTHER` is missing, the words behind it move up: ");
        let tells_how = checked.contains("write `required: true` at `OTHER`");
        assert_eq!((names_it, tells_how), (*is_cause, *is_cause), "{body}\n{checked}");
        place.tool(&name, &text.replace("description: o", "description: o, required: true"));
        let checked = place.run(&["tool", "validate", &name]);
        assert_eq!(checked.code() == 0, *is_cause, "{body}\n{}", checked.block());
    }
}
