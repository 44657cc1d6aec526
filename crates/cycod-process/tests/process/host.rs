//! What happens to programs when something happens to us. The host is this very test binary, started again.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cycod_process::{
    Conversation, Ending, Input, MemoryEnforcement, Pool, PoolSize, ProcessLimits, Program, Session, Spec, Stop,
    Terminal, expire_at, host_interrupts,
};

use crate::support::*;

/// Starts the ignored test `name` of this file as a process of its own, and waits until it has said `ready`.
#[expect(clippy::disallowed_methods, reason = "the host under test must be an ordinary child of an ordinary program")]
fn host(name: &str, marker: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let own = std::env::current_exe().expect("we are a file");
    let mut child = Command::new(own)
        .args(["--ignored", "--exact", "--nocapture", "--test-threads=1", &format!("host::{name}")])
        .env("CYCOD_TEST_MARKER", marker)
        .stdout(Stdio::piped())
        .spawn()
        .expect("we start again");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).expect("it writes text"), 0, "the host ended early");
    }
    (child, lines)
}

#[expect(clippy::disallowed_methods, reason = "the one message from the test to its host")]
fn own_marker() -> String {
    std::env::var("CYCOD_TEST_MARKER").expect("started by the test")
}

/// A tree in which everyone tries to get away: other sessions, early orphans, deaf to every request.
const FOREST: &str = "
use POSIX; $SIG{$_} = 'IGNORE' for qw(TERM HUP INT QUIT PIPE);
for (1..4) { next if fork; setsid(); exit if fork; setsid(); fork; fork; sleep 1 while 1 }
sleep 1 while 1;
";

#[test]
#[ignore = "a host for `our_own_death_leaves_nothing_behind`"]
fn forest() {
    grow(&own_marker());
}

#[test]
#[ignore = "a host for `what_expires_ends_though_its_host_is_stopped`"]
fn forest_for_a_time() {
    let renew = || expire_at(Some(Instant::now() + EXPIRY));
    renew();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(100));
                renew();
            }
        });
        grow(&own_marker());
    });
}

/// For how long its host has the forest.
const EXPIRY: Duration = Duration::from_millis(1500);

#[test]
fn what_expires_ends_though_its_host_is_stopped() {
    let marker = marker();
    let (mut child, _lines) = host("forest_for_a_time", &marker);
    std::thread::sleep(EXPIRY * 2);
    assert!(marked(&marker).len() >= 37, "it lives as long as the host moves the instant");
    let host = i32::try_from(child.id()).expect("a process");
    // SAFETY: it takes numbers only.
    unsafe { libc::kill(host, libc::SIGSTOP) };
    let stopped = Instant::now();
    until("nothing is left", || marked(&marker).is_empty());
    let lived = stopped.elapsed();
    assert!(lived > EXPIRY / 2 && lived < EXPIRY + Duration::from_secs(1), "{lived:?}");
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
}

#[test]
#[ignore = "a host for `after_its_time_nothing_starts`"]
fn too_late() {
    expire_at(Some(Instant::now()));
    let late = run(&sh("echo started"));
    expire_at(None);
    let again = run(&sh("echo started"));
    println!("ready {:?} {:?}", late.ended.ending, again.ended.ending);
}

#[test]
fn after_its_time_nothing_starts() {
    let own = std::env::current_exe().expect("we are a file");
    let told = program(
        own.to_str().expect("a path"),
        &["--ignored", "--exact", "--nocapture", "--test-threads=1", "host::too_late"],
    );
    let said = String::from_utf8_lossy(&run(&Spec::new(told)).stdout).into_owned();
    assert!(said.contains("ready Stopped { killed: false } Exited(0)"), "{said}");
}

