//! What is known of a word before it runs: the author's text, values, and what came of values.

use std::{collections::HashSet, hash::Hash, sync::Arc};

/// Holes, in order.
pub(crate) type Holes = Arc<[usize]>;

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// What is left of a value: all of it, or a part.
///
/// A part begins where the value does, or right behind one of some characters. Parts of parts are parts of the same kind, so that
/// filters behind filters can be told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Cut {
    /// The characters behind which it may begin, by their bits in [`SIGNS`].
    behind: u64,
    /// The characters that may have become another one, and which; 0 is none.
    turned: u64,
    into: u8,
    /// The characters that may be gone.
    taken: u64,
    /// A character that may have been taken from where it began; 0 is none.
    skipped: u8,
    /// It may be several parts, with blanks or ends of lines between them.
    is_joined: bool,
    /// Some letter or digit in it may be another one.
    is_respelt: bool,
    /// Some letter or digit may be gone.
    loses_letters: bool,
    /// It may be less than the value.
    is_part: bool,
    /// It is in the quotes for a shell that its author gave it.
    is_quoted: bool,
}

/// The characters that divide values, by the number of their bit; blanks come first.
const SIGNS: &[u8] = b" \t\n\r\x0b\x0c!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
/// The bits of blanks and ends of lines.
const BLANKS: u64 = 0b11_1111;

/// The bit of a character that may divide values.
fn sign(character: char) -> Option<u64> {
    SIGNS.iter().position(|sign| char::from(*sign) == character).map(|at| 1 << at)
}

/// Whether the bit of a character is among these.
fn has(bits: u64, character: char) -> bool {
    bits != 0 && sign(character).is_some_and(|bit| bits & bit != 0)
}

impl Cut {
    /// All of it.
    pub(crate) const WHOLE: Self = Self {
        behind: 0,
        turned: 0,
        into: 0,
        taken: 0,
        skipped: 0,
        is_joined: false,
        is_respelt: false,
        loses_letters: false,
        is_part: false,
        is_quoted: false,
    };
    /// All of it, in the quotes that its author gave it.
    pub(crate) const QUOTED: Self = Self { is_quoted: true, ..Self::WHOLE };
    /// A beginning.
    pub(crate) const BEGINNING: Self = Self { is_part: true, ..Self::WHOLE };
    /// A word of it, as blanks separate them.
    pub(crate) const WORD: Self = Self { behind: BLANKS, ..Self::BEGINNING };
    /// A line of it.
    pub(crate) const LINE: Self = Self { behind: 0b100, ..Self::BEGINNING };

    /// All of it, less its blanks.
    pub(crate) const BLANKS_TAKEN: Self = Self { taken: BLANKS, behind: BLANKS, ..Self::BEGINNING };

    /// What follows this character in it, or all of it; nothing for characters that are not followed.
    pub(crate) fn behind(character: char) -> Option<Self> {
        Some(Self { behind: sign(character)?, ..Self::BEGINNING })
    }

    /// What follows this character at its beginning, or all of it.
    pub(crate) fn without(character: char) -> Option<Self> {
        let skipped = u8::try_from(character).ok().filter(u8::is_ascii)?;
        Some(Self { skipped, ..Self::BEGINNING })
    }

    /// All of it, less some of these characters.
    pub(crate) fn taken(character: char) -> Option<Self> {
        if character.is_ascii_alphanumeric() {
            return Some(Self { loses_letters: true, ..Self::without(character)? });
        }
        let taken = sign(character)?;
        Some(Self { taken, behind: taken, ..Self::BEGINNING })
    }

    /// All of it, with one character in the place of another.
    pub(crate) fn turned(from: char, to: char) -> Option<Self> {
        let is_letter = |c: char| c.is_ascii_alphanumeric();
        if is_letter(from) && is_letter(to) {
            return Some(Self { is_respelt: true, ..Self::BEGINNING });
        }
        let turned = sign(from)?;
        match to {
            ' ' | '\n' => Some(Self { behind: turned, is_joined: true, ..Self::BEGINNING }),
            to if to.is_ascii_alphanumeric() || "-_.".contains(to) => {
                Some(Self { turned, into: u8::try_from(to).ok()?, ..Self::BEGINNING })
            }
            _ => None,
        }
    }

