//! Writes values into PowerShell programs: always as a single-quoted literal, which knows no escape but a doubled quote.
//!
//! | place | written as |
//! |---|---|
//! | bare | `'it''s'`; several words as `'a','b'`, which a program gets as two arguments and a cmdlet as an array |
//! | `'…'` | its own text, quotes doubled |
//! | `"…"`, `@"…"@` | `$('it''s')` |
//! | `@'…'@` | its own text when it cannot end the here-string, else refused |
//! | comment | its own text when harmless, else nothing |
//!
//! PowerShell takes the typographic quotes `‘ ’ ‚ ‛` for `'`, and `“ ” „` for `"`.

use crate::assemble::{assemble, joined};
use crate::harmless::{is_harmless, is_number};
use crate::piece::{Kind, Mode, Piece, Value};
use crate::posix::refusal;
use crate::refusal::{Context, Finding, Placed, Problem, Refusal, code};
use crate::words::split;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// Code; what closes it.
    Code(char),
    Single,
    Double,
    SingleHere,
    DoubleHere,
    LineComment,
    BlockComment,
}

#[derive(Clone, Copy)]
struct Hole {
    at: usize,
    frame: Frame,
    trouble: Option<&'static str>,
    program: Option<&'static str>,
}

fn is_single(character: char) -> bool {
    matches!(character, '\'' | '\u{2018}'..='\u{201b}')
}

fn is_double(character: char) -> bool {
    matches!(character, '"' | '\u{201c}'..='\u{201e}')
}

/// Programs that take code, with the options that announce it; none means that every argument is code.
const INTERPRETERS: [(&str, &[&str]); 16] = [
    ("iex", &[]),
    ("invoke-expression", &[]),
    ("powershell", &["-c", "-command"]),
    ("pwsh", &["-c", "-command"]),
    ("cmd", &["/c", "/k"]),
    ("bash", &["-c", "-lc"]),
    ("sh", &["-c"]),
    ("wsl", &[]),
    ("ssh", &[]),
    ("python", &["-c"]),
    ("python3", &["-c"]),
    ("py", &["-c"]),
    ("node", &["-e", "-p", "--eval"]),
    ("ruby", &["-e"]),
    ("perl", &["-e"]),
    ("php", &["-r"]),
];

fn interpreter(statement: &str) -> Option<&'static str> {
    let lower = statement.to_ascii_lowercase();
    let mut words = lower.split_whitespace().skip_while(|word| matches!(*word, "&" | "."));
    let first = words.next()?.trim_matches(['"', '\'']);
    let first = first.rsplit(['/', '\\']).next().unwrap_or(first);
    let first = first.strip_suffix(".exe").unwrap_or(first);
    let (name, flags) = INTERPRETERS.iter().find(|(name, _)| *name == first)?;
    (flags.is_empty() || words.any(|word| flags.contains(&word))).then_some(*name)
}

