//! Whatever the author wrote, a value is data: placing it changes nothing that bash parses.
//!
//! The byte 0x01 stands for a placeholder. Where `bash -n` takes the template with a harmless word in each place, and
//! the placing accepts it, `bash -n` takes the placed program too, for a value that would break any quoting.
#![no_main]

use std::{
    io::Write,
    process::{Command, Stdio},
};

use cycod_shell::{
    Hole, Kind, Mode, Piece, Placed, Programs, Question, Reader, Segment, Shell, Trust, Value, Words, judge, place,
};
use libfuzzer_sys::fuzz_target;

const HOSTILE: &str = "'\"`$(exit 9)\\\n)}; done EOF # {a,b} *";

/// Places a word in each place, as the judge lets it; nothing when that is refused.
fn placed(shell: Shell, text: &str, word: &str, mode: Mode) -> Option<Placed> {
    let hole = || Hole {
        name: "V",
        shown: "{V}".into(),
        kind: Kind::Text,
        mode,
        texts: Vec::new(),
        vanishes: false,
        is_list: false,
        is_json_string: false,
        format: Vec::new(),
        options: mode == Mode::Arguments,
        trust: Trust::None,
    };
    let (mut command, mut parts) = (Vec::new(), Vec::new());
    for (index, part) in text.split('\u{1}').enumerate() {
        if index > 0 {
            command.push(Segment::Hole(hole()));
        }
        command.push(Segment::Text(part));
        parts.push(part);
    }
    let programs = Programs::default();
    let reader = Reader::Shell(shell);
    let verdicts =
        judge(&Question { reader, command: &command, environment: &[], input: &[], programs: &programs }).command;
    let mut pieces = vec![Piece::Text(parts[0])];
    for (verdict, part) in verdicts.iter().zip(&parts[1..]) {
        let words = Words::One(word.into());
        pieces.push(Piece::Value(Value { name: "V", words, mode, kind: Kind::Text, sensitive: false, verdict }));
        pieces.push(Piece::Text(part));
    }
    place(shell, &pieces).ok()
}

fuzz_target!(|text: &str| {
    if text.contains('\0') {
        return;
    }
    for shell in [Shell::Bash, Shell::Sh, Shell::Zsh, Shell::PowerShell, Shell::Cmd] {
        for mode in [Mode::Word, Mode::Arguments, Mode::Output, Mode::Fragment] {
            drop(placed(shell, text, HOSTILE, mode));
        }
    }
    if !text.contains('\u{1}') || text.len() > 200 {
        return;
    }
    let both = ["word", HOSTILE].map(|word| placed(Shell::Bash, text, word, Mode::Word));
    let [Some(plain), Some(placed)] = both else { return };
    if bash_takes(&plain.text) {
        assert!(bash_takes(&placed.text), "template {text:?}\nplaced {:?}", placed.text);
    }
});

fn bash_takes(program: &str) -> bool {
    let mut bash = Command::new("bash")
        .args(["--noprofile", "--norc", "-n", "/dev/stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash starts");
    // A program that bash gives up on early leaves the rest unread.
    drop(bash.stdin.take().expect("it is piped").write_all(program.as_bytes()));
    bash.wait().expect("it ends").success()
}
