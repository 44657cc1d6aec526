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
