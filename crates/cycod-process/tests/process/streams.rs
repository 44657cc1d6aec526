use std::sync::Arc;
use std::time::Duration;

use cycod_process::{Ending, Input, SCRIPT_PATH, Session, Spec, Stop, Stream};

use crate::support::*;

fn sessions() -> [Session; 2] {
    [Session::new().expect("a session opens"), Session::portable()]
}

/// Bytes in which a lost, doubled or moved piece shows.
fn numbers(size: usize) -> Vec<u8> {
    (0_u32..).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).take(size).collect()
}

#[test]
fn ten_megabytes_go_through_both_ways() {
    for session in sessions() {
        let bytes = numbers(10_000_003);
        let mut spec = Spec::new(program("cat", &[]));
        spec.input = Input::Bytes(bytes.clone().into());
        let run = run_in(&session, &spec);
        assert!(run.stdout == bytes, "{} of {} bytes", run.stdout.len(), bytes.len());
        assert_eq!(run.ended.ending, Ending::Exited(0));
    }
}

#[test]
fn input_that_nobody_reads_is_no_failure() {
    for session in sessions() {
        let mut spec = sh("exec <&-; echo done");
        spec.input = Input::Bytes(numbers(3_000_000).into());
        let run = run_in(&session, &spec);
        assert_eq!((run.out(), run.ended.ending), ("done\n", Ending::Exited(0)));
    }
}

#[test]
fn no_input_is_an_end_of_file() {
    for session in sessions() {
        let run = run_in(&session, &sh("cat; echo $?; [ -t 0 ] || echo no terminal"));
        assert_eq!(run.out(), "0\nno terminal\n");
    }
    let mut spec = sh("cat; echo $?");
    spec.input = Input::Bytes(Arc::from([]));
    assert_eq!(run(&spec).out(), "0\n");
}

#[test]
fn both_streams_arrive_whole() {
    let script = "for my $i (1..5000) { print STDOUT 'o' x 1000, chr 10; print STDERR 'e' x 1000, chr 10 }";
    for session in sessions() {
        let run = run_in(&session, &perl(script));
        let whole = |byte: u8| [[byte; 1000].as_slice(), b"\n"].concat().repeat(5000);
        assert!(run.stdout == whole(b'o'), "{}", run.stdout.len());
        assert!(run.stderr == whole(b'e'), "{}", run.stderr.len());
    }
}

#[test]
fn output_arrives_while_the_program_runs() {
    for session in sessions() {
        // It ends only because what it wrote has been seen.
        let stop = Stop::new().expect("descriptors are left");
        let ended = session.run(&sh("printf x; sleep 60"), &stop, &mut |_, bytes| {
            if bytes == b"x" {
                stop.kill();
            }
        });
        assert_eq!(ended.expect("the program starts").ending, Ending::Stopped { killed: true });
    }
}

#[test]
fn a_slow_reader_gets_everything_after_the_end() {
    // The program is long gone when most of its bytes are taken, and nothing is granted to those who write later. A background
    // process may keep the pipes open, so that they have no end.
    for (session, background) in sessions().iter().flat_map(|session| [(session, ""), (session, "sleep 60 & ")]) {
        let mut spec = sh(&format!("{background}exec perl -e 'print STDERR q(y) x 900_000; print q(x) x 900_000'"));
        spec.linger = Duration::ZERO;
        let mut bytes = [0, 0];
        let ended = session.run(&spec, &Stop::new().expect("descriptors are left"), &mut |stream, piece| {
            bytes[usize::from(stream == Stream::Stderr)] += piece.len();
            std::thread::sleep(Duration::from_millis(10));
        });
        let ended = ended.expect("the program starts");
        let is_held = !background.is_empty();
        assert_eq!((ended.ending, bytes, ended.pipe_held), (Ending::Exited(0), [900_000; 2], is_held), "{session:?}");
    }
}

#[test]
fn a_large_script_is_read_from_its_path() {
    let script = format!("x=$(cat)\necho $((6*7)) $x\n: {}\nexit 9\n", "y".repeat(10_000_000));
    for session in sessions() {
        let mut spec = Spec::new(program("sh", &[SCRIPT_PATH]));
        spec.script = Some(script.as_bytes().into());
        spec.input = Input::Bytes(b"in".as_slice().into());
        let run = run_in(&session, &spec);
        assert_eq!((run.out(), run.ended.ending), ("42 in\n", Ending::Exited(9)));
    }
}

#[test]
fn a_script_cannot_be_changed_by_what_it_runs() {
    let mut spec = Spec::new(program("sh", &[SCRIPT_PATH]));
    spec.script = Some(b"echo 'echo changed' 2>&- >>/dev/fd/3 && echo written\necho kept\n".as_slice().into());
    let run = run(&spec);
    assert_eq!(run.out(), "kept\n");
}

#[test]
fn a_slow_reader_slows_the_program() {
    for session in sessions() {
        let directory = tempfile::tempdir().expect("temporary files work");
        let done = directory.path().join("done");
        let spec = sh(&format!("head -c 50000000 /dev/zero; echo done >{}", done.display()));
        let (mut bytes, stop) = (0, Stop::new().expect("descriptors are left"));
        let ended = session.run(&spec, &stop, &mut |_, piece| {
            if bytes == 0 {
                // Far longer than the rest takes when nobody waits.
                std::thread::sleep(Duration::from_millis(400));
                assert!(!done.exists(), "the bytes went somewhere before anybody took them");
            }
            bytes += piece.len();
        });
        assert_eq!((bytes, ended.expect("the program starts").is_success()), (50_000_000, true));
        assert!(done.exists());
    }
}
