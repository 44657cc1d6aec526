use std::borrow::Cow;

/// Returns `text` with control and invisible characters written as escapes such as `\u{202e}`.
///
/// Text from a file or a model may hold terminal escapes, direction overrides and zero-width characters
/// that make a person read something else than what is there. Tabs and line feeds stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        push_visible(&mut shown, character);
    }
    Cow::Owned(shown)
}

pub(crate) fn push_visible(into: &mut String, character: char) {
    match character {
        '\r' => into.push_str("\\r"),
        _ if is_hidden(character) => into.extend(character.escape_unicode()),
        _ => into.push(character),
    }
}

/// Whether a terminal would act on the character or show nothing for it.
pub fn is_hidden(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control() && !matches!(character, '\t' | '\n');
    }
    matches!(character,
        '\u{80}'..='\u{9f}'                     // C1 controls, some of which start terminal sequences
        | '\u{ad}' | '\u{34f}' | '\u{61c}'      // soft hyphen, grapheme joiner, Arabic letter mark
        | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'               // zero-width and direction marks
        | '\u{2028}'..='\u{202e}'               // separators, direction embeddings and overrides
        | '\u{2060}'..='\u{206f}'               // word joiner, invisible operators, isolates
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}') // tags and variation selectors: text nobody sees
}
