//! Numbers, sizes and durations as people write them.

use cycod_syntax::decimal::{fits_machines, json_text};

/// Reads a whole number.
pub(crate) fn integer(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| text.strip_prefix("0x").and_then(|hex| i64::from_str_radix(hex, 16).ok()))
}

/// Returns the number that YAML lets people write in more ways than JSON does (`+5`, `.5`, `007`, `0x1F`), as JSON
/// writes it.
pub(crate) fn number_text(text: &str) -> Option<String> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix).filter(|digits| !digits.starts_with('+')) {
            return u128::from_str_radix(digits, radix).ok().map(|number| number.to_string());
        }
    }
    json_text(text)
}

/// Reads a rule's number, which those who read our schemas must be able to hold.
pub(crate) fn number(text: &str) -> Option<String> {
    number_text(text).filter(|number| fits_machines(number))
}

/// Reads what people write for true and false.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Reads a number of bytes such as `512`, `10MB` or `1.5 GiB`; units count in 1024s.
pub(crate) fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (amount, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return None,
    };
    if let Ok(whole) = amount.parse::<u64>() {
        return whole.checked_mul(1 << shift);
    }
    let bytes = amount.parse::<f64>().ok()? * (1_u64 << shift) as f64;
    (shift > 0 && bytes < i64::MAX as f64).then_some(bytes as u64)
}

/// Reads a duration with a unit, such as `10s` or `2 min`, in milliseconds.
pub(crate) fn duration(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (amount, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "ms" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e3,
        "m" | "min" | "mins" | "minute" | "minutes" => 6e4,
        "h" | "hour" | "hours" => 3.6e6,
        _ => return None,
    };
    let milliseconds = amount.parse::<f64>().ok()? * factor;
    (1.0..1e15).contains(&milliseconds).then_some(milliseconds.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_in_1024s() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("512", Some(512)),
            ("1kb", Some(1024)),
            ("10MB", Some(10 << 20)),
            ("1.5 GiB", Some(3 << 29)),
            ("2T", Some(2 << 40)),
            ("", None),
            ("MB", None),
            ("1.5", None),
            ("-1MB", None),
            ("10 mega", None),
            ("1.2.3MB", None),
            ("99999999999999999999", None),
            ("99999999TB", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn durations_become_milliseconds() {
        for (text, milliseconds) in
            [("10s", Some(10_000)), ("1.5 min", Some(90_000)), ("20ms", Some(20)), ("10", None), ("s", None)]
        {
            assert_eq!(duration(text), milliseconds, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_as_in_json() {
        for (text, expect) in [
            ("5", Some("5")),
            ("+5", Some("5")),
            ("0x1F", Some("31")),
            ("0o17", Some("15")),
            ("0x+1", None),
            ("0x", None),
            ("0x-1", None),
            ("five", None),
            (".inf", None),
        ] {
            assert_eq!(number_text(text).as_deref(), expect, "{text}");
            assert_eq!(number(text), number_text(text), "{text}");
        }
        assert_eq!(number("1e999"), None);
    }
}
