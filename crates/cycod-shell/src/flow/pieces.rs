//! Pieces of words: where the shell divides what was expanded, and what stays together.

use std::sync::Arc;

use super::value::{Atom, Field, Tag, Text, holes_among, literal, made_of, push};
use crate::argv::{Item, split_template};
use crate::hole::{Format, Hole, Trust};
use crate::piece::Kind;
use crate::script::Part;
use crate::track::HOLE;

/// A piece of a word that may fall apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Atom(Atom),
    /// One word ends, the next begins.
    Break,
    /// The word is there even when it is empty.
    Mark,
    /// Any number of such words.
    Several(Atom),
    /// These words.
    Fields(Arc<[Field]>),
}

pub(super) type Pieces = Vec<Piece>;

/// A value with the words that its author puts around it.
pub(super) fn formatted(hole: usize, about: &Hole<'_>, is_bare: bool) -> Pieces {
    let text: String = about
        .format
        .iter()
        .map(|part| match part {
            Format::Text(text) => text.to_string(),
            Format::Value => char::from(HOLE).to_string(),
        })
        .collect();
    let value = [Piece::Mark, Piece::Atom(Atom::value(hole))];
    let mut pieces = Vec::new();
    if !is_bare {
        for (index, text) in text.split(char::from(HOLE)).enumerate() {
            if index > 0 {
                pieces.extend(value.clone());
            }
            pieces.push(Piece::Atom(Atom::text(text)));
        }
        return pieces;
    }
    if text.starts_with([' ', '\t', '\n']) {
        pieces.push(Piece::Break);
    }
    // The form was looked at before: it splits.
    for (index, (items, _)) in split_template(&text).unwrap_or_default().into_iter().enumerate() {
        if index > 0 {
            pieces.push(Piece::Break);
        }
        let mut word = String::new();
        for item in items {
            match item {
                Item::Character(character) => word.push(character),
                Item::Alone(_) | Item::Hole(_) => {
                    pieces.push(Piece::Atom(Atom::text(&std::mem::take(&mut word))));
                    pieces.extend(value.clone());
                }
            }
        }
        pieces.extend([Piece::Atom(Atom::text(&word)), Piece::Mark]);
    }
    if text.ends_with([' ', '\t', '\n']) {
        pieces.push(Piece::Break);
    }
    pieces
}

pub(super) fn author(about: &Hole<'_>, text: &str, is_bare: bool) -> Pieces {
    if is_bare && about.kind == Kind::Enum && about.trust == Trust::Author {
        return split(text);
    }
    if is_bare && text.is_empty() && about.vanishes {
        return Vec::new();
    }
    vec![Piece::Atom(Atom::text(text)), Piece::Mark]
}

/// Where a text falls apart at blanks.
pub(super) fn split(text: &str) -> Pieces {
    let mut pieces = Vec::new();
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n');
    if text.starts_with(blank) {
        pieces.push(Piece::Break);
    }
    for (index, word) in text.split(blank).filter(|word| !word.is_empty()).enumerate() {
        if index > 0 {
            pieces.push(Piece::Break);
        }
        pieces.push(Piece::Atom(Atom::text(word)));
    }
    if text.ends_with(blank) && !text.trim_matches(blank).is_empty() {
        pieces.push(Piece::Break);
    }
    pieces
}

/// Whether a part stands in quotes, where the shell divides no text into words.
pub(super) fn is_quoted(part: &Part) -> bool {
    match part {
        Part::Text { quoted, .. } | Part::Hole { quoted, .. } | Part::Output { quoted, .. } => *quoted,
        Part::Expansion(expansion) => expansion.quoted,
        _ => false,
    }
}

pub(super) fn several(atom: Atom, is_open: bool) -> Pieces {
    if is_open { vec![Piece::Several(atom)] } else { vec![Piece::Mark, Piece::Atom(atom)] }
}

pub(super) fn holes_in(pieces: &Pieces) -> Vec<usize> {
    pieces
        .iter()
        .flat_map(|piece| match piece {
            Piece::Atom(atom) | Piece::Several(atom) => atom.holes().to_vec(),
            Piece::Fields(fields) => holes_among(fields),
            Piece::Break | Piece::Mark => Vec::new(),
        })
        .collect()
}

