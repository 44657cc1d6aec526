use std::borrow::Cow;

use crate::piece::{Kind, Mode};

/// A part of a command template, before there are values.
#[derive(Debug, Clone)]
pub enum Segment<'a> {
    /// Text written by the author of the tool: code, as far as the shell is concerned.
    Text(&'a str),
    /// One of these, chosen by a condition.
    Choice(Vec<Branch<'a>>),
    /// The place of a value.
    Hole(Hole<'a>),
}

impl<'a> Segment<'a> {
    /// The places of values in it, those in branches of a condition as well.
    pub fn holes(&self) -> impl Iterator<Item = &Hole<'a>> {
        let (one, branches) = match self {
            Self::Text(_) => (None, &[][..]),
            Self::Hole(hole) => (Some(hole), &[][..]),
            Self::Choice(branches) => (None, branches.as_slice()),
        };
        let in_branches = branches.iter().filter_map(|branch| match branch {
            Branch::Hole(hole) => Some(hole),
            Branch::Text(_) => None,
        });
        one.into_iter().chain(in_branches)
    }
}

/// What a condition may choose.
#[derive(Debug, Clone)]
pub enum Branch<'a> {
    /// Text written by the author.
    Text(&'a str),
    /// The place of a value.
    Hole(Hole<'a>),
}

/// A part of the text that the author puts around a value wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format<'a> {
    /// Text written by the author.
    Text(Cow<'a, str>),
    /// The value.
    Value,
}

/// What is known of a value before there is one.
#[derive(Debug, Clone)]
pub struct Hole<'a> {
    /// The placeholder's name, for messages.
    pub name: &'a str,
    /// The placeholder as its author wrote it, braces included, for rewrites.
    pub shown: Cow<'a, str>,
    /// What the value can be.
    pub kind: Kind,
    /// How the value becomes words outside of quotes.
    pub mode: Mode,
    /// Every text that it can be, where the author listed them; else none.
    pub texts: Vec<Cow<'a, str>>,
    /// It may be absent or empty, and is no word then.
    pub vanishes: bool,
    /// It is a list.
    pub is_list: bool,
    /// What the author writes around the value, when it is there; empty for the value alone.
    pub format: Vec<Format<'a>>,
    /// Its words may begin with `-`: the author says that they may be options, or it is a path, which gets a `./`.
    pub options: bool,
    /// Its text is the inside of a JSON string already.
    pub is_json_string: bool,
    /// Who says what it is.
    pub trust: Trust,
}

/// Who says what a value is, and what the author of the command says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// The caller.
    #[default]
    None,
    /// The caller; the author vouches that it is data where nothing is proven.
    Data,
    /// The caller; the author means it as code where it stands as code.
    Code,
    /// The machine, or the person whose machine it is: the workspace, the home directory, a variable of the environment.
    Machine,
    /// The author: its texts are words of the command.
    Author,
}
