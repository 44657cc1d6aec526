use std::time::{Duration, Instant};

use cycod_process::{Ending, MemoryEnforcement, Session, Spec, Stop, Urgency};

use crate::support::*;

/// Every mechanism, and whether it can tell a process that ended from one that nobody has reaped yet: the portable one
/// cannot, and then kills what is dead already.
fn sessions() -> [(Session, bool); 2] {
    [(Session::new().expect("a session opens"), true), (Session::portable(), false)]
}

/// Runs on every mechanism.
#[track_caller]
fn check(spec: &Spec, expect: Ending) {
    for (session, _) in sessions() {
        let run = run_in(&session, spec);
        assert_eq!(run.ended.ending, expect, "{session:?}: {run:?}");
        assert_eq!((run.ended.memory, run.ended.pipe_held), (MemoryEnforcement::Unlimited, false));
    }
}

#[test]
fn exit_codes_and_signals() {
    for code in [0, 1, 7, 127, 255] {
        check(&sh(&format!("exit {code}")), Ending::Exited(code));
    }
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGPIPE] {
        check(&sh(&format!("kill -{signal} $$")), Ending::Signaled(signal));
    }
}

#[test]
fn deadline_keeps_what_was_written() {
    for (session, exact) in sessions() {
        let begun = Instant::now();
        let mut spec = sh("echo before; sleep 60; echo after");
        spec.deadline = Some(begun + PACE * Duration::from_millis(200));
        let run = run_in(&session, &spec);
        assert_eq!(run.out(), "before\n");
        assert!(matches!(run.ended.ending, Ending::TimedOut { killed } if !(exact && killed)), "{run:?}");
        assert!(
            run.ended.duration >= Duration::from_millis(200) && begun.elapsed() < Duration::from_secs(20),
            "{run:?}"
        );
    }
}

#[test]
fn deadline_lets_a_program_clean_up() {
    let mut spec = hears("TERM", "print qq(bye\\n); exit 3");
    spec.deadline = Some(Instant::now() + PACE * Duration::from_millis(300));
    spec.grace = Duration::from_secs(20);
    let run = run(&spec);
    assert_eq!((run.out(), run.ended.ending), ("ready\nbye\n", Ending::TimedOut { killed: false }));
}

#[test]
fn who_ignores_the_request_is_killed_after_its_grace() {
    for (session, _) in sessions() {
        let mut spec = sh("trap '' TERM; echo ready; while :; do sleep 0.05; done");
        spec.deadline = Some(Instant::now() + PACE * Duration::from_millis(200));
        spec.grace = Duration::from_millis(200);
        let run = run_in(&session, &spec);
        assert_eq!((run.out(), run.ended.ending), ("ready\n", Ending::TimedOut { killed: true }));
        assert!(run.ended.duration >= Duration::from_millis(400), "{run:?}");
    }
}

/// Raises a stop as soon as the program has written something.
fn stopped(session: &Session, spec: &Spec, raise: impl Fn(&Stop)) -> (Ending, Duration) {
    let stop = Stop::new().expect("descriptors are left");
    let begun = Instant::now();
    let ended = session.run(spec, &stop, &mut |_, _| raise(&stop)).expect("the program starts");
    (ended.ending, begun.elapsed())
}

#[test]
fn stop_asks_or_kills() {
    for (session, exact) in sessions() {
        let (ending, _) = stopped(&session, &sh("echo; sleep 60"), Stop::ask);
        assert!(matches!(ending, Ending::Stopped { killed } if !(exact && killed)), "{ending:?}");
        let mut stubborn = sh("trap '' TERM; echo; while :; do sleep 0.05; done");
        stubborn.grace = Duration::from_secs(60);
        let (ending, took) = stopped(&session, &stubborn, Stop::kill);
        assert_eq!(ending, Ending::Stopped { killed: true });
        assert!(took < Duration::from_secs(20), "killing does not wait for the grace period");
    }
}

