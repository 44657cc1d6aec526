use cycod_engine::PlanError;
use expect_test::expect;

use crate::support::{Place, story};

const GREET: &str = "description: Greet\nbash: echo \"Hello, {WHO}{MARK}\"\nparameters:\n  WHO: {type: string, description: w, required: true}\n  MARK: {type: string, description: m, default: '!'}\n";

#[test]
fn a_step_calls_a_tool() {
    let place = Place::new(
        r#"
description: d
steps:
  - {name: name, bash: "echo 'it''s $(id)'"}
  - {name: call, use-tool: greet, with: {WHO: "{name.output}"}}
  - {name: after, bash: "printf '<%s>' \"{call.output}\""}
"#,
    )
    .tool("greet", GREET);
    expect![[r#"
        exit 0 output "<Hello, its $(id)!>"
          name ok 0 "its $(id)\n"
          call ok 0 "Hello, its $(id)!\n"
            greet ok 0 "Hello, its $(id)!\n"
          after ok 0 "<Hello, its $(id)!>"
    "#]]
    .assert_eq(&story(&place.run(&[])));
}

#[test]
fn a_tool_is_another_with_arguments() {
    let place = Place::new("description: d\ntool: greet\nwith: {WHO: \"{WHO}\", MARK: '?'}\nparameters:\n  WHO: {type: string, description: w, default: you}\n")
        .tool("greet", GREET);
    expect![[r#"
        exit 0 output "Hello, you?\n"
          t ok 0 "Hello, you?\n"
            greet ok 0 "Hello, you?\n"
    "#]]
    .assert_eq(&story(&place.run(&[])));
}

#[test]
fn an_alias_has_other_defaults_which_stay_overridable() {
    let place =
        Place::new("type: alias\nbase-tool: greet\ndefault-parameters:\n  WHO: 'you{MARK}'\n").tool("greet", GREET);
    assert_eq!(String::from_utf8_lossy(&place.run(&[]).output), "Hello, you!!\n");
    assert_eq!(String::from_utf8_lossy(&place.run(&[("WHO", "me"), ("MARK", ".")]).output), "Hello, me.\n");
}

#[test]
fn tools_that_use_each_other_are_refused() {
    let place = Place::new("description: d\nuse-tool: other\n").tool("other", "description: d\nuse-tool: t\n");
    let engine = place.engine();
    let tool = engine.tool("t").expect("each file is fine by itself");
    let Err(PlanError::Refused(refusal)) = engine.plan(&tool, Vec::new(), None) else { panic!("a cycle is refused") };
    expect!["a tool may not use itself: `t` → `other` → `t`"].assert_eq(&refusal.why);
}

#[test]
fn a_missing_tool_is_an_error_of_the_run() {
    let place = Place::new("description: d\nuse-tool: gret\n").tool("greet", GREET);
    let engine = place.engine();
    let tool = engine.tool("t").expect("the tool may come later");
    let Err(PlanError::Refused(refusal)) = engine.plan(&tool, Vec::new(), None) else { panic!("nothing to use") };
    assert_eq!((refusal.code, refusal.place.as_deref()), ("unknown-tool", Some("gret")));
}

#[test]
fn what_is_wrong_with_the_arguments_of_a_step_is_its_failure() {
    let place =
        Place::new("description: d\nsteps:\n  - {name: a, use-tool: greet, with: {WHOM: x}}\n").tool("greet", GREET);
    let report = place.run(&[]);
    assert_eq!(report.exit_code, 1);
    assert_eq!(report.refusal.expect("it says why").code, "unknown-argument");
}

#[test]
fn the_outer_deadline_holds_inside() {
    let place = Place::new("description: d\ntimeout: 200\nsteps:\n  - {name: a, use-tool: slow}\n")
        .tool("slow", "description: d\ntimeout: 60000\nbash: echo begun; sleep 30\n");
    let report = place.run(&[]);
    assert!(report.timed_out && report.duration.as_secs() < 10, "{}", story(&report));
    assert_eq!(report.exit_code, -1);
}

#[test]
fn an_alias_can_be_more_dangerous_than_its_base_but_not_less() {
    let level = |tags: &str, base: &str| {
        let place = Place::new(&format!("type: alias\nbase-tool: greet\ndefault-parameters: {{WHO: x}}\n{tags}"))
            .tool("greet", &format!("{GREET}{base}"));
        let engine = place.engine();
        place.plan(&engine, &[]).level.name()
    };
    assert_eq!(level("tags: [run]\n", "tags: [read]\n"), "run");
    assert_eq!(level("tags: [read]\n", "tags: [run]\n"), "run");
    assert_eq!(level("", "tags: [read]\n"), "read");
    assert_eq!(level("risky: true\n", "tags: [read]\n"), "run");
}

#[test]
fn an_alias_has_limits_and_parameters_of_its_own() {
    let place = Place::new("type: alias\nbase-tool: greet\ntimeout: 60000\ndefault-parameters: {WHO: '{FIRST} {LAST}'}\nparameters:\n  FIRST: {type: string, description: f, required: true}\n  LAST: {type: string, description: l, default: Doe}\n")
        .tool("greet", &format!("{GREET}timeout: 90000\n"));
    assert_eq!(place.plan(&place.engine(), &[("FIRST", "Jo")]).timeout.as_secs(), 60);
    assert_eq!(String::from_utf8_lossy(&place.run(&[("FIRST", "Jo")]).output), "Hello, Jo Doe!\n");
}

#[test]
fn an_alias_cannot_set_what_its_base_does_not_take() {
    let place = Place::new("type: alias\nbase-tool: greet\ndefault-parameters: {WH: x}\n").tool("greet", GREET);
    let engine = place.engine();
    let tool = engine.tool("t").expect("the base may come later");
    let Err(PlanError::Refused(refusal)) = engine.plan(&tool, Vec::new(), None) else { panic!("it is refused") };
    assert_eq!((refusal.code, refusal.attempt.as_deref()), ("unknown-argument", Some("did you mean `WHO`?")));
}
