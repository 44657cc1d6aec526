use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns a line in pieces of at most `width` columns, which is at least 8: at spaces where there are any.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut rows = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let is_full = |row: &String, more: usize| row.width() + more > width;
        let last = rows.last_mut().expect("there is one from the beginning");
        if !last.is_empty() && is_full(last, word.trim_end().width()) {
            rows.push(String::new());
        }
        for character in word.chars() {
            let last = rows.last_mut().expect("there is one from the beginning");
            if is_full(last, character.width().unwrap_or(0)) {
                rows.push(String::new());
            }
            rows.last_mut().expect("there is one from the beginning").push(character);
        }
    }
    rows
}
