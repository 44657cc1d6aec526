//! Chores of the project: `cargo xtask tidy | generate | fuzz [SECONDS [TARGET…]] | order | dist [--profile NAME] …`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore starts cargo and talks to the developer"
)]

mod dist;
mod fuzz;
mod generate;
mod order;
mod tidy;

use std::{env, path::PathBuf, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["tidy"] => tidy::tidy(&root()),
        ["generate"] => generate::generate(&root()),
        ["fuzz"] => fuzz::fuzz(&root(), 60, &[]),
        ["fuzz", seconds, targets @ ..] => seconds
            .parse()
            .map_err(|_| vec![format!("`{seconds}` is not a number of seconds")])
            .and_then(|seconds| fuzz::fuzz(&root(), seconds, targets)),
        ["order"] => order::order(&root()),
        ["dist", options @ ..] => dist::dist(&root(), options),
        _ => Err(vec![
            "usage: cargo xtask tidy | generate | fuzz [SECONDS [TARGET…]] | order | dist [OPTIONS]".to_owned(),
        ]),
    };
    match result {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(problems) => {
            for problem in &problems {
                eprintln!("error: {problem}");
            }
            ExitCode::FAILURE
        }
    }
}

/// The checkout this program was built from.
fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or(manifest.clone(), PathBuf::from)
}