    /// What is left when this is cut again; nothing when that cannot be told.
    pub(crate) fn and(self, other: Self) -> Option<Self> {
        if other == Self::WHOLE {
            return Some(self);
        }
        let either = |one: u8, other: u8| match (one, other) {
            (one, 0) | (0, one) => Some(one),
            (one, other) => (one == other).then_some(one),
        };
        // What a character became may divide it now, or be gone.
        let made = sign(char::from(self.into)).filter(|_| self.into != 0).unwrap_or(0);
        let is_skipped_made = self.into != 0 && self.into == other.skipped || self.is_respelt && other.skipped != 0;
        if is_skipped_made || made & other.turned != 0 {
            return None;
        }
        let of_made = |bits: u64| if made & bits == 0 { bits } else { bits | self.turned };
        Some(Self {
            behind: self.behind | of_made(other.behind),
            turned: self.turned | other.turned,
            into: either(self.into, other.into)?,
            taken: self.taken | of_made(other.taken),
            skipped: either(self.skipped, other.skipped)?,
            is_joined: self.is_joined || other.is_joined,
            is_respelt: self.is_respelt || other.is_respelt,
            loses_letters: self.loses_letters || other.loses_letters,
            is_part: self.is_part || other.is_part,
            is_quoted: false,
        })
    }

    /// One of its parts, where it may be several.
    pub(crate) fn one(self) -> Self {
        Self { is_joined: false, ..self }
    }

    pub(crate) fn is_quoted(self) -> bool {
        self.is_quoted
    }

    pub(crate) fn is_joined(self) -> bool {
        self.is_joined
    }

    /// Everything that what is left of a text may begin with.
    pub(crate) fn starts(self, text: &str) -> impl Iterator<Item = &str> {
        let mut begins_next = true;
        text.char_indices().filter_map(move |(at, character)| {
            let begins = begins_next;
            begins_next =
                has(self.behind, character) || begins && self.skipped != 0 && character == char::from(self.skipped);
            begins.then(|| &text[at..])
        })
    }

    /// Whether it begins as the value does, with the same character.
    pub(crate) fn keeps_start(self) -> bool {
        self.behind | self.turned | self.taken == 0 && self.skipped == 0 && !self.is_respelt && !self.loses_letters
    }

    /// Whether a character may have become one of these.
    pub(crate) fn becomes(self, character: char, signs: &str) -> bool {
        self.into != 0 && signs.contains(char::from(self.into)) && has(self.turned, character)
    }

    /// Whether a character may have become another one.
    pub(crate) fn turns(self, character: char) -> bool {
        has(self.turned, character) || self.is_respelt && character.is_ascii_alphanumeric()
    }

    /// Whether a text may be another one inside, with other characters or without some.
    pub(crate) fn changes(self, text: &str) -> bool {
        self.turned | self.taken != 0 && text.contains(|character| has(self.turned | self.taken, character))
    }

    /// Whether it may be a text of which some characters are gone.
    pub(crate) fn loses_from(self, text: &str) -> bool {
        text.contains(|character: char| {
            has(self.taken, character) || self.loses_letters && character.is_ascii_alphanumeric()
        })
    }

    /// What is wrong with a value of which a part may begin with such a character.
    pub(crate) fn blames(self, character: char) -> String {
        let shown = |bits: u64| {
            let signs = SIGNS.iter().enumerate().filter(move |(at, _)| bits & 1 << at != 0);
            let names: Vec<String> =
                signs.map(|(_, sign)| format!("`{}`", char::from(*sign).escape_default())).collect();
            names.join(" or ")
        };
        let blanks = self.behind & BLANKS == BLANKS;
        let others = if blanks { self.behind & !BLANKS } else { self.behind };
        match (blanks, others, self.skipped) {
            (true, 0, _) => format!("holds a word that begins with `{character}`"),
            (true, others, _) => {
                format!("holds a word, or a part behind {}, that begins with `{character}`", shown(others))
            }
            (false, 0, 0) => format!("begins with `{character}`"),
            (false, 0, skipped) => {
                format!("has `{character}` at its beginning, or behind `{}` there", char::from(skipped))
            }
            (false, others, _) => format!("has a part behind {} that begins with `{character}`", shown(others)),
        }
    }
}

