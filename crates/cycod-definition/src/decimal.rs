use std::cmp::Ordering;

/// The longest integer that is written out: `1e999999999` is a number, but not one to make a text of.
const MAX_WRITTEN_DIGITS: i64 = 400;

/// A decimal number of any size, exactly.
///
/// Limits such as `maximum: 9007199254740993` and steps such as `multipleOf: 0.1` mean what they say, which
/// machine numbers cannot promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// Digits without zeros at either end; none for zero.
    digits: Vec<u8>,
    /// The power of ten that the last digit counts.
    exponent: i64,
}

impl Decimal {
    /// Reads the text of a JSON number.
    pub fn parse(text: &str) -> Option<Self> {
        if !crate::json::is_number(text) {
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

    /// Whether it is more than zero.
    pub(crate) fn is_positive(&self) -> bool {
        !self.negative && !self.digits.is_empty()
    }

    /// Whether there is nothing behind the point.
    pub(crate) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// The integer without point and exponent; nothing for a fraction or a number of absurd length.
    pub(crate) fn integer_text(&self) -> Option<String> {
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
    pub(crate) fn key(&self) -> String {
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        format!("{}{digits}e{}", if self.negative { "-" } else { "" }, self.exponent)
    }

    /// Whether the number is a whole multiple of `step`; nothing is a multiple of zero but zero.
    pub(crate) fn is_multiple_of(&self, step: &Self) -> bool {
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