#[expect(clippy::print_stdout, reason = "the host tells the test")]
fn grow(marker: &str) {
    let session = Session::new().expect("a session opens");
    // One that is running, and one that left things behind.
    let mut spec = perl(FOREST);
    spec.program = spec.program.env(marker, "1");
    let talker = program("perl", &["-e", FOREST]).env(marker, "1");
    let _conversation = Conversation::start(talker, ProcessLimits::default()).expect("the program starts");
    std::thread::scope(|scope| {
        let mut left = sh("(trap '' TERM HUP; while :; do sleep 1; done) >/dev/null 2>&1 & exit 0");
        left.program = left.program.env(marker, "1");
        run_in(&session, &left);
        scope.spawn(|| run_in(&session, &spec));
        let stop = Stop::new().expect("descriptors are left");
        let pools = ["bash", "sh"].map(|shell| {
            let pool = Pool::new(PoolSize::default()).expect("descriptors are left");
            let spec = Spec::new(program(shell, &["-c", ":"]).env(marker, "1"));
            until("a shell waits", || {
                session.run_with(Some(&pool), &spec, &stop, &mut || (), &mut |_, _| {}).expect("the program starts");
                pool.ready() > 0 || !path("sh").canonicalize().is_ok_and(|sh| sh.ends_with("dash"))
            });
            pool
        });
        until("all of the forest", || marked(marker).len() >= 37);
        println!("ready");
        std::thread::park();
        drop(pools);
    });
}

#[test]
fn our_own_death_leaves_nothing_behind() {
    ends_with_its_host(|_| {});
}

#[test]
fn our_own_death_leaves_nothing_behind_stopped_wardens() {
    ends_with_its_host(|host| {
        let tasks = std::fs::read_dir(format!("/proc/{host}/task")).expect("it lives");
        let children = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let wardens: Vec<i32> = children
            .flat_map(|text| text.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
            .collect();
        assert!(wardens.len() >= 3, "{wardens:?}");
        // A pool makes more of them all the time. One that has its name has told the kernel what to do when we die.
        let is_ready = |pid: &i32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == "cycod-warden")
        };
        for pid in wardens.into_iter().filter(is_ready) {
            // SAFETY: it takes numbers only.
            unsafe { libc::kill(pid, libc::SIGSTOP) };
        }
    });
}

/// Kills a host of a forest, after something was done to it.
fn ends_with_its_host(disturb: impl FnOnce(u32)) {
    let marker = marker();
    let (mut child, _lines) = host("forest", &marker);
    assert!(marked(&marker).len() >= 37);
    disturb(child.id());
    child.kill().expect("it is ours");
    let killed = Instant::now();
    child.wait().expect("it is ours");
    until("nothing is left", || marked(&marker).is_empty());
    assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
}

#[test]
#[ignore = "a host for `a_control_group_whose_owner_died_is_removed`"]
fn grouped() {
    let mut spec = sh("cat /proc/self/cgroup; echo end; sleep 60");
    spec.program = spec.program.env(own_marker(), "1");
    spec.limits.memory = Some(100 << 20);
    let session = Session::new().expect("a session opens");
    let mut seen = Vec::new();
    let stop = Stop::new().expect("descriptors are left");
    let ended = session.run(&spec, &stop, &mut |_, bytes| {
        seen.extend_from_slice(bytes);
        if seen.ends_with(b"end\n") {
            println!("ready {}", std::process::id());
        }
    });
    println!("{ended:?}");
}

#[test]
fn a_control_group_whose_owner_died_is_removed() {
    let (marker, later) = (marker(), Session::new().expect("a session opens"));
    let (mut child, _lines) = host("grouped", &marker);
    let mut spec = sh("cat /proc/self/cgroup");
    spec.limits.memory = Some(100 << 20);
    let groups = |pid: u32| {
        let find = program("find", &["/sys/fs/cgroup", "-type", "d", "-name", &format!("cycod-{pid}-*")]);
        run(&Spec::new(find)).out().lines().count()
    };
    let (pid, usual) = (child.id(), run(&spec).ended.memory);
    assert_eq!(groups(pid), usize::from(usual != MemoryEnforcement::Sampled));
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    until("nothing is left", || marked(&marker).is_empty());
    run_in(&later, &spec);
    assert_eq!(groups(pid), 0);
}

