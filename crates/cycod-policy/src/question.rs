use std::path::{Path, PathBuf};

use cycod_definition::{Level, Parameter, Privilege, StartedProgram, Value};

use crate::{ProgramTerms, Surface};

/// A call, as far as policy needs to know it.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The tool; its level is that of all it reaches.
    pub tool: Subject<'a>,
    /// The tools that it stands for and uses: what is denied is denied through them as well.
    pub reached: Vec<Subject<'a>>,
    /// With whose rights it runs.
    pub privilege: Privilege,
    /// Whether its author wants somebody asked each time, whatever rules allow it.
    pub asks_always: bool,
    /// The tools, it or those that it reaches, whose authors want somebody asked each time unless a rule of the user's own allows
    /// the tool by its name.
    pub asks_unless_named: &'a [String],
    /// Who asks.
    pub surface: Surface,
    /// Whether the tool is known to this machine's user as it is.
    pub standing: Standing,
    /// What the tool asks to be confined to and this machine or version cannot enforce.
    pub unmet: &'a [String],
    /// What the programs are held to that the tool and those that it reaches start.
    pub programs: Vec<ProgramTerms<'a>>,
    /// Where paths start.
    pub places: Places<'a>,
}

/// Whether a tool is known to this machine's user as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// The user wrote it, or agreed to it.
    #[default]
    Trusted,
    /// It came from elsewhere and nobody looked at it.
    Untrusted,
    /// It is not what the user agreed to.
    Changed,
}

impl Standing {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
        }
    }
}

/// One tool with its arguments.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// How dangerous it is.
    pub level: Level,
    /// Its top-level tags.
    pub tags: &'a [String],
    /// Where it comes from: `built-in`, `teams`, `mcp` or `custom`.
    pub source: &'a str,
    /// The server and its name there, for a tool of another program.
    pub remote: Option<(&'a str, &'a str)>,
    /// The programs that it starts itself; nothing where that was not determined.
    pub programs: Option<Vec<StartedProgram>>,
    /// One for each parameter that it has.
    pub arguments: Vec<Argument<'a>>,
}

/// One parameter of a tool, with what is known of its value.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// The parameter.
    pub name: &'a str,
    /// Its value, coerced and transformed.
    pub value: Held<'a>,
    /// What becomes of a text.
    pub reading: Reading,
    /// The path that it means, where the tool says so: what it is compared as, whatever is written.
    pub meant: Option<Meant<'a>>,
}

/// The path that an argument means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meant<'a> {
    /// An absolute path.
    pub path: &'a Path,
    /// Whether everything below it is looked at as well.
    pub is_searched: bool,
}

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
pub enum Held<'a> {
    /// This is it.
    Value(&'a Value),
    /// There is none.
    Nothing,
    /// It will be known while the tool runs.
    Later,
}

/// What becomes of a text that is a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It arrives as it is.
    Literal,
    /// Where it is not quoted, it is read as words with shell quoting; patterns for files stay live.
    Words,
    /// It is part of the program.
    Code,
}

impl Reading {
    /// What becomes of a parameter's texts in a command.
    pub fn of(parameter: &Parameter) -> Self {
        match parameter.code_reader() {
            Some(_) => Self::Code,
            None if parameter.words => Self::Words,
            None => Self::Literal,
        }
    }
}

/// Where paths start.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Where a rule's relative directories start.
    pub workspace: &'a Path,
    /// Where a value's relative paths start.
    pub directory: &'a Path,
    /// Where else they may start, such as in the directory of a step.
    pub others: &'a [PathBuf],
    /// What `~` stands for.
    pub home: &'a Path,
    /// Follows links, as far as the path exists.
    pub real: fn(&Path) -> PathBuf,
}
