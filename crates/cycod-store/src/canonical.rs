//! The one text of a JSON value, and its digest.

use std::{fmt, fmt::Write as _, str::FromStr};

use serde_json::{Number, Value};
use sha2::Sha256;

use crate::{
    StoreError,
    id::{read_hex, write_hex},
};

/// A SHA-256, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the digest of bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(<Sha256 as sha2::Digest>::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl FromStr for Digest {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Digest, StoreError> {
        read_hex(text).map(Digest).ok_or_else(|| StoreError::BadDigest(text.to_owned()))
    }
}

/// Returns the digest of the canonical text of a value: the same for every order of keys and spelling of numbers.
pub fn digest(value: &Value) -> Digest {
    Digest::of(canonical(value).as_bytes())
}

/// Returns the one text of a value that RFC 8785 allows: no spaces, keys sorted, numbers as ECMAScript writes them.
///
/// Integers beyond 2^53 are the exception: they keep all digits. The RFC leaves them out, and rounded, two definitions
/// that differ would have one digest.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::String(string) => write_string(text, string),
        Value::Number(number) => write_number(text, number),
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write_value(text, element);
            }
            text.push(']');
        }
        Value::Object(object) => {
            let mut members: Vec<(&String, &Value)> = object.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            text.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write_string(text, key);
                text.push(':');
                write_value(text, value);
            }
            text.push('}');
        }
    }
}

fn write_string(text: &mut String, string: &str) {
    if string.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        text.push_str(&Value::from(string).to_string());
    } else {
        text.push('"');
        text.push_str(string);
        text.push('"');
    }
}

fn write_number(text: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => write_float(text, float),
        _ => text.push_str(&number.to_string()),
    }
}

/// Writes a number as ECMAScript does: the fewest digits that read back as the same, with an exponent from 1e21 and
/// below 1e-6.
fn write_float(text: &mut String, float: f64) {
    // Rust's own formatting breaks ties upwards, ECMAScript and `serde_json` to even.
    let shortest = Value::from(float.abs()).to_string();
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    let significant = all.trim_start_matches('0');
    let digits = if significant.is_empty() { "0" } else { significant.trim_end_matches('0') };
    let leading_zeros = if significant.is_empty() { 0 } else { all.len() - significant.len() };
    let count = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    // The number is 0.DIGITS times ten to this.
    let point = exponent.parse::<i32>().unwrap_or(0) + count(whole.len()) - count(leading_zeros);
    let length = count(digits.len());
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if float < 0.0 {
        text.push('-');
    }
    if length <= point && point <= 21 {
        text.push_str(digits);
        text.push_str(&zeros(point - length));
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(point.unsigned_abs() as usize);
        let _ = write!(text, "{whole}.{fraction}");
    } else if -6 < point && point <= 0 {
        let _ = write!(text, "0.{}{digits}", zeros(-point));
    } else {
        let (one, rest) = digits.split_at(1);
        let _ = write!(text, "{one}{}{rest}e{:+}", if rest.is_empty() { "" } else { "." }, point - 1);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    /// The samples of RFC 8785, appendix B: the bits of a number and its text.
    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        let samples: [(u64, &str); 24] = [
            (0x0000000000000000, "0"),
            (0x8000000000000000, "0"),
            (0x0000000000000001, "5e-324"),
            (0x8000000000000001, "-5e-324"),
            (0x7fefffffffffffff, "1.7976931348623157e+308"),
            (0xffefffffffffffff, "-1.7976931348623157e+308"),
            (0x4340000000000000, "9007199254740992"),
            (0xc340000000000000, "-9007199254740992"),
            (0x4430000000000000, "295147905179352830000"),
            (0x44b52d02c7e14af5, "9.999999999999997e+22"),
            (0x44b52d02c7e14af6, "1e+23"),
            (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
            (0x444b1ae4d6e2ef4e, "999999999999999700000"),
            (0x444b1ae4d6e2ef4f, "999999999999999900000"),
            (0x444b1ae4d6e2ef50, "1e+21"),
            (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
            (0x3eb0c6f7a0b5ed8d, "0.000001"),
            (0x41b3de4355555553, "333333333.3333332"),
            (0x41b3de4355555554, "333333333.33333325"),
            (0x41b3de4355555555, "333333333.3333333"),
            (0x41b3de4355555556, "333333333.3333334"),
            (0x41b3de4355555557, "333333333.33333343"),
            (0xbecbf647612f3696, "-0.0000033333333333333333"),
            (0x43143ff3c1cb0959, "1424953923781206.2"),
        ];
        for (bits, text) in samples {
            assert_eq!(canonical(&json!(f64::from_bits(bits))), text, "{bits:016x}");
        }
    }

    #[test]
    fn keys_are_sorted_by_utf16_and_strings_escaped_as_little_as_possible() {
        let value = json!({
            "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew", "1": "One",
            "\u{1f600}": "Smiley", "\u{80}": "Control", "\u{f6}": "Latin", "a": [1.0, 4.50, 2e-3, null, true],
            "text": "\u{20ac}$\u{f}\nA'B\"\\\\\"/",
        });
        expect![[r#"{"\r":"Carriage Return","1":"One","a":[1,4.5,0.002,null,true],"text":"€$\u000f\nA'B\"\\\\\"/","":"Control","ö":"Latin","€":"Euro Sign","😀":"Smiley","דּ":"Hebrew"}"#]]
            .assert_eq(&canonical(&value));
    }

    #[test]
    fn large_integers_are_told_apart() {
        assert_ne!(digest(&json!(9007199254740992u64)), digest(&json!(9007199254740993u64)));
        assert_eq!(digest(&json!({"a": 1, "b": 10.0})), digest(&json!({"b": 10, "a": 1.0})));
    }

    #[test]
    fn a_digest_is_read_back() {
        let empty = Digest::of(b"");
        assert_eq!(empty.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(empty.to_string().parse::<Digest>().unwrap(), empty);
        assert!("E3".parse::<Digest>().is_err());
    }
}
