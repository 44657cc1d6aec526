//! The ways in which a value may be read: code that compares one must know them all.

use std::{borrow::Cow, cell::OnceCell};

use cycod_definition::{Decimal, Value};
use cycod_shell::words;

use crate::{Argument, Held, Meant, Reading};

/// A parameter's value, read when a rule first asks.
#[derive(Debug)]
pub(crate) struct Readings<'a> {
    argument: &'a Argument<'a>,
    texts: OnceCell<Vec<Text<'a>>>,
}

/// One scalar in a value, with everything it may become.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    /// As it is.
    pub(crate) plain: Cow<'a, str>,
    /// What kind of value it is.
    pub(crate) kind: Kind,
    /// The words that a shell makes of it, where it does.
    pub(crate) words: Vec<String>,
    /// The same as one text.
    pub(crate) joined: Option<String>,
    /// Whether a pattern for files in it is live, so that it becomes what only the disk knows.
    pub(crate) is_live: bool,
    /// Whether it is a program, which may compute anything.
    pub(crate) is_code: bool,
    /// The path that it means, where the tool says so.
    pub(crate) meant: Option<Meant<'a>>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Text,
    /// A key of an object.
    Key,
    Number(Option<Decimal>),
    Bool(bool),
}

impl<'a> Readings<'a> {
    pub(crate) fn of(argument: &'a Argument<'a>) -> Self {
        Self { argument, texts: OnceCell::new() }
    }

    pub(crate) fn name(&self) -> &'a str {
        self.argument.name
    }

    /// Whether the value is known only later.
    pub(crate) fn is_later(&self) -> bool {
        matches!(self.argument.value, Held::Later)
    }

    /// Every scalar in the value, and every key.
    pub(crate) fn texts(&self) -> &[Text<'a>] {
        self.texts.get_or_init(|| {
            let mut texts = Vec::new();
            if let Some(meant) = self.argument.meant {
                let plain = match self.argument.value {
                    Held::Value(Value::Text(text)) => Cow::Borrowed(text.as_str()),
                    _ => meant.path.to_string_lossy(),
                };
                texts.push(Text { meant: Some(meant), ..Text::of(plain, Kind::Text, Reading::Literal) });
            } else if let Held::Value(value) = self.argument.value {
                collect(value, self.argument.reading, &mut texts);
            }
            texts
        })
    }
}

fn collect<'a>(value: &'a Value, reading: Reading, into: &mut Vec<Text<'a>>) {
    match value {
        Value::Null => {}
        Value::Bool(value) => {
            let plain = Cow::Borrowed(if *value { "true" } else { "false" });
            into.push(Text::of(plain, Kind::Bool(*value), Reading::Literal));
        }
        Value::Number(text) => {
            into.push(Text::of(text.as_str().into(), Kind::Number(Decimal::parse(text)), Reading::Literal));
        }
        Value::Text(text) => into.push(Text::of(text.as_str().into(), Kind::Text, reading)),
        Value::List(items) => items.iter().for_each(|item| collect(item, reading, into)),
        Value::Object(entries) => {
            for (key, value) in entries {
                into.push(Text::of(key.as_str().into(), Kind::Key, reading));
                collect(value, reading, into);
            }
        }
    }
}

impl<'a> Text<'a> {
    fn of(plain: Cow<'a, str>, kind: Kind, reading: Reading) -> Self {
        let mut text =
            Self { plain, kind, words: Vec::new(), joined: None, is_live: false, is_code: false, meant: None };
        if reading == Reading::Literal || is_one_plain_word(&text.plain) {
            return text;
        }
        text.is_code = reading == Reading::Code && !text.plain.bytes().all(is_inert);
        let words = words(&text.plain);
        text.is_live = words.iter().any(|word| word.is_live);
        text.words = words.into_iter().map(|word| word.text).collect();
        text.joined = Some(text.words.join(" "));
        text
    }

    /// Everything that it may be taken for.
    pub(crate) fn forms(&self) -> impl Iterator<Item = &str> {
        let trimmed = Some(self.plain.trim()).filter(|trimmed| trimmed.len() != self.plain.len());
        std::iter::once(&*self.plain)
            .chain(trimmed)
            .chain(self.joined.as_deref())
            .chain(self.words.iter().map(|w| &**w))
    }

    /// Whether there is nothing in it that reaches a command.
    pub(crate) fn is_blank(&self) -> bool {
        self.plain.trim().is_empty()
    }
}

/// Whether a shell makes exactly this word of it, which is so of nearly every value.
fn is_one_plain_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| is_inert(byte) && byte != b' ')
}

/// Whether a shell gives the byte no meaning of its own.
fn is_inert(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./:@%+=,- ".contains(&byte)
}
