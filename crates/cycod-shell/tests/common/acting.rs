//! Whether a value acts in a script, and whether it is refused there.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts real shells itself; the crate under test starts nothing"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use cycod_shell::{Judgement, Kind, Mode, Programs, Question, Reader, Shell, Value, Verdict, Words, judge};

use crate::template;

pub(crate) fn judged(shell: Shell, script: &str) -> Judgement {
    let command = template::segments(script);
    let programs = Programs::default();
    judge(&Question {
        reader: Reader::Shell(shell),
        command: &command,
        environment: &[],
        input: &[],
        programs: &programs,
    })
}

/// Whether the value is placed nowhere in a script, or refused.
pub(crate) fn is_refused(shell: Shell, script: &str, value: &str) -> bool {
    let text = if script.contains("{Y}") { "" } else { value };
    judged(shell, script).command.iter().any(|verdict| refuses(verdict, text, Mode::Bare))
}

/// Whether a verdict lets a text be placed nowhere, or not this one.
pub(crate) fn refuses(verdict: &Verdict, text: &str, mode: Mode) -> bool {
    let words = Words::One(text.into());
    let given = Value { name: "X", words, mode, kind: Kind::Text, sensitive: false, verdict };
    !verdict.is_placeable() || verdict.stops(&given).is_some()
}

/// Checks that each value can be placed in each of these scripts.
#[allow(dead_code, reason = "not every test that acts asks for it")]
#[track_caller]
pub(crate) fn all_are_placeable(scripts: &[&str]) {
    let mut wrong = String::new();
    for script in scripts {
        for verdict in judged(Shell::Bash, script).command.iter().filter(|verdict| !verdict.is_placeable()) {
            wrong.push_str(&format!("{script}\n    {}\n", verdict.describe()));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// What a script prints.
#[allow(dead_code, reason = "not every test that acts asks for it")]
pub(crate) fn printed(shell: Shell, script: &str) -> String {
    let program: &[&str] = if shell == Shell::Zsh { &["zsh", "-f"] } else { &["bash", "--noprofile", "--norc"] };
    let output = Command::new(program[0]).args(&program[1..]).args(["-c", script]).output();
    String::from_utf8_lossy(&output.expect("the shells of the tests are installed").stdout).into_owned()
}

/// Whether a value acts that stands in a script as one quoted word.
pub(crate) fn acts(shell: Shell, script: &str, value: &str) -> bool {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let value = value.replace("{DIRECTORY}", &directory.path().to_string_lossy());
    let script = script.replace("{X}", "$cycod_X").replace("{Y}", "");
    // What is code of another shell has it, too.
    let shell: &[&str] = match shell {
        Shell::Sh => &["dash"],
        Shell::Zsh => &["zsh", "-f"],
        _ => &["bash", "--noprofile", "--norc"],
    };
    let stand_in = directory.path().join(".bin");
    fs::create_dir(&stand_in)
        .and_then(|()| fs::write(stand_in.join("sudo"), "#!/bin/sh\nexec \"$@\"\n"))
        .expect("a file");
    fs::set_permissions(stand_in.join("sudo"), fs::Permissions::from_mode(0o755)).expect("a file of ours");
    let path = format!("{}:{}", stand_in.display(), std::env::var("PATH").expect("there is one"));
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(["-c", &script]).current_dir(directory.path()).env("cycod_X", value);
    command.env_remove("c").env_remove("none").env("HOME", directory.path()).env("PATH", path);
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "a");
    }
    command.env_remove("GIT_EDITOR").env_remove("GIT_CONFIG_GLOBAL").env("TERM", "xterm");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.status().expect("the shells of the tests are installed");
    directory.path().join("PWNED").exists()
}

#[track_caller]
pub(crate) fn all_act_and_are_refused(attacks: &[(Shell, &str, &str)]) {
    let lines = |attacks: Vec<&(Shell, &str, &str)>| -> String {
        attacks.iter().map(|(shell, script, value)| format!("{shell:?}: {script}   {value}\n")).collect()
    };
    let idle = lines(attacks.iter().filter(|(shell, script, value)| !acts(*shell, script, value)).collect());
    assert!(idle.is_empty(), "these do nothing when a value is quoted:\n{idle}");
    let open = lines(attacks.iter().filter(|(shell, script, value)| !is_refused(*shell, script, value)).collect());
    assert!(open.is_empty(), "these are let through:\n{open}");
}
