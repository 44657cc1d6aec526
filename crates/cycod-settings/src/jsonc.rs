//! JSON as people keep it: with comments, trailing commas and a byte order mark.

use crate::tree::{Kind, Member, Node, Wrong};

/// Nobody nests settings deeper; a file that does is meant to exhaust us.
const DEPTH: usize = 128;
pub(crate) const BOM: &str = "\u{feff}";

/// Reads a text that holds one value.
pub(crate) fn parse(text: &str) -> Result<Node, Wrong> {
    let mut reader = Reader { text, at: if text.starts_with(BOM) { BOM.len() } else { 0 } };
    reader.skip_blank()?;
    let root = reader.value(0)?;
    reader.skip_blank()?;
    if reader.at < text.len() {
        return Err(reader.expected("the end of the file"));
    }
    Ok(root)
}

/// Whether there is nothing in a text.
pub(crate) fn is_blank(text: &str) -> bool {
    text.strip_prefix(BOM).unwrap_or(text).trim_ascii().is_empty()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expected(&self, what: &str) -> Wrong {
        let found = match self.rest().chars().next() {
            None => "the file ends here".to_owned(),
            Some(character) => format!("`{}` stands here", character.escape_debug()),
        };
        Wrong::new(self.at, format!("{found}, where {what} is expected"))
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<(), Wrong> {
        loop {
            let rest = self.rest();
            let step = match rest.as_bytes() {
                [b' ' | b'\t' | b'\n' | b'\r', ..] => 1,
                [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
                [b'/', b'*', ..] => match rest[2..].find("*/") {
                    Some(end) => end + 4,
                    None => return Err(Wrong::new(self.at, "the comment has no end")),
                },
                _ => return Ok(()),
            };
            self.at += step;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Wrong> {
        if depth > DEPTH {
            return Err(Wrong::new(self.at, format!("values are nested deeper than {DEPTH}")));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.table(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => {
                let words = [("true", Kind::Bool(true)), ("false", Kind::Bool(false)), ("null", Kind::Null)];
                let word = words.into_iter().find(|(word, _)| self.rest().starts_with(word));
                let (word, kind) = word.ok_or_else(|| self.expected("a value"))?;
                self.at += word.len();
                kind
            }
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn table(&mut self, depth: usize) -> Result<Kind, Wrong> {
        let mut members: Vec<Member> = Vec::new();
        self.at += 1;
        loop {
            self.skip_blank()?;
            let may_go_on = members.last().is_none_or(|last| last.comma.is_some());
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Kind::Table(members));
                }
                Some(b'"') if may_go_on => {}
                _ if may_go_on => return Err(self.expected("a key in quotes or `}`")),
                _ => return Err(self.expected("`,` or `}`")),
            }
            let start = self.at;
            let key = self.string()?;
            let key_span = start..self.at;
            self.skip_blank()?;
            if self.peek() != Some(b':') {
                return Err(self.expected("`:`"));
            }
            self.at += 1;
            self.skip_blank()?;
            let value = self.value(depth + 1)?;
            let comma = self.comma()?;
            members.push(Member { key, key_span, value, comma });
        }
    }

    fn list(&mut self, depth: usize) -> Result<Kind, Wrong> {
        let mut items = Vec::new();
        let mut may_go_on = true;
        self.at += 1;
        loop {
            self.skip_blank()?;
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    return Ok(Kind::List(items));
                }
                _ if !may_go_on => return Err(self.expected("`,` or `]`")),
                _ => items.push(self.value(depth + 1)?),
            }
            may_go_on = self.comma()?.is_some();
        }
    }

    /// Skips a comma, if there is one, and tells where it was.
    fn comma(&mut self) -> Result<Option<usize>, Wrong> {
        self.skip_blank()?;
        let at = self.at;
        let is_there = self.peek() == Some(b',');
        self.at += usize::from(is_there);
        Ok(is_there.then_some(at))
    }

    fn number(&mut self) -> Result<Kind, Wrong> {
        let length = self
            .rest()
            .bytes()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            .count();
        let text = &self.rest()[..length];
        if serde_json::from_str::<serde_json::Number>(text).is_err() {
            return Err(Wrong::new(self.at, format!("`{text}` is not a number")));
        }
        let kind = Kind::Number(text.to_owned());
        self.at += length;
        Ok(kind)
    }

    fn string(&mut self) -> Result<String, Wrong> {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        loop {
            let plain = self.rest().bytes().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)).count();
            value.push_str(&self.rest()[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(value);
                }
                Some(b'\\') => value.push(self.escape()?),
                _ => return Err(Wrong::new(start, "the text has no end on its line")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Wrong> {
        let start = self.at;
        let wrong = || Wrong::new(start, "this is not an escape of JSON");
        let letter = *self.text.as_bytes().get(start + 1).ok_or_else(wrong)?;
        self.at += 2;
        Ok(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.unit().ok_or_else(wrong)?;
                let before = self.at;
                let low = if matches!(high, 0xd800..=0xdbff) && self.rest().starts_with("\\u") {
                    self.at += 2;
                    self.unit()
                } else {
                    None
                };
                // JavaScript writes half pairs where it cut a text; nothing is lost, for the file's bytes stay.
                match char::decode_utf16([high].into_iter().chain(low)).next() {
                    Some(Ok(character)) => character,
                    _ => {
                        self.at = before;
                        char::REPLACEMENT_CHARACTER
                    }
                }
            }
            _ => return Err(wrong()),
        })
    }

    /// Reads four hexadecimal digits.
    fn unit(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.at += 4;
        is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{DEPTH, parse};

    #[test]
    fn what_people_write_is_read() {
        let text = "\u{feff}// servers\n{ \"a\": [1, -2.5e3, true, null,], /* b */ \"b\": {\"c\": \"\\u00e9\\ud83d\\ude00\\ud83d x\\n\",},\n}\n// end";
        let expected = json!({"a": [1, -2.5e3, true, null], "b": {"c": "é😀\u{fffd} x\n"}});
        assert_eq!(parse(text).map(|root| root.to_json()), Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let check = |text: &str, at: usize, message: &str| {
            let wrong = parse(text).expect_err(text);
            assert_eq!((wrong.at, wrong.message.as_str()), (at, message), "{text}");
        };
        check("", 0, "the file ends here, where a value is expected");
        check("{\"a\" 1}", 5, "`1` stands here, where `:` is expected");
        check("{\"a\": 1 \"b\": 2}", 8, "`\\\"` stands here, where `,` or `}` is expected");
        check("{a: 1}", 1, "`a` stands here, where a key in quotes or `}` is expected");
        check("[1 2]", 3, "`2` stands here, where `,` or `]` is expected");
        check("[,]", 1, "`,` stands here, where a value is expected");
        check("{} {}", 3, "`{` stands here, where the end of the file is expected");
        check("\"a\nb\"", 0, "the text has no end on its line");
        check("\"\\x\"", 1, "this is not an escape of JSON");
        check("\"\\u12\"", 1, "this is not an escape of JSON");
        check("01", 0, "`01` is not a number");
        check("{ /* x", 2, "the comment has no end");
    }

    #[test]
    fn depth_is_bounded() {
        assert!(parse(&format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH))).is_ok());
        let deep = parse(&"[".repeat(100_000)).expect_err("it is too deep");
        assert_eq!(deep.message, "values are nested deeper than 128");
        assert!(parse(&"{\"a\":".repeat(100_000)).is_err());
    }
}
