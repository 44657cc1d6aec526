//! The keys of a tool file, as one table.
//!
//! Everything that has to know which keys there are reads it here: the check of a file's shape and its
//! suggestions, the JSON Schema for editors and the reference page. A key that is missing here cannot be read
//! by the lowering, and a key that nobody reads fails a test.

pub(crate) mod guards;
#[rustfmt::skip] // one key, one line
mod keys;
mod reference;
mod schema;

pub(crate) use keys::{
    ENVIRONMENT, MARKDOWN, MIMIR, PROGRAMS, RULES, SECRET, TOOL, ask, commands, handler, parameter, step, validation,
};
pub use reference::key_reference;
#[cfg(test)]
pub(crate) use reference::sections;
pub use schema::{file_schema, programs_schema};

/// A mapping with known keys.
pub(crate) struct Section {
    /// How a sentence calls it, such as "a step".
    pub(crate) noun: &'static str,
    /// What it is for.
    pub(crate) doc: &'static str,
    /// Whether every unknown key is an error, because ignoring it would mean less protection than was asked for.
    pub(crate) strict: bool,
    /// Its keys, in the order of the reference.
    pub(crate) keys: &'static [Key],
}

/// A key of a [`Section`].
#[derive(Clone, Copy)]
pub(crate) struct Key {
    /// As written in a file.
    pub(crate) name: &'static str,
    /// What its value may be.
    pub(crate) takes: Takes,
    /// What holds when it is absent; empty when nothing does.
    pub(crate) default: &'static str,
    /// The chapter of the specification that introduces it.
    pub(crate) chapter: &'static str,
    /// What it means and how far it is honoured.
    pub(crate) doc: &'static str,
    /// The key to write instead, when this one is only understood.
    pub(crate) synonym_of: Option<&'static str>,
    /// Whether it says what is executed.
    pub(crate) executes: bool,
    /// Whether it restricts something, so that a file that misspells it, or puts it in the wrong place, must not load.
    pub(crate) restricts: bool,
}

/// What a value may be.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// Any scalar, taken as text.
    Text,
    /// Text with placeholders.
    Template,
    /// A command with placeholders.
    Command,
    /// A condition over step results and parameters.
    Condition,
    /// A regular expression.
    Pattern,
    /// `true` or `false`.
    Bool,
    /// A whole number of at least this much.
    Integer(i64),
    /// Milliseconds, at least this many.
    Milliseconds(i64),
    /// Bytes, such as `10MB`.
    Size,
    /// Any number.
    Number,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// One text or a list of them.
    Texts,
    /// One text with placeholders or a list of them.
    Templates,
    /// One of some words or a list of them.
    Choices(&'static [&'static str]),
    /// A mapping with known keys.
    Object(&'static Section),
    /// A list.
    List(&'static Takes),
    /// A mapping whose keys the author chooses; the first part names them in the reference.
    Map(&'static str, &'static Takes),
    /// A list of mappings with known keys, of which `name` is one, or a mapping of names to them.
    Named(&'static Section),
    /// A mapping with known keys, or when it has none of them the second.
    Either(&'static Section, &'static Takes),
    /// One text or mapping with known keys, or a list of them.
    TextsOr(&'static Section),
    /// A JSON Schema.
    Schema,
    /// Anything.
    Any,
}

impl Section {
    /// The key called `name`.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// A word for it in the JSON Schema.
    fn id(&self) -> String {
        self.noun.trim_start_matches("a ").replace("'s", "").replace('`', "").replace(' ', "-")
    }

    /// The anchor of its heading in the reference.
    fn anchor(&self) -> String {
        self.noun.trim_start_matches("a ").replace(['`', '\''], "").replace(' ', "-").to_lowercase()
    }
}

impl Takes {
    /// How a sentence says what is allowed.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Text | Self::Template => "text".to_owned(),
            Self::Command => "a command".to_owned(),
            Self::Condition => "a condition".to_owned(),
            Self::Pattern => "a regular expression".to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Integer(i64::MIN) => "a whole number".to_owned(),
            Self::Integer(min) => format!("a whole number, at least {min}"),
            Self::Milliseconds(min) => format!("milliseconds, at least {min}"),
            Self::Size => "a size such as `10MB`".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Choice(words) => one_of(words),
            Self::Texts | Self::Templates => "text or a list of texts".to_owned(),
            Self::Choices(words) => format!("{} or a list of them", one_of(words)),
            Self::Object(_) | Self::Map(..) => "a mapping".to_owned(),
            Self::Named(_) => "a list of mappings, or a mapping".to_owned(),
            Self::Either(_, Self::Map(..)) => "a mapping".to_owned(),
            Self::Either(_, other) => format!("{} or a mapping", other.describe()),
            Self::TextsOr(_) => "text or a mapping, or a list of them".to_owned(),
            Self::Schema => "a JSON Schema".to_owned(),
            Self::List(item) => match item {
                Self::Object(_) => "a list of mappings".to_owned(),
                _ => "a list".to_owned(),
            },
            Self::Any => "any value".to_owned(),
        }
    }
}

/// Returns "`a`, `b` or `c`".
pub(crate) fn one_of<T: AsRef<str>>(words: &[T]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
