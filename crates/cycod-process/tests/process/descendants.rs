use std::fs;
use std::time::{Duration, Instant};

use cycod_process::{Ending, Leftovers, Session, Spec, Stop};

use crate::support::*;

/// A child that moves to another session, and one whose parent is gone: both ignore the request to stop.
const ESCAPE: &str = "
use POSIX;
$SIG{TERM} = $SIG{HUP} = $SIG{INT} = 'IGNORE';
for my $kind (1..3) {
    next if fork;
    setsid() if $kind & 1;
    exit if $kind & 2 and fork;
    setsid() if $kind & 2;
    open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null';
    open NAME, '>', '/proc/self/comm'; print NAME 'escaped'; close NAME;
    sleep 1 while 1;
}
$| = 1; print qq(ready\\n);
";

fn escape(marker: &str, then: &str) -> Spec {
    let mut spec = perl(&format!("{ESCAPE}{then}"));
    spec.program = spec.program.env(marker, "1");
    spec
}

#[test]
fn nothing_survives_a_deadline() {
    let marker = marker();
    let mut spec = escape(&marker, "sleep 1 while 1");
    spec.deadline = Some(Instant::now() + PACE * Duration::from_millis(400));
    spec.grace = Duration::from_millis(100);
    let session = Session::new().expect("a session opens");
    let run = run_in(&session, &spec);
    assert_eq!((run.out(), run.ended.ending), ("ready\n", Ending::TimedOut { killed: true }));
    assert_eq!(marked(&marker), [], "when the run returns they are gone");
    assert_eq!(session.finish(), Leftovers::default());
}

#[test]
fn nothing_survives_a_kill() {
    let marker = marker();
    let stop = Stop::new().expect("descriptors are left");
    let session = Session::new().expect("a session opens");
    let ended = session.run(&escape(&marker, "sleep 1 while 1"), &stop, &mut |_, _| {
        until("four processes", || marked(&marker).len() == 4);
        stop.kill();
    });
    assert_eq!(ended.expect("the program starts").ending, Ending::Stopped { killed: true });
    assert_eq!(marked(&marker), []);
}

#[test]
fn nothing_survives_a_finished_or_dropped_session() {
    for finish in [true, false] {
        let marker = marker();
        let session = Session::new().expect("a session opens");
        assert_eq!(run_in(&session, &escape(&marker, "exit 4")).ended.ending, Ending::Exited(4));
        // Not the parents they leave behind, which are on their way out.
        let escaped = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "escaped\n");
        until("three have escaped", || marked(&marker).len() == 3 && marked(&marker).iter().all(escaped));
        if finish {
            let left = session.finish();
            // A parent that has ended counts until somebody has waited for it.
            assert_eq!(Leftovers { processes: 3, ..left }, Leftovers { processes: 3, killed: 3, survived: 0 });
            assert!(left.processes >= 3, "{left:?}");
        } else {
            drop(session);
        }
        assert_eq!(marked(&marker), []);
    }
}

#[test]
fn those_who_heed_the_request_are_not_killed() {
    let session = Session::new().expect("a session opens");
    let directory = tempfile::tempdir().expect("temporary files work");
    let note = directory.path().join("note");
    let script = format!(
        "exit if fork; open STDOUT, '>', '/dev/null'; open STDERR, '>', '/dev/null';
         $SIG{{TERM}} = sub {{ open N, '>', '{0}'; print N qq(heard\\n); exit }}; open R, '>', '{0}.ready'; select undef, undef, undef, 0.05 while 1",
        note.display()
    );
    run_in(&session, &perl(&script));
    until("the trap is set", || note.with_extension("ready").exists());
    let left = session.finish();
    assert_eq!((left.killed, left.survived), (0, 0));
    assert!(left.processes >= 1);
    assert_eq!(fs::read_to_string(note).expect("it was written"), "heard\n");
}

#[test]
fn a_storm_of_forks_is_ended() {
    // Ten lines of descent that never hold still: each process forks and dies, in a session of its own, as fast as it can.
    let marker = marker();
    let mut spec = perl(
        "use POSIX; $| = 1; for (1..10) { next if fork; while (1) { setsid(); exit if fork; } } print 1; sleep 60",
    );
    spec.program = spec.program.env(marker.as_str(), "1");
    let stop = Stop::new().expect("descriptors are left");
    let begun = Instant::now();
    let ended = Session::new()
        .expect("a session opens")
        .run(&spec, &stop, &mut |_, _| stop.kill())
        .expect("the program starts");
    assert_eq!(ended.ending, Ending::Stopped { killed: true });
    assert_eq!(marked(&marker), []);
    assert!(begun.elapsed() < PACE * Duration::from_secs(20));
}

