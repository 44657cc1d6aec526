//! A mistake of ours ends the step in which it is made, and nothing else.

use std::sync::Arc;

use cycod_engine::{
    BuiltInCall, BuiltIns, Event, Ignore, Nobody, RunReport, Sink, Surface, ToolOutcome,
    definition::{Tool, ToolName, load_built_in},
    diagnostic::{Refusal, SourceFile},
};
use expect_test::expect;

use crate::support::{Place, story};

/// A built-in tool that panics.
#[derive(Debug)]
struct Mistaken;

impl BuiltIns for Mistaken {
    fn names(&self) -> Vec<ToolName> {
        ToolName::new("mistaken").into_iter().collect()
    }

    fn tools(&self) -> Vec<Tool> {
        let text = "name: mistaken\ndescription: Panics\nhints: {read-only: true}\n";
        load_built_in(&SourceFile::new("built-in tool", text)).tool.into_iter().collect()
    }

    fn call(&self, _call: &BuiltInCall<'_>, _follow: &mut dyn FnMut(&str)) -> Result<ToolOutcome, Refusal> {
        panic!("an index of 7 in a list of 3");
    }
}

fn run(tool: &str) -> RunReport {
    let place = Place::new(tool);
    let engine = place.builder().built_ins(Arc::new(Mistaken)).build();
    let plan = place.plan(&engine, &[]);
    let control = engine.control().expect("descriptors");
    let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
    engine.run(approved, &control, &mut Ignore)
}

#[test]
fn a_panic_ends_its_step_and_nothing_else() {
    let report = run(
        "description: d\nsteps:\n  - {name: first, bash: echo one}\n  - {name: wrong, use-tool: mistaken, continue-on-error: true}\n  - {name: last, bash: echo two}\n",
    );
    expect![[r#"
        exit 0 output "two\n"
          first ok 0 "one\n"
          wrong failed 1
            mistaken failed 1
          last ok 0 "two\n"
    "#]]
    .assert_eq(&story(&report));
}

#[test]
fn a_panic_beside_other_steps_ends_its_step_and_nothing_else() {
    let report = run(
        "description: d\nsteps:\n  - {name: slow, bash: sleep 0.2; echo one, parallel: true}\n  - {name: wrong, use-tool: mistaken, parallel: true, continue-on-error: true}\n  - {name: last, bash: 'echo {wrong.status}', wait-for: [slow, wrong]}\n",
    );
    expect![[r#"
        exit 0 output "failed\n"
          slow ok 0 "one\n"
          wrong failed 1
            mistaken failed 1
          last ok 0 "failed\n"
    "#]]
    .assert_eq(&story(&report));
}

#[test]
fn a_fallback_and_the_cleanup_follow_a_panic() {
    let report = run(
        "description: d\nsteps:\n  - name: wrong\n    use-tool: mistaken\n    error-handling: {fallback: echo instead}\nresources: {cleanup: [{final-command: exit 3}]}\n",
    );
    expect![[r#"
        exit 0 output "instead\n"
          wrong ok 0 fallback "instead\n"
            mistaken failed 1
        warning: cleanup `exit 3` failed with exit code 3
    "#]]
    .assert_eq(&story(&report));
}

#[test]
fn a_panic_fails_the_run_and_says_what_it_was() {
    let report =
        run("description: d\nsteps:\n  - {name: wrong, use-tool: mistaken}\n  - {name: last, bash: echo two}\n");
    expect![[r#"
        exit 1 output "" refused[internal-error]
          wrong failed 1
            mistaken failed 1
          last not-run 0
    "#]]
    .assert_eq(&story(&report));
    expect!["this is a bug in cycod: an index of 7 in a list of 3"]
        .assert_eq(&report.refusal.expect("why").to_string());
}

/// A sink that panics at the first thing that is written.
struct Startled;

impl Sink for Startled {
    fn event(&mut self, event: &Event<'_>) {
        assert!(!matches!(event, Event::Output { .. }), "a line of 3 letters");
    }
}

#[test]
fn nobody_waits_for_threads_whose_listener_panicked() {
    // More than fits into any queue on the way.
    let loud = "{bash: seq 200000, parallel: true";
    let place = Place::new(&format!("description: d\nsteps:\n  - {loud}, name: a}}\n  - {loud}, name: b}}\n"));
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || drop(sender.send(place.run_with(&[], &mut Startled, |_| {}))));
    let report = receiver.recv_timeout(std::time::Duration::from_secs(60)).expect("the run ends");
    let refusal = report.refusal.expect("it broke off");
    assert_eq!(refusal.to_string(), "this is a bug in cycod: a line of 3 letters");
}
