use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of a definition's text in lowercase hexadecimal: what is pinned when a tool is trusted.
///
/// It is taken over the text as it is, so that any change asks again.
pub fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_sha_256() {
        assert_eq!(super::digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_ne!(super::digest("name: a\n"), super::digest("name: a\r\n"));
    }
}
