use cycod_diagnostic::Code;
use cycod_engine::{Event, Sink, Stop};
use expect_test::expect;
use serde_json::json;

use crate::support::Place;

#[test]
fn file_search_shows_paths_as_they_can_be_used_again() {
    let place = Place::new();
    place.file("src/a.rs", "fn needle() {}\n");
    place.file("src/deep/b.rs", "needle\n");
    place.check(
        "file_search",
        json!({"mode": "grep", "query": "needle"}),
        &expect![[r#"
        src/a.rs
        1:fn needle() {}

        src/deep/b.rs
        1:needle

        2 lines in 2 files
    "#]],
    );
    place.check(
        "file_search",
        json!({"mode": "regex", "query": "^n", "path": "src/deep"}),
        &expect![[r#"
        src/deep/b.rs
        1:needle

        1 line in 1 file
    "#]],
    );
    place.check(
        "file_search",
        json!({"mode": "glob", "query": "*.rs", "path": "src", "limit": 1}),
        &expect![[r#"
        src/a.rs

        2 paths; 1 shown, 1 left off: narrow `query`, `path` or `include`, or raise `limit`
    "#]],
    );
    place.check(
        "file_search",
        json!({"mode": "glob", "query": "*.rs", "path": "missing"}),
        &expect![[r#"
        exit 1
        `missing` does not exist: look for it with a listing or a search
    "#]],
    );
    place.check(
        "file_search",
        json!({"mode": "glob", "query": "*", "path": "../outside"}),
        &expect![[r#"
        exit 1
        refused[outside-workspace]: `file_search` was to read `ROOT/outside`, which is not in the workspace
        try: make a tool with `use-tool: file_search` and `required-permissions: ["filesystem:read:ROOT/outside"]`
    "#]],
    );
    place.check(
        "search_files",
        json!({"pattern": "fn \\w+", "file_pattern": "*.rs"}),
        &expect![[r#"
        src/a.rs
        1:fn needle() {}

        1 line in 1 file
    "#]],
    );
}

#[test]
fn a_search_has_data_for_programs() {
    let place = Place::new();
    place.file("a.txt", "x\nneedle\n");
    let report = place.call("file_search", json!({"mode": "grep", "query": "needle"}));
    let structured = report.answer.expect("an answer").structured.expect("data");
    expect![[r#"{"left_off":0,"matches":[{"path":"a.txt","line":2,"text":"needle"}],"searched":1,"total":1}"#]]
        .assert_eq(&structured.to_string());
}

/// Stops a run as soon as its step has begun.
struct StopAtOnce(Option<Stop>);

impl Sink for StopAtOnce {
    fn event(&mut self, event: &Event<'_>) {
        if let (Event::StepStarted { .. }, Some(stop)) = (event, &self.0) {
            stop.ask();
        }
    }
}

#[test]
fn a_stopped_search_says_so() {
    let place = Place::new();
    place.file("big.txt", "needle\n".repeat(20 << 20));
    let mut sink = StopAtOnce(None);
    let arguments = json!({"mode": "grep", "query": "needle"});
    let control = place.control();
    sink.0 = Some(control.stop.clone());
    let report = place.call_in(&place.project(), "file_search", arguments, &mut sink, &control);
    assert!(report.cancelled && !report.success, "{report:?}");
    assert_eq!(report.refusal.expect("it was stopped").code, Code::Cancelled);
}
