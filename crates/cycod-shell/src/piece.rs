use std::borrow::Cow;

use crate::verdict::Verdict;

/// One part of a resolved command template, in the order of the template.
#[derive(Debug, Clone)]
pub enum Piece<'a> {
    /// Text written by the author of the tool: code, as far as the shell is concerned.
    Text(&'a str),
    /// A value from outside: data, whatever it holds.
    Value(Value<'a>),
}

/// A value and everything that decides how it may be placed.
#[derive(Debug, Clone)]
pub struct Value<'a> {
    /// The placeholder's name, for messages and for the name of the shell variable.
    pub name: &'a str,
    /// What the value holds.
    pub words: Words<'a>,
    /// How the value becomes words in an unquoted place.
    pub mode: Mode,
    /// What is known about the value's shape.
    pub kind: Kind,
    /// Whether the value must be masked where the program is shown.
    pub sensitive: bool,
    /// What is proven about its place. No value is placed without.
    pub verdict: &'a Verdict,
}

/// The contents of a [`Value`].
#[derive(Debug, Clone)]
pub enum Words<'a> {
    /// A single text.
    One(Cow<'a, str>),
    /// Several texts: each one word in an unquoted place, joined by the delimiter in a quoted one.
    List {
        /// The texts.
        items: Cow<'a, [String]>,
        /// What stands between them where they must be one word.
        delimiter: &'a str,
    },
}

/// How a value becomes words in an unquoted place.
///
/// In quoted places (and in assignments, redirection targets, `case` and `[[ ]]`) every mode but [`Mode::Raw`] gives the
/// value byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Exactly one word in every place, also when empty.
    Word,
    /// One word, or none when it is empty.
    Bare,
    /// Several words with shell quoting; globs and a leading `~/` stay live, nothing else does; empty is no word.
    Arguments,
    /// Split at blanks and newlines, without globbing, as the output of a step.
    Output,
    /// Text that is already quoted for a POSIX shell: its words in an unquoted place, its text in a quoted one.
    Fragment,
    /// Text as written, treated as if the author had typed it.
    Raw,
}

/// What is known about a value's shape; everything but [`Kind::Text`] may stand in code that is parsed a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    Text,
    /// A number, the only thing that may stand in arithmetic.
    Number,
    /// `true` or `false`.
    Boolean,
    /// One of the texts the author listed.
    Enum,
}

/// The shells whose grammar is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shell {
    /// GNU bash.
    Bash,
    /// A POSIX shell: dash, or bash and busybox in that role.
    Sh,
    /// The Z shell.
    Zsh,
    /// PowerShell, Windows' own and the portable one.
    PowerShell,
    /// The Windows command interpreter.
    Cmd,
}
