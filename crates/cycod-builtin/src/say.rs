//! How counts and sizes are said.

/// A count with its noun.
pub(crate) fn count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A size as people say it.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["KB", "MB", "GB", "TB", "PB"];
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    if bytes < 1024 {
        return count(bytes, "byte", "bytes");
    }
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let value = format!("{value:.1}");
    format!("{} {}", value.trim_end_matches(".0"), units[unit])
}

/// The numbers of some lines.
pub(crate) fn lines(numbers: &[String]) -> String {
    format!("{} {}", if numbers.len() == 1 { "line" } else { "lines" }, numbers.join(", "))
}
