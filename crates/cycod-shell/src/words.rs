//! The words that a value becomes in an unquoted place, and how the words of a command that no shell reads are split.

use std::borrow::Cow;

use crate::assemble::joined;
use crate::piece::{Mode, Value, Words};

/// A part of one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment<'a> {
    /// Text that is text.
    Literal(Cow<'a, str>),
    /// `*`, `?` or the opening, the negation and the closing of `[…]`, live.
    Glob(&'static str),
    /// The home directory, when `/` or the word's end follows.
    Tilde,
}

/// A word that a value becomes in an unquoted place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word without its quotes.
    pub text: String,
    /// Whether it stands for files, or begins at the home directory, so that only the shell knows what it becomes.
    pub is_live: bool,
}

/// Reads the words that a value becomes in an unquoted place.
pub fn words(text: &str) -> Vec<Word> {
    let Some(split) = parse(text, true) else { return vec![Word { text: text.to_owned(), is_live: false }] };
    let word = |segments: Vec<Segment<'_>>| Word {
        is_live: segments.iter().any(|segment| !matches!(segment, Segment::Literal(_))),
        text: segments
            .iter()
            .map(|segment| match segment {
                Segment::Literal(text) => &**text,
                Segment::Glob(glob) => glob,
                Segment::Tilde => "~",
            })
            .collect(),
    };
    split.words.into_iter().map(word).collect()
}

/// The words a value becomes in an unquoted place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    pub(crate) words: Vec<Vec<Segment<'a>>>,
    /// Blanks before the first word, or after the last: a neighbour's text is a word of its own.
    pub(crate) breaks_left: bool,
    pub(crate) breaks_right: bool,
}

pub(crate) fn split<'v>(value: &'v Value<'_>) -> Split<'v> {
    let one = |text: &'v str| Split { words: vec![vec![Segment::Literal(text.into())]], ..Split::default() };
    match (&value.words, value.mode) {
        (Words::List { items, .. }, Mode::Word | Mode::Bare | Mode::Arguments | Mode::Output | Mode::Raw) => Split {
            words: items.iter().map(|item| vec![Segment::Literal(item.as_str().into())]).collect(),
            ..Split::default()
        },
        (Words::List { .. }, Mode::Fragment) => {
            let text = joined(value).into_owned();
            parse(&text, false)
                .map(own)
                .unwrap_or_else(|| Split { words: vec![vec![Segment::Literal(text.into())]], ..Split::default() })
        }
        (Words::One(text), Mode::Bare) if text.is_empty() => Split::default(),
        (Words::One(text), Mode::Word | Mode::Bare | Mode::Raw) => one(text),
        (Words::One(text), Mode::Output) => blanks(text),
        (Words::One(text), Mode::Arguments) => parse(text, true).unwrap_or_else(|| one(text)),
        (Words::One(text), Mode::Fragment) => parse(text, false).unwrap_or_else(|| one(text)),
    }
}

fn own(split: Split<'_>) -> Split<'static> {
    let words = split.words.into_iter().map(|word| {
        word.into_iter()
            .map(|segment| match segment {
                Segment::Literal(text) => Segment::Literal(Cow::Owned(text.into_owned())),
                Segment::Glob(glob) => Segment::Glob(glob),
                Segment::Tilde => Segment::Tilde,
            })
            .collect()
    });
    Split { words: words.collect(), breaks_left: split.breaks_left, breaks_right: split.breaks_right }
}

const BLANKS: [char; 3] = [' ', '\t', '\n'];

fn blanks(text: &str) -> Split<'_> {
    Split {
        words: text
            .split(BLANKS)
            .filter(|word| !word.is_empty())
            .map(|word| vec![Segment::Literal(word.into())])
            .collect(),
        breaks_left: text.starts_with(BLANKS),
        breaks_right: text.ends_with(BLANKS),
    }
}

