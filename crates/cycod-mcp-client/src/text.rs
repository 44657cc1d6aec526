//! Text of other programs, made safe to show to people and models.

use std::borrow::Cow;

use cycod_diagnostic::visible;
pub(crate) use cycod_diagnostic::{misleads, readable as answer};

/// The most characters of a description that are passed on.
const DESCRIPTION: usize = 8 * 1024;

/// The most characters of a title or a message that are passed on.
const LINE: usize = 500;

/// A description: hidden characters are shown, and an endless one is cut.
pub(crate) fn paragraph(text: &str) -> String {
    cut(visible(text.trim()), DESCRIPTION)
}

/// A title or a message: as a description, on one line.
pub(crate) fn line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(visible(&joined), LINE)
}

fn cut(text: Cow<'_, str>, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} […{} more characters]", &text[..end], text[end..].chars().count()),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_of_definitions_are_shown() {
        assert_eq!(paragraph(" a\u{1b}[31m\u{202e}b\u{e0041} "), "a\\u{1b}[31m\\u{202e}b\\u{e0041}");
        assert_eq!(line("a\nb\tc"), "a b c");
    }

    #[test]
    fn answers_keep_what_belongs_to_writing() {
        let family = "👩\u{200d}👧 a\u{fe0f}\r\n\t";
        assert_eq!(answer(family), family);
        assert_eq!(answer("\u{1b}[2J\u{2066}x\u{e0020}"), "\\u{1b}[2J\\u{2066}x\\u{e0020}");
    }

    #[test]
    fn endless_text_is_cut_and_says_so() {
        let cut = paragraph(&"é".repeat(DESCRIPTION + 3));
        assert!(cut.ends_with("é […3 more characters]"), "{}", &cut[cut.len() - 40..]);
    }
}
