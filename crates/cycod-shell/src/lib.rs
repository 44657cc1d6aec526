//! Places values into shell commands so that they are always data.
//!
//! A template is the author's text with holes. This crate knows, for every hole, in which part of the shell's grammar it
//! stands, and writes the value there so that it arrives byte for byte and is never parsed as code.
//!
//! Invariant: this crate reads no file, starts no program and knows no other crate of the project.

mod piece;
mod refusal;

pub use piece::{Kind, Mode, Piece, Shell, Value, Words};
pub use refusal::{Context, Finding, Problem, Refusal, code};

use std::ops::Range;

/// A program that is ready to be handed to a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The whole program: assignments of values first, then the author's text.
    pub text: String,
    /// The part of `text` that assigns values to variables.
    pub prelude: Range<usize>,
    /// Whether a value in `text` must be masked where the program is shown.
    pub sensitive: bool,
}

/// Places values into a program for `shell`.
pub fn place(shell: Shell, pieces: &[Piece<'_>]) -> Result<Placed, Refusal> {
    let _ = (shell, pieces);
    Err(refuse())
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
    let _ = (shell, pieces);
    Vec::new()
}

fn refuse() -> Refusal {
    Refusal { code: code::PLACE, piece: 0, offset: 0, message: "this shell is not supported yet".into(), try_: String::new() }
}
