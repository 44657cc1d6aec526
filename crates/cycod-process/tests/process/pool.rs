//! Prepared shells: nothing leaks into them, and no program can tell.

use std::time::{Duration, Instant};

use cycod_process::{Ending, Input, Pool, PoolSize, Program, Session, Spec, Stop};

use crate::support::*;

fn bash(text: &str) -> Spec {
    Spec::new(program("bash", &["--noprofile", "--norc", "-c", text]))
}

/// What makes a program for each shell that can be prepared here.
fn shells() -> Vec<fn(&str) -> Spec> {
    let is_dash = path("sh").canonicalize().is_ok_and(|path| path.ends_with("dash"));
    if is_dash { vec![bash, sh] } else { vec![bash] }
}

fn pool() -> Pool {
    Pool::new(PoolSize::default()).expect("descriptors are left")
}

fn run_with(pool: &Pool, spec: &Spec) -> Run {
    let (session, stop) = (Session::new().expect("a session opens"), Stop::new().expect("descriptors are left"));
    collect(|sink| session.run_with(Some(pool), spec, &stop, &mut || (), sink)).expect("the program starts")
}

/// Makes sure that a shell waits for programs like this one.
#[track_caller]
fn prepare(pool: &Pool, like: &Spec) {
    let mut like = like.clone();
    *like.program.args.last_mut().expect("a text") = ":".into();
    let served = pool.served();
    // On a busy machine one may not become ready; the next program asks for another.
    until("a shell is taken, and one more waits", || {
        run_with(pool, &like);
        let end = Instant::now() + Duration::from_secs(2);
        while pool.ready() == 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        pool.served() > served && pool.ready() > 0
    });
}

/// Runs a program in a shell that was prepared for it.
#[track_caller]
fn run_prepared(pool: &Pool, spec: &Spec) -> Run {
    prepare(pool, spec);
    let served = pool.served();
    let run = run_with(pool, spec);
    assert_eq!(pool.served(), served + 1, "it was to be prepared: {:?}", spec.program.args);
    run
}

#[test]
fn a_program_cannot_tell_that_its_shell_was_prepared() {
    let texts = [
        "echo hello",
        "",
        " # nothing but a remark",
        "printf 'no newline'",
        "echo out; echo err >&2; exit 3",
        "exit 255",
        "false",
        "nosuchcommand --option",
        "/nonexistent/file",
        "/etc/passwd",
        "if then fi",
        "echo 'unclosed",
        "cat <<END\nhere $((1 + 2))\nEND",
        "cat <<END\nunclosed here-document",
        "echo $0 $# $- $LINENO",
        "echo\necho $LINENO\nnosuchcommand",
        "echo $((1 / 0)); echo after",
        "echo ${missing:?is not there}; echo after",
        "set -u; echo $missing; echo after",
        "set -e; false; echo after",
        "set -o pipefail; false | true; echo $?",
        "return 4; echo after $?",
        "break; continue; echo after $?",
        "kill -TERM $$",
        "kill -KILL $$",
        "trap 'echo trapped' EXIT; exit 5",
        "trap 'echo heard; exit 6' USR1; kill -USR1 $$; echo never",
        "trap; trap -p; jobs; alias; hash; dirs; caller; declare -F",
        "set -o; shopt",
        "umask; ulimit -a; pwd -P; cd /usr && pwd",
        "env | sort",
        "export A=1; env | grep ^A=; unset A; env | grep ^A=",
        "compgen -v | grep -v -e PIPESTATUS -e RANDOM -e '^_$'",
        "declare -p PATH IFS OPTIND SHLVL BASHOPTS SHELLOPTS BASH_VERSINFO FUNCNAME BASH_SOURCE BASH_LINENO",
        "opendir() { ls /proc/self/fd; }; opendir | sort -n | head -n 3; [ -e /proc/self/fd/9 ] || echo no nine",
        "read -r line; echo \"got $line $?\"",
        "cat; echo end",
        "exec 5>&1; echo five >&5; exec 5>&-; echo gone >&5",
        "exec echo replaced",
        "exec nosuchcommand; echo never",
        "echo $(echo nested $(echo twice)); echo `echo old`",
        "(exit 7); echo $?; { echo grouped; }; ( echo $BASH_SUBSHELL )",
        "false | true | false; echo ${PIPESTATUS[@]}",
        "f() { local x=1; echo $x ${FUNCNAME[0]} $LINENO; return 8; }; f; echo $?",
        "for i in {1..3}; do echo $i; done; echo ${!BASH@}",
        "[[ abc =~ ^a(.)c$ ]] && echo ${BASH_REMATCH[1]}; echo é ü | wc -c -m",
        "sleep 0 & wait $!; echo $?; wait -n; echo $?",
        "echo 'a\\b' \"$'\\t'\" $'\\x41' \\\\ '*' *nothing*",
        "eval 'if'; echo $?; source /nonexistent; echo $?",
        "history; fc -l; set -x; echo traced",
        "type -t cd [ if nosuch; command -v bash; enable | head -n 2",
        "command -v ps >&2 && ps -o args= -p $$; echo $?",
        "awk 'BEGIN { print \"awk\"; exit 9 }'",
    ];
    for shell in shells() {
        let pool = pool();
        for text in texts {
            let [cold, prepared] = [run(&shell(text)), run_prepared(&pool, &shell(text))].map(|run| {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (text(&run.stdout), text(&run.stderr), run.ended.ending, run.ended.pipe_held)
            });
            assert_eq!(prepared, cold, "{text}");
        }
    }
}

