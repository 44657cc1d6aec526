use std::time::Duration;

use expect_test::expect;

use crate::spread::check;
use crate::support::{Place, eventually, story};

#[test]
fn the_deadline_keeps_what_was_said() {
    let report = Place::new("description: d\ntimeout: 300\nbash: echo begun; sleep 30\n").run(&[]);
    expect![[r#"
        exit -1 output "begun\n" timed-out refused[timed-out]
          t timed-out -1 "begun\n"
    "#]]
    .assert_eq(&story(&report));
    assert!(report.duration < Duration::from_secs(10));
}

#[test]
fn a_child_that_ignores_term_is_killed() {
    let report =
        Place::new("description: d\ntimeout: 300\nbash: trap '' TERM; echo begun; sleep 60 & wait; sleep 60\n")
            .run(&[]);
    assert!(report.timed_out && report.duration < Duration::from_secs(15), "{}", story(&report));
}

#[test]
fn a_step_has_a_limit_of_its_own_for_each_attempt() {
    check(
        "description: d\nsteps:\n  - {name: a, timeout: 100, bash: 'echo x >> tries; sleep 30', error-handling: {retry: {attempts: 1, delay: 1}}, continue-on-error: true}\n  - {name: b, bash: 'wc -l < tries; echo {a.timed-out} {a.status}'}\n",
        expect![[r#"
            exit 0 output "2\ntrue timed-out\n"
              a timed-out -1 attempts 2
              b ok 0 "2\ntrue timed-out\n"
        "#]],
    );
}

#[test]
fn retries_and_pauses_count_against_the_deadline() {
    let report = Place::new("description: d\ntimeout: 300\nsteps:\n  - {name: a, bash: exit 1, error-handling: {retry: {attempts: 1000000, delay: 20, backoff: fixed}}}\n").run(&[]);
    assert!(report.duration < Duration::from_secs(5), "{}", story(&report));
    assert!(!report.success);
}

#[test]
fn cleanup_runs_whatever_happened() {
    for body in ["bash: 'true'", "bash: exit 3", "timeout: 200\nbash: sleep 30"] {
        let place = Place::new(&format!(
            "description: d\n{body}\nresources:\n  cleanup:\n    - final-command: echo cleaned > log\n    - final-command: exit 9\n    - final-command: echo {{NO_SUCH_NAME}} > log2\n    - delete-temp-files: true\n"
        ));
        let report = place.run(&[]);
        assert_eq!(std::fs::read_to_string(place.project().join("log")).expect("the log"), "cleaned\n", "{body}");
        assert!(!place.project().join("log2").exists());
        assert_eq!(report.warnings.len(), 2, "{:?}", report.warnings);
    }
}

#[test]
fn a_stop_from_outside_ends_the_run_and_still_cleans_up() {
    let place = Place::new(
        "description: d\nbash: touch begun; sleep 30\nresources: {cleanup: [{final-command: touch cleaned}]}\n",
    );
    let begun = place.project().join("begun");
    let report = place.run_with(&[], &mut cycod_engine::Ignore, |control| {
        std::thread::spawn(move || {
            eventually("the tool has begun", || begun.exists());
            control.stop.ask();
        });
    });
    assert!(report.cancelled && !report.success && report.duration < Duration::from_secs(15), "{}", story(&report));
    assert!(place.project().join("cleaned").exists());
}

#[test]
fn a_background_process_serves_later_steps_and_ends_with_the_run() {
    let place = Place::new(
        "description: d\nsteps:\n  - {name: a, bash: 'sleep 300 >/dev/null 2>&1 & echo $!'}\n  - {name: b, bash: 'kill -0 {a.output} && echo alive'}\n",
    );
    let report = place.run(&[]);
    assert_eq!(String::from_utf8_lossy(&report.output), "alive\n", "{}", story(&report));
    assert_eq!(report.warnings, ["ended 1 process left running in the background"]);
    let process = String::from_utf8_lossy(&report.steps[0].output).trim().to_owned();
    eventually("the background process is gone", || !std::path::Path::new("/proc").join(&process).exists());
}

#[test]
fn memory_is_limited_over_the_whole_tree() {
    let report = Place::new("description: d\nresources: {max-memory: 64MB}\nrun: python3 -c 'x = bytearray(400 * 1024 * 1024); print(len(x))'\n").run(&[]);
    assert!(!report.success, "{}", story(&report));
}
