use crate::track::is_word_byte;

/// Whether a text means itself wherever it is written inside quotes or a here-document.
///
/// It holds only letters, digits, spaces, `_./:@%+,=-` and visible characters beyond ASCII.
pub(crate) fn is_harmless(text: &str) -> bool {
    text.chars().all(|character| match character {
        ' ' | '=' => true,
        '\0'..='\x7f' => is_word_byte(character as u8),
        _ => is_visible(character),
    })
}

/// Whether a text is a word without any quotes, anywhere among arguments.
pub(crate) fn is_plain_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_word_byte)
}

fn is_visible(character: char) -> bool {
    !(character.is_control()
        || character.is_whitespace()
        || matches!(
            character,
            '\u{ad}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2018}'..='\u{201f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{e000}'..='\u{f8ff}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{ffff}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{10ffff}'
        ))
}

/// Whether a text is a decimal number: what a value of kind number must look like to be treated as one.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], Some(digits[at + 1..].strip_prefix(['-', '+']).unwrap_or(&digits[at + 1..]))),
        None => (digits, None),
    };
    let (whole, fraction) =
        mantissa.split_once('.').map_or((mantissa, None), |(whole, fraction)| (whole, Some(fraction)));
    let all = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all(whole) && fraction.is_none_or(all) && exponent.is_none_or(all)
}
