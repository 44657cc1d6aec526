//! Places values into shell commands so that they are always data.
//!
//! A template is the author's text with holes. This crate knows, for every hole, in which part of the shell's grammar it
//! stands (`track`), and writes the value there so that it arrives byte for byte and is never parsed as code (`posix`,
//! `powershell`, `cmd`). Code that a *second* program will parse, as in `bash -c "… {X}"`, is recognised and refused with a
//! rewrite that is safe (`second`).
//!
//! Invariant: this crate reads no file, starts no program and knows no other crate of the project.

mod argv;
mod assemble;
mod cmd;
mod harmless;
mod piece;
mod posix;
mod powershell;
mod refusal;
mod second;
mod track;
mod words;

pub use piece::{Kind, Mode, Piece, Shell, Value, Words};
pub use refusal::{Context, Finding, Placed, Problem, Refusal, code};
pub use words::{Word, words};

/// Places values into a program for `shell`.
///
/// The result is either a program in which every value is data, or a [`Refusal`] that names the value and the way out.
pub fn place(shell: Shell, pieces: &[Piece<'_>]) -> Result<Placed, Refusal> {
    match shell {
        Shell::Bash | Shell::Sh | Shell::Zsh => posix::place(shell, pieces),
        Shell::PowerShell => powershell::place(pieces),
        Shell::Cmd => cmd::place(pieces),
    }
}

/// Splits a template into an argument vector without any shell, and places values inside its words.
pub fn place_argv(pieces: &[Piece<'_>]) -> Result<Vec<String>, Refusal> {
    argv::place(pieces)
}

/// Writes values into code for an interpreter whose grammar is not tracked, where they cannot be misread.
pub fn place_inline(pieces: &[Piece<'_>]) -> Result<String, Refusal> {
    argv::place_inline(pieces)
}

/// Tells where every value of a template stands and what is wrong there, without looking at the values.
pub fn inspect(shell: Shell, pieces: &[Piece<'_>]) -> Vec<Finding> {
    match shell {
        Shell::Bash | Shell::Sh | Shell::Zsh => posix::inspect(shell, pieces),
        Shell::PowerShell => powershell::inspect(pieces),
        Shell::Cmd => cmd::inspect(pieces),
    }
}

/// Entry points for fuzzing.
pub mod fuzzing {
    use crate::piece::Shell;
    use crate::track;

    /// Runs the tracker over any text, NUL being a hole; returns whether every construct in it was closed.
    pub fn check(text: &[u8]) -> bool {
        let mut balanced = false;
        for shell in [Shell::Sh, Shell::Zsh, Shell::Bash] {
            let found = track::track(shell, text);
            let holes = text.iter().filter(|byte| **byte == track::HOLE).count();
            assert!(
                found.holes.len() == holes && found.holes.windows(2).all(|pair| pair[0].at < pair[1].at),
                "every hole has one place, in order"
            );
            balanced = found.balanced;
        }
        balanced
    }
}
