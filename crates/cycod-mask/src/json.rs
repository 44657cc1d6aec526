//! Secrets in JSON: in texts, in names of members and in numbers. What comes out is still JSON.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use crate::{Masks, masks::MASK};

/// A text, a number or a word of a JSON text.
struct Token {
    range: Range<usize>,
    /// Of which object it is the name of a field.
    name_in: Option<usize>,
    /// What stands there instead.
    shown: Option<String>,
}

impl Masks {
    /// Replaces secrets in a value, in the names of fields too. A number or a word that holds one becomes the text `****`, so
    /// that JSON stays JSON; what looks like one across several of them takes each with it.
    pub fn json(&self, value: Json) -> Json {
        if self.is_empty() {
            return value;
        }
        let text = value.to_string();
        let mut tokens = self.tokens(&text).into_iter();
        if tokens.as_slice().iter().all(|token| token.shown.is_none()) { value } else { replaced(value, &mut tokens) }
    }

    /// The same in a text that is one JSON value; nothing where it is not. What holds no secret stays as it is written.
    pub fn json_text<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, [u8]>> {
        let text = std::str::from_utf8(text).ok()?;
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        let mut shown = String::new();
        let mut at = 0;
        for token in if self.is_empty() { Vec::new() } else { self.tokens(text) } {
            if let Some(instead) = &token.shown {
                shown.push_str(&text[at..token.range.start]);
                shown.push_str(&Json::from(instead.as_str()).to_string());
                at = token.range.end;
            }
        }
        if at == 0 {
            return Some(Cow::Borrowed(text.as_bytes()));
        }
        shown.push_str(&text[at..]);
        Some(Cow::Owned(shown.into_bytes()))
    }

    /// What becomes of each token of a JSON text; of none where nothing is hidden.
    fn tokens(&self, text: &str) -> Vec<Token> {
        let places = self.places(text);
        if places.is_empty() && !text.contains('\\') {
            return Vec::new();
        }
        let mut places = places.into_iter().peekable();
        let mut tokens = tokens(text);
        // Secrets in two names leave the same one.
        let mut names: HashMap<(usize, String), usize> = HashMap::new();
        let mut reached = 0;
        for token in &mut tokens {
            let Range { start, end } = token.range;
            // Places may reach into each other, and over several tokens.
            let mut is_crossed = reached > start;
            let mut is_hit = is_crossed;
            while let Some((from, until)) = places.next_if(|(from, _)| *from < end) {
                is_hit |= until > start;
                is_crossed |= until > start && (from <= start || until >= end);
                reached = reached.max(until);
            }
            token.shown = self.shown(&text[start..end], is_hit, is_crossed);
            if let (Some(object), Some(shown)) = (token.name_in, &mut token.shown) {
                let count = names.entry((object, shown.clone())).or_default();
                *count += 1;
                if *count > 1 {
                    *shown = format!("{shown} ({count})");
                }
            }
        }
        tokens
    }

    fn shown(&self, token: &str, is_hit: bool, is_crossed: bool) -> Option<String> {
        let whole = || Some(MASK.to_owned());
        let Some(inside) = token.strip_prefix('"').and_then(|token| token.strip_suffix('"')) else {
            return whole().filter(|_| is_hit);
        };
        let meant = match inside.contains('\\') {
            true => serde_json::from_str(token).map_or(Cow::Borrowed(inside), Cow::Owned),
            false if !is_hit => return None,
            false => Cow::Borrowed(inside),
        };
        match self.apply(&meant) {
            _ if is_crossed => whole(),
            Cow::Owned(shown) => Some(shown),
            Cow::Borrowed(_) => whole().filter(|_| is_hit),
        }
    }
}

/// The texts, numbers and words of a JSON text, in their order.
fn tokens(text: &str) -> Vec<Token> {
    let (bytes, mut at, mut tokens) = (text.as_bytes(), 0, Vec::new());
    // The objects and arrays around, the innermost last; objects have a number.
    let mut around: Vec<Option<usize>> = Vec::new();
    let (mut objects, mut is_name) = (0, false);
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' => {
                objects += 1;
                around.push(Some(objects));
                is_name = true;
            }
            b'[' => {
                around.push(None);
                is_name = false;
            }
            b'}' | b']' => {
                around.pop();
            }
            b',' => is_name = matches!(around.last(), Some(Some(_))),
            b':' => is_name = false,
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => {
                at += match byte {
                    b'"' => length_of_text(&bytes[at..]),
                    _ => bytes[at..].iter().take_while(|byte| !b" \t\n\r,]}".contains(byte)).count(),
                };
                let name_in = around.last().copied().flatten().filter(|_| is_name);
                tokens.push(Token { range: start..at, name_in, shown: None });
            }
        }
    }
    tokens
}

