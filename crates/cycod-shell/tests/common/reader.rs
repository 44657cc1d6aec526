//! The names that tests give to the readers of a command.

use cycod_shell::{Reader, Shell};

/// The reader that a line `shell NAME` switches to.
pub(crate) fn named(name: &str) -> Reader<'static> {
    match name {
        "bash" => Reader::Shell(Shell::Bash),
        "sh" => Reader::Shell(Shell::Sh),
        "zsh" => Reader::Shell(Shell::Zsh),
        "pwsh" => Reader::Shell(Shell::PowerShell),
        "cmd" => Reader::Shell(Shell::Cmd),
        "words" => Reader::Words,
        other => panic!("`{other}` is no reader of commands"),
    }
}
