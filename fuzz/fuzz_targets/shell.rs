//! Whatever the author wrote, a value is data: placing it changes nothing that bash parses.
//!
//! The byte 0x01 stands for a placeholder. Where `bash -n` takes the template with a harmless word in each place, and
//! the placing accepts it, `bash -n` takes the placed program too, for a value that would break any quoting.
#![no_main]

use std::{
    io::Write,
    process::{Command, Stdio},
};

use cycod_shell::{Kind, Mode, Piece, Shell, Value, Words, inspect, place};
use libfuzzer_sys::fuzz_target;

const HOSTILE: &str = "'\"`$(exit 9)\\\n)}; done EOF # {a,b} *";

fuzz_target!(|text: &str| {
    if text.contains('\0') {
        return;
    }
    let value = |text: &'static str, mode| Value {
        name: "V",
        words: Words::One(text.into()),
        mode,
        kind: Kind::Text,
        sensitive: false,
    };
    let pieces = |word, mode| {
        let mut pieces = Vec::new();
        for (index, part) in text.split('\u{1}').enumerate() {
            if index > 0 {
                pieces.push(Piece::Value(value(word, mode)));
            }
            pieces.push(Piece::Text(part));
        }
        pieces
    };
    for shell in [Shell::Bash, Shell::Sh, Shell::Zsh, Shell::PowerShell, Shell::Cmd] {
        drop(inspect(shell, &pieces(HOSTILE, Mode::Word)));
        for mode in [Mode::Word, Mode::Arguments, Mode::Output, Mode::Fragment] {
            drop(place(shell, &pieces(HOSTILE, mode)));
        }
    }
    if !text.contains('\u{1}') || text.len() > 200 {
        return;
    }
    let (Ok(plain), Ok(placed)) =
        (place(Shell::Bash, &pieces("word", Mode::Word)), place(Shell::Bash, &pieces(HOSTILE, Mode::Word)))
    else {
        return;
    };
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