pub(super) fn joined_pieces(text: &Text) -> Pieces {
    let mut pieces = vec![Piece::Mark];
    pieces.extend(text.iter().cloned().map(Piece::Atom));
    pieces
}

/// Spells out words of any number that are glued to other text: the first joins what stands before, the last what follows.
pub(super) fn unglued(pieces: Pieces) -> Vec<Pieces> {
    let is_edge = |piece: Option<&Piece>| piece.is_none_or(|piece| matches!(piece, Piece::Break));
    let glued = pieces.iter().enumerate().position(|(index, piece)| {
        let before = index.checked_sub(1).and_then(|before| pieces.get(before));
        matches!(piece, Piece::Several(_)) && !(is_edge(before) && is_edge(pieces.get(index + 1)))
    });
    let Some(at) = glued else { return vec![pieces] };
    if pieces.iter().filter(|piece| matches!(piece, Piece::Several(_))).count() > 2 {
        // Too many ways to fall apart: any number of words of which it is only known whose values are in them.
        return vec![vec![Piece::Several(made_of(&holes_in(&pieces)))]];
    }
    let Piece::Several(atom) = &pieces[at] else { return vec![pieces] };
    let spelt = |count: usize| {
        let mut some: Pieces = pieces[..at].to_vec();
        for index in 0..count {
            if index > 0 {
                some.push(Piece::Break);
            }
            some.push(Piece::Atom(atom.clone()));
        }
        some.extend(pieces[at + 1..].iter().cloned());
        some
    };
    // Three words are like two with one that stands alone, and so are more.
    (0..=3).flat_map(|count| unglued(spelt(count))).collect()
}

/// Whether words still fall apart at blanks alone when `IFS` is this text: at some of them, or as before, where a script restores it.
pub(super) fn keeps_words(text: &[Atom]) -> bool {
    match text {
        [Atom::Unknown(Tag::Variable(name) | Tag::Given(name))] => &**name == "IFS",
        text => literal(text).is_some_and(|text| text.chars().all(|c| " \t\n".contains(c))),
    }
}

/// The words that pieces make.
pub(super) fn words_of(pieces: &Pieces) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut word = Text::new();
    let mut is_there = false;
    let end = |word: &mut Text, is_there: &mut bool, fields: &mut Vec<Field>| {
        if *is_there {
            // In quotes, nothing is an empty word.
            word.retain(|atom| *atom != Atom::Unknown(Tag::Absent));
        }
        if *is_there || !word.is_empty() {
            fields.push(Field::Word(std::mem::take(word)));
        }
        *is_there = false;
    };
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Atom(atom) => push(&mut word, atom.clone()),
            Piece::Mark => is_there = true,
            Piece::Break => end(&mut word, &mut is_there, &mut fields),
            Piece::Several(atom) => {
                end(&mut word, &mut is_there, &mut fields);
                fields.push(Field::Many(vec![vec![Field::Word(vec![atom.clone()])]].into()));
            }
            Piece::Fields(list) => {
                is_there = false;
                if word.is_empty()
                    && pieces.get(index + 1).is_none_or(|next| matches!(next, Piece::Break | Piece::Mark))
                {
                    fields.extend(list.iter().cloned());
                } else {
                    push(&mut word, made_of(&holes_among(list)));
                }
            }
        }
    }
    end(&mut word, &mut is_there, &mut fields);
    fields
}

/// The one word that pieces make where nothing falls apart.
pub(super) fn joined(pieces: &Pieces) -> Text {
    let mut text = Text::new();
    for piece in pieces {
        match piece {
            Piece::Atom(atom) | Piece::Several(atom) => push(&mut text, atom.clone()),
            Piece::Break => push(&mut text, Atom::text(" ")),
            Piece::Mark => {}
            Piece::Fields(fields) => push(&mut text, made_of(&holes_among(fields))),
        }
    }
    text
}