fn scan(source: &str) -> Vec<Hole> {
    let mut frames = vec![Frame::Code('\0')];
    let mut holes = Vec::new();
    let mut statement = vec![0usize];
    let mut unsure: Option<&'static str> = None;
    let mut characters = source.char_indices().peekable();
    let mut before = '\n';
    while let Some((at, character)) = characters.next() {
        let frame = *frames.last().expect("the outermost frame is never popped");
        let next = characters.peek().map(|&(_, next)| next);
        if character == '\0' {
            let program = match frame {
                Frame::LineComment | Frame::BlockComment => None,
                _ => statement.iter().find_map(|&start| interpreter(&source[start..at])),
            };
            let trouble = unsure.or(match frame {
                Frame::Code(_) if before == '`' => Some("a backtick stands directly before it"),
                Frame::Code(_)
                    if !(is_boundary(before)
                        || before.is_ascii_alphanumeric()
                        || matches!(before, '_' | '=' | ':' | '/' | '.' | ',' | '-' | '\\')) =>
                {
                    Some("the text directly before it would join its quotes")
                }
                Frame::Code(_) if is_boundary(before) && next.is_some_and(|next| !is_boundary(next) && next != ',') => {
                    Some("PowerShell ends an argument where a quote closes; put `\"…\"` around the whole argument")
                }
                Frame::Code(_)
                    if next.is_some_and(|next| {
                        !is_boundary(next)
                            && !next.is_ascii_alphanumeric()
                            && !matches!(next, ',' | '.' | '/' | '\\' | '-' | '_' | '=' | ':')
                    }) =>
                {
                    Some("the text directly after it would join its quotes")
                }
                Frame::Double | Frame::DoubleHere if before == '`' => Some("a backtick stands directly before it"),
                Frame::Double | Frame::DoubleHere if before == '$' => Some("a `$` stands directly before it"),
                _ => None,
            });
            holes.push(Hole { at, frame, trouble, program });
            before = 'x';
            continue;
        }
        let mut seen = character;
        match frame {
            Frame::Code(close) => match character {
                '`'
                    // A hole after it stays visible, and escaped.
                    if next.is_some_and(|next| next != '\0') => {
                        characters.next();
                        seen = 'x';
                    }
                '@' if next.is_some_and(|next| is_single(next) || is_double(next)) => {
                    let rest = &source[at + 1..];
                    let quote = rest.chars().next().unwrap_or('\'');
                    let line = rest[quote.len_utf8()..].split('\n').next().unwrap_or_default();
                    if line.trim().is_empty() {
                        characters.next();
                        frames.push(if is_single(quote) { Frame::SingleHere } else { Frame::DoubleHere });
                    }
                }
                _ if is_single(character) => frames.push(Frame::Single),
                _ if is_double(character) => frames.push(Frame::Double),
                '#' if is_boundary(before) => frames.push(Frame::LineComment),
                '<' if next == Some('#') => {
                    characters.next();
                    frames.push(Frame::BlockComment);
                }
                '$' if next == Some('{') => {
                    if source[at..].split('}').next().is_some_and(|name| name.contains('\0')) {
                        unsure = Some("the name of a variable cannot be a value");
                    }
                    while characters.next_if(|&(_, inside)| inside != '}' && inside != '\0').is_some() {}
                    characters.next_if(|&(_, inside)| inside == '}');
                }
                '-' if source[at..].starts_with("--%") && is_boundary(before) => unsure = Some("`--%` before it turns off PowerShell's own quoting"),
                '(' => {
                    frames.push(Frame::Code(')'));
                    statement.push(at + 1);
                }
                '{' => {
                    frames.push(Frame::Code('}'));
                    statement.push(at + 1);
                }
                ')' | '}' => {
                    if character == close {
                        frames.pop();
                        statement.pop();
                    } else {
                        unsure = Some("a bracket before it closes nothing");
                    }
                }
                ';' | '\n' | '|' => {
                    if let Some(start) = statement.last_mut() {
                        *start = at + 1;
                    }
                }
                _ => {}
            },
            Frame::Single if is_single(character) => {
                if next.is_some_and(is_single) {
                    characters.next();
                } else {
                    frames.pop();
                }
            }
            Frame::Double | Frame::DoubleHere if character == '`' && next.is_some_and(|next| next != '\0') => {
                characters.next();
                seen = 'x';
            }
            Frame::Double | Frame::DoubleHere if character == '$' && next == Some('(') => {
                characters.next();
                frames.push(Frame::Code(')'));
                statement.push(at + 2);
                seen = '(';
            }
            Frame::Double if is_double(character) => {
                if next.is_some_and(is_double) {
                    characters.next();
                } else {
                    frames.pop();
                }
            }
            Frame::SingleHere | Frame::DoubleHere if character == '\n' => {
                let ends = |next: char| if frame == Frame::SingleHere { is_single(next) } else { is_double(next) };
                let mut rest = source[at + 1..].chars();
                if rest.next().is_some_and(ends) && rest.next() == Some('@') {
                    characters.next();
                    characters.next();
                    frames.pop();
                }
            }
            Frame::LineComment if character == '\n' => {
                frames.pop();
                if let Some(start) = statement.last_mut() {
                    *start = at + 1;
                }
            }
            Frame::BlockComment if character == '#' && next == Some('>') => {
                characters.next();
                frames.pop();
            }
            _ => {}
        }
        before = seen;
    }
    holes
}

fn is_boundary(character: char) -> bool {
    character.is_whitespace() || matches!(character, '(' | ')' | '{' | '}' | ';' | '|' | '&' | '[' | ']')
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    double_quotes(text, &mut out);
    out.push('\'');
    out
}

fn double_quotes(text: &str, out: &mut String) {
    for character in text.chars() {
        out.push(character);
        if is_single(character) {
            out.push(character);
        }
    }
}

