use crate::piece::{Mode, Piece, Value, Words};
use crate::refusal::{Refusal, code};
use crate::track::HOLE;

/// The author's text in one buffer, with one NUL for every hole.
pub(crate) struct Assembled<'a> {
    pub(crate) source: String,
    /// The value of each hole and the index of its piece.
    pub(crate) values: Vec<(&'a Value<'a>, usize)>,
    pub(crate) sensitive: bool,
}

pub(crate) fn assemble<'a>(pieces: &'a [Piece<'a>], with_values: bool) -> Result<Assembled<'a>, Refusal> {
    let size = pieces.iter().map(|piece| if let Piece::Text(text) = piece { text.len() } else { 1 }).sum();
    let mut assembled = Assembled { source: String::with_capacity(size), values: Vec::new(), sensitive: false };
    for (piece, part) in pieces.iter().enumerate() {
        let text: &str = match part {
            Piece::Text(text) => text,
            Piece::Value(value) if value.mode == Mode::Raw => {
                if !with_values {
                    continue;
                }
                assembled.sensitive |= value.sensitive;
                &joined(value)
            }
            Piece::Value(value) => {
                assembled.sensitive |= value.sensitive;
                if with_values && holds_nul(value) {
                    return Err(nul(piece, 0, &format!("the value of `{}` holds a NUL byte", value.name)));
                }
                assembled.values.push((value, piece));
                assembled.source.push(HOLE as char);
                continue;
            }
        };
        if let Some(offset) = text.bytes().position(|byte| byte == HOLE) {
            return Err(nul(piece, offset, "the command holds a NUL byte"));
        }
        assembled.source.push_str(text);
    }
    Ok(assembled)
}

fn nul(piece: usize, offset: usize, what: &str) -> Refusal {
    Refusal {
        code: code::VALUE,
        piece,
        offset,
        message: format!("{what}, which no program can be given"),
        try_: "pass the data in a file, and its path as the value".into(),
    }
}

fn holds_nul(value: &Value<'_>) -> bool {
    match &value.words {
        Words::One(text) => text.as_bytes().contains(&HOLE),
        Words::List { items, delimiter } => {
            delimiter.as_bytes().contains(&HOLE) || items.iter().any(|item| item.as_bytes().contains(&HOLE))
        }
    }
}

/// The value as one text.
pub(crate) fn joined<'v>(value: &'v Value<'_>) -> std::borrow::Cow<'v, str> {
    match &value.words {
        Words::One(text) => text.as_ref().into(),
        Words::List { items, delimiter } => items.join(delimiter).into(),
    }
}
