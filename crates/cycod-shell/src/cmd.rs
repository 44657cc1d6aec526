//! Writes values into programs for cmd.exe, which has no quoting that works for everything.
//!
//! Inside `"…"` most characters are text; `"`, `%`, `!` and line breaks are not, and neither `^` nor doubling helps in all of
//! the places a batch line can be read in. Such values are refused. `call` and programs that read their arguments as code see
//! a line twice, so that only plain words may stand there.

use crate::assemble::{assemble, joined};
use crate::piece::{Kind, Mode, Piece, Value, Words};
use crate::posix::refusal;
use crate::refusal::{Context, Finding, Placed, Problem, Refusal, code};
use crate::words::split;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Quoted,
    Bare,
    Comment,
}

struct Hole {
    at: usize,
    place: Place,
    /// The line is read more than once.
    twice: Option<&'static str>,
    escaped: bool,
}

const TWICE: [&str; 13] =
    ["call", "for", "cmd", "powershell", "pwsh", "python", "py", "node", "perl", "ruby", "php", "bash", "wsl"];

fn scan(source: &str) -> Vec<Hole> {
    let mut holes = Vec::new();
    let (mut quoted, mut escaped, mut comment) = (false, false, false);
    let mut twice = None;
    let mut start = true;
    let bytes = source.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == 0 {
            holes.push(Hole {
                at,
                place: if comment {
                    Place::Comment
                } else if quoted {
                    Place::Quoted
                } else {
                    Place::Bare
                },
                twice,
                escaped,
            });
            escaped = false;
            start = false;
            continue;
        }
        if escaped {
            escaped = false;
            continue;
        }
        match byte {
            b'\n' => (quoted, comment, start, twice) = (false, false, true, None),
            _ if comment => {}
            b'"' => quoted = !quoted,
            b'^' if !quoted => escaped = true,
            b'&' | b'|' | b'(' | b')' if !quoted => {
                start = true;
                if byte == b'&' {
                    twice = None;
                }
            }
            b' ' | b'\t' | b'@' => {}
            _ if start => {
                start = false;
                let rest = source[at..].trim_start_matches('"').to_ascii_lowercase();
                let word = rest.split([' ', '\t', '\n', '\r', '"', '&', '|', '\0', '/']).next().unwrap_or_default();
                let word = word.rsplit('\\').next().unwrap_or(word);
                let word = word.strip_suffix(".exe").unwrap_or(word);
                comment = word == "rem" || rest.starts_with("::");
                twice = TWICE.iter().copied().find(|program| *program == word).or(twice);
            }
            _ => {}
        }
    }
    holes
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b':' | b'@' | b'+' | b'-' | b'\\')
        })
}

fn unsafe_character(text: &str) -> Option<char> {
    text.chars().find(|character| matches!(character, '"' | '%' | '!') || character.is_control() && *character != '\t')
}

fn write(source: &str, hole: &Hole, value: &Value<'_>) -> Result<String, Problem> {
    let whole = joined(value);
    let no = |code: &'static str, message: String, help: &str| {
        Err(Problem { code, message, help: help.to_owned(), rewrite: None })
    };
    let name = value.name;
    if hole.escaped {
        return no(
            code::PLACE,
            format!("`{name}` stands where no value can be placed: a `^` stands directly before it"),
            "remove the `^`",
        );
    }
    if let Some(program) = hole.twice.filter(|_| !is_plain(&whole) && !whole.is_empty() && value.kind == Kind::Text) {
        return no(
            code::SECOND_PARSE,
            format!("`{name}` stands in a line that `{program}` reads a second time"),
            "use `pwsh:` for this tool, or pass the value in the environment",
        );
    }
    let character = unsafe_character(&whole);
    if let Some(character) = character {
        return no(
            code::VALUE,
            format!("the value of `{name}` holds {character:?}, which cmd.exe cannot be given safely"),
            "use `pwsh:` for this tool, where every value can be placed",
        );
    }
    let after = source.as_bytes().get(hole.at + 1);
    match hole.place {
        Place::Comment => Ok(if is_plain(&whole) { whole.into_owned() } else { String::new() }),
        Place::Quoted if whole.ends_with('\\') && after == Some(&b'"') => no(
            code::VALUE,
            format!("the value of `{name}` ends with a backslash, which would escape the quote after it"),
            "remove the backslash at its end",
        ),
        Place::Quoted => Ok(whole.into_owned()),
        Place::Bare => {
            let words: Vec<String> = match (&value.words, value.mode) {
                (Words::One(_), Mode::Arguments) if whole.is_empty() => Vec::new(),
                // A backslash separates directories here and escapes nothing.
                (Words::One(_), Mode::Word | Mode::Raw | Mode::Arguments) => vec![whole.into_owned()],
                _ => split(value).words.iter().map(|word| crate::argv::plain_text(word)).collect(),
            };
            let before = source[..hole.at].bytes().next_back();
            let blank = |byte: Option<u8>| {
                byte.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'&' | b'|' | b')' | b'('))
            };
            let joins = |byte: Option<u8>| {
                blank(byte)
                    || byte.is_some_and(|byte| {
                        byte.is_ascii_alphanumeric()
                            || matches!(byte, b'=' | b':' | b'/' | b'.' | b'\\' | b'-' | b'_' | b',')
                    })
            };
            let mut out = Vec::new();
            for word in words {
                if is_plain(&word) && joins(before) && joins(after.copied()) && !matches!(before, Some(b'<' | b'>')) {
                    out.push(word);
                } else if !joins(before) || !joins(after.copied()) || word.ends_with('\\') {
                    return no(
                        code::VALUE,
                        format!("the value of `{name}` cannot be quoted safely here"),
                        "put double quotes around the whole argument",
                    );
                } else {
                    out.push(format!("\"{word}\""));
                }
            }
            Ok(out.join(" "))
        }
    }
}

pub(crate) fn place(pieces: &[Piece<'_>]) -> Result<Placed, Refusal> {
    let assembled = assemble(pieces, true)?;
    let source = &assembled.source;
    let mut text = String::with_capacity(source.len());
    let mut at = 0;
    for (hole, &(value, piece)) in scan(source).iter().zip(&assembled.values) {
        let new = write(source, hole, value).map_err(|problem| refusal(piece, problem))?;
        text.push_str(&source[at..hole.at]);
        text.push_str(&new);
        at = hole.at + 1;
    }
    text.push_str(&source[at..]);
    Ok(Placed { text, prelude: 0..0, sensitive: assembled.sensitive })
}

pub(crate) fn inspect(pieces: &[Piece<'_>]) -> Vec<Finding> {
    let Ok(assembled) = assemble(pieces, false) else { return Vec::new() };
    let findings = scan(&assembled.source).into_iter().zip(&assembled.values).map(|(hole, &(value, piece))| Finding {
        piece,
        offset: 0,
        context: match hole.place {
            _ if hole.escaped => Context::Unsupported,
            Place::Quoted => Context::DoubleQuoted,
            Place::Bare => Context::Unquoted,
            Place::Comment => Context::Comment,
        },
        problem: hole.twice.filter(|_| value.kind == Kind::Text && hole.place != Place::Comment).map(|program| Problem {
            code: code::SECOND_PARSE,
            message: format!("`{}` stands in a line that `{program}` reads a second time", value.name),
            help: "only plain words can be placed here; use `pwsh:` for this tool, or pass the value in the environment".into(),
            rewrite: None,
        }),
    });
    findings.collect()
}
