//! `scripted-provider FILE` answers as the script in a file says, until standard input ends; its address is its first line.

use std::{
    fs,
    io::{self, Read, Write},
    process::ExitCode,
};

use scripted_provider::{Script, ScriptedProvider};

#[expect(clippy::disallowed_methods, reason = "its address is all it writes")]
fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else { return wrong("which file holds the script?") };
    let script = fs::read_to_string(&path).map_err(|error| error.to_string());
    let script = script.and_then(|text| Script::from_json(&text).map_err(|error| error.to_string()));
    let script = match script {
        Ok(script) => script,
        Err(error) => return wrong(&format!("{}: {error}", path.display())),
    };
    let provider = ScriptedProvider::start(script);
    let mut out = io::stdout().lock();
    if writeln!(out, "{}", provider.url("")).and_then(|()| out.flush()).is_err() {
        return ExitCode::FAILURE;
    }
    // The process that started us holds the other end, and is gone when it closes.
    drop(io::stdin().lock().read_to_end(&mut Vec::new()));
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_methods, reason = "it reads scripts of tests, and nothing else")]
fn wrong(why: &str) -> ExitCode {
    // There is nothing else to tell.
    drop(writeln!(io::stderr().lock(), "scripted-provider: {why}"));
    ExitCode::FAILURE
}
