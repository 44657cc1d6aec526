//! Bytes that are no text, on their way through places that work on text.
//!
//! A step may say any bytes, and they reach a command unchanged. But in which part of a shell's grammar they stand is
//! found out character by character. So a byte that is no part of UTF-8 is *carried* as a character of private use, which
//! means nothing to any grammar, and *delivered* as itself when the command is complete. Only bytes from 0x80 travel so:
//! nothing that is delivered can be a sign of a shell's.

use std::borrow::Cow;

/// The character that carries the byte `b` is `FIRST + b`.
const FIRST: u32 = 0x0010_FE00;

/// Returns bytes as text: what is UTF-8 as it is, every other byte as the character that carries it.
///
/// A character that could carry is itself carried byte by byte, so that [`delivered`] gives back exactly these bytes.
pub fn carried(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !carries(text) => return Cow::Borrowed(text),
        _ => {}
    }
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 2);
    let carry = |bytes: &[u8], text: &mut String| {
        text.extend(bytes.iter().filter_map(|&byte| char::from_u32(FIRST + u32::from(byte))));
    };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match carried_byte(character) {
                Some(_) => carry(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut text),
                None => text.push(character),
            }
        }
        carry(chunk.invalid(), &mut text);
    }
    Cow::Owned(text)
}

/// Returns the bytes that a text carries.
pub fn delivered(text: &str) -> Cow<'_, [u8]> {
    if !carries(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match carried_byte(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// Whether a character in it carries a byte.
fn carries(text: &str) -> bool {
    // Every such character begins with this byte, for which looking is quick.
    text.as_bytes().contains(&0xF4) && text.contains(|character| carried_byte(character).is_some())
}

fn carried_byte(character: char) -> Option<u8> {
    u32::from(character).checked_sub(FIRST).and_then(|byte| u8::try_from(byte).ok()).filter(|byte| !byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_carried_as_it_is() {
        for text in ["", "plain", "é€🦀", "\u{10fe00}\u{10fe7f}\u{10ff00}"] {
            assert!(matches!(carried(text.as_bytes()), Cow::Borrowed(same) if same == text));
            assert!(matches!(delivered(text), Cow::Borrowed(same) if same == text.as_bytes()));
        }
        assert_eq!(carried(b"a\xffb"), "a\u{10feff}b");
        assert_eq!(carried("\u{10fe80}".as_bytes()), "\u{10fef4}\u{10fe8f}\u{10feba}\u{10fe80}");
    }

    proptest! {
        #[test]
        fn every_byte_is_delivered(bytes: Vec<u8>, text in "[a\u{10fe7e}-\u{10fe82}\u{10fefe}-\u{10ff01}é]{0,9}") {
            let bytes = [&bytes, text.as_bytes(), &bytes].concat();
            let text = carried(&bytes);
            prop_assert_eq!(&*delivered(&text), &bytes[..]);
            let ascii = |bytes: &[u8]| bytes.iter().copied().filter(u8::is_ascii).collect::<Vec<_>>();
            prop_assert_eq!(ascii(text.as_bytes()), ascii(&bytes));
        }
    }
}
