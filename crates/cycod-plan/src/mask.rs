//! Secrets in texts.
//!
//! A program writes a secret in its own way: as JSON, in an address, quoted for a shell, in Base64. How many ways there are to
//! write one text grows with each of its characters, because tools disagree about which of them need an escape. So the ways are
//! not listed. Instead the text is read in several ways at once, each of which undoes one family of escapes, and the same
//! automaton of the secrets themselves follows every one:
//!
//! ```text
//!            ┌─ as it is ───────────┐
//!            ├─ % undone ───────────┤
//!  text ─────┼─ \ undone ───────────┼──► automaton ──► places ──► ****
//!            ├─ digits of Base64 ───┤
//!            └─ …                   ┘
//! ```
//!
//! Time and memory are linear in the text, whatever the secrets are. Of a text that comes in pieces, what is held back is what
//! the automaton says may still become a secret.

mod digits;
mod scan;
mod undo;
mod words;

use std::{borrow::Cow, fmt, sync::Arc};

use cycod_definition::json;
use serde_json::Value as Json;

use scan::Scan;
use undo::{Escapes, undone};
use words::Words;

/// Secrets shorter than this are not masked: they would take half of any text with them.
const SHORTEST: usize = 4;

/// What is shorter is not looked for where it is only a part of a secret, or what one becomes: it would be met by chance.
const SHORTEST_PART: usize = 8;

/// Numbers that are written with fewer characters are looked for only as they are.
const SHORTEST_NUMBER: usize = 5;

/// What is looked for because of a secret: itself, each of its lines, what is left of it in a text whose quotes do not count,
/// and what it becomes in a text that was escaped before it was put into Base64.
fn looked_for(secret: &str) -> Vec<Vec<u8>> {
    // What a program prints of it may lack the end of the line.
    let secret = secret.trim_end_matches(['\n', '\r']);
    if secret.chars().count() < SHORTEST {
        return Vec::new();
    }
    let mut texts = vec![secret.as_bytes().to_vec()];
    texts.extend(numbers(secret).into_iter().map(String::into_bytes));
    let lines = secret.lines().map(str::trim).filter(|line| *line != secret);
    for text in std::iter::once(secret).chain(lines) {
        let mut quoted = String::new();
        json::write_text(text, &mut quoted);
        let text = text.as_bytes();
        let meant = undone(text, Escapes::COMMON);
        let others = [
            quoted.as_bytes()[1..quoted.len() - 1].to_vec(),
            text.iter().copied().map(percent).collect::<String>().into_bytes(),
            undone(text, Escapes::QUOTES),
            undone(&meant, Escapes::QUOTES),
            undone(&meant, Escapes::COMMON),
            meant,
            text.to_vec(),
        ];
        texts.extend(others.into_iter().filter(|other| other.len() >= SHORTEST_PART));
    }
    // Where too little is left without its quotes.
    for (quote, written) in [('\'', r"'\''"), ('\'', r#"'"'"'"#), ('\'', "''"), ('"', r#""""#)] {
        texts.push(secret.replace(quote, written).into_bytes());
    }
    texts
}

/// How programs write a secret that is a number.
fn numbers(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    let is_number = secret.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let Some(number) = secret.parse::<f64>().ok().filter(|number| is_number && number.is_finite()) else {
        return Vec::new();
    };
    let mut spellings = vec![number.to_string()];
    let scientific = format!("{number:e}");
    if let Some((digits, exponent)) = scientific.split_once('e') {
        let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |exponent| ("-", exponent));
        spellings.extend([format!("{digits}e{sign}{exponent:0>2}"), format!("{digits}E{sign}{exponent:0>2}")]);
        spellings.extend([format!("{digits}e{sign}{exponent}"), format!("{digits}E{sign}{exponent}")]);
    }
    spellings.push(scientific);
    if secret.bytes().all(|byte| byte.is_ascii_digit()) {
        spellings.push(secret.trim_start_matches('0').to_owned());
        spellings.extend([',', '.', '_', ' ', '\''].map(|mark| grouped(secret, mark)));
    }
    spellings.retain(|spelling| spelling.len() >= SHORTEST_NUMBER);
    spellings
}

/// Digits in groups of three.
fn grouped(digits: &str, mark: char) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(mark);
        }
        text.push(digit);
    }
    text
}

