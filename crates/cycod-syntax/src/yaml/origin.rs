//! Finds out where each byte of a scalar's text was written.
//!
//! The parser hands out the text after unquoting and folding. The raw bytes are read a second time here,
//! noting every place where the two go out of step. Should the second reading not give the parser's text,
//! only the start is recorded: a position is then inexact, never out of the scalar.

use super::ScalarStyle;

/// Runs of the text and where each starts in the parsed source, `(offset in text, offset in source)`.
///
/// `start..end` is the scalar with its quotes, or from its header on.
pub(super) fn origins(text: &str, style: ScalarStyle, source: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let raw = source.get(start..end).unwrap_or_default();
    let runs = match style {
        ScalarStyle::Plain if raw == text => return vec![(0, start)],
        ScalarStyle::Plain => flow(raw, style),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
            let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
            if inner == text {
                return vec![(0, start + 1)];
            }
            let (decoded, mut runs) = flow(inner, style);
            runs.iter_mut().for_each(|(_, at)| *at += 1);
            (decoded, runs)
        }
        ScalarStyle::Literal | ScalarStyle::Folded => {
            return block(text, style, source, start).unwrap_or_else(|| vec![(0, start)]);
        }
    };
    let (decoded, mut runs) = runs;
    if decoded != text {
        return vec![(0, start)];
    }
    runs.iter_mut().for_each(|(_, at)| *at += start);
    runs
}

/// Text being decoded, with the places where it went out of step with its source.
#[derive(Default)]
struct Runs {
    text: String,
    runs: Vec<(usize, usize)>,
}

impl Runs {
    fn push(&mut self, character: char, at: usize) {
        let in_step = self.runs.last().is_some_and(|(text, source)| self.text.len() - text == at.wrapping_sub(*source));
        if !in_step {
            self.runs.push((self.text.len(), at));
        }
        self.text.push(character);
    }

    fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        while self.runs.last().is_some_and(|(text, _)| *text >= len && *text > 0) {
            self.runs.pop();
        }
    }
}

/// Decodes a plain or quoted scalar without its quotes.
fn flow(raw: &str, style: ScalarStyle) -> (String, Vec<(usize, usize)>) {
    let bytes = raw.as_bytes();
    let mut out = Runs::default();
    // The length up to which trailing blanks are content: written by an escape, or not blank.
    let mut solid = 0;
    let mut at = 0;
    while let Some(character) = raw.get(at..).and_then(|rest| rest.chars().next()) {
        match character {
            '\n' | '\r' => {
                out.truncate(solid);
                let first = at;
                let mut breaks = 0;
                while let Some(byte) = bytes.get(at) {
                    match byte {
                        b'\n' => breaks += 1,
                        b'\r' if bytes.get(at + 1) != Some(&b'\n') => breaks += 1,
                        b'\r' | b' ' | b'\t' => {}
                        _ => break,
                    }
                    at += 1;
                }
                if breaks == 1 {
                    out.push(' ', first);
                }
                for extra in 1..breaks {
                    out.push('\n', first + extra);
                }
                solid = out.text.len();
                continue;
            }
            '\'' if style == ScalarStyle::SingleQuoted => {
                out.push('\'', at);
                at += 2;
                solid = out.text.len();
                continue;
            }
            '\\' if style == ScalarStyle::DoubleQuoted => {
                at += escape(raw, at, &mut out);
                solid = out.text.len();
                continue;
            }
            ' ' | '\t' => out.push(character, at),
            _ => {
                out.push(character, at);
                solid = out.text.len();
            }
        }
        at += character.len_utf8();
    }
    if out.runs.is_empty() {
        out.runs.push((0, 0));
    }
    (out.text, out.runs)
}

/// Decodes the escape at `at` and returns how many bytes it has.
fn escape(raw: &str, at: usize, out: &mut Runs) -> usize {
    let rest = raw.get(at + 1..).unwrap_or_default();
    let Some(kind) = rest.chars().next() else { return 1 };
    let hex =
        |from: usize, len: usize| rest.get(from..from + len).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let simple = match kind {
        '0' => '\0',
        'a' => '\x07',
        'b' => '\x08',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\x0b',
        'f' => '\x0c',
        'r' => '\r',
        'e' => '\x1b',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        '\n' | '\r' => {
            let break_len = if rest.starts_with("\r\n") { 2 } else { 1 };
            let after = rest.get(break_len..).unwrap_or_default();
            return 1 + break_len + (after.len() - after.trim_start_matches([' ', '\t']).len());
        }
        'x' | 'u' | 'U' => {
            let digits = match kind {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            let code = hex(1, digits).unwrap_or_default();
            let is_high = kind == 'u' && (0xd800..0xdc00).contains(&code);
            let low = if is_high && rest.get(5..7) == Some("\\u") { hex(7, 4) } else { None };
            if let Some(low) = low {
                let joined = 0x10000 + ((code - 0xd800) << 10) + low.wrapping_sub(0xdc00);
                out.push(char::from_u32(joined).unwrap_or('\u{fffd}'), at);
                return 12;
            }
            out.push(char::from_u32(code).unwrap_or('\u{fffd}'), at);
            return 2 + digits;
        }
        other => other,
    };
    out.push(simple, at);
    1 + kind.len_utf8()
}

/// Aligns the text of a block scalar with the source lines after the one that holds its header.
///
/// The indentation need not be known: a line of a literal is the end of its source line, and in a folded
/// scalar only blanks and line breaks differ.
fn block(text: &str, style: ScalarStyle, source: &str, header: usize) -> Option<Vec<(usize, usize)>> {
    let mut line_start = header + source.get(header..)?.find('\n')? + 1;
    let start = line_start;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    if style == ScalarStyle::Literal {
        let mut in_text = 0;
        for line in text.split('\n') {
            if in_text == text.len() {
                break;
            }
            let rest = source.get(line_start..)?;
            let line_len = rest.find('\n').unwrap_or(rest.len());
            let raw = rest[..line_len].strip_suffix('\r').unwrap_or(&rest[..line_len]);
            if !raw.ends_with(line) {
                return None;
            }
            runs.push((in_text, line_start + raw.len() - line.len()));
            in_text += line.len() + 1;
            line_start += line_len + 1;
        }
    } else {
        let mut in_text = 0;
        while in_text < text.len() {
            let rest = source.get(line_start..)?;
            let line_len = rest.find('\n').unwrap_or(rest.len());
            let line = rest[..line_len].strip_suffix('\r').unwrap_or(&rest[..line_len]);
            let content = line.trim_start_matches([' ', '\t']);
            let ahead = &text[in_text..];
            if ahead.trim_matches([' ', '\t', '\n']).is_empty() {
                break;
            }
            if !content.is_empty() {
                let blanks = ahead.len() - ahead.trim_start_matches([' ', '\t', '\n']).len();
                if !ahead[blanks..].starts_with(content) {
                    return None;
                }
                runs.push((in_text + blanks, line_start + line.len() - content.len()));
                in_text += blanks + content.len();
            }
            line_start += line_len + 1;
        }
        if runs.first().is_none_or(|(first, _)| *first > 0) {
            runs.insert(0, (0, start));
        }
    }
    if runs.is_empty() {
        runs.push((0, start));
    }
    Some(runs)
}
