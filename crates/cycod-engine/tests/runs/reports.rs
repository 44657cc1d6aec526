//! What steps say beside their output, while they run.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

use cycod_engine::{Event, Sink};
use expect_test::{Expect, expect};

use crate::support::{Collected, Place};

/// Runs a tool that reports, and lists what was heard: a line for each report, and the warnings of the run.
#[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used, and used once")]
fn check(tool: &str, expect: Expect) {
    let place = Place::new(&format!("description: A tool\nreports: true\n{tool}"));
    let mut heard = Collected::default();
    let report = place.run_with(&[], &mut heard, |_| {});
    let mut lines = format!("exit {} {:?}\n", report.exit_code, String::from_utf8_lossy(&report.output));
    for event in heard.0 {
        match event {
            Event::Progress { step, done, total, message } => {
                lines.push_str(&format!("{step} {done} of {total:?} {message:?}\n"));
            }
            Event::Log { step, level, message } => lines.push_str(&format!("{step} {level} {message:?}\n")),
            _ => {}
        }
    }
    lines.extend(report.warnings.iter().map(|warning| format!("warning: {warning}\n")));
    expect.assert_eq(&lines);
    assert_eq!(place.left_over(), 0, "the run's directory is gone");
}

#[test]
fn progress_and_messages_are_told() {
    check(
        r#"bash: |
  echo '{"progress": 0, "total": 2}' > "$CYCOD_REPORT"
  echo out
  echo '{"progress": 1, "total": 2, "message": "half"}' > "$CYCOD_REPORT"
  { echo '{"log": "a word"}'; echo '{"log": {"n": 1}, "level": "warning"}'; } > "$CYCOD_REPORT"
  printf '{"progress": 2}' > "$CYCOD_REPORT"
"#,
        expect![[r#"
            exit 0 "out\n"
            t 0 of Some(2.0) None
            t 1 of Some(2.0) Some("half")
            t info "a word"
            t warning "{\"n\":1}"
            t 2 of None None
        "#]],
    );
}

#[test]
fn progress_only_grows_over_all_attempts() {
    check(
        r#"steps:
- name: a
  bash: |
    for n in 1 3 2 3; do echo "{\"progress\": $n}"; done > "$CYCOD_REPORT"
    [ -e again ] && echo '{"progress": 4}' > "$CYCOD_REPORT"
    touch again; exit 1
  error-handling: {retry: {attempts: 1, delay: 1}}
- {name: b, bash: "echo '{\"progress\": 1}' > \"$CYCOD_REPORT\""}
ignore-errors: true
"#,
        expect![[r#"
            exit 0 ""
            a 1 of None None
            a 3 of None None
            a 4 of None None
            b 1 of None None
        "#]],
    );
}

#[test]
fn what_is_no_report_is_a_warning_once() {
    check(
        r#"bash: |
  { echo hello; head -c 70000 /dev/zero | tr '\0' x; echo; echo '{"log": "after"}'; } > "$CYCOD_REPORT"
"#,
        expect![[r#"
            exit 0 ""
            t info "after"
            warning: `t` reports in a line that is not a JSON object
        "#]],
    );
}

#[test]
fn secrets_are_masked_in_reports() {
    check(
        r#"environment: {variables: {API_TOKEN: hunter22}}
bash: |
  echo '{"log": "it is '$API_TOKEN'"}' > "$CYCOD_REPORT"
  echo '{"progress": 1, "message": "it is '$API_TOKEN'"}' > "$CYCOD_REPORT"
"#,
        expect![[r#"
            exit 0 ""
            t info "it is ****"
            t 1 of None Some("it is ****")
        "#]],
    );
}

#[test]
fn nobody_has_to_report() {
    check(
        "bash: exit 3\n",
        expect![[r#"
        exit 3 ""
    "#]],
    );
    check(
        "bash: no-such-program-at-all\n",
        expect![[r#"
        exit 127 ""
    "#]],
    );
}

#[test]
fn a_writer_that_is_left_behind_is_not_waited_for() {
    let place = Place::new(
        r#"description: A tool
reports: true
bash: |
  (exec 3> "$CYCOD_REPORT"; exec > /dev/null 2>&1; while :; do echo '{"log": "on"}' >&3; done) &
  echo out
"#,
    );
    let began = Instant::now();
    assert_eq!(place.run(&[]).output, b"out\n");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_tool_that_does_not_report_has_no_channel() {
    let report = Place::new("description: A tool\nbash: echo \"[$CYCOD_REPORT]\"\n").run(&[]);
    assert_eq!(report.output, b"[]\n");
}

/// Stops the run as soon as it reports.
struct Stopping(Option<mpsc::Sender<()>>);

impl Sink for Stopping {
    fn event(&mut self, event: &Event<'_>) {
        if matches!(event, Event::Log { .. }) {
            drop(self.0.take());
        }
    }
}

#[test]
fn reports_come_while_the_step_runs_and_it_can_be_stopped() {
    let place = Place::new(
        "description: A tool\nreports: true\nbash: echo '{\"log\": \"started\"}' > \"$CYCOD_REPORT\"; sleep 60\n",
    );
    let (sender, receiver) = mpsc::channel::<()>();
    let report = place.run_with(&[], &mut Stopping(Some(sender)), |control| {
        drop(std::thread::spawn(move || {
            // It ends when the sink has heard the report.
            let _ = receiver.recv();
            control.stop.ask();
        }));
    });
    assert!(report.cancelled);
    assert_eq!(place.left_over(), 0);
}

#[test]
fn much_output_and_many_reports_do_not_wait_for_each_other() {
    let place = Place::new(
        r#"description: A tool
reports: true
bash: |
  for n in $(seq 1 3000); do echo "{\"progress\": $n}" ; done > "$CYCOD_REPORT" &
  head -c 3000000 /dev/zero | tr '\0' x
  wait
"#,
    );
    let mut heard = Collected::default();
    let report = place.run_with(&[], &mut heard, |_| {});
    assert_eq!((report.exit_code, report.output.len()), (0, 3_000_000));
    assert_eq!(heard.0.iter().filter(|event| matches!(event, Event::Progress { .. })).count(), 3000);
}