/// Where an unknown text comes from, or what it is like.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tag {
    /// A variable of the environment.
    Variable(Arc<str>),
    /// A variable of the environment, where it is not empty.
    Given(Arc<str>),
    /// Nothing, because a program was not found.
    Absent,
    /// The output of the command substitution of this number.
    Output(usize),
    /// The same, where it is the path of a new file.
    New(usize),
    /// The same, where it is a word without blanks, or nothing: a number, a date, the name of a machine.
    Word(usize),
    /// The path of a process substitution, `<( … )`, by its number.
    Process(usize),
    /// The program that the author meant, where none was found.
    Missing,
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
        Self::Value { hole, cut: Cut::WHOLE }
    }

    /// Whether it is a value, or made of some.
    pub(crate) fn is_of_value(&self) -> bool {
        matches!(self, Self::Value { .. } | Self::Derived(_))
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
pub(crate) fn holes_of<'t>(text: impl IntoIterator<Item = &'t Atom>) -> Vec<usize> {
    let mut holes = Vec::new();
    text.into_iter().for_each(|atom| add_holes(&mut holes, atom.holes()));
    holes
}

/// Adds holes to others. Both are in order, and each hole is there once.
pub(crate) fn add_holes(holes: &mut Vec<usize>, more: &[usize]) {
    // Commands are walked in order, so that most new holes are behind all others.
    if holes.last().is_none_or(|last| more.first().is_some_and(|first| last < first)) {
        holes.extend_from_slice(more);
        return;
    }
    let known = holes.len();
    for hole in more {
        if holes[..known].binary_search(hole).is_err() {
            holes.push(*hole);
        }
    }
    if holes.len() > known {
        holes.sort_unstable();
    }
}

/// Some part of a text. A part of what a program printed is no value either.
pub(crate) fn part_of(text: &[Atom]) -> Atom {
    match made_of(&holes_of(text)) {
        Atom::Derived(holes) if !text.iter().any(Atom::is_of_value) => Atom::Output(holes),
        atom => atom,
    }
}

/// Something that is made of the values of these holes.
pub(crate) fn made_of(holes: &[usize]) -> Atom {
    if holes.is_empty() { Atom::Unknown(Tag::Somewhere) } else { Atom::Derived(in_order(holes)) }
}

/// What a program prints that has the values of these holes.
pub(crate) fn output_of(holes: &[usize]) -> Atom {
    Atom::Output(in_order(holes))
}

/// Holes in order, each of them once.
pub(crate) fn in_order(holes: &[usize]) -> Holes {
    if holes.is_sorted_by(|one, next| one < next) {
        return holes.into();
    }
    let mut holes = holes.to_vec();
    holes.sort_unstable();
    holes.dedup();
    holes.into()
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

/// Stands in a text that is written out for what is known only when it runs.
pub(crate) const ANY: char = '\0';

/// A text with a sign for each piece that is known only when it runs: the one that `sign` says, or [`ANY`] for what values reach.
pub(crate) fn written_out(text: &[Atom], sign: impl Fn(&Tag) -> char) -> String {
    let mut out = String::new();
    for atom in text {
        match atom {
            Atom::Text(text) => out.push_str(text),
            Atom::Unknown(Tag::Absent) => {}
            Atom::Unknown(tag) => out.push(sign(tag)),
            Atom::Value { .. } | Atom::Output(_) | Atom::Derived(_) => out.push(ANY),
        }
    }
    out
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

/// Every name that the author's part of a text may hold.
pub(crate) fn names_among(text: &[Atom]) -> impl Iterator<Item = &str> {
    let texts = text.iter().filter_map(|atom| if let Atom::Text(text) = atom { Some(&**text) } else { None });
    texts
        .flat_map(|text| text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')))
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// Keeps the first of what is the same.
pub(crate) fn dedup<T: Eq + Hash + Clone>(items: &mut Vec<T>) {
    // Two are compared at a glance; a hash reads each of them to its end.
    if items.len() <= 2 {
        items.dedup();
        return;
    }
    let mut seen = HashSet::with_capacity(items.len());
    items.retain(|item| seen.insert(item.clone()));
}

/// All holes whose values reach some words.
pub(crate) fn holes_among(fields: &[Field]) -> Vec<usize> {
    let mut holes = Vec::new();
    for field in fields {
        field.each(&mut |text| text.iter().for_each(|atom| add_holes(&mut holes, atom.holes())));
    }
    holes
}
