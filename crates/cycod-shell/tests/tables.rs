//! The tables of programs against what is expected of everyday commands: `tests/tables/*.txt`.
//!
//! A line without indentation is a template; the indented line behind it has a word for each of its placeholders, in order:
//! `free`, `data`, `unproven` or `code`. `shell bash` (or `sh`, `zsh`, `words`) says who reads the templates that follow, `\n` in
//! a template is the end of a line, and `#` begins a comment.

use std::fmt::Write as _;
use std::{fs, path::Path};

use cycod_shell::{Programs, Question, Reader, Shell, judge};

#[path = "common/reader.rs"]
mod reader;
#[path = "common/template.rs"]
mod template;

#[test]
fn every_placeholder_stands_as_its_table_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables");
    let mut files: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no file in {}", directory.display());
    let mut wrong = String::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        check(&name, &fs::read_to_string(&file).unwrap(), &mut wrong);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn check(name: &str, text: &str, wrong: &mut String) {
    let mut reader = Reader::Shell(Shell::Bash);
    let programs = Programs::default();
    let mut template: Option<(usize, &str)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(expected) = line.strip_prefix("    ") {
            let Some((number, line)) = template.take() else {
                let _ = writeln!(wrong, "{name}:{number}: what is expected has no template");
                continue;
            };
            let source = line.replace("\\n", "\n");
            let segments = template::segments(&source);
            let question = Question { reader, command: &segments, environment: &[], input: &[], programs: &programs };
            let verdicts = judge(&question).command;
            let found: Vec<&str> = verdicts.iter().map(|verdict| verdict.proof.name()).collect();
            if found != expected.split_whitespace().collect::<Vec<_>>() {
                let _ = writeln!(
                    wrong,
                    "{name}:{number}: {line}\n    expected {}\n    found    {}",
                    expected.trim(),
                    found.join(" ")
                );
                for verdict in verdicts {
                    let _ = writeln!(wrong, "        {}", verdict.reason);
                }
            }
            continue;
        }
        if let Some((number, line)) = template.take() {
            let _ = writeln!(wrong, "{name}:{number}: nothing is expected of `{line}`");
        }
        match line.strip_prefix("shell ") {
            Some(shell) => reader = reader::named(shell.trim()),
            None => template = Some((number, line)),
        }
    }
    if let Some((number, line)) = template {
        let _ = writeln!(wrong, "{name}:{number}: nothing is expected of `{line}`");
    }
}
