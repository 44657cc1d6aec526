//! The `format(…)` patterns for numbers: `0000`, `0.00`, `#,##0`, `x`, `X`.
//!
//! Numbers are worked on as decimal text, never as floating point, so that `1.005` in `0.00` is `1.01` and
//! a number of forty digits keeps them all. Halves are rounded away from zero.

use crate::decimal::Decimal;

/// Why a pattern could not be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The pattern is not one of ours.
    #[error("`{pattern}` is not a number format; there are `0000`, `0.00`, `#,##0`, `x` and `X`")]
    Pattern {
        /// The pattern as written.
        pattern: String,
    },
    /// The value is not a number that the pattern can show.
    #[error("`{value}` cannot be written in the number format `{pattern}`")]
    Value {
        /// The value's text.
        value: String,
        /// The pattern as written.
        pattern: String,
    },
}

/// The most digits that a number or a pattern may ask for.
const MAX_DIGITS: usize = 400;

/// What a pattern asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Decimal {
        /// Digits before the point, at least.
        whole: usize,
        /// Digits after the point that are always written (`0`).
        fraction: usize,
        /// Further digits after the point, written when they are not zero (`#`).
        optional: usize,
        grouped: bool,
    },
    Hexadecimal {
        upper: bool,
        width: usize,
    },
}

/// Whether a pattern is one that [`apply`] knows.
pub fn check(pattern: &str) -> Result<(), FormatError> {
    parse(pattern).map(drop)
}

/// Returns `number`, the text of a number, written as `pattern` says.
pub fn apply(pattern: &str, number: &str) -> Result<String, FormatError> {
    let parsed = parse(pattern)?;
    let refused = || FormatError::Value { value: number.chars().take(60).collect(), pattern: pattern.to_owned() };
    let digits = Decimal::read(number.trim()).as_ref().and_then(Digits::of).ok_or_else(refused)?;
    match parsed {
        Pattern::Decimal { whole, fraction, optional, grouped } => Ok(digits.write(whole, fraction, optional, grouped)),
        Pattern::Hexadecimal { upper, width } => digits.hexadecimal(upper, width).ok_or_else(refused),
    }
}

fn parse(pattern: &str) -> Result<Pattern, FormatError> {
    let refused = || FormatError::Pattern { pattern: pattern.to_owned() };
    if let Some(width) = pattern.strip_prefix(['x', 'X']) {
        let digits = width.bytes().all(|byte| byte.is_ascii_digit());
        let width = if width.is_empty() { Some(1) } else { width.parse().ok() };
        let width = width.filter(|width| digits && *width <= MAX_DIGITS).ok_or_else(refused)?;
        return Ok(Pattern::Hexadecimal { upper: pattern.starts_with('X'), width });
    }
    let (whole, fraction) = match pattern.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return Err(refused()),
        None => (pattern, ""),
    };
    // Optional digits stand outside, those always written inside: `#,##0` and `0.0#`.
    let (groups, grouped) = match whole.rsplit_once(',') {
        Some((_, last)) if last.len() == 3 => (whole.replace(',', ""), true),
        Some(_) => return Err(refused()),
        None => (whole.to_owned(), false),
    };
    let zeros = groups.trim_start_matches('#');
    let required = fraction.trim_end_matches('#');
    let all_zero = |digits: &str| digits.bytes().all(|byte| byte == b'0');
    let misplaced = whole.starts_with(',') || whole.contains(",,") || !all_zero(zeros) || !all_zero(required);
    if misplaced || groups.is_empty() || pattern.len() > MAX_DIGITS {
        return Err(refused());
    }
    Ok(Pattern::Decimal {
        whole: zeros.len(),
        fraction: required.len(),
        optional: fraction.len() - required.len(),
        grouped,
    })
}

/// A number as it is written: the digits, and how many of them follow the point.
struct Digits {
    negative: bool,
    digits: Vec<u8>,
    scale: usize,
}

impl Digits {
    /// Writes a number out, unless that takes too many digits.
    fn of(number: &Decimal) -> Option<Self> {
        let mut digits: Vec<u8> = number.digits.iter().map(|digit| digit + b'0').collect();
        let zeros = usize::try_from(number.exponent.unsigned_abs()).ok()?;
        if digits.len().max(zeros) > MAX_DIGITS {
            return None;
        }
        let scale = if number.exponent < 0 { zeros } else { 0 };
        if number.exponent > 0 {
            digits.resize(digits.len() + zeros, b'0');
        }
        let missing = (scale + 1).saturating_sub(digits.len());
        digits.splice(0..0, std::iter::repeat_n(b'0', missing));
        Some(Self { negative: number.negative, digits, scale })
    }

    /// Rounds to `scale` digits after the point, or fills up with zeros.
    fn rescale(&mut self, scale: usize) {
        if scale >= self.scale {
            self.digits.resize(self.digits.len() + scale - self.scale, b'0');
        } else {
            let kept = self.digits.len() - (self.scale - scale);
            let round_up = self.digits.get(kept).is_some_and(|digit| *digit >= b'5');
            self.digits.truncate(kept);
            if round_up {
                let nines = self.digits.iter().rev().take_while(|digit| **digit == b'9').count();
                let carry = self.digits.len() - nines;
                self.digits[carry..].fill(b'0');
                match carry.checked_sub(1) {
                    Some(at) => self.digits[at] += 1,
                    None => self.digits.insert(0, b'1'),
                }
            }
        }
        self.scale = scale;
    }

