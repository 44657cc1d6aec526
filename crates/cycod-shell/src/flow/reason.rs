//! What the walk tells about a value.

use std::sync::Arc;

use crate::verdict::Guard;

/// Something that the walk saw about a hole.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Finding {
    pub(crate) hole: usize,
    pub(crate) reason: Reason,
    pub(crate) guard: Option<Guard>,
}

/// What became of a value at one place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// A program gets it as an operand, or as the argument of an option.
    Argument { program: Arc<str>, noun: &'static str, option: &'static str },
    /// The shell itself takes it as one word.
    Shell(&'static str),
    /// A program reads it as text.
    Input { program: Arc<str> },
    /// It is code to a program.
    Code { program: Arc<str>, language: &'static str },
    /// It is put together with other text, which is evaluated.
    Evaluated { by: Arc<str> },
    /// A builtin takes it for a name, and evaluates a subscript in it.
    Name { by: Arc<str> },
    /// It is evaluated as arithmetic.
    Arithmetic,
    /// It is the value of a variable that programs run or load from.
    Environment { name: Arc<str> },
    /// It is the name of the program that runs.
    Chooses,
    /// It stands in a file that the script then runs.
    Written,
    /// Nothing is known of the program, which another one may start in a container.
    UnknownProgram { program: Arc<str>, started_by: Option<Arc<str>> },
    /// Text other than names stands around it, and no table says that this is text.
    Mixed { program: Arc<str> },
    /// It is part of an option.
    PartOfOption { program: Arc<str> },
    /// It is the name of a subcommand.
    Subcommand { program: Arc<str> },
    /// What the shell made of it may begin with a `-`.
    Changed { program: Arc<str> },
    /// The program pastes it into its code, where that names it so.
    Pasted { program: Arc<str>, code: Arc<str> },
    /// It decides what is unpacked in a directory, from which the script then runs something.
    Unpacked,
    /// Another value chooses the subcommand that gets it.
    OfChosenCommand(Arc<str>),
    /// Another reason for which nothing is proven.
    Unclear(Arc<str>),
}

impl Reason {
    /// The program that gets the value.
    pub(crate) fn program(&self) -> Option<&Arc<str>> {
        match self {
            Self::Argument { program, .. }
            | Self::Input { program }
            | Self::Code { program, .. }
            | Self::Pasted { program, .. }
            | Self::UnknownProgram { program, .. }
            | Self::Mixed { program }
            | Self::PartOfOption { program }
            | Self::Subcommand { program }
            | Self::Changed { program } => Some(program),
            Self::Evaluated { by } | Self::Name { by } => Some(by),
            Self::Shell(_)
            | Self::Arithmetic
            | Self::Environment { .. }
            | Self::Chooses
            | Self::Written
            | Self::Unpacked
            | Self::OfChosenCommand(_)
            | Self::Unclear(_) => None,
        }
    }
}
