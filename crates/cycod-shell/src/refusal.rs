/// What is wrong with places and values, each with a page `docs/errors/<slug>.md`.
pub mod code {
    // What depends on the template: no value can be placed.

    /// A value stands in code that another program parses.
    pub const SECOND_PARSE: &str = "value-in-code";
    /// A value becomes part of a text that the shell evaluates again.
    pub const EVALUATED: &str = "evaluated-again";
    /// A value is the name of the program that runs.
    pub const CHOOSES: &str = "value-chooses-program";
    /// Nothing is known of the program that gets the value.
    pub const UNKNOWN: &str = "unknown-program";
    /// The file that may say what the program does that gets the value cannot be understood.
    pub const BROKEN_PROGRAMS: &str = "broken-programs-file";
    /// Text stands around the value that the program may read as code.
    pub const MIXED: &str = "mixed-text";
    /// Nothing proves that the value is data, for another reason.
    pub const UNPROVEN: &str = "unproven-place";
    /// The grammar of the place is not certain enough to put a value there.
    pub const PLACE: &str = "unsupported-place";
    /// An interpreter whose grammar is not tracked would have to parse the value.
    pub const INLINE: &str = "inline-value";
    /// The template of a program run without a shell is not well formed.
    pub const WORDS: &str = "malformed-words";

    // What depends on the value.

    /// A value begins as an option does.
    pub const OPTION: &str = "option-like-value";
    /// A value would become several words.
    pub const SPLIT: &str = "split-by-shell";
    /// A value that is not a number, or that can run a command there, reaches arithmetic.
    pub const ARITHMETIC: &str = "value-in-arithmetic";
    /// A value means more than itself to the program that gets it.
    pub const MEANING: &str = "value-has-meaning";
    /// The shell cannot carry this value in this place.
    pub const VALUE: &str = "unplaceable-value";

    // What an author may want to know.

    /// A value that begins with `-` is refused, and need not be.
    pub const COULD_BE_OPTION: &str = "could-be-option";
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

/// What is wrong with a value at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// A slug of [`code`].
    pub(crate) code: &'static str,
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
