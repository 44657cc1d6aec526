//! Places values into shell commands so that they are always data.
//!
//! A template is the author's text with holes. It is looked at three times.
//!
//! Once when the tool is loaded: [`judge`] says of every hole whether a value can only be data there. It knows, for every hole, in
//! which part of the shell's grammar it stands (`track`, `script`), where the value goes from there (`flow`), and what the programs
//! that get it do with their words (`programs`). What is not proven is refused.
//!
//! Once for trust: [`starts`] says which files a command starts or runs code from, and what of that it cannot tell.
//!
//! And at each run: [`place`] refuses values that the verdict's guards stop, and writes the others so that they arrive byte for
//! byte and are never parsed as code (`posix`, `powershell`, `cmd`, `argv`).
//!
//! Invariant: this crate reads no file, starts no program and knows no other crate of the project.

mod argv;
mod assemble;
mod cmd;
mod computes;
mod flow;
mod harmless;
mod hints;
mod hole;
mod judge;
mod piece;
mod posix;
mod powershell;
mod programs;
mod quoted;
mod refusal;
mod rewrite;
mod script;
mod starts;
mod track;
mod variable;
mod verdict;
mod words;

pub use cycod_code::Code;
pub use hole::{Branch, Format, Hole, Segment, Trust};
pub use judge::{Judgement, Question, Reader, Stage, judge, judge_together};
pub use piece::{Kind, Mode, Piece, Shell, Value, Words};
pub use programs::{
    Built, Directory, Grounds, Nature, Programs, Project, ScriptPath, Scripts, SharedPrograms, is_described,
};
pub use quoted::{quoted, quoted_if_needed};
pub use refusal::{Placed, Refusal};
pub use starts::{FilePart, Loader, ReadAs, Started, Starts, starts};
pub use variable::{PARAMETER_PREFIX, PARAMETERS_FILE, parameter_variable};
pub use verdict::{Guard, Hint, Proof, Verdict};
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

/// Refuses values that their verdicts do not let pass, where they are only put together to a text.
pub fn admit(pieces: &[Piece<'_>]) -> Result<(), Refusal> {
    pieces.iter().enumerate().try_for_each(|(index, piece)| match piece {
        Piece::Text(_) => Ok(()),
        Piece::Value(value) => assemble::admit(index, value),
    })
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
