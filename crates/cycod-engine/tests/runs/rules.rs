//! The rules of steps that a flow keeps, each on every driver: `check` runs a tool by threads, with a journal, and spread over
//! machines. `steps.rs` has the others.

use expect_test::expect;

use crate::spread::{check, check_with};
use crate::support::Place;

const INNER: &str = "description: d
parameters: {WHAT: {type: string, description: d, default: x}, CODE: {type: integer, description: d, default: 0}}
steps:
  - {name: one, bash: 'echo one {WHAT}'}
  - {name: two, bash: 'echo two {one.output}; exit {CODE}'}
resources:
  cleanup: [{final-command: exit 4}]
";

#[test]
fn a_step_waits_for_those_that_it_names() {
    check(
        r#"
description: d
steps:
  - {name: slow, bash: 'sleep 0.2; echo slow'}
  - {name: quick, bash: echo quick, parallel: true}
  - {name: both, bash: 'echo {slow.output} {quick.output}', wait-for: [slow, quick]}
"#,
        expect![[r#"
            exit 0 output "slow quick\n"
              slow ok 0 "slow\n"
              quick ok 0 "quick\n"
              both ok 0 "slow quick\n"
        "#]],
    );
}

#[test]
fn a_step_whose_predecessor_failed_does_not_run() {
    check(
        r#"
description: d
steps:
  - {name: bad, bash: exit 3}
  - {name: good, bash: 'sleep 1; echo good', parallel: true} # the output is that of the step that ends last
  - {name: never, bash: echo never, wait-for: [bad]}
"#,
        expect![[r#"
            exit 3 output "good\n"
              bad failed 3
              good ok 0 "good\n"
              never not-run 0
        "#]],
    );
}

#[test]
fn a_step_whose_predecessor_is_tolerated_runs() {
    check(
        r#"
description: d
steps:
  - {name: bad, bash: 'echo half; exit 3', continue-on-error: true}
  - {name: next, bash: 'echo {bad.output} {bad.status}', wait-for: [bad]}
"#,
        expect![[r#"
            exit 0 output "half failed\n"
              bad failed 3 "half\n"
              next ok 0 "half failed\n"
        "#]],
    );
}

#[test]
fn a_step_whose_predecessor_was_skipped_runs() {
    check(
        r#"
description: d
steps:
  - {name: one, bash: echo one}
  - {name: skipped, bash: echo never, run-condition: '{one.output} == two'}
  - {name: next, bash: 'echo [{skipped.output}] {skipped.status}', wait-for: [skipped]}
"#,
        expect![[r#"
            exit 0 output "[] skipped\n"
              one ok 0 "one\n"
              skipped skipped 0
              next ok 0 "[] skipped\n"
        "#]],
    );
}

#[test]
fn a_retry_that_goes_well_is_the_result() {
    check(
        r#"
description: d
steps:
  - {name: flaky, bash: 'echo x >> count; test "$(wc -l < count)" = 3 && echo third', error-handling: {retry: {attempts: 4, delay: 1}}}
  - {name: next, bash: 'echo {flaky.output}'}
"#,
        expect![[r#"
            exit 0 output "third\n"
              flaky ok 0 attempts 3 "third\n"
              next ok 0 "third\n"
        "#]],
    );
}

#[test]
fn a_fallback_follows_the_last_retry() {
    check(
        r#"
description: d
steps:
  - {name: flaky, bash: 'echo bad >&2; exit 5', error-handling: {retry: {attempts: 2, delay: 1}, fallback: echo saved}}
  - {name: next, bash: 'echo {flaky.output} {flaky.exit-code}'}
"#,
        expect![[r#"
            exit 0 output "saved 0\n"
              flaky ok 0 attempts 3 fallback "saved\n"
              next ok 0 "saved 0\n"
        "#]],
    );
}

#[test]
fn a_step_that_takes_too_long_fails() {
    check(
        r#"
description: d
steps:
  - {name: slow, bash: sleep 60, timeout: 200}
  - {name: never, bash: echo never}
"#,
        expect![[r#"
            exit -1 output "" timed-out refused[timed-out]
              slow timed-out -1
              never not-run 0
        "#]],
    );
}

#[test]
fn a_step_that_takes_too_long_may_be_tolerated() {
    check(
        r#"
description: d
steps:
  - {name: slow, bash: sleep 60, timeout: 50, continue-on-error: true}
  - {name: next, bash: 'echo {slow.status}'}
"#,
        expect![[r#"
            exit 0 output "timed-out\n"
              slow timed-out -1
              next ok 0 "timed-out\n"
        "#]],
    );
}

#[test]
fn items_run_for_each_and_their_results_are_joined() {
    check(
        r#"
description: d
steps:
  - {name: each, for-each: [a, 'b c', "$(reboot)"], max-parallel: 3, bash: 'echo "<{ITEM}>"'}
  - {name: next, bash: 'printf %s "{each.output}"'}
"#,
        expect![[r#"
            exit 0 output "<a>\n<b c>\n<$(reboot)>"
              each ok 0 "<a>\n<b c>\n<$(reboot)>\n"
                1 ok 0 "<a>\n"
                2 ok 0 "<b c>\n"
                3 ok 0 "<$(reboot)>\n"
              next ok 0 "<a>\n<b c>\n<$(reboot)>"
        "#]],
    );
}

#[test]
fn an_item_that_fails_fails_its_step() {
    check(
        r#"
description: d
steps:
  - {name: each, for-each: [a, b, c], bash: 'echo {ITEM}; test {ITEM} != b'}
  - {name: never, bash: echo never}
"#,
        expect![[r#"
            exit 1 output "a\nb\n"
              each failed 1 "a\nb\n"
                1 ok 0 "a\n"
                2 failed 1 "b\n"
                3 not-run 0
              never not-run 0
        "#]],
    );
}

#[test]
fn steps_for_a_failure_run_only_then() {
    check(
        r#"
description: d
steps:
  - {name: bad, bash: exit 7}
  - {name: never, bash: echo never}
  - {name: help, bash: 'echo help {bad.exit-code}', on-failure: true}
"#,
        expect![[r#"
            exit 7 output ""
              bad failed 7
              never not-run 0
              help ok 0 "help 7\n"
        "#]],
    );
}

#[test]
fn steps_for_a_failure_do_not_run_without_one() {
    check(
        r#"
description: d
steps:
  - {name: good, bash: echo good}
  - {name: help, bash: echo help, on-failure: true}
"#,
        expect![[r#"
            exit 0 output "good\n"
              good ok 0 "good\n"
              help skipped 0
        "#]],
    );
}

#[test]
fn a_cleanup_runs_after_success_and_after_failure() {
    check(
        r#"
description: d
steps:
  - {name: bad, bash: 'echo half; exit 6'}
resources:
  cleanup: [{final-command: 'echo cleaned > cleaned'}, {final-command: exit 9}]
"#,
        expect![[r#"
            exit 6 output "half\n"
              bad failed 6 "half\n"
            warning: cleanup `exit 9` failed with exit code 9
        "#]],
    );
}

#[test]
fn output_is_cut_at_its_limit() {
    check(
        r#"
description: d
steps:
  - {name: large, bash: 'head -c 100000 /dev/zero | tr "\\0" x', output: {buffer-limit: 10}}
  - {name: next, bash: 'echo [{large.output}]'}
"#,
        expect![[r#"
            exit 0 output "[xxxxxxxxxx]\n" truncated
              large ok 0 "xxxxxxxxxx\n[truncated: the first 10 of 100000 bytes]\n"
              next ok 0 "[xxxxxxxxxx]\n"
        "#]],
    );
}

#[test]
fn two_conditions_decide_together() {
    check(
        r#"
description: d
steps:
  - {name: one, bash: 'echo 5; exit 2', continue-on-error: true}
  - {name: and, bash: echo and, run-condition: '{one.exit-code} == 2 && {one.output} > 4'}
  - {name: or, bash: echo or, run-condition: '{one.exit-code} == 0 || {one.output} < 4'}
  - {name: not, bash: echo not, run-condition: '!({one.exit-code} == 0)'}
"#,
        expect![[r#"
            exit 0 output "not\n"
              one failed 2 "5\n"
              and ok 0 "and\n"
              or skipped 0
              not ok 0 "not\n"
        "#]],
    );
}

#[test]
fn a_tool_that_is_called_has_its_own_steps_and_cleanup() {
    check_with(
        || {
            let tool = r#"
description: d
steps:
  - {name: call, use-tool: inner, with: {WHAT: "$(reboot)"}}
  - {name: next, bash: 'echo {call.output}'}
"#;
            Place::new(tool).tool("inner", INNER)
        },
        expect![[r#"
            exit 0 output "two one $(reboot)\n"
              call ok 0 "two one $(reboot)\n"
                one ok 0 "one $(reboot)\n"
                two ok 0 "two one $(reboot)\n"
              next ok 0 "two one $(reboot)\n"
            warning: cleanup `exit 4` failed with exit code 4
        "#]],
    );
}

#[test]
fn a_called_tool_that_fails_is_tried_again_as_a_whole() {
    check_with(
        || {
            let tool = r#"
description: d
steps:
  - {name: call, use-tool: inner, with: {CODE: 3}, error-handling: {retry: {attempts: 1, delay: 1}, fallback: echo saved}}
  - {name: next, bash: 'echo {call.output}'}
"#;
            Place::new(tool).tool("inner", INNER)
        },
        expect![[r#"
            exit 0 output "saved\n"
              call ok 0 attempts 2 fallback "saved\n"
                one ok 0 "one x\n"
                two failed 3 "two one x\n"
              next ok 0 "saved\n"
            warning: cleanup `exit 4` failed with exit code 4
        "#]],
    );
}
