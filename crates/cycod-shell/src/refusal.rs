use cycod_code::Code;

/// A program that is ready to be handed to a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The whole program: assignments of values first, then the author's text.
    pub text: String,
    /// The part of `text` that assigns values to variables.
    pub prelude: std::ops::Range<usize>,
    /// Whether a value in `text` must be masked where the program is shown.
    pub sensitive: bool,
}

/// Why a command cannot be made, where, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Which kind, with a page in `docs/errors/`.
    pub code: Code,
    /// The index of the piece the refusal is about.
    pub piece: usize,
    /// The byte within that piece; 0 for a value.
    pub offset: usize,
    /// What is wrong: a lowercase fragment without a final period.
    pub message: String,
    /// What to do instead; a rewrite of the command where one can be generated.
    pub try_: String,
}

/// What is wrong with a value at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Which kind, with a page in `docs/errors/`.
    pub(crate) code: Code,
    /// A lowercase fragment without a final period.
    pub(crate) message: String,
    /// What to do instead, in a sentence or two.
    pub(crate) help: String,
}

/// The place of a value in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Context {
    /// An unquoted word among the arguments of a command.
    Unquoted,
    /// The first word of a command.
    Command,
    /// An unquoted place that is exactly one word: an assignment, a redirection target, `case`, `[[ ]]`.
    SingleWord,
    /// Inside `'…'`.
    SingleQuoted,
    /// Inside `"…"`.
    DoubleQuoted,
    /// Inside `$'…'`.
    AnsiQuoted,
    /// In a here-document that expands.
    HereDocument,
    /// In a here-document with a quoted delimiter.
    QuotedHereDocument,
    /// In arithmetic, a subscript or an offset.
    Arithmetic,
    /// In the word of `${name:-word}` and its siblings.
    ExpansionWord,
    /// In a comment.
    Comment,
    /// In a place that cannot take a value.
    Unsupported,
}