fn trouble(hole: &Hole, value: &Value<'_>) -> Option<Problem> {
    if let Some(why) = hole.trouble {
        return Some(Problem {
            code: code::PLACE,
            message: format!("`{}` stands where no value can be placed: {why}", value.name),
            help: format!("assign it first, `$value = {{{}}}`, and use `\"$value\"` there", value.name),
            rewrite: None,
        });
    }
    let program = hole.program?;
    let fine = value.mode == Mode::Raw
        || matches!(value.kind, Kind::Boolean | Kind::Enum)
        || value.kind == Kind::Number && is_number(&joined(value));
    (!fine).then(|| Problem {
        code: code::SECOND_PARSE,
        message: format!("`{}` stands in code that `{program}` parses, where no quoting keeps it data", value.name),
        help: format!("set `$env:{} = {{{}}}` before it, and read that variable in the code", value.name, value.name),
        rewrite: None,
    })
}

pub(crate) fn place(pieces: &[Piece<'_>]) -> Result<Placed, Refusal> {
    let assembled = assemble(pieces, true)?;
    let source = &assembled.source;
    let mut text = String::with_capacity(source.len());
    let mut at = 0;
    for (hole, &(value, piece)) in scan(source).iter().zip(&assembled.values) {
        if let Some(problem) = trouble(hole, value) {
            return Err(refusal(piece, problem));
        }
        text.push_str(&source[at..hole.at]);
        at = hole.at + 1;
        let whole = joined(value);
        match hole.frame {
            Frame::Code(_) => text.push_str(&bare(value, source, hole.at)),
            Frame::Single => double_quotes(&whole, &mut text),
            Frame::Double | Frame::DoubleHere => {
                text.push_str("$(");
                text.push_str(&quoted(&whole));
                text.push(')');
            }
            Frame::SingleHere => {
                let meets_quote = source[at..].chars().next().is_some_and(is_single);
                if whole.chars().any(is_single) && whole.contains('@')
                    || meets_quote && whole.contains('\n')
                    || whole.is_empty() && meets_quote
                {
                    return Err(Refusal {
                        code: code::VALUE,
                        piece,
                        offset: 0,
                        message: format!("the value of `{}` could end this here-string", value.name),
                        try_: "use a here-string with double quotes, `@\"…\"@`".into(),
                    });
                }
                text.push_str(&whole);
            }
            Frame::LineComment | Frame::BlockComment => {
                if is_harmless(&whole) {
                    text.push_str(&whole);
                }
            }
        }
    }
    text.push_str(&source[at..]);
    Ok(Placed { text, prelude: 0..0, sensitive: assembled.sensitive })
}

fn bare(value: &Value<'_>, source: &str, at: usize) -> String {
    let whole = joined(value);
    if value.kind == Kind::Number && is_number(&whole) {
        return whole.into_owned();
    }
    let list = match (&value.words, value.mode) {
        (crate::Words::List { items, .. }, _) => items.iter().map(|item| quoted(item)).collect::<Vec<_>>(),
        (_, Mode::Output) => split(value).words.iter().map(|word| quoted(&crate::argv::plain_text(word))).collect(),
        (_, Mode::Arguments)
            if whole.is_empty()
                && source[..at].ends_with(char::is_whitespace)
                && !source[..at].trim_end().ends_with(['=', '(', ',']) =>
        {
            return String::new();
        }
        _ => return quoted(&whole),
    };
    if list.is_empty() { "@()".into() } else { list.join(",") }
}

pub(crate) fn inspect(pieces: &[Piece<'_>]) -> Vec<Finding> {
    let Ok(assembled) = assemble(pieces, false) else { return Vec::new() };
    let findings = scan(&assembled.source).into_iter().zip(&assembled.values).map(|(hole, &(value, piece))| Finding {
        piece,
        offset: 0,
        context: match hole.frame {
            _ if hole.trouble.is_some() => Context::Unsupported,
            Frame::Code(_) => Context::Unquoted,
            Frame::Single => Context::SingleQuoted,
            Frame::Double => Context::DoubleQuoted,
            Frame::SingleHere => Context::QuotedHereDocument,
            Frame::DoubleHere => Context::HereDocument,
            Frame::LineComment | Frame::BlockComment => Context::Comment,
        },
        problem: trouble(&hole, value),
    });
    findings.collect()
}
