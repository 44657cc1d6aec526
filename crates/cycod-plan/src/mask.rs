use std::{borrow::Cow, cmp::Reverse};

use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use cycod_definition::json;
use serde_json::Value as Json;

/// Secrets shorter than this are not masked: they would take half of any text with them.
const SHORTEST: usize = 4;

/// What is shorter is not looked for where it is only a part of a secret, or written in other letters: it would be met by
/// chance.
const SHORTEST_PART: usize = 8;

/// How a secret may stand in a text: as it is, inside a JSON string, quoted for a shell or a program, in an address, in Base64;
/// of one with several lines also each line. One that is too short to be masked has no spelling.
pub fn spellings(secret: &str) -> Vec<String> {
    // What a program prints of it may lack the end of the line.
    let secret = secret.trim_end_matches(['\n', '\r']);
    if secret.chars().count() < SHORTEST {
        return Vec::new();
    }
    let mut spellings = Vec::new();
    spell(secret, &mut spellings);
    if secret.contains('\n') {
        let lines = secret.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_PART);
        lines.for_each(|line| spell(line, &mut spellings));
    }
    spellings.sort_unstable();
    spellings.dedup();
    spellings
}

fn spell(text: &str, spellings: &mut Vec<String>) {
    let mut quoted = String::new();
    json::write_text(text, &mut quoted);
    spellings.push(quoted[1..quoted.len() - 1].to_owned());
    spellings.push(text.replace('\'', r"'\''"));
    spellings.push(text.replace('\'', "''"));
    spellings.push(text.replace('\\', r"\\").replace('\'', r"\'"));
    let address: String = text.bytes().map(percent).collect();
    spellings.push(address.replace("%20", "+"));
    spellings.push(address);
    spellings.push(text.to_owned());
    // In Base64 a text looks different by where in three bytes it begins; the letters at its ends depend on its neighbours.
    for (before, letters) in [(0, 0), (1, 2), (2, 3)] {
        let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(text.bytes()).collect();
        let encoded = BASE64_STANDARD_NO_PAD.encode(&bytes);
        let end = encoded.len() - usize::from(!bytes.len().is_multiple_of(3));
        let Some(own) = encoded.get(letters..end).filter(|own| own.len() >= SHORTEST_PART) else { continue };
        spellings.push(own.replace('+', "-").replace('/', "_"));
        spellings.push(own.to_owned());
    }
}

/// A byte as it stands in an address.
fn percent(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    }
}

/// Replaces secrets of at least four characters by `****`, the longest first.
pub fn mask(text: &str, secrets: &[String]) -> String {
    Masks::new(secrets).apply(text).into_owned()
}

/// Secrets in all their spellings, for many texts.
#[derive(Clone, Debug, Default)]
pub struct Masks(Vec<String>);

impl Masks {
    /// Collects the spellings of secrets.
    pub fn new(secrets: &[String]) -> Self {
        let mut spellings: Vec<String> = secrets.iter().flat_map(|secret| spellings(secret)).collect();
        spellings.sort_unstable_by_key(|spelling| Reverse(spelling.len()));
        Self(spellings)
    }

    /// Replaces them in a text.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, spelling| {
            if text.contains(spelling) { Cow::Owned(text.replace(spelling, "****")) } else { text }
        })
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_in_json_too() {
        let check = |secret: &str, text: &str, expect: &str| {
            assert_eq!(mask(text, &[secret.to_owned()]), expect, "{secret:?}");
        };
        check("hunter2", "pw=hunter2!", "pw=****!");
        check("abc", "abc", "abc");
        check("a\"b\\c\td\u{1}\n", r#"{"x":"a\"b\\c\td\u0001\n"}"#, r#"{"x":"****\n"}"#);
        check("a\"b\\c\n", "a\"b\\c", "****");
    }

    #[test]
    fn a_secret_is_masked_in_other_spellings() {
        let check = |secret: &str, text: &str, expect: &str| {
            assert_eq!(mask(text, &[secret.to_owned()]), expect, "{secret:?}");
        };
        check("it's one", r"printf 'it'\''s one'", "printf '****'");
        check("it's one", "'it''s one'", "'****'");
        check(r"it's \one", r"['it\'s \\one']", "['****']");
        check("p@ss wörd", "https://u:p%40ss%20w%C3%B6rd@h/?q=p%40ss+w%C3%B6rd", "https://u:****@h/?q=****");
        check("first line\nsecond line\n", "second line", "****");
        check("{\nsecond line\n}", "{ }", "{ }");
        for user in ["", "a", "ab", "abc"] {
            for rest in ["", "x", "xy"] {
                let encoded = BASE64_STANDARD_NO_PAD.encode(format!("{user}correct??horse>>{rest}"));
                let shown = mask(&encoded, &["correct??horse>>".to_owned()]);
                let around = shown.replacen("****", "", 1);
                assert!(
                    shown.contains("****") && around.len() <= user.len() * 2 + rest.len() * 2 + 4,
                    "{encoded}: {shown}"
                );
            }
        }
    }
}
