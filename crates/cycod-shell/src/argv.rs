//! Argument vectors: a template is split into words first, values are put inside words, and no shell ever sees them.

use cycod_code::Code;

use crate::assemble::{assemble, joined};
use crate::piece::{Kind, Mode, Piece, Value, Words};
use crate::refusal::Refusal;
use crate::script::{Command, Form, Part, Script, Tree, Word as TreeWord};
use crate::track::HOLE;
use crate::words::{Segment, split};

/// A piece of a word, before values are in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    Character(char),
    /// The hole of this number, which is a word by itself and without quotes.
    Alone(usize),
    Hole(usize),
}

/// A word of a command line, and where it stands.
pub(crate) type Split = (Vec<Item>, std::ops::Range<usize>);

/// Splits a template into words as a POSIX shell would, without any expansion. The error says where it ends too early.
pub(crate) fn split_template(source: &str) -> Result<Vec<Split>, &'static str> {
    let bytes = source.as_bytes();
    let blank = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    let mut words = Vec::new();
    let mut word: Option<(Vec<Item>, usize)> = None;
    let mut holes = 0;
    let mut quote = 0;
    let mut characters = source.char_indices();
    while let Some((at, character)) = characters.next() {
        if quote == 0 && matches!(character, ' ' | '\t' | '\n' | '\r') {
            words.extend(word.take().map(|(items, start)| (items, start..at)));
            continue;
        }
        let is_first = word.is_none();
        let (items, _) = word.get_or_insert_with(|| (Vec::new(), at));
        if character == HOLE as char {
            let is_alone = quote == 0 && is_first && blank(bytes.get(at + 1));
            items.push(if is_alone { Item::Alone(holes) } else { Item::Hole(holes) });
            holes += 1;
            continue;
        }
        match (quote, character) {
            (b'\'', '\'') | (b'"', '"') => quote = 0,
            (0, '\'') => quote = b'\'',
            (0, '"') => quote = b'"',
            (0, '\\') => match characters.next() {
                Some((_, '\n')) => {}
                Some((_, escaped)) if escaped != HOLE as char => items.push(Item::Character(escaped)),
                _ => return Err("an escape"),
            },
            (b'"', '\\') => match bytes.get(at + 1) {
                Some(b'"' | b'\\' | b'$' | b'`') => {
                    items.extend(characters.next().map(|(_, escaped)| Item::Character(escaped)));
                }
                Some(b'\n') => {
                    characters.next();
                }
                _ => items.push(Item::Character('\\')),
            },
            _ => items.push(Item::Character(character)),
        }
    }
    if quote != 0 {
        return Err("a quote");
    }
    words.extend(word.take().map(|(items, start)| (items, start..source.len())));
    Ok(words)
}

/// The template as the one command it is.
pub(crate) fn tree(source: &str, order: &[usize]) -> Result<Tree, &'static str> {
    let words = split_template(source).map_err(|_| "a quote or an escape in it is not finished")?;
    let words = words.into_iter().map(|(items, span)| {
        let mut parts: Vec<Part> = Vec::new();
        let mut text = String::new();
        for item in &items {
            let hole = match item {
                Item::Character(character) => {
                    text.push(*character);
                    continue;
                }
                Item::Alone(hole) => Part::Hole { hole: order[*hole], quoted: false },
                Item::Hole(hole) => Part::Hole { hole: order[*hole], quoted: true },
            };
            if !text.is_empty() {
                parts.push(Part::Text { text: std::mem::take(&mut text).into(), quoted: true });
            }
            parts.push(hole);
        }
        if !text.is_empty() || parts.is_empty() {
            parts.push(Part::Text { text: text.into(), quoted: true });
        }
        TreeWord { parts, span }
    });
    let form = Form::Simple { assignments: Vec::new(), words: words.collect() };
    let script = Script::of(vec![Command { form, redirects: Vec::new(), span: 0..source.len() }]);
    Ok(Tree { script, documents: std::collections::HashMap::new() })
}

pub(crate) fn place(pieces: &[Piece<'_>]) -> Result<Vec<String>, Refusal> {
    let assembled = assemble(pieces)?;
    let words = split_template(&assembled.source).map_err(|what| Refusal {
        code: Code::MalformedWords,
        piece: pieces.len().saturating_sub(1),
        offset: 0,
        message: format!("the command ends inside {what}"),
        try_: "close the quote, or write `\\'` or `\\\"` for a quote that is text".into(),
    })?;
    let value = |hole: usize| assembled.values[hole].0;
    let mut out = Vec::with_capacity(words.len());
    for (items, _) in words {
        if let [Item::Alone(hole)] = items.as_slice() {
            out.extend(split(value(*hole)).words.iter().map(|word| plain_text(word)));
            continue;
        }
        let mut text = String::new();
        for item in items {
            match item {
                Item::Character(character) => text.push(character),
                Item::Alone(hole) | Item::Hole(hole) => text.push_str(&joined(value(hole))),
            }
        }
        out.push(text);
    }
    Ok(out)
}

/// The text of a word, nothing in it live.
pub(crate) fn plain_text(word: &[Segment<'_>]) -> String {
    word.iter()
        .map(|segment| match segment {
            Segment::Literal(text) => text,
            Segment::Glob(glob) => *glob,
            Segment::Tilde => "~",
        })
        .collect()
}

pub(crate) fn place_inline(pieces: &[Piece<'_>]) -> Result<String, Refusal> {
    let mut out = String::new();
    for (piece, part) in pieces.iter().enumerate() {
        match part {
            Piece::Text(text) => out.push_str(text),
            Piece::Value(value) => {
                crate::assemble::admit(piece, value)?;
                let text = joined(value);
                let is_known = match value.kind {
                    Kind::Number => crate::harmless::is_number(&text) || text.is_empty(),
                    Kind::Boolean => matches!(&*text, "true" | "false" | ""),
                    Kind::Enum => matches!(value.words, Words::One(_)) && !text.contains('\0'),
                    Kind::Text => crate::harmless::is_plain_word(&text),
                };
                if !is_known && value.mode != Mode::Raw {
                    return Err(unreadable(piece, value));
                }
                out.push_str(&text);
            }
        }
    }
    Ok(out)
}

fn unreadable(piece: usize, value: &Value<'_>) -> Refusal {
    Refusal {
        code: Code::InlineValue,
        piece,
        offset: 0,
        message: format!("the value of `{}` would be read as code by this interpreter", value.name),
        try_: crate::variable::advice(value.name),
    }
}