/// A byte as it stands in an address.
fn percent(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    }
}

/// Replaces secrets of at least four characters by `****`.
pub fn mask(text: &str, secrets: &[String]) -> String {
    Masks::new(secrets).apply(text).into_owned()
}

/// Secrets in all their spellings, for many texts.
#[derive(Clone, Default)]
pub struct Masks(Option<Arc<Words>>);

impl fmt::Debug for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masks").finish_non_exhaustive()
    }
}

impl Masks {
    /// Makes what finds secrets.
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut texts: Vec<Vec<u8>> = secrets.into_iter().flat_map(|secret| looked_for(secret.as_ref())).collect();
        texts.sort_unstable();
        texts.dedup();
        let words = Words::new(texts.iter().map(Vec::as_slice));
        Self((!words.is_empty()).then(|| Arc::new(words)))
    }

    /// Replaces them in a text.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.apply_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(shown) => Cow::Owned(String::from_utf8_lossy(&shown).into_owned()),
        }
    }

    /// Replaces them in a text that need not be UTF-8.
    pub fn apply_bytes<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let Some(words) = &self.0 else { return Cow::Borrowed(text) };
        let mut shown = Vec::with_capacity(text.len());
        let mut scan = Scan::new();
        scan.read(words, text, &mut shown);
        scan.finish(words, &mut shown);
        if shown == text { Cow::Borrowed(text) } else { Cow::Owned(shown) }
    }

    /// Whether one of them stands in a text.
    pub fn find_in(&self, text: &str) -> bool {
        matches!(self.apply(text), Cow::Owned(_))
    }

    /// Replaces them in every text of a value, names of fields and numbers included.
    pub fn json(&self, value: Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.apply(&text).into_owned()),
            Json::Number(number) => {
                let text = number.to_string();
                match self.apply(&text) {
                    Cow::Borrowed(_) => Json::Number(number),
                    Cow::Owned(shown) => Json::String(shown),
                }
            }
            Json::Array(items) => items.into_iter().map(|item| self.json(item)).collect(),
            Json::Object(fields) => {
                let field = |(name, value): (String, Json)| (self.apply(&name).into_owned(), self.json(value));
                Json::Object(fields.into_iter().map(field).collect())
            }
            other => other,
        }
    }

    /// Masks a text that comes in pieces.
    pub fn stream(&self) -> StreamMask {
        StreamMask(self.0.as_ref().map(|words| (words.clone(), Scan::new())))
    }
}

/// Masks one stream as it comes, also where a secret is split across reads: what may be the beginning of a secret, and nothing
/// else, is held back until it is clear.
#[derive(Clone)]
pub struct StreamMask(Option<(Arc<Words>, Scan)>);

impl fmt::Debug for StreamMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamMask").finish_non_exhaustive()
    }
}

