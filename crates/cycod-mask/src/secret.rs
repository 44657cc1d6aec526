use serde_json::Value as Json;

use crate::{
    undo::{Escapes, undone},
    words::SHORTEST,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// What is shorter is not looked for where it is only a part of a secret, or what one becomes: it would be met by chance.
const SHORTEST_PART: usize = 8;

/// Numbers that are written with fewer characters are looked for only as they are.
const SHORTEST_NUMBER: usize = 5;

/// Whether a value can be kept out of what is shown: of shorter ones, and of what is a yes, a no or empty, texts are full.
///
/// Of a value that cannot, nothing is masked.
pub fn can_be_masked(value: &str) -> bool {
    value.trim_end_matches(['\n', '\r']).chars().nth(SHORTEST - 1).is_some() && !is_literal(value)
}

/// Whether a value is one of the words of JSON, however it is written: flags are called `USE_KEY` and `TOKEN_REQUIRED`.
pub fn is_literal(value: &str) -> bool {
    ["true", "false", "null"].iter().any(|literal| value.trim().eq_ignore_ascii_case(literal))
}

/// What is looked for because of a secret: itself, each of its lines, what is left of it in a text whose quotes do not count,
/// and what it becomes in a text that was escaped before it was put into Base64.
pub(super) fn looked_for(secret: &str) -> Vec<Vec<u8>> {
    // What a program prints of it may lack the end of the line.
    let secret = secret.trim_end_matches(['\n', '\r']);
    if secret.chars().nth(SHORTEST - 1).is_none() {
        return Vec::new();
    }
    let mut texts = vec![secret.as_bytes().to_vec()];
    texts.extend(numbers(secret).into_iter().map(String::into_bytes));
    let lines = secret.lines().map(str::trim).filter(|line| *line != secret);
    for text in std::iter::once(secret).chain(lines) {
        let quoted = Json::from(text).to_string();
        let text = text.as_bytes();
        let meant = undone(text, Escapes::COMMON);
        let others = [
            quoted.as_bytes()[1..quoted.len() - 1].to_vec(),
            percent_encode(text, UNRESERVED).to_string().into_bytes(),
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

/// What is escaped in an address (RFC 3986).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