#[test]
#[ignore = "a host for the tests of interrupts"]
fn interrupted() {
    // A shell that runs us in the background has us ignore interrupts, `nohup` hangups, and what was ignored stays so.
    for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGTERM] {
        // SAFETY: plain call without pointers.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let stop = Stop::new().expect("descriptors are left");
    let handling = host_interrupts(&stop).expect("nobody else handles them");
    assert!(host_interrupts(&stop).is_err(), "there is one handling at a time");
    let session = Session::new().expect("a session opens");
    let mut spec = hears("TERM", "print qq(heard\\n)");
    spec.grace = Duration::from_secs(60);
    let mut print = |_, bytes: &[u8]| print!("{}", String::from_utf8_lossy(bytes));
    let ended = session.run(&spec, &stop, &mut print).expect("the program starts");
    println!("{:?} by {:?}", ended.ending, handling.signal());
    drop(handling);
    // Restored: this one is the end.
    // SAFETY: plain call without pointers.
    unsafe { libc::raise(libc::SIGINT) };
    println!("survived");
}

#[test]
fn the_first_interrupt_asks_and_the_second_kills() {
    use std::os::unix::process::ExitStatusExt;
    for (first, second) in [(libc::SIGINT, libc::SIGINT), (libc::SIGTERM, libc::SIGINT), (libc::SIGHUP, libc::SIGTERM)]
    {
        let (mut child, lines) = host("interrupted", "");
        let pid = child.id().cast_signed();
        // SAFETY: plain call without pointers, to a child that we have not waited for.
        unsafe { libc::kill(pid, first) };
        let mut story = Vec::new();
        for line in lines.lines() {
            let line = line.expect("it writes text");
            if line == "heard" {
                // SAFETY: as above.
                unsafe { libc::kill(pid, second) };
            }
            story.push(line);
        }
        let expect = format!("{:?} by Some({first})", Ending::Stopped { killed: true });
        assert_eq!(story, ["heard".to_owned(), expect]);
        assert_eq!(child.wait().expect("it is ours").signal(), Some(libc::SIGINT));
    }
}

#[test]
#[ignore = "a host for `interrupts_are_handled_again_and_again`"]
fn interrupted_often() {
    // SAFETY: plain call without pointers.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("procfs is mounted").count();
    let before = descriptors();
    for _ in 0..500 {
        let stop = Stop::new().expect("descriptors are left");
        let handling = host_interrupts(&stop).expect("nobody else handles them");
        // SAFETY: plain call without pointers.
        unsafe { libc::raise(libc::SIGINT) };
        assert!(stop.is_raised() && handling.signal() == Some(libc::SIGINT));
    }
    assert_eq!(descriptors(), before, "each handling gives back what it took");
    println!("ready");
}

#[test]
#[cfg(target_os = "linux")]
fn interrupts_are_handled_again_and_again() {
    let (mut child, mut lines) = host("interrupted_often", "");
    std::io::copy(&mut lines, &mut std::io::sink()).expect("it ends");
    assert!(child.wait().expect("it is ours").success());
}

#[test]
#[ignore = "a host for `a_session_leaves_no_trace_in_us`"]
fn trace() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("procfs is mounted").count();
    let children = || -> usize {
        let threads = std::fs::read_dir("/proc/self/task").expect("procfs is mounted").flatten();
        threads
            .map(|thread| {
                std::fs::read_to_string(thread.path().join("children")).unwrap_or_default().split_whitespace().count()
            })
            .sum()
    };
    let maps = || std::fs::read_to_string("/proc/self/maps").expect("procfs is mounted").lines().count();
    let before = descriptors();
    for round in 0..2 {
        let first = maps();
        let session = Session::new().expect("a session opens");
        for _ in 0..50 {
            run_in(&session, &sh("exit 1"));
            // An orphan that ends a little later, when nobody looks at its warden any more.
            run_in(&session, &sh("sleep 0.01 >/dev/null 2>&1 & exit 0"));
            let mut held = sh("sleep 60 & exit 0");
            held.linger = Duration::ZERO;
            run_in(&session, &held);
            let stop = Stop::new().expect("descriptors are left");
            assert!(try_run(&session, &Spec::new(Program::new("/no/such", "/")), &stop).is_err());
        }
        assert!(children() >= 50, "the ones with something left are there");
        session.finish();
        assert_eq!(children(), 0, "no child, alive or dead");
        assert_eq!(descriptors(), before);
        // The allocator may have grown once, and a few areas are kept for the next; two hundred runs would leave more.
        assert!(round == 0 || maps() <= first + 40, "{} mappings became {}", first, maps());
    }
    println!("ready");
}