/// Reads words with shell quoting; `None` when a quote or an escape is not finished.
///
/// Operators, `$`, backticks, braces and the like are ordinary characters here.
pub(crate) fn parse(text: &str, live: bool) -> Option<Split<'_>> {
    let bytes = text.as_bytes();
    let mut split = Split { breaks_left: text.starts_with(BLANKS), ..Split::default() };
    let mut word: Option<Vec<Segment<'_>>> = None;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if matches!(byte, b' ' | b'\t' | b'\n') {
            split.words.extend(word.take());
            at += 1;
            split.breaks_right = at == bytes.len();
            continue;
        }
        let first = word.is_none();
        let segments = word.get_or_insert_default();
        match byte {
            b'\'' => {
                let end = at + 1 + bytes[at + 1..].iter().position(|&byte| byte == b'\'')?;
                literal(segments, &text[at + 1..end]);
                at = end + 1;
            }
            b'"' => {
                at += 1;
                literal(segments, "");
                loop {
                    let run = bytes[at..].iter().position(|&byte| byte == b'"' || byte == b'\\')?;
                    literal(segments, &text[at..at + run]);
                    at += run;
                    if bytes[at] == b'"' {
                        at += 1;
                        break;
                    }
                    match bytes.get(at + 1)? {
                        b'\n' => at += 2,
                        b'"' | b'\\' | b'$' | b'`' => {
                            literal(segments, &text[at + 1..at + 2]);
                            at += 2;
                        }
                        _ => {
                            literal(segments, "\\");
                            at += 1;
                        }
                    }
                }
            }
            b'\\' => {
                let next = text[at + 1..].chars().next()?;
                if next != '\n' {
                    literal(segments, &text[at + 1..at + 1 + next.len_utf8()]);
                }
                at += 1 + next.len_utf8();
            }
            b'~' if live
                && first
                && bytes.get(at + 1).is_none_or(|next| matches!(next, b'/' | b' ' | b'\t' | b'\n')) =>
            {
                segments.push(Segment::Tilde);
                at += 1;
            }
            b'*' | b'?' if live => {
                segments.push(Segment::Glob(if byte == b'*' { "*" } else { "?" }));
                at += 1;
            }
            b'[' if live => at = bracket(text, at, segments),
            _ => {
                let stop = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\'' | b'"' | b'\\' | b'*' | b'?' | b'[');
                let run = 1 + bytes[at + 1..].iter().position(stop).unwrap_or(bytes.len() - at - 1);
                literal(segments, &text[at..at + run]);
                at += run;
            }
        }
    }
    split.words.extend(word);
    Some(split)
}

fn literal<'a>(segments: &mut Vec<Segment<'a>>, text: &'a str) {
    match segments.last_mut() {
        Some(Segment::Literal(before)) => {
            if before.is_empty() {
                *before = text.into();
            } else if !text.is_empty() {
                before.to_mut().push_str(text);
            }
        }
        _ => segments.push(Segment::Literal(text.into())),
    }
}

/// Reads `[…]` as a live set when it is closed and holds no quoting; otherwise as text. Returns where reading goes on.
fn bracket<'a>(text: &'a str, at: usize, segments: &mut Vec<Segment<'a>>) -> usize {
    let bytes = text.as_bytes();
    let negated = matches!(bytes.get(at + 1), Some(b'!' | b'^'));
    let start = at + 1 + usize::from(negated);
    let closes = |from: usize| {
        bytes.get(from..).and_then(|rest| rest.iter().position(|&byte| byte == b']')).map(|end| from + end)
    };
    // A `]` right after the opening is a member.
    let end = closes(start + 1);
    let set = end
        .map(|end| &text[start..end])
        .filter(|set| set.bytes().all(|byte| crate::track::is_word_byte(byte) && byte != b'/'));
    let (Some(end), Some(set)) = (end, set) else {
        literal(segments, &text[at..=at]);
        return at + 1;
    };
    segments.push(Segment::Glob(if negated { "[!" } else { "[" }));
    segments.push(Segment::Literal(set.into()));
    segments.push(Segment::Glob("]"));
    end + 1
}
