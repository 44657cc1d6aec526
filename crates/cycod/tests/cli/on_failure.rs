//! Steps that run only if another step failed.

use serde_json::Value;

use crate::support::Place;

const DEPLOY: &str = "\
description: Deploy
steps:
  - {name: build, bash: echo built}
  - {name: deploy, bash: \"echo deploying; exit {CODE}\"}
  - {name: announce, bash: echo announced}
  - {name: undo, on-failure: true, bash: \"echo undone after {deploy.exit-code}: {build.output}\"}
  - {name: tell, on-failure: true, bash: \"echo told; touch told\"}
parameters:
  CODE: {type: integer, description: How it ends, required: true}
tags: [run]
";

#[test]
fn steps_for_a_failure_run_after_one_and_leave_the_outcome() {
    let place = Place::with_tool("deploy", DEPLOY);
    let failed = place.run(&["run", "deploy", "CODE=3"]);
    // The output is that of the step that failed, not that of what handled it.
    assert_eq!((failed.code(), failed.stdout().as_str()), (3, "deploying\n"), "{}", failed.block());
    assert!(failed.stderr().contains("[undo] undone after 3: built"), "{}", failed.block());
    assert!(!failed.stderr().contains("announced") && place.project().join("told").exists(), "{}", failed.block());
    let went_well = place.run(&["run", "deploy", "CODE=0"]);
    assert_eq!((went_well.code(), went_well.stdout().as_str()), (0, "announced\n"), "{}", went_well.block());
    assert!(
        !went_well.stderr().contains("undone") && went_well.stderr().contains("skip undo"),
        "{}",
        went_well.block()
    );
    let json = place.run(&["run", "deploy", "CODE=3", "--format", "json"]);
    let json: Value = serde_json::from_str(&json.stdout()).expect("JSON");
    let status = |name: &str| {
        json["steps"]
            .as_array()
            .and_then(|all| all.iter().find(|one| one["name"] == name))
            .map(|one| one["status"].clone())
    };
    assert_eq!(status("announce"), Some("not-run".into()), "{json}");
    assert_eq!((status("undo"), status("tell")), (Some("ok".into()), Some("ok".into())), "{json}");
}

#[test]
fn a_failure_of_theirs_stops_the_next_and_is_not_the_outcome() {
    let text = DEPLOY.replace("echo undone after {deploy.exit-code}: {build.output}", "exit 9");
    let place = Place::with_tool("deploy", &text);
    let failed = place.run(&["run", "deploy", "CODE=3"]);
    assert_eq!(failed.code(), 3, "{}", failed.block());
    assert!(failed.stderr().contains("FAIL undo") && !place.project().join("told").exists(), "{}", failed.block());
}

#[test]
fn a_step_that_may_fail_and_an_end_of_time_do_not_start_them() {
    let text = "\
description: D
timeout: 2000
steps:
  - {name: may, bash: exit 1, continue-on-error: true}
  - {name: long, bash: \"sleep {SECONDS}\"}
  - {name: handle, on-failure: true, bash: touch handled}
parameters:
  SECONDS: {type: number, description: How long, default: 0}
tags: [run]
";
    let place = Place::with_tool("t", text);
    let ran = place.run(&["run", "t"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert!(!place.project().join("handled").exists());
    assert_eq!(place.run(&["run", "t", "SECONDS=5"]).code(), 124);
    assert!(!place.project().join("handled").exists(), "the time of the run was over");
    // The time limit of a step is a failure of that step.
    place.tool("u", &text.replace("timeout: 2000\n", "").replace("bash: \"sleep", "timeout: 300, bash: \"sleep"));
    assert_eq!(place.run(&["run", "u", "SECONDS=5"]).code(), 124);
    assert!(place.project().join("handled").exists());
}

#[test]
fn they_are_shown_before_anything_runs() {
    let place = Place::with_tool("deploy", DEPLOY);
    let shown = place.run(&["run", "deploy", "CODE=0", "--dry-run"]);
    assert!(shown.stdout().contains("undo  on failure\n"), "{}", shown.block());
    assert!(shown.stdout().contains("tell  after undo  on failure\n"), "{}", shown.block());
    let graph = place.run(&["tool", "graph", "deploy"]);
    assert!(graph.stdout().contains("on failure"), "{}", graph.block());
}

#[test]
fn others_cannot_wait_for_them() {
    for (steps, why) in [
        ("[{name: a, bash: ls, wait-for: [b]}, {name: b, bash: ls, on-failure: true}]", "`a` waits for `b`"),
        ("[{name: b, bash: ls, on-failure: true}, {name: a, bash: \"echo {b.output}\"}]", "`a` uses a result of `b`"),
        ("[{name: b, bash: ls, on-failure: true}]", "none of them ever runs"),
    ] {
        let place = Place::with_tool("t", &format!("description: D\nsteps: {steps}\ntags: [run]\n"));
        let refused = place.run(&["validate", "t"]);
        let told = format!("{}{}", refused.stdout(), refused.stderr());
        assert!(refused.code() != 0 && told.contains("on-failure-order") && told.contains(why), "{}", refused.block());
    }
}