#[test]
fn a_session_leaves_no_trace_in_us() {
    let (mut child, _lines) = host("trace", "");
    assert!(child.wait().expect("it is ours").success());
}

#[test]
#[ignore = "a host for `a_host_that_ignores_its_children`"]
fn careless() {
    // SAFETY: plain calls without pointers.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::close(0);
    }
    let session = Session::new().expect("a session opens");
    let mut spec = sh("exec <&-; exit 5");
    spec.input = Input::Bytes(vec![0; 1_000_000].into());
    assert_eq!(run_in(&session, &spec).ended.ending, Ending::Exited(5));
    assert_eq!(run_in(&session, &sh("cat; kill -9 $$")).ended.ending, Ending::Signaled(9));
    // SAFETY: plain call without pointers.
    let kept = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    assert_eq!(kept, libc::SIG_DFL, "the host's own choice stays");
    println!("ready");
}

#[test]
fn a_host_may_ignore_its_children_and_close_its_input() {
    let (mut child, _lines) = host("careless", "");
    assert!(child.wait().expect("it is ours").success());
}

#[test]
#[ignore = "a host for `on_our_terminal`"]
fn terminal() {
    let session = Session::new().expect("a session opens");
    let mut spec = perl(
        "use POSIX; open T, '+<', '/dev/tty' or die; my $line = <T>; print getpgrp() == tcgetpgrp(fileno T) ? 'ours' : 'foreign', qq( $line)",
    );
    spec.terminal = Terminal::Inherit;
    let run = run_in(&session, &spec);
    println!("begun {}", run.out().trim_end());
    // Ctrl-C reaches the program, although it does not reach its warden.
    let stop = Stop::new().expect("descriptors are left");
    let handling = host_interrupts(&stop).expect("nobody else handles them");
    let mut spec = hears("INT", "print qq(heard\\n); exit 3");
    spec.terminal = Terminal::Inherit;
    spec.grace = Duration::from_secs(60);
    let ended = session.run(&spec, &Stop::new().expect("descriptors are left"), &mut |_, bytes| {
        print!("{}", String::from_utf8_lossy(bytes));
    });
    // Ours may be delivered a little later, to another thread.
    until("the host heard it too", || handling.signal().is_some());
    println!("{:?} {:?}", ended.expect("the program starts").ending, handling.signal());
}

#[test]
fn on_our_terminal() {
    // Python opens a terminal for the host and types at it.
    let own = std::env::current_exe().expect("we are a file");
    let host = format!("{} --ignored --exact --nocapture --test-threads=1 host::terminal", own.display());
    let mut spec = Spec::new(program("python3", &["-c", PTY, &host]));
    spec.deadline = Some(Instant::now() + Duration::from_secs(30));
    let run = run(&spec);
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.out().contains("begun ours typed"), "{} {told}", run.out());
    assert!(run.out().contains("heard") && run.out().contains("Exited(3) Some(2)"), "{} {told}", run.out());
}

const PTY: &str = r"
import os, pty, sys
# When the leader of a session exits, the kernel drops what is on its way to the terminal's other side. So a shell
# leads this one, and waits until all of the host's output has arrived here.
leader = 'trap : INT; ' + sys.argv[1] + '; echo status $?; read _'
pid, fd = pty.fork()
if pid == 0: os.execvp('sh', ['sh', '-c', leader])
text, typed = b'', False
os.write(fd, b'typed\n')
try:
    while True:
        piece = os.read(fd, 4096)
        if not piece: break
        text += piece
        if b'ready' in text and not typed:
            typed = True
            os.write(fd, b'\x03')
        if b'status ' in text: break
except OSError as problem: text += repr(problem).encode()
os.close(fd)
os.waitpid(pid, 0)
sys.stdout.buffer.write(text)
";
