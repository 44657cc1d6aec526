use cycod_diagnostic::Code;
use expect_test::expect;

use crate::spread::{check, check_here};
use crate::support::{Place, story};

#[test]
fn steps_see_the_results_of_earlier_ones() {
    check(
        r#"
description: d
steps:
  - name: one
    bash: printf 'a b\n\n'
  - name: two
    bash: printf '<%s>' {one.output} "{one.output}" {one.exit-code} {one.status}
"#,
        expect![[r#"
            exit 0 output "<a><b><a b><0><ok>"
              one ok 0 "a b\n\n"
              two ok 0 "<a><b><a b><0><ok>"
        "#]],
    );
}

#[test]
fn a_failure_stops_what_has_not_started() {
    check(
        r#"
description: d
steps:
  - {name: one, bash: exit 7}
  - {name: two, bash: echo never}
"#,
        expect![[r#"
            exit 7 output ""
              one failed 7
              two not-run 0
        "#]],
    );
}

#[test]
fn a_tolerated_failure_does_not() {
    check(
        r#"
description: d
steps:
  - {name: one, bash: "echo bad >&2; exit 7", continue-on-error: true}
  - {name: two, bash: "echo {one.exit-code} {one.error}"}
"#,
        expect![[r#"
            exit 0 output "7 bad\n"
              one failed 7
              two ok 0 "7 bad\n"
        "#]],
    );
}

#[test]
fn ignore_errors_is_the_default_of_every_step() {
    check(
        "description: d\nignore-errors: true\nbash: exit 3\n",
        expect![[r#"
        exit 0 output ""
          t failed 3
    "#]],
    );
    check(
        "description: d\nignore-errors: true\nsteps:\n  - {name: one, bash: exit 3}\n  - {name: two, bash: exit 4, continue-on-error: false}\n  - {name: three, bash: exit 5}\n",
        expect![[r#"
            exit 4 output ""
              one failed 3
              two failed 4
              three not-run 0
        "#]],
    );
}

#[test]
fn a_false_condition_skips() {
    check(
        r#"
description: d
steps:
  - {name: one, bash: echo 5}
  - {name: two, bash: echo two, run-condition: "{one.output} > 10"}
  - {name: three, bash: "echo skipped={two.skipped} code={two.exit-code} output=[{two.output}]", run-condition: "{one.output} >= 5 && !({two.skipped} == false)"}
"#,
        expect![[r#"
            exit 0 output "skipped=true code=0 output=[]\n"
              one ok 0 "5\n"
              two skipped 0
              three ok 0 "skipped=true code=0 output=[]\n"
        "#]],
    );
}

#[test]
fn conditions_compare_by_type() {
    let decided = |condition: &str, arguments: &[(&str, &str)]| {
        let tool = format!(
            "description: d\nsteps:\n  - {{name: one, bash: 'printf \"%s\\n\" 10.0'}}\n  - {{name: two, bash: 'true', run-condition: \"{condition}\"}}\nparameters:\n  S: {{type: string, description: d, default: '1.0'}}\n  N: {{type: number, description: d, default: 10}}\n  A: {{type: any, description: d, default: ''}}\n  L: {{type: array, description: d, default: ['1', b], validation: {{items: {{type: string}}}}}}\n  M: {{type: array, description: d, default: ['1', b]}}\n"
        );
        let report = Place::new(&tool).variable("CORES", "16").run(arguments);
        assert!(report.refusal.is_none(), "{condition}: {:?}", report.refusal);
        report.steps[1].status.name() == "ok"
    };
    for condition in [
        "'1.0' != '1'",
        "{S} != '1'",
        "{S} != 1",
        "{S} == 1.0",
        "{one.output} == 10",
        "{one.output} == {N}",
        "{one.output} > 9",
        "{one.output} != '10'",
        "{one.output} != {S}",
        "{CORES} >= 16.0",
        "{L} contains 1",
        "!({L} contains 1.0)",
        "{M} contains 1.0",
    ] {
        assert!(decided(condition, &[]), "{condition}");
    }
    assert!(decided("{S} == '9007199254740993'", &[("S", "9007199254740993")]));
    assert!(decided("{N} != 9007199254740992", &[("N", "9007199254740993")]));
    assert!(decided("{N} > 1e400", &[("N", "1.0000000000000000000001e400")]));
    assert!(decided("{A} == 5", &[("A", "5.0")]));
}

#[test]
fn an_order_over_a_text_stops_the_run() {
    check(
        "description: d\nsteps:\n  - {name: one, bash: echo many}\n  - {name: two, bash: 'true', run-condition: '{one.output} > 3'}\n",
        expect![[r#"
            exit 1 output "many\n" refused[undecidable-condition]
              one ok 0 "many\n"
              two failed 1
        "#]],
    );
}

#[test]
fn a_condition_never_reads_output_as_code() {
    check(
        r#"
description: d
steps:
  - {name: one, bash: "printf '0 || 1 == 1'"}
  - {name: two, bash: echo two, run-condition: "{one.output} == 0"}
"#,
        expect![[r#"
            exit 0 output "0 || 1 == 1"
              one ok 0 "0 || 1 == 1"
              two skipped 0
        "#]],
    );
}

#[test]
fn parallel_steps_meet() {
    // Each waits for the file that the other makes: one after the other they would never end.
    check_here(
        r#"
description: d
timeout: 10000
steps:
  - {name: a, parallel: true, bash: "touch a; until [ -e b ]; do sleep 0.01; done; echo A"}
  - {name: b, parallel: true, bash: "touch b; until [ -e a ]; do sleep 0.01; done; echo B"}
  - {name: c, wait-for: [a, b], bash: "echo {a.output}{b.output}"}
"#,
        expect![[r#"
            exit 0 output "AB\n"
              a ok 0 "A\n"
              b ok 0 "B\n"
              c ok 0 "AB\n"
        "#]],
    );
}

#[test]
fn running_steps_finish_when_another_fails() {
    check_here(
        r#"
description: d
timeout: 10000
steps:
  - {name: a, parallel: true, bash: "until [ -e failed ]; do sleep 0.01; done; sleep 0.5; echo finished"}
  - {name: b, parallel: true, bash: "touch failed; exit 9"}
  - {name: c, bash: echo never}
"#,
        expect![[r#"
            exit 9 output "finished\n"
              a ok 0 "finished\n"
              b failed 9
              c not-run 0
        "#]],
    );
}

#[test]
fn retries_come_after_the_first_attempt() {
    check(
        r#"
description: d
steps:
  - name: a
    bash: "echo x >> tries; [ $(wc -l < tries) -ge 3 ] && echo {a-dummy}done || exit 4"
    error-handling: {retry: {attempts: 3, delay: 1}}
  - {name: b, bash: "echo {a.attempts} && wc -l < tries"}
"#,
        expect![[r#"
            exit 0 output "3\n3\n"
              a ok 0 attempts 3 "{a-dummy}done\n"
              b ok 0 "3\n3\n"
        "#]],
    );
}

#[test]
fn the_fallback_replaces_the_result() {
    check(
        r#"
description: d
steps:
  - name: a
    bash: echo first; exit 4
    error-handling: {retry: {attempts: 2, delay: 1, backoff: fixed}, fallback: echo second}
  - {name: b, bash: "echo {a.output}"}
"#,
        expect![[r#"
            exit 0 output "second\n"
              a ok 0 attempts 3 fallback "second\n"
              b ok 0 "second\n"
        "#]],
    );
}

#[test]
fn a_failing_fallback_fails_the_step() {
    check(
        "description: d\nsteps:\n  - {name: a, bash: exit 4, error-handling: {fallback: exit 6}}\n",
        expect![[r#"
            exit 6 output ""
              a failed 6 fallback
        "#]],
    );
}

#[test]
fn a_missing_program_is_127_with_a_hint() {
    let report = Place::new("description: d\nscript: print(1)\nshell: no-such-interpreter {0}\n").run(&[]);
    assert_eq!(report.exit_code, 127, "{}", story(&report));
    let refusal = report.refusal.expect("it is not a plain exit");
    assert_eq!((refusal.code, refusal.place.as_deref()), (Code::ProgramMissing, Some("no-such-interpreter")));
    assert!(refusal.attempt.is_some());
}

#[test]
fn a_signal_is_128_and_its_number() {
    check(
        "description: d\nbash: kill -9 $$\n",
        expect![[r#"
        exit 137 output ""
          t failed 137
    "#]],
    );
}

#[test]
fn a_hundred_steps_in_layers() {
    let mut tool = String::from("description: d\nsteps:\n");
    for index in 0..100 {
        let wait = if index < 8 { String::new() } else { format!(", wait-for: [s{}]", index - 8) };
        tool.push_str(&format!("  - {{name: s{index}, parallel: true, run: 'true'{wait}}}\n"));
    }
    let report = Place::new(&tool).run(&[]);
    assert_eq!((report.exit_code, report.steps.iter().filter(|step| step.has_run()).count()), (0, 100));
}

#[test]
fn a_deadline_within_a_pause_is_a_timeout() {
    let step = "error-handling: {retry: {attempts: 3, delay: 60000}, fallback: echo fallen back}";
    check_here(
        &format!("description: d\ntimeout: 1500\nsteps:\n  - {{name: one, bash: exit 7, {step}}}\n"),
        expect![[r#"
            exit -1 output "" timed-out refused[timed-out]
              one timed-out -1
        "#]],
    );
    let inner = format!("description: d\nsteps:\n  - {{name: one, bash: exit 7, {step}}}\n");
    let outer = "description: d\ntimeout: 1500\nsteps:\n  - {name: out, use-tool: inner}\n";
    let report = Place::new(outer).tool("inner", &inner).run(&[]);
    assert!(report.timed_out, "{}", story(&report));
    let why = report.refusal.expect("a refusal").why;
    assert!(why.contains("before `out/one` could be tried again; it had failed with exit code 7"), "{why}");
}

#[test]
fn stopping_within_a_pause_is_a_cancellation() {
    let tool = "description: d\nsteps:\n  - name: one\n    bash: touch began; exit 7\n    error-handling: {retry: {attempts: 3, delay: 60000}}\n";
    let place = Place::new(tool);
    let began = place.project().join("began");
    let report = place.run_with(&[], &mut cycod_engine::Ignore, |control| {
        std::thread::spawn(move || {
            crate::support::eventually("it began", || began.exists());
            control.stop.ask();
        });
    });
    expect![[r#"
        exit 143 output "" cancelled refused[cancelled]
          one failed 143
    "#]]
    .assert_eq(&story(&report));
}

#[test]
fn a_dry_run_refuses_nothing_because_of_how_it_names_a_result() {
    let place = Place::new(
        "description: d\ntags: [run]\nsteps:\n  - {name: one, bash: echo a}\n  - {name: two, use-tool: inner, with: {X: '{one.output}'}}\n",
    )
    .tool(
        "inner",
        "description: d\ntags: [run]\nparameters: {X: {description: x}}\nbash: curl -s \"https://h.test/{X}\"\n",
    );
    let engine = place.engine();
    let preview = engine.preview(&place.plan(&engine, &[]));
    assert!(preview.refusal().is_none(), "{:?}", preview.refusal());
    let shown = preview.everything().join("\n");
    assert!(shown.contains("https://h.test/") && shown.contains("{one.output}"), "{shown}");
}