#[test]
fn a_second_request_cuts_the_grace_short() {
    let stop = Stop::new().expect("descriptors are left");
    let mut spec = hears("TERM", "print qq(heard\\n)");
    spec.grace = Duration::from_secs(60);
    let mut seen = Vec::new();
    let begun = Instant::now();
    let ended = Session::new().expect("a session opens").run(&spec, &stop, &mut |_, bytes| {
        seen.extend_from_slice(bytes);
        if seen.ends_with(b"heard\n") { stop.kill() } else { stop.ask() }
    });
    assert_eq!(ended.expect("the program starts").ending, Ending::Stopped { killed: true });
    assert_eq!(stop.urgency(), Urgency::Kill);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_second_request_reaches_what_the_program_left_behind() {
    // The program ends when it is asked; its child ignores that, and has the grace period before it.
    let stop = Stop::new().expect("descriptors are left");
    let mut spec = perl(
        "$| = 1; $SIG{TERM} = sub { print qq(gone\\n); exit };
         my $child = fork; if (!$child) { $SIG{TERM} = 'IGNORE'; print qq(deaf\\n); sleep 1 while 1 }
         select undef, undef, undef, 0.05 while 1",
    );
    spec.grace = Duration::from_secs(60);
    let mut seen = Vec::new();
    let begun = Instant::now();
    let killer = stop.clone();
    let ended = Session::new().expect("a session opens").run(&spec, &stop, &mut |_, bytes| {
        seen.extend_from_slice(bytes);
        if seen.ends_with(b"gone\n") {
            let killer = killer.clone();
            // A moment later, when the program itself has ended and we wait for the rest.
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                killer.kill();
            });
        } else {
            stop.ask();
        }
    });
    assert_eq!(ended.expect("the program starts").ending, Ending::Stopped { killed: true });
    assert!(begun.elapsed() < Duration::from_secs(20), "the grace period is cut short");
}

#[test]
fn asking_right_at_the_start_reaches_the_program() {
    for _ in 0..50 {
        let stop = Stop::new().expect("descriptors are left");
        let mut spec = sh("sleep 60");
        spec.grace = Duration::from_secs(60);
        let (session, asker) = (Session::new().expect("a session opens"), stop.clone());
        let thread = std::thread::spawn(move || asker.ask());
        let run = try_run(&session, &spec, &stop).expect("the program starts");
        thread.join().expect("the thread only asks");
        assert_eq!(run.ended.ending, Ending::Stopped { killed: false });
    }
}

/// A run is woken by the end of its program and by a request to stop, and looks for neither in between.
#[test]
fn a_run_that_waits_costs_nothing() {
    for (session, _) in sessions() {
        let stop = Stop::new().expect("descriptors are left");
        let (begun, before) = (Instant::now(), switches());
        let ended = session.run(&sh("sleep 1"), &stop, &mut |_, _| {}).expect("the program starts");
        assert_eq!(ended.ending, Ending::Exited(0));
        // Each look of a thread is one switch; a look every five milliseconds would be two hundred.
        assert!(switches() - before < 50, "{session:?}: {}", switches() - before);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

/// How often this thread has waited for something.
fn switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("the system tells");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).expect("it is counted");
    line.trim().parse().expect("a number")
}

#[test]
fn too_late_starts_nothing() {
    let stop = Stop::new().expect("descriptors are left");
    let mut spec = sh("echo started");
    spec.deadline = Some(Instant::now());
    let session = Session::new().expect("a session opens");
    let run = try_run(&session, &spec, &stop).expect("nothing can fail");
    assert_eq!((run.out(), run.ended.ending), ("", Ending::TimedOut { killed: false }));
    stop.ask();
    let run = try_run(&session, &spec, &stop).expect("nothing can fail");
    assert_eq!((run.out(), run.ended.ending), ("", Ending::Stopped { killed: false }));
}

#[test]
fn counts_processor_time_and_memory() {
    let run = run(&perl("my $x = 'a' x 300_000_000; 1 while times < 0.2"));
    assert!(run.ended.cpu >= Duration::from_millis(200), "{run:?}");
    assert!(run.ended.peak_memory.is_some_and(|bytes| bytes > 300_000_000), "{run:?}");
    assert!(run.ended.duration >= run.ended.cpu / 2);
}