/// How long a text is behind its first quote, with the last.
fn length_of_text(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A value with what is shown of each token, which come as they are written.
fn replaced(value: Json, tokens: &mut std::vec::IntoIter<Token>) -> Json {
    match value {
        Json::Array(items) => items.into_iter().map(|item| replaced(item, tokens)).collect(),
        Json::Object(fields) => {
            let field = |(name, value)| {
                let name = tokens.next().and_then(|token| token.shown).unwrap_or(name);
                (name, replaced(value, tokens))
            };
            Json::Object(fields.into_iter().map(field).collect::<Map<_, _>>())
        }
        other => tokens.next().and_then(|token| token.shown).map_or(other, Json::String),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Both faces of JSON show the same.
    #[track_caller]
    fn check(secrets: &[&str], text: &str, expect: &str) {
        let masks = Masks::new(secrets);
        let shown = masks.json_text(text.as_bytes()).expect("it is JSON");
        assert_eq!(std::str::from_utf8(&shown).expect("it stays text"), expect);
        let value: Json = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(masks.json(value), serde_json::from_str::<Json>(expect).expect("it stays JSON"));
    }

    #[test]
    fn json_stays_json() {
        check(
            &["1000"],
            r#" {"count": 1000, "b": [10000.5, 7, true]}"#,
            r#" {"count": "****", "b": ["****", 7, true]}"#,
        );
        check(&["12345.50"], "12345.5", r#""****""#);
        check(&["true"], r#"[true, "x is true"]"#, r#"["****", "x is ****"]"#);
        check(&["hunter2"], r#"{"hunter2": "a hunter2 b"}"#, r#"{"****": "a **** b"}"#);
        check(&["a\"b\\c", "hunter2"], r#"{"\u0068unter2": "a\"b\\c"}"#, r#"{"****": "****"}"#);
        check(&["nothing"], r#"{"a": "\u00e4\n", "b": 1.0}"#, r#"{"a": "\u00e4\n", "b": 1.0}"#);
    }

    #[test]
    fn names_stay_apart() {
        check(
            &["hunter2", "octocat"],
            r#"[{"hunter2": 1, "octocat": 2, "a": {"hunter2": 3}}, {"hunter2": 4}]"#,
            r#"[{"****": 1, "**** (2)": 2, "a": {"****": 3}}, {"****": 4}]"#,
        );
    }

    #[test]
    fn what_goes_over_several_values_takes_each_with_it() {
        check(&[r#"{"pin":12}"#], r#"{"a":{"pin":12},"b":12}"#, r#"{"a":{"****":"****"},"b":12}"#);
        check(&[r#"x","y"#], r#"["x","y","z"]"#, r#"["****","****","z"]"#);
        check(&["1234"], "[30, 31, 32, 33, 34, 35]", r#"[30, "****", "****", "****", "****", 35]"#);
    }

    #[test]
    fn what_is_escaped_several_times_is_found_in_json() {
        let once = json!("it's \"one\"").to_string();
        let twice = json!(json!(once).to_string()).to_string();
        let masks = Masks::new(["it's \"one\""]);
        let shown = masks.json_text(twice.as_bytes()).expect("it is JSON").into_owned();
        assert!(!String::from_utf8_lossy(&shown).contains("one"), "{}", String::from_utf8_lossy(&shown));
        assert!(serde_json::from_slice::<String>(&shown).is_ok());
    }

    #[test]
    fn what_is_no_json_is_none() {
        for text in ["", "{", "[1,]", "a", "1 2", "\"\u{1}\""] {
            assert!(Masks::new(["hunter2"]).json_text(text.as_bytes()).is_none(), "{text:?}");
        }
        assert!(Masks::default().json_text(b"\"\xff\"").is_none());
    }

    #[test]
    fn depth_is_no_trouble() {
        let deep = (0..200).fold(json!("hunter2"), |value, _| json!([value]));
        assert!(Masks::new(["hunter2"]).json(deep).to_string().contains("****"));
    }
}
