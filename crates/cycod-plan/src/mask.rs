use std::cmp::Reverse;

use cycod_definition::json;

/// Secrets shorter than this are not masked: they would take half of any text with them.
const SHORTEST: usize = 4;

/// How a secret may stand in a text: as it is, and as it is inside a JSON string. One that is too short to be masked
/// has no spelling.
pub fn spellings(secret: &str) -> Vec<String> {
    // What a program prints of it may lack the end of the line.
    let secret = secret.trim_end_matches(['\n', '\r']);
    if secret.chars().count() < SHORTEST {
        return Vec::new();
    }
    let mut quoted = String::new();
    json::write_text(secret, &mut quoted);
    let mut spellings = vec![secret.to_owned(), quoted[1..quoted.len() - 1].to_owned()];
    spellings.dedup();
    spellings
}

/// Replaces secrets of at least four characters by `****`, the longest first.
pub fn mask(text: &str, secrets: &[String]) -> String {
    let mut spellings: Vec<String> = secrets.iter().flat_map(|secret| spellings(secret)).collect();
    spellings.sort_unstable_by_key(|spelling| Reverse(spelling.len()));
    spellings.iter().fold(text.to_owned(), |text, spelling| text.replace(spelling, "****"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_in_json_too() {
        let check = |secret: &str, text: &str, expect: &str| {
            assert_eq!(mask(text, &[secret.to_owned()]), expect, "{secret:?}");
        };
        check("hunter2", "pw=hunter2!", "pw=****!");
        check("abc", "abc", "abc");
        check("a\"b\\c\td\u{1}\n", r#"{"x":"a\"b\\c\td\u0001\n"}"#, r#"{"x":"****\n"}"#);
        check("a\"b\\c\n", "a\"b\\c", "****");
    }
}
