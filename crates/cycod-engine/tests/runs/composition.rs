use cycod_diagnostic::Code;
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
    assert_eq!((refusal.code, refusal.place.as_deref()), (Code::UnknownTool, Some("gret")));
}

#[test]
fn what_only_a_result_can_tell_of_an_argument_is_the_failure_of_its_step() {
    let place = Place::new(
        "description: d\nsteps:\n  - {name: a, bash: echo many}\n  - {name: b, use-tool: count, with: {N: '{a.output}'}}\n",
    )
    .tool("count", "description: d\nbash: echo {N}\nparameters: {N: {type: number, description: n}}\n");
    let report = place.run(&[]);
    assert_eq!(report.exit_code, 1);
    assert_eq!(report.refusal.expect("it says why").code, Code::WrongArgumentType);
}

const TYPED: &str = "description: d\nbash: echo {N} {E} {S} {T}\nasks: {sure: {person: Sure?}}\nparameters:\n  N: {type: number, description: n, required: true}\n  E: {description: e, validation: {enum: [a, b]}}\n  S: {description: s, required: true, default: x}\n  T: {description: t, sensitive: true, validation: {minLength: 9}}\n";

/// What refuses a call of `t` before anything runs.
fn refused(place: &Place) -> String {
    let engine = place.engine();
    let tool = engine.tool("t").expect("the file is fine by itself");
    match engine.plan(&tool, Vec::new(), None) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => {
            let refusal = error.into_refusal("t");
            format!("{}: {} (try: {})", refusal.code, refusal.why, refusal.attempt.unwrap_or_default())
        }
    }
}

#[test]
fn what_is_given_to_a_tool_is_checked_before_anything_runs() {
    let told = |with: &str| {
        let steps = format!(
            "  - {{name: first, bash: touch ran}}\n  - {{name: b, use-tool: typed, with: {with}, run-condition: 'false'}}\n"
        );
        refused(&Place::new(&format!("description: d\nsteps:\n{steps}")).tool("typed", TYPED))
    };
    expect!["unknown-argument: `t`, step `b`: `typed` takes no `X` (try: did you mean `N`?)"]
        .assert_eq(&told("{N: 1, X: 2}"));
    expect!["unknown-argument: `t`, step `b`: `typed` takes no `SS` (try: did you mean `S`?)"]
        .assert_eq(&told("{N: 1, SS: 2}"));
    expect!["missing-argument: `t`, step `b`: `typed` needs `N`, which is not given (try: cycod validate t)"]
        .assert_eq(&told("{}"));
    expect!["missing-argument: `t`, step `b`: `typed` needs `N`, which is not given (try: cycod validate t)"]
        .assert_eq(&told("{N: null}"));
    expect![
        "wrong-argument-type: `t`, step `b`: `N` of `typed`: expected a number, found `many` (try: cycod validate t)"
    ]
    .assert_eq(&told("{N: many}"));
    expect!["invalid-argument: `t`, step `b`: `E` of `typed`: `c` is not one of `a`, `b` (try: cycod validate t)"]
        .assert_eq(&told("{N: 1, E: c}"));
    expect!["repeated-argument: `t`, step `b`: `typed` is given `N` more than once (try: cycod validate t)"]
        .assert_eq(&told("{N: 1, n: 2}"));
    expect![
        "invalid-argument: `t`, step `b`: `T` of `typed`: has 5 characters, needs at least 9 (try: cycod validate t)"
    ]
    .assert_eq(&told("{N: 1, T: short}"));
    expect!["asked-parameter: `t`, step `b`: `sure` of `typed` is the answer to a question, not given by the caller (try: cycod validate t)"].assert_eq(&told("{N: 1, sure: true}"));
    for fine in ["{N: '1', E: a}", "{n: 1}", "{N: '{first.output}', E: '{first.error}'}"] {
        assert_eq!(told(fine), "nothing", "{fine}");
    }
}

#[test]
fn what_is_wrong_deep_below_refuses_the_call() {
    let place = Place::new("description: d\nuse-tool: middle\n")
        .tool("middle", "description: d\ntype: alias\nbase-tool: inner\n")
        .tool("inner", "description: d\nsteps: [{name: s, use-tool: typed}]\n")
        .tool("typed", TYPED);
    expect!["missing-argument: `inner`, step `s`: `typed` needs `N`, which is not given (try: cycod validate inner)"]
        .assert_eq(&refused(&place));
}

