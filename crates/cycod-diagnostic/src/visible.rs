//! What hides in a text is written as an escape: control characters, and everything that changes how the rest reads.

use std::borrow::Cow;

/// Returns `text` with control and invisible characters written as escapes such as `\u{202e}`.
///
/// Text from a file or a model may hold terminal escapes, direction overrides and zero-width characters
/// that make a person read something else than what is there. Tabs and line feeds stay, and so do joiners and
/// variation selectors where the writing needs them: inside a word of a script that joins its letters, and in emoji.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, None, push_escape)
}

/// Returns JSON with hidden characters of its strings in the escapes of JSON: it says the same and drives no terminal.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    escaped(json, None, |into, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            into.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

/// Returns the answer of a tool as a model gets it: what a terminal would act on, or what makes a reader read something
/// else than is there, in escapes. Characters that belong to writing, such as the joiners of scripts and emoji, stay.
pub fn readable(text: &str) -> Cow<'_, str> {
    with_escapes(text, |into, character| into.extend(character.escape_unicode()))
}

/// The same for JSON, in the escapes of JSON: it says the same.
pub fn readable_json(json: &str) -> Cow<'_, str> {
    with_escapes(json, |into, character| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            into.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

/// Whether a character makes a reader see something else than is there, and belongs to no script.
pub fn misleads(character: char) -> bool {
    matches!(character,
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}' // controls but tab and line ends
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
        | '\u{e0000}'..='\u{e007f}') // tags: text nobody sees
}

fn with_escapes(text: &str, escape: fn(&mut String, char)) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')) || !text.chars().any(misleads) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if misleads(character) {
            escape(&mut shown, character);
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// The text with an escape in place of each character that is hidden where it stands, behind the character `before`.
pub(crate) fn escaped(text: &str, before: Option<char>, escape: fn(&mut String, char)) -> Cow<'_, str> {
    // Nearly every text is of this kind, and a list may hold thousands of them.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let mut shown: Option<String> = None;
    let mut before = before;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let after = characters.peek().map(|(_, after)| *after);
        if is_hidden_between(before, character, after) {
            let shown = shown.get_or_insert_with(|| text[..at].to_owned());
            escape(shown, character);
            // What comes next stands behind the escape.
            before = shown.chars().next_back();
            continue;
        }
        if let Some(shown) = &mut shown {
            shown.push(character);
        }
        before = Some(character);
    }
    shown.map_or(Cow::Borrowed(text), Cow::Owned)
}

pub(crate) fn push_escape(into: &mut String, character: char) {
    match character {
        '\r' => into.push_str("\\r"),
        _ => into.extend(character.escape_unicode()),
    }
}

/// Whether a terminal would act on the character or show nothing for it, whatever stands beside it.
pub fn is_hidden(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control() && !matches!(character, '\t' | '\n');
    }
    matches!(character,
        '\u{80}'..='\u{9f}'                     // C1 controls, some of which start terminal sequences
        | '\u{ad}' | '\u{34f}' | '\u{61c}'      // soft hyphen, grapheme joiner, Arabic letter mark
        | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'               // zero-width and direction marks
        | '\u{2028}'..='\u{202e}'               // separators, direction embeddings and overrides
        | '\u{2060}'..='\u{206f}'               // word joiner, invisible operators, isolates
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}') // tags and variation selectors: text nobody sees
}

/// Whether a character is hidden where it stands, between two others.
pub(crate) fn is_hidden_between(before: Option<char>, character: char, after: Option<char>) -> bool {
    let is_selector = matches!(character, '\u{fe00}'..='\u{fe0f}');
    (is_selector || is_hidden(character)) && !before.is_some_and(|before| belongs(before, character, after))
}

/// Whether what follows a character can decide how it is shown.
pub(crate) fn waits_for_more(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{180e}' | '\u{fe0f}')
}

/// Whether the writing needs a character that nobody sees between two others.
fn belongs(before: char, character: char, after: Option<char>) -> bool {
    let is_before = |fits: fn(char) -> bool| after.is_some_and(fits);
    match character {
        // Half letters at the end of a word stand behind a virama.
        '\u{200c}' | '\u{200d}' if joins_letters(before) => is_before(joins_letters) || is_virama(before),
        '\u{200d}' => {
            is_before(is_pictograph)
                && (is_pictograph(before) || matches!(before, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}'))
        }
        '\u{fe0e}' | '\u{fe0f}' if matches!(before, '0'..='9' | '#' | '*') => after == Some('\u{20e3}'),
        '\u{fe0e}' | '\u{fe0f}' => is_pictograph(before),
        '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => is_mongolian(before),
        '\u{180e}' => is_mongolian(before) && is_before(is_mongolian),
        _ => false,
    }
}

/// Whether a character is of a script whose letters change beside a joiner or a non-joiner.
fn joins_letters(character: char) -> bool {
    !is_hidden(character)
        && (is_mongolian(character)
            || matches!(character,
                '\u{610}'..='\u{6ff}' | '\u{710}'..='\u{7ff}' | '\u{840}'..='\u{8ff}' // Arabic, Syriac, N'Ko, Mandaic
                | '\u{900}'..='\u{df4}'                                               // the scripts of India, Sinhala
                | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'                   // Myanmar, Khmer
                | '\u{1a20}'..='\u{1aad}' | '\u{1b00}'..='\u{1bff}' | '\u{a840}'..='\u{a8ff}'
                | '\u{a980}'..='\u{a9ff}' | '\u{aae0}'..='\u{aaff}' | '\u{abc0}'..='\u{abff}'
                | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'                   // forms of Arabic letters
                | '\u{10a00}'..='\u{10a5f}' | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}'))
}

/// The signs that take its vowel from a letter: <https://www.unicode.org/reports/tr44/#Canonical_Combining_Class_Values>,
/// class 9.
fn is_virama(character: char) -> bool {
    matches!(
        character,
        '\u{94d}'
            | '\u{9cd}'
            | '\u{a4d}'
            | '\u{acd}'
            | '\u{b4d}'
            | '\u{bcd}'
            | '\u{c4d}'
            | '\u{ccd}'
            | '\u{d3b}'
            | '\u{d3c}'
            | '\u{d4d}'
            | '\u{dca}'
            | '\u{1039}'
            | '\u{103a}'
            | '\u{17d2}'
            | '\u{1b44}'
            | '\u{a9c0}'
    )
}

fn is_mongolian(character: char) -> bool {
    matches!(character, '\u{1820}'..='\u{18aa}')
}

fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Whether a character may be a part of an emoji that a joiner or a selector makes.
fn is_pictograph(character: char) -> bool {
    matches!(character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2194}'..='\u{21aa}' | '\u{231a}'..='\u{23ff}' | '\u{24c2}' | '\u{25aa}'..='\u{25fe}'
        | '\u{2600}'..='\u{27bf}' | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b55}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}