#[test]
fn a_growing_tree_is_ended() {
    // Doubles up to some five hundred, all of them ignoring what can be ignored.
    let marker = marker();
    let mut spec = perl(
        "use POSIX; $SIG{TERM} = 'IGNORE'; for (1..9) { my $child = fork; setsid() if !$child } syswrite STDOUT, '.'; sleep 60",
    );
    spec.program = spec.program.env(marker.as_str(), "1");
    let stop = Stop::new().expect("descriptors are left");
    let ended = Session::new()
        .expect("a session opens")
        .run(&spec, &stop, &mut |_, _| stop.kill())
        .expect("the program starts");
    assert_eq!(ended.ending, Ending::Stopped { killed: true });
    assert_eq!(marked(&marker), []);
}

#[test]
fn a_background_server_serves_later_programs() {
    let session = Session::new().expect("a session opens");
    let marker = marker();
    let directory = tempfile::tempdir().expect("temporary files work");
    let (question, answer) = (directory.path().join("question"), directory.path().join("answer"));
    let fifos = sh(&format!("mkfifo {} {}", question.display(), answer.display()));
    assert!(run_in(&session, &fifos).ended.is_success());
    // It goes on writing to the output it inherited, far more than a pipe holds, and would die or block if nobody read it.
    let server = format!(
        "$| = 1; if (!fork) {{ while (1) {{ open Q, '<', '{}' or die; my $q = <Q>; close Q; print 'log' x 1_000_000; open A, '>', '{}'; print A qq(got $q); close A; }} }} print qq(started\\n)",
        question.display(),
        answer.display()
    );
    let mut spec = perl(&server);
    spec.program = spec.program.env(marker.as_str(), "1");
    let started = run_in(&session, &spec);
    assert_eq!((started.out(), started.ended.ending, started.ended.pipe_held), ("started\n", Ending::Exited(0), true));
    for n in 0..3 {
        let asked = run_in(&session, &sh(&format!("echo {n} >{}; cat {}", question.display(), answer.display())));
        assert_eq!(asked.out(), format!("got {n}\n"));
    }
    assert_eq!(marked(&marker).len(), 1);
    assert_eq!(session.finish(), Leftovers { processes: 1, killed: 0, survived: 0 });
    assert_eq!(marked(&marker), []);
}

#[test]
fn a_background_server_survives_on_every_mechanism() {
    let session = Session::portable();
    let marker = marker();
    let mut spec =
        perl("if (!fork) { $| = 1; while (1) { print 'x' x 10_000; select undef, undef, undef, 0.001 } } exit 0");
    spec.program = spec.program.env(marker.as_str(), "1");
    assert!(run_in(&session, &spec).ended.pipe_held);
    assert!(run_in(&session, &sh("sleep 0.2")).ended.is_success());
    assert_eq!(marked(&marker).len(), 1);
    assert_eq!(session.finish().processes, 1);
    until("it is gone", || marked(&marker).is_empty());
}

#[test]
fn who_holds_the_output_does_not_hold_us() {
    for session in [Session::new().expect("a session opens"), Session::portable()] {
        let begun = Instant::now();
        let run = run_in(&session, &sh("echo first; (sleep 60; echo never) & echo last"));
        assert_eq!((run.out(), run.ended.ending, run.ended.pipe_held), ("first\nlast\n", Ending::Exited(0), true));
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert!(session.finish().processes >= 1);
    }
}

#[test]
fn what_children_write_while_we_linger_is_kept() {
    let mut spec = sh("(sleep 0.3; echo late) & echo early");
    spec.linger = Duration::from_secs(20);
    let run = run(&spec);
    assert_eq!((run.out(), run.ended.pipe_held), ("early\nlate\n", false));
    assert!(run.ended.duration < Duration::from_secs(20), "the program itself ended at once");
}

