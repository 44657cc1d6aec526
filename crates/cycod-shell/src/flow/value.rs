//! What is known of a word before it runs: the author's text, values, and what came of values.

use std::{collections::HashSet, hash::Hash, sync::Arc};

/// Holes, in order.
pub(crate) type Holes = Arc<[usize]>;

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Atom {
    /// The author's text.
    Text(Arc<str>),
    /// A value, or what the shell cut from it.
    Value { hole: usize, cut: Cut },
    /// Made of values in a way that is not followed.
    Derived(Holes),
    /// What a command printed that had values among its words or in its input.
    Output(Holes),
    /// Text that no value reaches and that is known only when the program runs. The tag tells when two are the same.
    Unknown(Tag),
}

/// What is left of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cut {
    /// All of it, or a beginning: what it begins with, the value begins with.
    Beginning,
    /// What follows one of these characters in it, or all of it.
    Behind(char),
    /// What follows this character at its beginning, or all of it.
    Without(char),
    /// A word of it, as blanks separate them.
    Word,
}

/// Where an unknown text comes from, or what it is like.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Tag {
    /// A variable of the environment.
    Variable(Arc<str>),
    /// A variable of the environment, where it is not empty.
    Given(Arc<str>),
    /// Nothing, because a program was not found.
    Absent,
    /// The output of the command substitution of this number.
    Output(usize),
    /// A number that the shell makes, by what it is of: it is there, and one word wherever it stands.
    Number(Arc<str>),
    /// Somewhere; it equals nothing, not even itself.
    Somewhere,
}

/// One word of a command, expanded.
pub(crate) type Text = Vec<Atom>;

impl Atom {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn value(hole: usize) -> Self {
        Self::Value { hole, cut: Cut::Beginning }
    }

    /// The holes whose values this is made of.
    pub(crate) fn holes(&self) -> &[usize] {
        match self {
            Self::Text(_) | Self::Unknown(_) => &[],
            Self::Value { hole, .. } => std::slice::from_ref(hole),
            Self::Derived(holes) | Self::Output(holes) => holes,
        }
    }
}

/// All holes whose values reach a text.
pub(crate) fn holes_of(text: &[Atom]) -> Vec<usize> {
    let mut holes: Vec<usize> = text.iter().flat_map(|atom| atom.holes().iter().copied()).collect();
    holes.sort_unstable();
    holes.dedup();
    holes
}

/// Some part of a text. A part of what a program printed is no value either.
pub(crate) fn part_of(text: &[Atom]) -> Atom {
    match made_of(&holes_of(text)) {
        Atom::Derived(holes) if !text.iter().any(|atom| matches!(atom, Atom::Value { .. } | Atom::Derived(_))) => {
            Atom::Output(holes)
        }
        atom => atom,
    }
}

/// Something that is made of the values of these holes.
pub(crate) fn made_of(holes: &[usize]) -> Atom {
    if holes.is_empty() {
        return Atom::Unknown(Tag::Somewhere);
    }
    let mut holes = holes.to_vec();
    holes.sort_unstable();
    holes.dedup();
    Atom::Derived(holes.into())
}

/// The text, when it is the author's alone.
pub(crate) fn literal(text: &[Atom]) -> Option<&str> {
    // Texts that lie side by side are one.
    match text {
        [] => Some(""),
        [Atom::Text(text)] => Some(text),
        _ => None,
    }
}

/// Whether it is nothing, because a program was not found.
pub(crate) fn is_absent(text: &[Atom]) -> bool {
    matches!(text, [Atom::Unknown(Tag::Absent)])
}

/// The author's text that it begins with.
pub(crate) fn beginning(text: &[Atom]) -> &str {
    match text.first() {
        Some(Atom::Text(text)) => text,
        _ => "",
    }
}

/// Joins what lies side by side, so that equal texts are equal values.
pub(crate) fn push(text: &mut Text, atom: Atom) {
    match (text.last_mut(), atom) {
        (_, Atom::Text(new)) if new.is_empty() => {}
        (Some(Atom::Text(before)), Atom::Text(new)) => *before = format!("{before}{new}").into(),
        (_, atom) => text.push(atom),
    }
}

/// The words of a command, or of a list, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    Word(Text),
    /// One of these.
    Choice(Arc<[Vec<Field>]>),
    /// Any of these, any number of times.
    Many(Arc<[Vec<Field>]>),
}

impl Field {
    /// Whether it may become more than one word.
    pub(crate) fn may_be_several(&self) -> bool {
        match self {
            Self::Word(_) => false,
            Self::Choice(alternatives) => {
                alternatives.iter().any(|fields| fields.len() > 1 || fields.iter().any(Self::may_be_several))
            }
            Self::Many(_) => true,
        }
    }

    /// Whether it may become no word at all.
    pub(crate) fn may_be_none(&self) -> bool {
        match self {
            Self::Word(_) => false,
            Self::Choice(alternatives) => alternatives.iter().any(|fields| fields.iter().all(Self::may_be_none)),
            Self::Many(_) => true,
        }
    }

    /// The words of these, any number of them in any order.
    pub(crate) fn any_of(mut texts: Vec<Text>) -> Self {
        dedup(&mut texts);
        Self::Many(texts.into_iter().map(|text| vec![Self::Word(text)]).collect())
    }

    pub(crate) fn choice(mut alternatives: Vec<Vec<Field>>) -> Vec<Self> {
        dedup(&mut alternatives);
        match alternatives.len() {
            0 => Vec::new(),
            1 => alternatives.remove(0),
            _ => vec![Self::Choice(alternatives.into())],
        }
    }

    /// Calls `visit` for every word that may stand here.
    pub(crate) fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match self {
            Self::Word(text) => visit(text),
            Self::Choice(alternatives) | Self::Many(alternatives) => {
                alternatives.iter().flatten().for_each(|field| field.each(visit));
            }
        }
    }
}

/// How much there is to look at in some words.
pub(crate) fn size_of(fields: &[Field]) -> usize {
    let of = |field: &Field| match field {
        Field::Word(text) => 1 + text.len(),
        Field::Choice(alternatives) | Field::Many(alternatives) => {
            1 + alternatives.iter().map(|fields| size_of(fields)).sum::<usize>()
        }
    };
    fields.iter().map(of).sum()
}

/// Every word that may stand among these.
pub(crate) fn texts_among<'f>(fields: impl IntoIterator<Item = &'f Field>) -> Vec<Text> {
    let mut texts = Vec::new();
    for field in fields {
        field.each(&mut |text| texts.push(text.clone()));
    }
    texts
}

/// Keeps the first of what is the same.
pub(crate) fn dedup<T: Eq + Hash + Clone>(items: &mut Vec<T>) {
    let mut seen = HashSet::with_capacity(items.len());
    items.retain(|item| seen.insert(item.clone()));
}

/// All holes whose values reach some words.
pub(crate) fn holes_among(fields: &[Field]) -> Vec<usize> {
    let mut holes = Vec::new();
    for field in fields {
        field.each(&mut |text| holes.extend(holes_of(text)));
    }
    holes.sort_unstable();
    holes.dedup();
    holes
}