#[test]
fn options_input_and_limits_are_as_given() {
    let mut with_options = bash("echo $-; false; echo never");
    with_options.program.args.splice(2..2, ["-e", "-u", "-o", "pipefail"].map(Into::into));
    assert_eq!(run_prepared(&pool(), &with_options).out(), run(&with_options).out());
    let mut fed = bash("cat; echo $?");
    fed.input = Input::Bytes(vec![b'x'; 300_000].into());
    assert_eq!(run_prepared(&pool(), &fed).stdout.len(), 300_002);
    let mut limited = bash("ulimit -n; ulimit -f");
    limited.limits.open_files = Some(44);
    limited.limits.file_size = Some(1 << 20);
    assert_eq!(run_prepared(&pool(), &limited).out(), "44\n1024\n");
    let mut small = bash("a=x; while :; do a=$a$a; done");
    small.limits.memory = Some(60 << 20);
    assert_eq!(run_prepared(&pool(), &small).ended.ending, run(&small).ended.ending);
    let mut elsewhere = bash("pwd; echo $WHERE; echo $0");
    elsewhere.program = elsewhere.program.env("WHERE", "here");
    elsewhere.program.cwd = "/usr".into();
    elsewhere.program.arg0 = Some("bash".into());
    assert_eq!(run_prepared(&pool(), &elsewhere).out(), "/usr\nhere\nbash\n");
}

#[test]
fn nothing_leaks_from_one_to_the_next() {
    let pool = pool();
    let look = "echo \"$LEAK $(umask) $PWD $-\"; trap; jobs; declare -F; alias; shopt -q extglob; echo $?; for fd in /proc/$$/fd/*; do [ -e $fd ] && echo ${fd##*/}; done; echo end $$";
    let (mut seen, mut pids) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let looked = run_prepared(&pool, &bash(look));
        let (sight, pid) = looked.out().trim_end().rsplit_once(' ').expect("a process id at the end");
        seen.push(sight.to_owned());
        pids.push(pid.to_owned());
        let soil = "LEAK=1; export LEAK; umask 077; cd /usr; set -fu; trap 'echo x' EXIT; exec 7</dev/null; f() { :; }; alias a=b; shopt -s extglob; sleep 60 & disown";
        run_prepared(&pool, &bash(soil));
    }
    let cold = run(&bash(look));
    seen.push(cold.out().trim_end().rsplit_once(' ').expect("a process id at the end").0.to_owned());
    assert!(seen.iter().all(|sight| *sight == seen[0]), "{seen:?}");
    pids.sort();
    pids.dedup();
    assert_eq!(pids.len(), 5, "each is a process of its own");
}

