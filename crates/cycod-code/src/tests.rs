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
    let codes: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
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
        settings-broken
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
fn a_task_fails_that_could_not_be_carried_out() {
    of(
        |code| code.over_mcp().error().is_some(),
        &expect![[r#"
            internal-error
            not-started
            program-missing
            temp-directory
        "#]],
    );
}

#[test]
fn what_did_not_work_out_may_be_tried_again() {
    of(
        Code::is_mishap,
        &expect![[r#"
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
