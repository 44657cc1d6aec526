use std::io::{BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};

use cycod_process::{Conversation, Ending, ProcessLimits, Program, StartError, Streams};

use crate::support::*;

type Start = fn(Program, ProcessLimits) -> Result<(Conversation, Streams), StartError>;

/// What every platform has, and what this one has.
const EVERY: [Start; 2] = [Conversation::start, Conversation::start_portable];

fn start(start: Start, program: Program) -> (Conversation, Streams) {
    start(program, ProcessLimits::default()).expect("the program starts")
}

const MOMENT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(20);

#[test]
fn questions_are_answered_until_the_input_ends() {
    for every in EVERY {
        let echo = "while read -r line; do echo \"got $line\"; echo \"saw $line\" >&2; done; exit 7";
        let (mut conversation, mut streams) = start(every, program("sh", &["-c", echo]));
        let (mut stdout, mut stderr) = (BufReader::new(streams.stdout), BufReader::new(streams.stderr));
        for word in ["one", "two"] {
            writeln!(streams.stdin, "{word}").expect("it reads");
            let (mut answer, mut note) = (String::new(), String::new());
            stdout.read_line(&mut answer).expect("it writes text");
            stderr.read_line(&mut note).expect("it writes text");
            assert_eq!((answer, note), (format!("got {word}\n"), format!("saw {word}\n")));
        }
        assert!(!conversation.is_over());
        drop(streams.stdin);
        assert_eq!(conversation.end(LONG), Ending::Exited(7));
        assert_eq!(stdout.read(&mut [0]).expect("it is a pipe"), 0);
    }
}

#[test]
fn who_hears_the_end_of_input_only_when_asked_is_asked() {
    for every in EVERY {
        let deaf = hears("TERM", "exit 3").program;
        let (conversation, streams) = start(every, deaf);
        BufReader::new(streams.stdout).read_line(&mut String::new()).expect("it says that it is ready");
        drop(streams.stdin);
        assert_eq!(conversation.end(MOMENT), Ending::Stopped { killed: false });
    }
}

#[test]
fn nobody_survives_the_end_or_the_drop() {
    const ESCAPE: &str =
        "use POSIX; $SIG{TERM} = 'IGNORE'; setsid() if !fork; $| = 1; print qq(ready\\n); sleep 1 while 1";
    for ends in [true, false] {
        let marker = marker();
        let (conversation, streams) = start(Conversation::start, perl(ESCAPE).program.env(marker.as_str(), "1"));
        let mut lines = BufReader::new(streams.stdout);
        for _ in 0..2 {
            lines.read_line(&mut String::new()).expect("both are ready");
        }
        let begun = Instant::now();
        if ends {
            assert_eq!(conversation.end(MOMENT), Ending::Stopped { killed: true });
        } else {
            drop(conversation);
        }
        assert_eq!(marked(&marker), []);
        assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
    }
}

#[test]
fn what_the_program_leaves_behind_ends_with_the_conversation() {
    let marker = marker();
    let left = program("sh", &["-c", "sleep 60 & exit 4"]).env(marker.as_str(), "1");
    let (mut conversation, streams) = start(Conversation::start, left);
    assert_eq!(conversation.wait(LONG), Some(Ending::Exited(4)));
    assert_eq!(conversation.wait(Duration::ZERO), Some(Ending::Exited(4)), "it stays over");
    until("what it left behind", || marked(&marker).len() == 1);
    drop(streams);
    assert_eq!(conversation.end(MOMENT), Ending::Exited(4));
    assert_eq!(marked(&marker), []);
}

#[test]
fn a_program_whose_listener_is_gone_ends() {
    for every in EVERY {
        let (mut conversation, streams) = start(every, program("yes", &[]));
        drop(streams);
        assert_eq!(conversation.wait(LONG), Some(Ending::Signaled(libc::SIGPIPE)));
    }
}

#[test]
fn what_does_not_start_is_told() {
    for every in EVERY {
        let start = |program| every(program, ProcessLimits::default()).err();
        assert!(start(Program::new("/nonexistent/program", "/")).is_some_and(|error| error.is_program_missing()));
        let nowhere = Program::new("/bin/true", "/nonexistent");
        assert!(matches!(start(nowhere), Some(StartError::Directory { .. })));
        assert!(matches!(start(Program::new("/bin/true", "/").arg("\0")), Some(StartError::Nul { .. })));
        let limits = ProcessLimits { memory: Some(1 << 30), ..ProcessLimits::default() };
        assert!(matches!(every(Program::new("/bin/true", "/"), limits), Err(StartError::Unsupported { .. })));
    }
}

#[test]
fn limits_hold() {
    let limits = ProcessLimits { open_files: Some(33), ..ProcessLimits::default() };
    let (_conversation, mut streams) =
        Conversation::start(program("sh", &["-c", "ulimit -n"]), limits).expect("the program starts");
    let mut said = String::new();
    streams.stdout.read_to_string(&mut said).expect("it writes text");
    assert_eq!(said, "33\n");
}
