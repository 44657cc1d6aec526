//! Numbers as decimal text, of any size and exactly: the one place that reads them.

use std::cmp::Ordering;

/// The longest integer that is written out: `1e999999999` is a number, but not one to make a text of.
const MAX_WRITTEN_DIGITS: i64 = 400;

/// A decimal number of any size, exactly.
///
/// Limits such as `maximum: 9007199254740993` and steps such as `multipleOf: 0.1` mean what they say, which
/// machine numbers cannot promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub(crate) negative: bool,
    /// Digits without zeros at either end; none for zero.
    pub(crate) digits: Vec<u8>,
    /// The power of ten that the last digit counts.
    pub(crate) exponent: i64,
}

impl Decimal {
    /// Reads the text of a JSON number.
    pub fn parse(text: &str) -> Option<Self> {
        if !is_number(text) {
            return None;
        }
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, power) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // A power that no machine integer holds makes the number as good as infinite, or as zero.
        const FAR: i64 = i64::MAX / 4;
        let power = power.parse::<i64>().unwrap_or(if power.starts_with('-') { -FAR } else { FAR });
        let mut exponent = power.clamp(-FAR, FAR) - fraction.len() as i64;
        let mut digits: Vec<u8> =
            whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').skip_while(|digit| *digit == 0).collect();
        while digits.last() == Some(&0) {
            digits.pop();
            exponent += 1;
        }
        if digits.is_empty() {
            return Some(Self { negative: false, digits, exponent: 0 });
        }
        Some(Self { negative, digits, exponent })
    }

    /// Reads a number as people write it, with a sign, zeros before it or an open end: `+5`, `007`, `.5`, `5.`.
    pub fn read(text: &str) -> Option<Self> {
        Self::parse(&json_text(text)?)
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether it is more than zero.
    pub fn is_positive(&self) -> bool {
        !self.negative && !self.digits.is_empty()
    }

    /// Whether there is nothing behind the point.
    pub fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// The integer without point and exponent; nothing for a fraction or a number of absurd length.
    pub fn integer_text(&self) -> Option<String> {
        if !self.is_integer() || self.exponent > MAX_WRITTEN_DIGITS {
            return None;
        }
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        let mut text = String::from(if self.negative { "-" } else { "" });
        text.extend(self.digits.iter().map(|digit| char::from(b'0' + digit)));
        text.extend((0..self.exponent).map(|_| '0'));
        Some(text)
    }

    /// A text that is the same for equal numbers and different for others.
    pub fn key(&self) -> String {
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        format!("{}{digits}e{}", if self.negative { "-" } else { "" }, self.exponent)
    }

    /// Whether the number is a whole multiple of `step`; nothing is a multiple of zero but zero.
    pub fn is_multiple_of(&self, step: &Self) -> bool {
        if self.digits.is_empty() {
            return true;
        }
        // Neither ends in a zero, so one that counts smaller parts than the step does cannot be a multiple.
        if step.digits.is_empty() || self.exponent < step.exponent {
            return false;
        }
        // Zeros appended to the number only ever help with the factors 2 and 5 of the step, of which it has at
        // most four for each digit.
        let zeros = (self.exponent - step.exponent).min(4 * step.digits.len() as i64 + 4);
        let mut remainder: Vec<u8> = Vec::with_capacity(step.digits.len() + 1);
        for digit in self.digits.iter().copied().chain((0..zeros).map(|_| 0)) {
            if !(remainder.is_empty() && digit == 0) {
                remainder.push(digit);
            }
            while is_at_least(&remainder, &step.digits) {
                subtract(&mut remainder, &step.digits);
            }
        }
        remainder.is_empty()
    }

    /// The power of ten of the first digit.
    fn magnitude(&self) -> i64 {
        self.exponent + self.digits.len() as i64
    }

    fn compare_size(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.magnitude().cmp(&other.magnitude()).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.compare_size(other),
            (true, true) => other.compare_size(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Whether `text` is exactly one JSON number.
pub fn is_number(text: &str) -> bool {
    number_length(text) == Ok(text.len())
}

/// Returns how long the JSON number is that `text` begins with; the error is where a digit is missing.
pub fn number_length(text: &str) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let has = |at: usize, signs: &[u8]| bytes.get(at).is_some_and(|byte| signs.contains(byte));
    let digits = |start: usize| {
        let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 { Err(start) } else { Ok(start + length) }
    };
    let start = usize::from(has(0, b"-"));
    let mut end = if has(start, b"0") { start + 1 } else { digits(start)? };
    if has(end, b".") {
        end = digits(end + 1)?;
    }
    if has(end, b"eE") {
        end = digits(end + 1 + usize::from(has(end + 1, b"+-")))?;
    }
    Ok(end)
}

/// Returns a number as JSON writes it, where people may have written `+5`, `007`, `.5` or `5.`: nobody after this has to
/// know the other ways.
pub fn json_text(text: &str) -> Option<String> {
    if is_number(text) {
        return Some(text.to_owned());
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let power = rest.find(['e', 'E']).unwrap_or(rest.len());
    let (mantissa, power) = rest.split_at(power);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.starts_with(['-', '+']) {
        return None;
    }
    let whole = Some(whole.trim_start_matches('0')).filter(|whole| !whole.is_empty()).unwrap_or("0");
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}{power}")).filter(|number| is_number(number))
}

/// Whether a number is not too large for the programs that have machine numbers only.
pub fn fits_machines(number: &str) -> bool {
    json_text(number).is_some_and(|number| number.parse().is_ok_and(f64::is_finite))
}

/// Compares digit strings without leading zeros as integers.
fn is_at_least(left: &[u8], right: &[u8]) -> bool {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right)) != Ordering::Less
}

