//! What a command reads from its standard input, and prints.

use std::sync::Arc;

use super::value::{Atom, Holes, Tag, Text, add_holes, beginning, holes_of, in_order, made_of, part_of};
use super::{MOST_PRINTED, value};

/// What a command may read from its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing that values reach.
    Clean,
    /// Something that begins like one of these texts; each is all of it unless it says otherwise.
    Texts(Vec<Text>),
    /// What a program printed that had the values of these holes among its words or in its input.
    Printed(Holes),
}

impl Input {
    /// What a program prints.
    pub(super) fn printed(holes: &[usize]) -> Self {
        if holes.is_empty() { Self::Clean } else { Self::Printed(in_order(holes)) }
    }

    /// What the shell makes of values, behind a text that is known.
    pub(super) fn made(before: &str, holes: &[usize]) -> Self {
        if holes.is_empty() { Self::Clean } else { Self::Texts(vec![behind(before, made_of(holes))]) }
    }

    /// Some piece of it.
    pub(super) fn part(&self) -> Atom {
        match self {
            Self::Clean => Atom::Unknown(Tag::Somewhere),
            Self::Texts(texts) => part_of(&texts.concat()),
            Self::Printed(holes) => Atom::Output(Arc::clone(holes)),
        }
    }

    pub(super) fn holes(&self) -> Vec<usize> {
        match self {
            Self::Clean => Vec::new(),
            Self::Texts(texts) => holes_of(texts.iter().flatten()),
            Self::Printed(holes) => holes.to_vec(),
        }
    }

    /// One of them.
    pub(super) fn or(self, other: Self) -> Self {
        let (Self::Texts(texts), Self::Texts(others)) = (&self, &other) else { return self.and(other) };
        let mut either = texts.clone();
        either.extend(others.iter().filter(|text| !texts.contains(text)).cloned());
        if either.len() > MOST_PRINTED { self.and(other) } else { Self::Texts(either) }
    }

    /// Both, one behind the other.
    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::Clean {
            return other;
        }
        if other == Self::Clean {
            return self;
        }
        let has_values = self.has_values() || other.has_values();
        let mut holes = self.holes();
        add_holes(&mut holes, &other.holes());
        if !has_values {
            return Self::printed(&holes);
        }
        let all = made_of(&holes);
        let Self::Texts(texts) = self else { return Self::Texts(vec![vec![all]]) };
        let mut beginnings: Vec<&str> = texts.iter().map(|text| beginning(text)).collect();
        value::dedup(&mut beginnings);
        Self::Texts(beginnings.into_iter().map(|before| behind(before, all.clone())).collect())
    }

    /// Whether it is more than what programs print.
    pub(super) fn has_values(&self) -> bool {
        matches!(self, Self::Texts(texts) if texts.iter().flatten().any(Atom::is_of_value))
    }
}

/// What a command prints that prints one of these texts, when there are few.
pub(super) fn one_of(mut texts: Vec<Text>) -> Option<Input> {
    value::dedup(&mut texts);
    (1..=MOST_PRINTED).contains(&texts.len()).then_some(Input::Texts(texts))
}

/// A text that begins as it is known, and goes on.
pub(super) fn behind(before: &str, atom: Atom) -> Text {
    let mut text = Text::new();
    value::push(&mut text, Atom::text(before));
    value::push(&mut text, atom);
    text
}