    fn write(mut self, whole: usize, fraction: usize, optional: usize, grouped: bool) -> String {
        self.rescale(fraction + optional);
        let point = self.digits.len() - self.scale;
        let (before, after) = self.digits.split_at(point);
        let leading = before.iter().take_while(|digit| **digit == b'0').count();
        let mut integer = vec![b'0'; whole.saturating_sub(before.len() - leading)];
        integer.extend(&before[leading..]);
        let optional_zeros = after.iter().rev().take(optional).take_while(|digit| **digit == b'0').count();
        let after = &after[..after.len() - optional_zeros];
        if integer.is_empty() && after.is_empty() {
            integer.push(b'0');
        }
        let mut text = String::new();
        // A number that rounds to zero has no sign.
        if self.negative && self.digits.iter().any(|digit| *digit != b'0') {
            text.push('-');
        }
        for (index, digit) in integer.iter().enumerate() {
            if grouped && index > 0 && (integer.len() - index).is_multiple_of(3) {
                text.push(',');
            }
            text.push(char::from(*digit));
        }
        if !after.is_empty() {
            text.push('.');
            text.extend(after.iter().copied().map(char::from));
        }
        text
    }

    /// Whole numbers only.
    fn hexadecimal(&self, upper: bool, width: usize) -> Option<String> {
        let (whole, fraction) = self.digits.split_at(self.digits.len() - self.scale);
        if fraction.iter().any(|digit| *digit != b'0') {
            return None;
        }
        let number: u128 = whole.iter().map(|digit| char::from(*digit)).collect::<String>().parse().ok()?;
        let sign = if self.negative && number != 0 { "-" } else { "" };
        Some(if upper { format!("{sign}{number:0width$X}") } else { format!("{sign}{number:0width$x}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, number: &str, expect: &str) {
        assert_eq!(apply(pattern, number).as_deref(), Ok(expect), "{number} in {pattern}");
    }

    #[test]
    fn writes_numbers() {
        check("0000", "7", "0007");
        check("0000", "-7", "-0007");
        check("0000", "12345", "12345");
        check("0", "2.5", "3");
        check("0", "-0.4", "0");
        check("0.00", "3.14159", "3.14");
        check("0.00", "1.005", "1.01");
        check("0.00", "9.999", "10.00");
        check("0.00", "5", "5.00");
        check("000.0", "1.25", "001.3");
        check("#,##0", "1234567", "1,234,567");
        check("#,##0", "0", "0");
        check("#,##0", "999", "999");
        check("#,##0.00", "-1234.5", "-1,234.50");
        check("0,000", "12", "0,012");
        check("0.0#", "1.50", "1.5");
        check("0.##", "2.000", "2");
        check("#", "0", "0");
        check("#.##", "0.5", ".5");
        check("x", "255", "ff");
        check("X", "255", "FF");
        check("x4", "255", "00ff");
        check("x", "-255", "-ff");
        check("X", "16.0", "10");
        check("0", "1e3", "1000");
        check("0.000", "12.5e-2", "0.125");
        check("0", "007", "7");
        check("0.0", "+.5", "0.5");
        check("0", "5.", "5");
        check("0.00", "1000e-2", "10.00");
        check("0", "123456789012345678901234567890", "123456789012345678901234567890");
    }

    #[test]
    fn refuses_what_is_no_format() {
        for pattern in ["", "abc", "0.", "0,0", ",000", "0#0", "0.#0", "xx", "x-1", "#,##", "0 0", "x9999999", "é"] {
            assert!(matches!(apply(pattern, "1"), Err(FormatError::Pattern { .. })), "{pattern}");
        }
    }

    #[test]
    fn refuses_what_is_no_number() {
        for number in [
            "",
            "abc",
            "1.2.3",
            "--1",
            "0x10",
            "1e999",
            "∞",
            "NaN",
            "1 2",
            ".",
            "-",
            "1e-999",
            "1e99999999999999999999",
        ] {
            assert!(matches!(apply("0", number), Err(FormatError::Value { .. })), "{number}");
        }
        assert!(matches!(apply("x", "1.5"), Err(FormatError::Value { .. })));
    }

    proptest::proptest! {
        #[test]
        fn whole_numbers_survive(number: i64) {
            let grouped = apply("#,##0", &number.to_string()).expect("a whole number fits");
            proptest::prop_assert_eq!(grouped.replace(',', ""), number.to_string());
        }

        #[test]
        fn never_panics(pattern in "[0#.,xX]{0,8}", number in "[-+]?[0-9]{0,6}[.]?[0-9]{0,6}(e-?[0-9]{1,3})?") {
            let _ = apply(&pattern, &number);
        }
    }
}
