//! The program as it is run.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_@@kebab@@"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments reads nothing.
    _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn counts_what_it_reads() {
    let output = run(&["--top", "1"], "b\na\nb\n");
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b"2\tb\n"[..])
    );
}

#[test]
fn says_what_is_wrong() {
    let output = run(&["no/such/file"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .starts_with("error: cannot read no/such/file: ")
    );
    assert_eq!(run(&["--nothing"], "").status.code(), Some(2));
}