impl StreamMask {
    /// Takes bytes in and returns those that can be shown.
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some((words, scan)) = &mut self.0 else { return Cow::Borrowed(bytes) };
        let mut shown = Vec::with_capacity(bytes.len());
        scan.read(words, bytes, &mut shown);
        Cow::Owned(shown)
    }

    /// Returns what was held back, at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut shown = Vec::new();
        if let Some((words, scan)) = &mut self.0 {
            scan.finish(words, &mut shown);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(secret: &str, text: &str, expect: &str) {
        let masks = Masks::new([secret]);
        assert_eq!(masks.apply(text), expect, "{secret:?}");
        for cut in 0..=text.len() {
            let mut stream = masks.stream();
            let (head, tail) = text.as_bytes().split_at(cut);
            let pieces = [stream.push(head).into_owned(), stream.push(tail).into_owned(), stream.finish()];
            assert_eq!(String::from_utf8_lossy(&pieces.concat()), expect, "{secret:?} cut at {cut}");
        }
    }

    #[test]
    fn a_secret_is_masked_in_json_too() {
        check("hunter2", "pw=hunter2!", "pw=****!");
        check("abc", "abc", "abc");
        check("a\"b\\c\td\u{1}\n", r#"{"x":"a\"b\\c\td\u0001\n"}"#, r#"{"x":"****\n"}"#);
        check("a\"b\\c\n", "a\"b\\c", "****");
        check("ä/&<😀>", r#""\u00E4\/\u0026\u003c\uD83D\ude00>""#, r#""****""#);
        check("x%41\"y z", r#"x%41\"y z"#, "****");
        check("say \"x\"ä", r#"{\"a\": \"say \\\"x\\\"\\u00e4\"}"#, r#"{\"a\": \"****\"}"#);
    }

    #[test]
    fn a_secret_is_masked_in_other_spellings() {
        check("it's one", r"printf 'it'\''s one'", "printf '****'");
        check("it's one", "'it''s one'", "'****'");
        check("it's one", r#"'it'"'"'s one'"#, "'****'");
        check(r"it's \one", r"['it\'s \\one']", "['****']");
        check("a b;c\nd*", r"$'a b;c\nd*'", "$'****'");
        check("pä ss", r"$'p\303\244 ss'", "$'****'");
        check("pä ss", r"'p\xe4 ss'", "'****'");
        check("p@ss wörd", "https://u:p%40ss%20w%C3%B6rd@h/?q=p%40ss+w%c3%b6rd", "https://u:****@h/?q=****");
        check("100%+ss", "100%25+ss 100%25%2Bss 100%25%2bss", "**** **** ****");
        check("a&b<ö'", "<p>a&amp;b&lt;&ouml;&#39; a&#x26;b&#060;&#246;&apos;</p>", "<p>**** ****</p>");
        check("a=b ö, and so on", "a=3Db =C3=B6, a=\nnd so on", "****");
        check("first line\nsecond line\n", "second line", "****");
        check("{\nsecond line\n}", "{ }", "{ }");
    }

    #[test]
    fn a_secret_is_masked_in_digits() {
        check("hunter22", "68756e7465723232 68756E7465723232", "**** ****");
        check("hunter22", "a68756e7465723232a", "a****a");
        check("hunter22", "68:75:6e:74:65:72:32:32\n0x68, 0x75, 0x6e, 0x74, 0x65, 0x72, 0x32, 0x32", "****\n0x****");
        check("correct??horse>>", "Y29ycmVjdD8_aG9yc2U-Pg Y29ycmVjdD8/aG9yc2U+Pg==", "**** ****==");
        check(
            "correct??horse>>",
            r"Y29ycmVjdD8\/aG9yc2U\u002bPg\u003d Y29ycmVjdD8%2FaG9yc2U%2BPg%3d",
            r"****\u003d ****%3d",
        );
        check("hunter22", "data: aHVudGVy\n  MjI=\n", "data: ****=\n");
        check("hunter22", r#""aHVudGVy\r\nMjI=\n""#, r#""****=\n""#);
    }

    #[test]
    fn a_secret_that_is_a_number_is_masked() {
        check("12345.50", "[12345.5, 1.23455e4, 12345.50]", "[****, ****, ****]");
        check("12345678901234567890123", "12,345,678,901,234,567,890,123 1.2345678901234568e+22", "**** ****");
        let masks = Masks::new(["73570042"]);
        let value = serde_json::json!({"73570042": 73570042, "b": [7.357_004_2e7, 5]});
        assert_eq!(masks.json(value), serde_json::json!({"****": "****", "b": ["****.0", 5]}));
    }

    #[test]
    fn what_cannot_become_a_secret_is_shown_at_once() {
        let long = "k".repeat(3000);
        let masks = Masks::new(["hunter22", &long, "-----BEGIN KEY-----\nabcdefgh\n"]);
        let mut stream = masks.stream();
        for line in ["tick 1\n", "Compiling one v1.0 (/work/somewhere)\n", "50%\n", "say \"x\"\n", "ready> ", "a&b\r\n"]
        {
            assert_eq!(String::from_utf8_lossy(&stream.push(line.as_bytes())), line);
        }
        assert_eq!(&*stream.push(b"one hunt"), b"one ");
        assert_eq!(&*stream.push(b"ing\n"), b"hunting\n");
        // What is masked already is not held.
        let much = "k".repeat(100_000);
        let shown: usize = (0..10).map(|_| stream.push(much.as_bytes()).len()).sum();
        assert!(shown <= 4 && stream.0.as_ref().expect("it has secrets").1.held.len() < 10_000, "{shown}");
    }
}
