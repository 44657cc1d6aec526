use super::Resolved;

/// Returns what a plain scalar means under the core schema of YAML 1.2.
pub(super) fn resolve(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "true" | "True" | "TRUE" => return Resolved::Bool(true),
        "false" | "False" | "FALSE" => return Resolved::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Resolved::Float(f64::NAN),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Resolved::Float(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let all_digits = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
            return match i64::from_str_radix(digits, radix) {
                Ok(number) if all_digits => Resolved::Integer(number),
                _ if all_digits => Resolved::BigInteger,
                _ => Resolved::Text,
            };
        }
    }
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map_or(Resolved::BigInteger, Resolved::Integer);
    }
    if is_float(unsigned) {
        return text.parse().map_or(Resolved::Text, Resolved::Float);
    }
    Resolved::Text
}

/// Whether the text is `[0-9]+(\.[0-9]*)?` or `\.[0-9]+`, with an optional exponent.
fn is_float(unsigned: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    exponent_fits && mantissa_fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Resolved) {
        assert_eq!(format!("{:?}", resolve(text)), format!("{expect:?}"), "{text}");
    }

    #[test]
    fn follows_the_core_schema() {
        for text in ["", "~", "null", "NULL"] {
            check(text, Resolved::Null);
        }
        for text in ["on", "off", "yes", "no", "y", "nULL", "tRUE", "1.2.3", "-", "+", ".", "0x", "0o8", "0xg"] {
            check(text, Resolved::Text);
        }
        for text in ["1_000", "e5", "1e", "1e+", ".e1", "inf", "nan", "infinity", "-.nan", "0b1", "1:30", "0x-1"] {
            check(text, Resolved::Text);
        }
        check("True", Resolved::Bool(true));
        check("FALSE", Resolved::Bool(false));
        check("017", Resolved::Integer(17));
        check("+5", Resolved::Integer(5));
        check("-9223372036854775808", Resolved::Integer(i64::MIN));
        check("9223372036854775808", Resolved::BigInteger);
        check("0o17", Resolved::Integer(15));
        check("0xFf", Resolved::Integer(255));
        check("0xFFFFFFFFFFFFFFFFFF", Resolved::BigInteger);
        check("1.0", Resolved::Float(1.0));
        check("-1.", Resolved::Float(-1.0));
        check(".5", Resolved::Float(0.5));
        check("1e3", Resolved::Float(1000.0));
        check("-.inf", Resolved::Float(f64::NEG_INFINITY));
        check(".NaN", Resolved::Float(f64::NAN));
    }
}