#[test]
fn an_alias_is_held_to_the_rules_of_its_base() {
    let told = |alias: &str| {
        refused(&Place::new(&format!("description: d\ntype: alias\nbase-tool: typed\n{alias}")).tool("typed", TYPED))
    };
    expect!["wrong-argument-type: `t`: `N` of `typed`: expected a number, found `many` (try: cycod validate t)"]
        .assert_eq(&told("default-parameters: {N: many}\n"));
    expect!["invalid-argument: `t`: `E` of `typed`: `c` is not one of `a`, `b` (try: cycod validate t)"]
        .assert_eq(&told("default-parameters: {N: 1, E: c}\n"));
    expect!["unknown-argument: `t`: `typed` takes no `n` (try: did you mean `N`?)"]
        .assert_eq(&told("default-parameters: {N: 1, n: 1}\n"));
    expect![
        "ignored-by-alias: `t`: `typed` has a parameter `E`, which an alias cannot replace (try: cycod validate t)"
    ]
    .assert_eq(&told("default-parameters: {N: 1}\nparameters: {E: {description: anything}}\n"));
    expect!["invalid-argument: `E` (its default): `c` is not one of `a`, `b`; `sure` is the answer to a question that was not answered (try: call it where cycod can ask the user: on a terminal, or from a host that shows questions)"].assert_eq(&told("default-parameters: {N: 1, E: '{X}'}\nparameters: {X: {description: x, default: c}}\n"));
}

#[test]
fn what_a_tool_requires_must_be_there_when_it_runs() {
    const NEEDS: &str =
        "description: d\nbash: echo ran\nrequires: {commands: [no-such-program], env: [NO_SUCH_VARIABLE]}\n";
    expect!["requirement-missing: `t` requires `no-such-program`, which is not on the PATH; requires the environment variable `NO_SUCH_VARIABLE` (try: install `no-such-program`)"].assert_eq(&refused(&Place::new(NEEDS)));
    expect!["requirement-missing: `needs` requires `no-such-program`, which is not on the PATH; requires the environment variable `NO_SUCH_VARIABLE` (try: install `no-such-program`)"].assert_eq(&refused(&Place::new("description: d\ntype: alias\nbase-tool: needs\n").tool("needs", NEEDS)));
    let through = Place::new("description: d\ntype: alias\nbase-tool: needs\n")
        .tool("needs", "description: d\ntype: alias\nbase-tool: plain\nrequires: {commands: [no-such-program]}\n")
        .tool("plain", "description: d\nbash: echo ran\n");
    expect!["requirement-missing: `needs` requires `no-such-program`, which is not on the PATH (try: install `no-such-program`)"].assert_eq(&refused(&through));
    let elsewhere = Place::new("description: d\ntype: alias\nbase-tool: needs\n")
        .tool("needs", "description: d\ntype: alias\nbase-tool: plain\nrequires: {platforms: [windows]}\n")
        .tool("plain", "description: d\nbash: echo ran\n");
    expect!["unsupported-platform: `needs` works on windows, and this is linux (try: )"]
        .assert_eq(&refused(&elsewhere));
    for met in [
        "requires: {commands: [bash], env: [LANG]}\n",
        "requires: {env: [A]}\nenvironment: {variables: {A: b}}\n",
        "requires: {commands: [mine]}\nenvironment: {variables: {PATH: '{HOME}/bin:/bin'}}\n",
    ] {
        assert_eq!(refused(&Place::new(&format!("description: d\nbash: echo ran\n{met}"))), "nothing", "{met}");
    }
}

#[test]
fn a_step_whose_tool_lacks_something_fails_and_the_others_do_not() {
    const NEEDS: &str = "description: d\nbash: echo ran\nrequires: {commands: [no-such-program]}\n";
    let place = Place::new(
        "description: d\nsteps:\n  - {name: a, use-tool: needs, run-condition: 'false'}\n  - {name: b, use-tool: needs, error-handling: {retry: {attempts: 2, delay: 1}, fallback: echo instead}}\n  - {name: c, use-tool: needs}\n",
    )
    .tool("needs", NEEDS);
    expect![[r#"
        exit 1 output "" refused[requirement-missing]
          a skipped 0
          b ok 0 fallback "instead\n"
          c failed 1
    "#]]
    .assert_eq(&story(&place.run(&[])));
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
    assert_eq!((refusal.code, refusal.attempt.as_deref()), (Code::UnknownArgument, Some("did you mean `WHO`?")));
}