/// Takes `right` from `left`, which is at least as large, and drops leading zeros.
fn subtract(left: &mut Vec<u8>, right: &[u8]) {
    let mut borrow = 0;
    let shift = left.len() - right.len();
    for at in (0..left.len()).rev() {
        let taken = borrow + at.checked_sub(shift).map_or(0, |at| right[at]);
        borrow = u8::from(left[at] < taken);
        left[at] = left[at] + 10 * borrow - taken;
    }
    let zeros = left.iter().take_while(|digit| **digit == 0).count();
    left.drain(..zeros);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).expect("the test gives a number")
    }

    #[test]
    fn order_is_exact() {
        let ascending = [
            "-1e400",
            "-9007199254740993",
            "-9007199254740992",
            "-1.5",
            "-1",
            "-0.1e-9",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "0.3",
            "1",
            "1.000000000000000000001",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e400",
            "1e99999999999999999999999",
        ];
        for (at, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(decimal(left).cmp(&decimal(right)), at.cmp(&other), "{left} against {right}");
            }
        }
    }

    #[test]
    fn numbers_are_written_as_in_json() {
        for (text, expect) in [
            ("5", Some("5")),
            ("-1.50e+3", Some("-1.50e+3")),
            ("9007199254740993", Some("9007199254740993")),
            ("+5", Some("5")),
            (".5", Some("0.5")),
            ("-.5e1", Some("-0.5e1")),
            ("5.", Some("5")),
            ("5.e3", Some("5e3")),
            ("007", Some("7")),
            ("-000", Some("-0")),
            ("0x1F", None),
            ("+-5", None),
            ("--5", None),
            (".", None),
            ("-", None),
            (".e5", None),
            ("1_000", None),
            ("1e", None),
            ("1 2", None),
            (".inf", None),
            ("inf", None),
            ("nan", None),
            ("five", None),
            ("٣", None),
            ("", None),
        ] {
            assert_eq!(json_text(text).as_deref(), expect, "{text}");
            assert_eq!(Decimal::read(text).is_some(), expect.is_some(), "{text}");
        }
    }

    #[test]
    fn a_number_ends_where_json_says() {
        for (text, expect) in [
            ("5,", Ok(1)),
            ("01", Ok(1)),
            ("-1.5e-3x", Ok(7)),
            ("1.x", Err(2)),
            ("1e+", Err(3)),
            ("-", Err(1)),
            ("", Err(0)),
        ] {
            assert_eq!(number_length(text), expect, "{text}");
        }
    }

    #[test]
    fn spelling_does_not_matter() {
        for (left, right) in
            [("5", "5.0"), ("5", "0.5e1"), ("500", "5E+2"), ("-0", "0"), ("0e99", "0.000"), ("1.50", "15e-1")]
        {
            assert_eq!(decimal(left), decimal(right));
            assert_eq!(decimal(left).key(), decimal(right).key());
        }
    }

    #[test]
    fn multiples() {
        let cases = [
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("1e300", "3", false),
            ("1e300", "1024", true),
            ("3e300", "3", true),
            ("9007199254740993", "2", false),
            ("9007199254740992", "2", true),
            ("-9", "3", true),
            ("0", "7", true),
            ("7", "0", false),
            ("1", "10", false),
            ("1e99999999999999", "7", false),
            ("4.5", "1.5", true),
            ("19.99", "0.01", true),
            ("123456789012345678901234567890123456789012345678901234567890", "12345678901234567890", true),
        ];
        for (number, step, expect) in cases {
            assert_eq!(decimal(number).is_multiple_of(&decimal(step)), expect, "{number} of {step}");
        }
    }

    #[test]
    fn integers_lose_their_ornaments() {
        let cases = [
            ("5.0", Some("5")),
            ("-1e3", Some("-1000")),
            ("-0", Some("0")),
            ("5.5", None),
            ("1e401", None),
            ("120", Some("120")),
        ];
        for (number, expect) in cases {
            assert_eq!(decimal(number).integer_text().as_deref(), expect, "{number}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_integers(left in -1_000_000_000_i64..1_000_000_000, right in -100_000_i64..100_000) {
            let (a, b) = (decimal(&left.to_string()), decimal(&right.to_string()));
            prop_assert_eq!(a.cmp(&b), left.cmp(&right));
            prop_assert_eq!(a.is_multiple_of(&b), if right == 0 { left == 0 } else { left % right == 0 });
            prop_assert_eq!(a.integer_text(), Some(left.to_string()));
        }
    }
}
