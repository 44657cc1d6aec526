use std::borrow::Cow;

use cycod_shell::{Kind, Mode, Piece, Value, Verdict, Words};

/// One part of a resolved command: a [`Piece`] that owns its text, so that a plan can keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedPiece {
    /// Text written by the author of the tool.
    Text(String),
    /// A value from outside.
    Value(OwnedValue),
}

/// A value and everything that decides how it may be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedValue {
    /// The placeholder's name.
    pub name: String,
    /// What the value holds.
    pub words: OwnedWords,
    /// How the value becomes words in an unquoted place.
    pub mode: Mode,
    /// What is known about the value's shape.
    pub kind: Kind,
    /// Whether the value must be masked where the program is shown.
    pub sensitive: bool,
    /// The number of its placeholder in the template, by which its verdict is found.
    pub place: usize,
}

/// The contents of an [`OwnedValue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedWords {
    /// A single text.
    One(String),
    /// Several texts: words in an unquoted place, joined in a quoted one.
    List {
        /// The texts.
        items: Vec<String>,
        /// What stands between them where they are joined.
        delimiter: String,
    },
}

impl OwnedPiece {
    /// The piece as the shells' crate takes it, with what is proven about its place; nothing is copied.
    pub fn as_piece<'a>(&'a self, verdicts: &'a [Verdict]) -> Piece<'a> {
        match self {
            Self::Text(text) => Piece::Text(text),
            Self::Value(value) => Piece::Value(Value {
                name: &value.name,
                words: match &value.words {
                    OwnedWords::One(text) => Words::One(Cow::Borrowed(text)),
                    OwnedWords::List { items, delimiter } => Words::List { items: Cow::Borrowed(items), delimiter },
                },
                mode: value.mode,
                kind: value.kind,
                sensitive: value.sensitive,
                verdict: verdicts.get(value.place).unwrap_or_else(|| Verdict::unjudged()),
            }),
        }
    }

    /// The pieces of a whole command as the shells' crate takes them.
    pub fn as_pieces<'a>(pieces: &'a [Self], verdicts: &'a [Verdict]) -> Vec<Piece<'a>> {
        pieces.iter().map(|piece| piece.as_piece(verdicts)).collect()
    }

    /// The pieces as one text.
    pub fn joined(pieces: &[Self]) -> String {
        pieces
            .iter()
            .map(|piece| match piece {
                Self::Text(text) => Cow::Borrowed(text.as_str()),
                Self::Value(OwnedValue { words: OwnedWords::One(text), .. }) => Cow::Borrowed(text.as_str()),
                Self::Value(OwnedValue { words: OwnedWords::List { items, delimiter }, .. }) => {
                    Cow::Owned(items.join(delimiter))
                }
            })
            .collect()
    }
}
