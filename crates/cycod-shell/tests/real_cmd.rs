//! Values reach programs behind `cmd.exe` as they are, or are refused, whatever they hold and wherever they are.
//!
//! It runs on Windows, and under Wine. A program that `cmd.exe` starts is this one again: it prints its arguments.

#![cfg_attr(
    windows,
    expect(
        clippy::disallowed_methods,
        reason = "the test starts the real shell itself; the crate under test starts nothing"
    )
)]
#![allow(clippy::print_stdout, reason = "this program prints its arguments, and what it found")]

#[cfg(not(windows))]
fn main() {}

#[cfg(windows)]
fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--print-arguments") => arguments.for_each(|argument| println!("[{argument}]")),
        // What `cargo test` passes on asks for nothing here.
        _ => real::matrix(),
    }
}

#[cfg(windows)]
mod real {
    use std::{os::windows::process::CommandExt, path::Path, process::Command};

    use cycod_shell::{Kind, Mode, Piece, Shell, Value, Verdict, Words, place};

    const VALUES: [&str; 60] = [
        "plain",
        "two words",
        " leading",
        "trailing ",
        "  ",
        "a\tb",
        "a&b",
        "a & echo hacked>canary",
        "&echo hacked>canary",
        "&&echo hacked>canary",
        "||echo hacked>canary",
        "|echo hacked>canary",
        "a|b",
        ">canary",
        "x>canary",
        "x 2>canary",
        ">>canary",
        "<canary",
        "a<b>c",
        "^",
        "^^",
        "a^b",
        "^&echo hacked>canary",
        "a^",
        "(",
        ")",
        "(a)",
        ")&echo hacked>canary",
        "()",
        "%PATH%",
        "%",
        "100%",
        "%%",
        "%CD%",
        "%~dp0",
        "!PATH!",
        "!",
        "wow!",
        "\"",
        "a\"b",
        "\"&echo hacked>canary&\"",
        "\" & echo hacked>canary",
        "'",
        "it's",
        "`x`",
        "\\",
        "a\\",
        "C:\\dir\\",
        "C:\\my dir\\x",
        "\\\\server\\share",
        "*",
        "?",
        "*.*",
        ",;=",
        "a,b;c=d",
        "/c",
        "-x",
        "grün 🦀 日本",
        "a\nb",
        "a\recho hacked>canary",
    ];

    /// Where the value is, and what the program prints for it, with `{V}` for the value.
    const PLACES: [(&str, &str); 9] = [
        ("PRINT \"{V}\"", "[{V}]"),
        ("PRINT {V}", "[{V}]"),
        ("PRINT --name={V}", "[--name={V}]"),
        ("PRINT \"--name={V}\"", "[--name={V}]"),
        ("PRINT \"a {V} b\" c", "[a {V} b][c]"),
        ("PRINT first && PRINT \"{V}\"", "[first][{V}]"),
        ("PRINT \"{V}\" & PRINT last", "[{V}][last]"),
        ("(PRINT \"{V}\")", "[{V}]"),
        ("PRINT \"{V}\" \"{V}\"", "[{V}][{V}]"),
    ];

    pub(super) fn matrix() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let own = std::env::current_exe().expect("this program");
        let cmd = std::env::var_os("COMSPEC").expect("Windows names its command interpreter");
        let print = format!("\"{}\" --print-arguments", own.display());
        let free = Verdict::free();
        let (mut given, mut refused, mut wrong) = (0, 0, Vec::new());
        for (place_, expected) in PLACES {
            for value in VALUES {
                let Ok(placed) = place(Shell::Cmd, &pieces(place_, value, &free)) else {
                    refused += 1;
                    continue;
                };
                given += 1;
                let text = placed.text.replace("PRINT", &print);
                let output = Command::new(&cmd)
                    .args(["/d", "/s", "/c"])
                    .raw_arg(format!("\"{text}\""))
                    .current_dir(directory.path())
                    .output()
                    .expect("cmd.exe starts");
                let printed = String::from_utf8_lossy(&output.stdout).replace(['\r', '\n'], "");
                if printed != expected.replace("{V}", value) || canary(directory.path()) {
                    wrong.push(format!("{text}\n  printed {printed}\n  {}", String::from_utf8_lossy(&output.stderr)));
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {given} values act or change:\n{}", wrong.len(), wrong.join("\n"));
        // A matrix in which everything is refused would prove nothing.
        assert!(given > 200 && refused > 100, "{given} values were given, {refused} refused");
        println!("{given} values reach a program behind cmd.exe as they are, {refused} are refused");
    }

    fn pieces<'a>(template: &'a str, value: &'a str, verdict: &'a Verdict) -> Vec<Piece<'a>> {
        let value = Value {
            name: "V",
            words: Words::One(value.into()),
            mode: Mode::Word,
            kind: Kind::Text,
            sensitive: false,
            verdict,
        };
        let mut pieces = Vec::new();
        for (index, text) in template.split("{V}").enumerate() {
            if index > 0 {
                pieces.push(Piece::Value(value.clone()));
            }
            pieces.push(Piece::Text(text));
        }
        pieces
    }

    fn canary(directory: &Path) -> bool {
        let file = directory.join("canary");
        let is_there = file.exists();
        drop(std::fs::remove_file(file));
        is_there
    }
}
