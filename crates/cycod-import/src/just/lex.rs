//! The tokens of a justfile outside of recipes' bodies, and inside of `{{ }}`.

/// A token with the byte at which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) kind: TokenKind,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    /// A string and what it says, where that is a literal text.
    Text(Option<String>),
    /// A command in backticks.
    Command,
    Comment,
    /// `:=`, `==`, `&&` and the like, or one character.
    Sign(&'static str),
    Other(char),
}

impl Token {
    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(self.kind, TokenKind::Sign(known) if known == sign)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Text(text) => text.as_deref(),
            _ => None,
        }
    }
}

const SIGNS: [&str; 25] = [
    ":=", "==", "!=", "=~", "!~", "&&", "||", "::", ":", "=", "(", ")", "[", "]", "{", "}", ",", "+", "*", "/", "@",
    "$", "?", "-", "!",
];

/// Returns the tokens of one logical line that begins at `start`, and the byte behind its line break.
///
/// A line goes on where a bracket or a string is open, or a backslash ends it. `Err` is where something begins that never
/// ends.
pub(super) fn line(text: &str, start: usize, end: usize) -> Result<(Vec<Token>, usize), usize> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let mut at = start;
    while at < end {
        let rest = &text[at..end];
        match bytes[at] {
            b'\n' if depth == 0 => return Ok((tokens, at + 1)),
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'\\' if rest.starts_with("\\\n") || rest.starts_with("\\\r\n") => at += 1,
            b'#' => {
                let stop = rest.find('\n').map_or(end, |found| at + found);
                tokens.push(Token { at, end: stop, kind: TokenKind::Comment });
                at = stop;
            }
            b'\'' | b'"' | b'`' => {
                let is_plain = !tokens.last().is_some_and(|before: &Token| {
                    before.end == at && before.name().is_some_and(|prefix| prefix == "f" || prefix == "x")
                });
                let (stop, kind) = string(text, at, end).ok_or(at)?;
                if !is_plain {
                    // The letter before it belongs to the string, which then says more than its text.
                    tokens.pop();
                }
                let kind = match kind {
                    TokenKind::Text(_) if !is_plain => TokenKind::Text(None),
                    kind => kind,
                };
                tokens.push(Token { at, end: stop, kind });
                at = stop;
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
                let stop = at + bytes[at..end].iter().take_while(|byte| is_part(byte)).count();
                tokens.push(Token { at, end: stop, kind: TokenKind::Name(text[at..stop].to_owned()) });
                at = stop;
            }
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
                match sign {
                    Some("(" | "[" | "{") => depth += 1,
                    Some(")" | "]" | "}") => depth = depth.saturating_sub(1),
                    _ => {}
                }
                let length = sign.map_or_else(|| rest.chars().next().map_or(1, char::len_utf8), str::len);
                let kind = match sign {
                    Some(sign) => TokenKind::Sign(sign),
                    None => TokenKind::Other(rest.chars().next().unwrap_or_default()),
                };
                tokens.push(Token { at, end: at + length, kind });
                at += length;
            }
        }
    }
    Ok((tokens, end))
}

/// Reads the expression behind `{{`; returns its tokens and the byte behind its `}}`.
pub(super) fn interpolation(text: &str) -> Option<(Vec<Token>, usize)> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with("}}") {
            let (tokens, _) = line(text, 0, at).ok()?;
            return Some((tokens, at + 2));
        }
        let first = rest.chars().next()?;
        at = if matches!(first, '\'' | '"' | '`') { string(text, at, text.len())?.0 } else { at + first.len_utf8() };
    }
}

/// Reads the string that begins at `at`; returns the byte behind it.
fn string(text: &str, at: usize, end: usize) -> Option<(usize, TokenKind)> {
    let rest = &text[at..end];
    for quote in ["'''", "\"\"\"", "```", "'", "\"", "`"] {
        let Some(body) = rest.strip_prefix(quote) else { continue };
        let is_cooked = quote.starts_with('"');
        let mut stop = 0;
        loop {
            let next = body.get(stop..)?;
            if next.starts_with(quote) {
                break;
            }
            let mut characters = next.chars();
            let first = characters.next()?;
            stop += first.len_utf8();
            if is_cooked && first == '\\' {
                stop += characters.next()?.len_utf8();
            }
        }
        let inside = &body[..stop];
        let behind = at + quote.len() + stop + quote.len();
        let kind = match quote.as_bytes()[0] {
            b'`' => TokenKind::Command,
            _ if quote.len() == 3 => {
                TokenKind::Text(Some(if is_cooked { cooked(&unindented(inside))? } else { unindented(inside) }))
            }
            _ => TokenKind::Text(Some(if is_cooked { cooked(inside)? } else { inside.to_owned() })),
        };
        return Some((behind, kind));
    }
    None
}

/// Takes the escapes out of a text in `"…"`; one that is unknown leaves the text unknown as well.
fn cooked(text: &str) -> Option<String> {
    let mut cooked = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            cooked.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => cooked.push('\n'),
            Some('r') => cooked.push('\r'),
            Some('t') => cooked.push('\t'),
            Some('\n') => {}
            Some(itself @ ('"' | '\\')) => cooked.push(itself),
            Some('u') => {
                let rest = characters.as_str().strip_prefix('{')?;
                let (digits, behind) = rest.split_once('}')?;
                cooked.push(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?);
                characters = behind.chars();
            }
            _ => return None,
        }
    }
    Some(cooked)
}

/// Takes the indentation that all lines share out of a text in three quotes, and the line break it begins with.
fn unindented(text: &str) -> String {
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    let common = filled.map(|line| line.len() - line.trim_start_matches([' ', '\t']).len()).min().unwrap_or(0);
    let lines: Vec<&str> = text.split('\n').map(|line| line.get(common..).unwrap_or_default()).collect();
    lines.join("\n")
}