#[test]
fn who_kills_the_warden_dies_with_it() {
    let marker = marker();
    let mut spec = perl("$| = 1; print qq(before\\n); kill 9, getppid; sleep 60");
    spec.program = spec.program.env(marker.as_str(), "1");
    let begun = Instant::now();
    let run = run(&spec);
    assert_eq!((run.out(), run.ended.ending), ("before\n", Ending::Signaled(libc::SIGKILL)));
    assert!(begun.elapsed() < Duration::from_secs(20));
    until("the program is gone", || marked(&marker).is_empty());
}

/// A program that stops its warden, once or for as long as it lives, is ended in its time like any other.
#[test]
fn a_stopped_warden_does_not_prolong_a_run() {
    let once = "kill STOP => getppid; print qq(ready\\n); sleep 60";
    let for_ever = "my $w = getppid; print qq(ready\\n); fork; fork; while (1) { kill STOP => $w }";
    let escaped = "my $w = getppid; exit if !fork; unless (fork) { setsid(); $SIG{TERM} = 'IGNORE'; \
                   print qq(ready\\n); while (1) { kill STOP => $w } } sleep 60";
    for text in [once, for_ever, escaped] {
        let marker = marker();
        let mut spec = perl(&format!("use POSIX; $| = 1; {text}"));
        spec.program = spec.program.env(marker.as_str(), "1");
        spec.deadline = Some(Instant::now() + PACE * Duration::from_secs(1));
        spec.grace = Duration::from_millis(200);
        let session = Session::new().expect("a session opens");
        let begun = Instant::now();
        let run = run_in(&session, &spec);
        assert!(matches!(run.ended.ending, Ending::TimedOut { .. }), "{text}: {:?}", run.ended.ending);
        assert_eq!(run.out(), "ready\n");
        assert!(begun.elapsed() < PACE * Duration::from_secs(3), "{text}: {:?}", begun.elapsed());
        assert_eq!(marked(&marker), [], "{text}");
        let finishing = Instant::now();
        assert_eq!(session.finish(), Leftovers::default());
        assert!(finishing.elapsed() < Duration::from_secs(1), "{text}");
    }
}

#[test]
fn what_stops_its_warden_does_not_outlive_the_session() {
    for finish in [true, false] {
        let marker = marker();
        let session = Session::new().expect("a session opens");
        let mut spec = perl(
            "use POSIX; my $w = getppid; pipe(my $r, my $done); if (!fork) { setsid(); $SIG{TERM} = 'IGNORE'; \
             open STDOUT, '>', '/dev/null'; syswrite $done, 'x'; sleep 1; while (1) { kill STOP => $w } } sysread $r, my $x, 1",
        );
        spec.program = spec.program.env(marker.as_str(), "1");
        spec.linger = Duration::ZERO;
        assert_eq!(run_in(&session, &spec).ended.ending, Ending::Exited(0));
        std::thread::sleep(Duration::from_millis(1500));
        assert_eq!(marked(&marker).len(), 1);
        let begun = Instant::now();
        if finish {
            assert_eq!(session.finish(), Leftovers { processes: 1, killed: 1, survived: 0 });
        } else {
            drop(session);
        }
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        assert_eq!(marked(&marker), []);
    }
}

#[test]
fn a_host_that_runs_hosts_ends_them_with_everything_below() {
    // Our wardens adopt what other wardens lose: a stopped or killed program may itself be one of us.
    let marker = marker();
    let own = std::env::current_exe().expect("we are a file");
    let mut spec = Spec::new(program("env", &[]).env("CYCOD_TEST_MARKER", marker.as_str()));
    spec.program.args = vec![own.into()];
    spec.program
        .args
        .extend(["--ignored", "--exact", "--nocapture", "--test-threads=1", "host::forest"].map(Into::into));
    let stop = Stop::new().expect("descriptors are left");
    let mut text = Vec::new();
    let ended = Session::new().expect("a session opens").run(&spec, &stop, &mut |_, bytes| {
        text.extend_from_slice(bytes);
        if text.windows(5).any(|word| word == b"ready") {
            stop.kill();
        }
    });
    assert_eq!(ended.expect("the program starts").ending, Ending::Stopped { killed: true });
    assert_eq!(marked(&marker), []);
}

#[test]
fn a_session_serves_threads() {
    fn check<T: Send + Sync>() {}
    check::<Session>();
    check::<Stop>();
}
