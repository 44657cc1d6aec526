//! What the table of codes promises for every surface.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use expect_test::{Expect, expect};

use crate::{Code, Exit, UnknownCode};

fn of(wanted: impl Fn(Code) -> bool, expected: &Expect) {
    let mut names = String::new();
    for code in Code::ALL.iter().filter(|code| wanted(**code)) {
        writeln!(names, "{code}").expect("a String");
    }
    expected.assert_eq(&names);
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let pages: BTreeSet<String> = fs::read_dir(pages)
        .expect("the pages are there")
        .map(|page| page.expect("it can be read").file_name().into_string().expect("a name is text"))
        .collect();
    let codes: BTreeSet<String> = Code::ALL
        .iter()
        .map(|code| code.page().strip_prefix("docs/errors/").expect("pages are in one place").to_owned())
        .collect();
    assert_eq!(pages, codes);
}

#[test]
fn a_variant_is_called_as_its_name() {
    for code in Code::ALL {
        let mut name = String::new();
        for letter in format!("{code:?}").chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.extend(letter.to_lowercase());
        }
        assert_eq!(name, code.name());
    }
    assert!(Code::ALL.is_sorted_by_key(|code| code.name()), "the table is sorted by name");
}

#[test]
fn a_name_is_read_as_its_code() {
    for code in Code::ALL {
        assert_eq!(code.name().parse(), Ok(*code));
    }
    for other in ["", "unknown", "unknown-step-", "Timed-Out", "program-not-found"] {
        assert_eq!(other.parse::<Code>(), Err(UnknownCode), "{other}");
    }
}

#[test]
fn what_was_not_approved_has_its_own_exit_code() {
    of(
        |code| code.exit() == Exit::NotApproved,
        &expect![[r#"
        approval-by-a-tool
        approval-declined
        approval-needs-terminal
        confinement-unavailable
        denied-by-policy
        not-approved
        policy-broken
        release-expired
        settings-broken
        ticket-refused
        tool-changed
        tool-disabled
        tool-enforced
        untrusted-tool
    "#]],
    );
}

#[test]
fn wrong_arguments_are_a_wrong_command_line() {
    of(
        |code| code.exit() == Exit::Usage,
        &expect![[r#"
            asked-parameter
            invalid-argument
            missing-argument
            repeated-argument
            secret-in-argument
            unknown-argument
            wrong-argument-type
        "#]],
    );
}

#[test]
fn what_a_limit_or_the_system_ended_has_the_exit_code_of_shells() {
    let said: Vec<String> = Code::ALL
        .iter()
        .filter(|code| code.exit().number() > Exit::NotApproved.number())
        .map(|code| format!("{code} {} {}\n", code.exit().number(), code.exit().in_result()))
        .collect();
    expect![[r#"
        cancelled 143 143
        memory-exceeded 137 137
        not-started 126 126
        program-missing 127 127
        timed-out 124 -1
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn a_task_fails_that_could_not_be_carried_out() {
    of(
        |code| code.failure_of_task() == Some(-32603),
        &expect![[r#"
            internal-error
            not-started
            program-missing
            temp-directory
        "#]],
    );
}

#[test]
fn where_only_an_error_can_be_answered_its_number_says_whether_to_try_again() {
    let number = |code: Code| code.error_over_mcp();
    of(|code| number(code) == -32002, &expect!["unknown-output\n"]);
    assert!(Code::ALL.iter().filter(|code| number(**code) == -32603).all(|code| code.is_mishap()));
    assert!(Code::ALL.iter().all(|code| [-32002, -32602, -32603].contains(&number(*code))));
}

#[test]
fn over_http_a_code_has_the_status_of_its_meaning() {
    let mut statuses: Vec<(u16, &str)> = Code::ALL.iter().map(|code| (code.http_status(), code.name())).collect();
    // Most are of tools and values that cannot be used as they are.
    statuses.retain(|(status, _)| *status != 422);
    statuses.sort_unstable();
    let mut said = String::new();
    for (status, name) in statuses {
        writeln!(said, "{status} {name}").expect("a String");
    }
    expect![[r#"
        400 asked-parameter
        400 invalid-argument
        400 missing-argument
        400 repeated-argument
        400 secret-in-argument
        400 unknown-argument
        400 wrong-argument-type
        403 approval-by-a-tool
        403 approval-declined
        403 approval-needs-terminal
        403 artifact-refused
        403 confinement-unavailable
        403 definition-changed
        403 denied-by-policy
        403 git-option
        403 holds-a-secret
        403 level-exceeded
        403 nobody-to-answer
        403 not-approved
        403 not-on-allowlist
        403 outside-workspace
        403 permission-missing
        403 permission-target
        403 policy-broken
        403 question-declined
        403 question-unanswered
        403 release-expired
        403 secret-not-for-tool
        403 server-not-accepted
        403 settings-broken
        403 ticket-refused
        403 tool-changed
        403 tool-disabled
        403 tool-enforced
        403 untrusted-tool
        404 unknown-output
        404 unknown-run
        404 unknown-server
        404 unknown-tool
        404 unknown-workflow
        409 cancelled
        409 not-resumable
        409 repeated-call
        409 run-without-control
        409 step-lost
        409 workspace-conflict
        429 budget-spent
        429 model-budget
        429 model-rate-limit
        429 too-many-runs
        500 internal-error
        500 memory-exceeded
        500 missing-step-result
        500 not-started
        500 output-too-large
        500 stream-file
        500 temp-directory
        500 worker-failed
        500 wrong-output
        502 hub-failed
        502 login-needed
        502 model-no-answer
        502 outcome-unknown
        502 remote-failed
        502 remote-unreachable
        502 worker-lost
        503 background-unavailable
        503 history-unwritable
        503 model-unavailable
        503 newer-version-needed
        503 no-worker
        503 output-unavailable
        503 program-missing
        503 requirement-missing
        503 secret-missing
        503 secrets-unavailable
        503 unsupported-platform
        504 timed-out
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_did_not_work_out_may_be_tried_again() {
    of(
        Code::is_mishap,
        &expect![[r#"
            artifact-missing
            artifacts-too-large
            background-unavailable
            broken-tool
            cancelled
            internal-error
            memory-exceeded
            missing-step-result
            model-no-answer
            model-rate-limit
            model-unavailable
            newer-version-needed
            no-worker
            not-started
            output-too-large
            output-unavailable
            program-missing
            remote-failed
            remote-unreachable
            requirement-missing
            secrets-unavailable
            stream-file
            temp-directory
            timed-out
            unknown-tool
            unsupported-platform
            worker-failed
            wrong-output
        "#]],
    );
}
