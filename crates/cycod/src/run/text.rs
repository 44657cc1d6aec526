use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Writes a duration as a person would: `12 ms`, `1.2 s`, `3 min 04 s`.
pub(crate) fn duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{:.1} s", duration.as_secs_f64()),
        _ => format!("{} min {:02} s", duration.as_secs() / 60, duration.as_secs() % 60),
    }
}

/// Returns the last line of output that says something, without its colours.
pub(crate) fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(without_escapes(line))
}

/// Returns the first line that says something, with a sign when more follow.
pub(crate) fn first_line(command: &str) -> String {
    let mut lines = command.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

/// Removes terminal escape sequences and control characters.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                if characters.next_if_eq(&'[').is_some() {
                    while characters.next().is_some_and(|character| !('\u{40}'..='\u{7e}').contains(&character)) {}
                } else {
                    characters.next();
                }
            }
            '\t' => out.push(' '),
            character if character.is_control() => {}
            character => out.push(character),
        }
    }
    out
}

/// Cuts a text to a number of characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// Cuts a text of one line to a number of columns.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut width = 0;
    for character in text.chars() {
        width += character.width().unwrap_or(0);
        if width >= columns.max(1) {
            break;
        }
        fitted.push(character);
    }
    fitted + "…"
}

/// How far something is, in words.
pub(super) fn progress(done: f64, total: Option<f64>, message: Option<&str>) -> String {
    let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    format!("{done}{of}{message}")
}

/// That a step did not run, because its result was stored by this run.
pub(crate) fn cached(run: &str) -> String {
    format!("cached: the result of the run {}", run.get(..16).unwrap_or(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |milliseconds, expect: &str| assert_eq!(duration(Duration::from_millis(milliseconds)), expect);
        check(0, "0 ms");
        check(999, "999 ms");
        check(1249, "1.2 s");
        check(184_000, "3 min 04 s");
    }

    #[test]
    fn commands_are_shown_by_their_first_line() {
        assert_eq!(first_line("\n  one\n\ntwo\n"), "one …");
        assert_eq!(first_line("one\n"), "one");
        assert_eq!(first_line(""), "");
    }

    #[test]
    fn output_is_made_harmless() {
        assert_eq!(last_line(b"one\n\x1b[31mtwo\x1b[0m\x07\n\n").as_deref(), Some("two"));
        assert_eq!(last_line(b" \n"), None);
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("abcd", 4), "abcd");
    }

    #[test]
    fn texts_are_cut_by_columns() {
        let check = |text: &str, columns, expect: &str| assert_eq!(fitted(text, columns), expect);
        check("abcdef", 6, "abcdef");
        check("abcdef", 5, "abcd…");
        check("漢字漢字", 8, "漢字漢字");
        check("漢字漢字", 7, "漢字漢…");
        check("漢字漢字", 6, "漢字…");
        check("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}");
        check("ab", 0, "…");
    }
}
