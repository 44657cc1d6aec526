//! Argument vectors: a template is split into words first, values are put inside words, and no shell ever sees them.

use crate::assemble::{assemble, joined};
use crate::harmless::is_number;
use crate::piece::{Kind, Mode, Piece, Shell, Value, Words};
use crate::refusal::{Refusal, code};
use crate::track::{HOLE, track};
use crate::words::{Segment, split};
use crate::{posix, second};

/// A word under construction: text, and the hole it consists of when it is a hole and nothing else.
#[derive(Default)]
struct Word<'a> {
    text: String,
    alone: Option<&'a Value<'a>>,
}

pub(crate) fn place(pieces: &[Piece<'_>]) -> Result<Vec<String>, Refusal> {
    let assembled = assemble(pieces, true)?;
    let source = assembled.source.as_bytes();
    let found = track(Shell::Sh, source);
    if let Some(danger) = second::dangers(Shell::Sh, &assembled.source, &found, &assembled.values)
        .into_iter()
        .find(|danger| !danger.allowed && !danger.is_builtin())
    {
        let piece = assembled.values[danger.hole].1;
        let problem = second::problem(&danger, &assembled.source, &found, &assembled.values);
        return Err(posix::refusal(piece, problem));
    }
    let unfinished = |what: &str| Refusal {
        code: code::WORDS,
        piece: pieces.len().saturating_sub(1),
        offset: 0,
        message: format!("the command ends inside {what}"),
        try_: "close the quote, or write `\\'` or `\\\"` for a quote that is text".into(),
    };
    let mut words = Vec::new();
    let mut word: Option<Word<'_>> = None;
    let mut holes = assembled.values.iter();
    let mut quote = 0;
    let mut characters = assembled.source.char_indices();
    while let Some((at, character)) = characters.next() {
        if quote == 0 && matches!(character, ' ' | '\t' | '\n' | '\r') {
            if let Some(word) = word.take() {
                finish(word, &mut words);
            }
            continue;
        }
        let fresh = word.is_none();
        let current = word.get_or_insert_with(Word::default);
        if character == HOLE as char {
            let (value, _) = holes.next().expect("every NUL of the source was written for a value");
            let next = source.get(at + 1);
            if quote == 0 && fresh && next.is_none_or(|next| matches!(next, b' ' | b'\t' | b'\n' | b'\r')) {
                current.alone = Some(value);
            } else {
                current.text.push_str(&joined(value));
            }
            continue;
        }
        match (quote, character) {
            (b'\'', '\'') | (b'"', '"') => quote = 0,
            (0, '\'') => quote = b'\'',
            (0, '"') => quote = b'"',
            (0, '\\') => match characters.next() {
                Some((_, '\n')) => {}
                Some((_, '\0')) => return Err(unfinished("an escape")),
                Some((_, escaped)) => current.text.push(escaped),
                None => return Err(unfinished("an escape")),
            },
            (b'"', '\\') => match source.get(at + 1) {
                Some(b'"' | b'\\' | b'$' | b'`') => {
                    if let Some((_, escaped)) = characters.next() {
                        current.text.push(escaped);
                    }
                }
                Some(b'\n') => {
                    characters.next();
                }
                _ => current.text.push('\\'),
            },
            _ => current.text.push(character),
        }
    }
    if quote != 0 {
        return Err(unfinished("a quote"));
    }
    if let Some(word) = word.take() {
        finish(word, &mut words);
    }
    Ok(words)
}

fn finish(word: Word<'_>, words: &mut Vec<String>) {
    let Some(value) = word.alone else {
        words.push(word.text);
        return;
    };
    words.extend(split(value).words.iter().map(|word| plain_text(word)));
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
                let text = joined(value);
                let inert = text.bytes().all(|byte| {
                    byte.is_ascii_alphanumeric()
                        || matches!(byte, b'_' | b'.' | b'/' | b':' | b'@' | b'%' | b'+' | b'=' | b',' | b'-')
                });
                let known = match value.kind {
                    Kind::Number => is_number(&text) || text.is_empty(),
                    Kind::Boolean => matches!(&*text, "true" | "false" | ""),
                    Kind::Enum => matches!(value.words, Words::One(_)) && !text.contains('\0'),
                    Kind::Text => false,
                };
                if !(known || inert || value.mode == Mode::Raw) {
                    let name: String = value
                        .name
                        .chars()
                        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
                        .collect();
                    return Err(Refusal {
                        code: code::INLINE,
                        piece,
                        offset: 0,
                        message: format!("the value of `{}` would be read as code by this interpreter", value.name),
                        try_: format!("read it from the environment variable `CYCOD_PARAM_{name}` in the script"),
                    });
                }
                out.push_str(&text);
            }
        }
    }
    Ok(out)
}
