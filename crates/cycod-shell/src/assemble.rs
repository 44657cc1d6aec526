use cycod_code::Code;

use crate::harmless::is_number;
use crate::piece::{Kind, Mode, Piece, Value, Words};
use crate::refusal::Refusal;
use crate::track::HOLE;

/// The author's text in one buffer, with one NUL for every hole.
pub(crate) struct Assembled<'a> {
    pub(crate) source: String,
    /// The value of each hole and the index of its piece.
    pub(crate) values: Vec<(&'a Value<'a>, usize)>,
    pub(crate) sensitive: bool,
}

pub(crate) fn assemble<'a>(pieces: &'a [Piece<'a>]) -> Result<Assembled<'a>, Refusal> {
    let size = pieces.iter().map(|piece| if let Piece::Text(text) = piece { text.len() } else { 1 }).sum();
    let mut assembled = Assembled { source: String::with_capacity(size), values: Vec::new(), sensitive: false };
    for (piece, part) in pieces.iter().enumerate() {
        let text: &str = match part {
            Piece::Text(text) => text,
            Piece::Value(value) if value.mode == Mode::Raw => {
                assembled.sensitive |= value.sensitive;
                &joined(value)
            }
            Piece::Value(value) => {
                assembled.sensitive |= value.sensitive;
                admit(piece, value)?;
                if holds_nul(value) {
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

/// Refuses a value that its verdict does not let pass.
pub(crate) fn admit(piece: usize, value: &Value<'_>) -> Result<(), Refusal> {
    if value.mode == Mode::Raw {
        return Ok(());
    }
    let verdict = value.verdict;
    if !verdict.is_placeable() {
        let try_ = match &verdict.rewrite {
            Some(rewrite) => format!("{}: {rewrite}", verdict.help),
            None => verdict.help.clone(),
        };
        let code = verdict.code.unwrap_or(Code::UnprovenPlace);
        return Err(Refusal { code, piece, offset: 0, message: verdict.reason.clone(), try_ });
    }
    // A number is trusted where text is not, so it has to be one.
    let is_sham = match (value.kind, &value.words) {
        (Kind::Number, Words::One(text)) => !text.is_empty() && !is_number(text),
        (Kind::Boolean, Words::One(text)) => !matches!(text.as_ref(), "" | "true" | "false"),
        (Kind::Number | Kind::Boolean, Words::List { .. }) => true,
        _ => false,
    };
    if is_sham {
        return Err(Refusal {
            code: Code::UnplaceableValue,
            piece,
            offset: 0,
            message: format!("the value of `{}` is not of its type", value.name),
            try_: "give a number, or `true` or `false`, as its type says".into(),
        });
    }
    match verdict.stops(value) {
        None => Ok(()),
        Some(guard) => {
            let (message, try_) = guard.refuses(value.name, &joined(value));
            Err(Refusal { code: guard.code(), piece, offset: 0, message, try_ })
        }
    }
}

fn nul(piece: usize, offset: usize, what: &str) -> Refusal {
    Refusal {
        code: Code::UnplaceableValue,
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