#[test]
fn what_could_tell_is_started_cold() {
    let pool = pool();
    let mut login = bash(":");
    login.program.arg0 = Some("-bash".into());
    let mut as_sh = bash(":");
    as_sh.program.arg0 = Some("sh".into());
    let mut traced = bash(":");
    traced.program.args.insert(2, "-x".into());
    let mut startup = bash(":");
    startup.program = startup.program.env("BASH_ENV", "/dev/null");
    let mut script = bash(":");
    script.script = Some(b":".as_slice().into());
    let telling = [
        bash("echo $SECONDS"),
        bash("echo \"$BASH_EXECUTION_STRING\""),
        bash("echo $_"),
        bash("tr '\\0' ' ' </proc/$$/cmdline"),
        bash("-c"),
        bash(&"#".repeat(70_000)),
        Spec::new(program("env", &["-c", ":"])),
        login,
        as_sh,
        traced,
        startup,
        script,
    ];
    for spec in telling {
        (0..4).for_each(|_| drop(run_with(&pool, &spec)));
        assert_eq!((pool.ready(), pool.served()), (0, 0), "{:?}", spec.program.args);
    }
}

#[test]
fn who_is_no_bash_is_found_out() {
    let directory = tempfile::tempdir().expect("temporary files work");
    for script in ["#!/bin/sh\nexec /bin/bash \"$@\"\n", "#!/bin/sh\necho impostor\n", "#!/bin/bash -p\neval \"$4\"\n"]
    {
        let impostor = directory.path().join("bash");
        // Opened and closed by another process, so that no concurrent start holds it open for writing.
        std::fs::write(directory.path().join("text"), script).expect("temporary files work");
        let make = format!(
            "cp {0}/text {0}/bash.new; chmod +x {0}/bash.new; mv {0}/bash.new {0}/bash",
            directory.path().display()
        );
        assert!(run(&sh(&make)).ended.is_success());
        let mut spec = bash("echo right");
        spec.program.path = impostor;
        let expected = run(&spec);
        let pool = pool();
        for _ in 0..20 {
            let run = run_with(&pool, &spec);
            assert_eq!((run.out(), run.ended.ending), (expected.out(), expected.ended.ending));
        }
    }
}

#[test]
fn another_directory_or_program_of_the_same_name_is_not_the_same() {
    let pool = pool();
    let directory = tempfile::tempdir().expect("temporary files work");
    let place = directory.path().join("place");
    std::fs::create_dir(&place).expect("temporary files work");
    let mut spec = bash("ls");
    spec.program.cwd = place.clone();
    assert_eq!(run_prepared(&pool, &spec).out(), "");
    std::fs::rename(&place, directory.path().join("moved")).expect("temporary files work");
    std::fs::create_dir(&place).expect("temporary files work");
    std::fs::write(place.join("new"), "").expect("temporary files work");
    assert_eq!(run_with(&pool, &spec).out(), "new\n");
    std::fs::remove_dir_all(&place).expect("temporary files work");
    let stop = Stop::new().expect("descriptors are left");
    let missing =
        Session::new().expect("a session opens").run_with(Some(&pool), &spec, &stop, &mut || (), &mut |_, _| {});
    assert!(matches!(missing, Err(cycod_process::StartError::Directory { .. })), "{missing:?}");
}

#[test]
fn a_prepared_tree_is_ended_like_any_other() {
    for shell in shells() {
        let pool = pool();
        let marker = marker();
        let mut spec = shell("trap '' TERM; (sleep 60; :) & echo ready; sleep 60; :");
        spec.program = spec.program.env(marker.as_str(), "1");
        prepare(&pool, &spec);
        spec.deadline = Some(Instant::now() + PACE * Duration::from_millis(300));
        spec.grace = Duration::from_millis(100);
        let served = pool.served();
        let run = run_with(&pool, &spec);
        assert_eq!((run.out(), run.ended.ending), ("ready\n", Ending::TimedOut { killed: true }));
        assert_eq!(pool.served(), served + 1);
        pool.clear();
        until("those that were on their way are gone too", || marked(&marker).is_empty());
    }
}

