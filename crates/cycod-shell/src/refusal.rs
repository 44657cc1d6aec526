/// The places and values that cannot be placed, each with a page `docs/errors/<slug>.md`.
pub mod code {
    /// A value stands in code that another program parses.
    pub const SECOND_PARSE: &str = "value-in-code";
    /// A value that is not a number stands in arithmetic.
    pub const ARITHMETIC: &str = "value-in-arithmetic";
    /// The grammar of the place is not certain enough to put a value there.
    pub const PLACE: &str = "unsupported-place";
    /// The shell cannot carry this value in this place.
    pub const VALUE: &str = "unplaceable-value";
    /// An interpreter whose grammar is not tracked would have to parse the value.
    pub const INLINE: &str = "inline-value";
    /// The template of a program run without a shell is not well formed.
    pub const WORDS: &str = "malformed-words";
}

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
    /// A slug of [`code`].
    pub code: &'static str,
    /// The index of the piece the refusal is about.
    pub piece: usize,
    /// The byte within that piece; 0 for a value.
    pub offset: usize,
    /// What is wrong: a lowercase fragment without a final period.
    pub message: String,
    /// What to do instead; a rewrite of the command where one can be generated.
    pub try_: String,
}

/// What [`inspect`](crate::inspect) knows about one value of a template, or about the template around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The index of the piece the finding is about.
    pub piece: usize,
    /// The byte within that piece; 0 for a value.
    pub offset: usize,
    /// Where the value stands.
    pub context: Context,
    /// What is wrong there; `None` when the value can be placed.
    pub problem: Option<Problem>,
}

/// What is wrong with a place, whatever the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A slug of [`code`].
    pub code: &'static str,
    /// A lowercase fragment without a final period.
    pub message: String,
    /// What to do instead, in a sentence or two.
    pub help: String,
    /// The command, rewritten so that the value is data; generated from the author's text.
    pub rewrite: Option<String>,
}

/// The place of a value in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
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
