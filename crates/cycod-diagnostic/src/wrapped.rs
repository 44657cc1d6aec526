use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Makes the character before it as wide as a picture.
const AS_PICTURE: char = '\u{fe0f}';

/// Returns a line in pieces of at most `width` columns, which is at least 8: at spaces where there are any.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
    for word in line.split_inclusive(' ') {
        if !row.is_empty() && used + word.trim_end().width() > width {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        for character in word.chars() {
            let columns = columns(character);
            if used + columns > width {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            row.push(character);
            used += columns;
        }
    }
    rows.push(row);
    rows
}

/// How many columns a character takes at most, whatever stands before it. Added up, a row is never looked at again.
fn columns(character: char) -> usize {
    if character == AS_PICTURE { 1 } else { character.width().unwrap_or(1) }
}