#[test]
fn who_was_halted_is_not_traced() {
    let look = "grep -E '^(TracerPid|Umask)' /proc/$$/status; grep -E '^(Sig(Pnd|Blk|Ign|Cgt)|Seccomp|CoreDumping)' /proc/self/status";
    for shell in shells() {
        let prepared = run_prepared(&pool(), &shell(look));
        assert_eq!(prepared.out(), run(&shell(look)).out());
        assert!(prepared.out().contains("TracerPid:\t0\n"));
    }
}

#[test]
fn much_output_arrives_whole() {
    let pool = pool();
    let spec = bash("head -c 10000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero >&2");
    let run = run_prepared(&pool, &spec);
    assert!(run.stdout.len() == 10_000_000 && run.stdout.iter().all(|&byte| byte == b'x'));
    assert_eq!(run.stderr.len(), 1_000_000);
}

#[test]
fn a_pool_keeps_within_its_size_and_lets_go() {
    let marker = marker();
    let alike = |number: u32| {
        let mut spec = bash("echo $NUMBER");
        spec.program = spec.program.env(marker.as_str(), "1").env("NUMBER", number.to_string());
        spec
    };
    let size = PoolSize { alike: 2, total: 3, idle: PACE * Duration::from_millis(1500) };
    let pool = Pool::new(size).expect("descriptors are left");
    for number in 0..100 {
        for _ in 0..4 {
            assert_eq!(run_with(&pool, &alike(number)).out(), format!("{number}\n"));
        }
        assert!(pool.ready() <= size.total);
    }
    until("the last is prepared", || pool.ready() > 0);
    // One more may be on its way.
    assert!(marked(&marker).len() <= size.total + 1);
    until("nobody waits for what nobody runs", || marked(&marker).is_empty());
}

#[test]
fn who_waits_ends_when_the_pool_is_dropped_or_cleared() {
    for shell in shells() {
        let marker = marker();
        let mut spec = shell(":");
        spec.program = spec.program.env(marker.as_str(), "1");
        let pool = pool();
        prepare(&pool, &spec);
        assert!(!marked(&marker).is_empty());
        pool.clear();
        until("those that were on their way are gone too", || marked(&marker).is_empty());
        assert_eq!(pool.ready(), 0);
        prepare(&pool, &spec);
        drop(pool);
        assert_eq!(marked(&marker), []);
    }
}

#[test]
fn a_dead_one_is_not_used() {
    let pool = pool();
    let marker = marker();
    let mut spec = bash("echo alive");
    spec.program = spec.program.env(marker.as_str(), "1");
    prepare(&pool, &spec);
    until("they are gone", || {
        for pid in marked(&marker) {
            // SAFETY: plain call; the process carries our mark.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        marked(&marker).is_empty()
    });
    for _ in 0..10 {
        let run = run_with(&pool, &spec);
        assert_eq!((run.out(), run.ended.ending), ("alive\n", Ending::Exited(0)));
    }
    // The death of one is no reason to prepare no other.
    run_prepared(&pool, &spec);
}

#[test]
fn many_at_once_get_what_is_theirs() {
    let pool = pool();
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..30 {
                    let mut spec = bash(&format!("echo {thread} {round}; cat; exit {thread}"));
                    spec.input = Input::Bytes(format!("{round}").into_bytes().into());
                    let run = run_with(pool, &spec);
                    assert_eq!(run.out(), format!("{thread} {round}\n{round}"));
                    assert_eq!(run.ended.ending, Ending::Exited(thread));
                }
            });
        }
    });
}

#[test]
fn programs_of_the_session_find_each_other() {
    // What a prepared shell leaves behind belongs to the session that ran it, not to the pool.
    let pool = pool();
    let marker = marker();
    let mut spec = bash("sleep 60 & exit 0");
    spec.program = Program::env(spec.program, marker.as_str(), "1");
    prepare(&pool, &spec);
    let session = Session::new().expect("a session opens");
    let stop = Stop::new().expect("descriptors are left");
    let served = pool.served();
    session.run_with(Some(&pool), &spec, &stop, &mut || (), &mut |_, _| {}).expect("the program starts");
    assert_eq!(pool.served(), served + 1);
    assert_eq!(session.finish().processes, 1);
    drop(pool);
    assert_eq!(marked(&marker), []);
}
