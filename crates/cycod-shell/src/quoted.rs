//! Words as a person could paste them into a POSIX shell.

/// Writes a text as one word, in single quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Writes a text as one word, in quotes only where a shell would read it otherwise.
pub fn quoted_if_needed(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@%+,=-".contains(&byte);
    // zsh takes a word behind `=` for the name of a program.
    if !text.is_empty() && !text.starts_with('=') && text.bytes().all(is_plain) {
        text.to_owned()
    } else {
        quoted(text)
    }
}
