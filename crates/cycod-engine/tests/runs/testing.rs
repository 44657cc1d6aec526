//! Tests that tools bring along.

use std::{fmt::Write as _, sync::Arc};

use cycod_engine::{TestOptions, TestReport, TestVerdict};
use expect_test::{Expect, expect};

use crate::support::Place;

fn test_with(place: &Place, options: &TestOptions) -> TestReport {
    let engine = place.engine();
    let tool = match engine.tool("t") {
        Ok(tool) => tool,
        Err(error) => panic!(
            "{error}\n{:?}",
            engine.entry("t", cycod_engine::catalog::ScopeFilter::Any).map(|entry| entry.diagnostics().1)
        ),
    };
    let control = engine.control().expect("descriptors are left");
    let mut heard = Vec::new();
    let report = engine.test(&Arc::clone(&tool), options, &control, &mut |outcome| heard.push(outcome.name.clone()));
    let names: Vec<String> = report.outcomes.iter().map(|outcome| outcome.name.clone()).collect();
    assert_eq!(heard, names, "each is told about when it ends");
    report
}

fn written(report: &TestReport) -> String {
    let mut text = String::new();
    for outcome in &report.outcomes {
        _ = match &outcome.verdict {
            TestVerdict::Passed => writeln!(text, "{}: passed", outcome.name),
            TestVerdict::Skipped(why) => writeln!(text, "{}: skipped, {why}", outcome.name),
            TestVerdict::Failed(failures) => {
                let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
                writeln!(text, "{}: {}", outcome.name, lines.join("; "))
            }
        };
        for warning in &outcome.warnings {
            _ = writeln!(text, "  warning: {warning}");
        }
    }
    text
}

#[track_caller]
fn check(tool: &str, expect: &Expect) {
    let place = Place::new(tool);
    expect.assert_eq(&written(&test_with(&place, &TestOptions::default())));
    assert_eq!(place.left_over(), 0, "nothing is left behind");
}

const ECHO: &str = "description: Say it\nbash: 'echo \"{WHAT}\"; echo oh >&2; exit {CODE}'\nparameters:\n  WHAT: {type: string, description: What, default: hello}\n  CODE: {type: integer, description: How, default: 0}\ntests:\n";

#[test]
fn what_was_expected_and_what_came() {
    check(
        &format!(
            "{ECHO}  - {{name: plain}}
  - {{name: code, parameters: {{CODE: 3}}, expected: {{exit-code: 3}}}}
  - {{name: wrong-code, parameters: {{CODE: 3}}}}
  - {{name: output, parameters: {{WHAT: good day}}, expected: {{output-contains: '{{WHAT}}'}}}}
  - {{name: standard-error-counts, expected: {{output-contains: [hello, oh]}}}}
  - {{name: wrong-output, expected: {{output-contains: [hello, bye]}}}}
  - {{name: any, expected: {{output-contains-any: [Get-ChildItem, echo]}}}}
  - {{name: none-of-them, expected: {{output-contains-any: [Get-ChildItem, find]}}}}
  - {{name: files, expected: {{file-exists: [.cycod/tools/t.yaml, .cycod], directory-exists: [.cycod, gone]}}}}
  - {{name: elsewhere, platforms: [windows]}}
  - {{name: bad-argument, parameters: {{CODE: many}}}}
  - {{name: turned-away, parameters: {{CODE: many}}, expected: {{exit-code: 2, output-contains: integer}}}}
  - {{name: turned-away-otherwise, parameters: {{CODE: many}}, expected: {{exit-code: 2, output-contains: boolean}}}}
"
        ),
        &expect![[r#"
            plain: passed
            code: passed
            wrong-code: expected exit code 0, got exit code 3
            output: passed
            standard-error-counts: passed
            wrong-output: expected output with "bye", got 2 lines without it
            any: passed
            none-of-them: expected output or a command with one of "Get-ChildItem", "find", got 2 lines without it
            files: expected file `.cycod`, got a directory; expected directory `gone`, got nothing there
            elsewhere: skipped, not for linux
            bad-argument: expected a run, got `CODE`: expected an integer, found `many`
            turned-away: passed
            turned-away-otherwise: expected output with "boolean", got `CODE`: expected an integer, found `many`
        "#]],
    );
}

#[test]
fn cleanup_runs_whatever_came_and_does_not_decide() {
    let place = Place::new(
        "description: Make a file\nbash: 'touch made; exit {CODE}'\nparameters:\n  CODE: {type: integer, description: How, default: 0}\ntests:\n  - {name: good, expected: {file-exists: made}, cleanup: [rm made]}\n  - {name: bad, parameters: {CODE: 1}, cleanup: [rm made, rm made, touch cleaned]}\n",
    );
    let report = test_with(&place, &TestOptions::default());
    expect![[r#"
        good: passed
        bad: expected exit code 0, got exit code 1
          warning: cleanup `rm made` ended with exit code 1
    "#]]
    .assert_eq(&written(&report));
    assert!(!place.project().join("made").exists() && place.project().join("cleaned").exists());
}

#[test]
fn a_fresh_directory_for_each() {
    // The second call would find the file of the first.
    let tool = "description: Make a file\nbash: 'set -C; echo here > made && pwd'\ntests:\n  - {name: one, expected: {file-exists: made}}\n  - {name: two, expected: {file-exists: made, output-contains: cycod-test-}}\n";
    let place = Place::new(tool);
    let isolated = TestOptions { isolated: true, ..TestOptions::default() };
    expect!["one: passed\ntwo: passed\n"].assert_eq(&written(&test_with(&place, &isolated)));
    assert!(!place.project().join("made").exists(), "the project is left alone");
    assert_eq!(place.left_over(), 0, "the directories are removed");
    let report = test_with(&place, &TestOptions::default());
    assert_eq!(report.counts(), (1, 1, 0), "without, the second fails");
}

#[test]
fn one_of_them_and_until_the_first_failure() {
    let place = Place::new(
        "description: Fail\nbash: exit 1\ntests:\n  - {name: a, expected: {exit-code: 1}}\n  - {name: b}\n  - {name: c}\n",
    );
    let only = TestOptions { only: Some("c".to_owned()), ..TestOptions::default() };
    expect!["c: expected exit code 0, got exit code 1\n"].assert_eq(&written(&test_with(&place, &only)));
    let stop = TestOptions { stop_on_failure: true, ..TestOptions::default() };
    expect!["a: passed\nb: expected exit code 0, got exit code 1\n"].assert_eq(&written(&test_with(&place, &stop)));
}

#[test]
fn secrets_are_masked_and_limits_named() {
    check(
        "description: Log in\nbash: 'echo {TOKEN}; sleep {HOW_LONG}'\ntimeout: 1500\nparameters:\n  TOKEN: {type: string, description: Key, default: hunter22, sensitive: true}\n  HOW_LONG: {type: number, description: Wait, default: 0}\ntests:\n  - {name: leak, expected: {output-contains: 'not {TOKEN}'}}\n  - {name: late, parameters: {HOW_LONG: 5}}\n",
        &expect![[r#"
            leak: expected output with "not ****", got one line without it
            late: expected exit code 0, got exit code -1 (`t` was ended when the time of the run was over)
        "#]],
    );
}
