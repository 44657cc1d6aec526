//! Words of texts and queries, in the form in which they are compared.

/// The longest word that is told from others, in bytes.
const LONGEST: usize = 64;

/// Hands the words of a text to `take`, in their order.
///
/// A word is a run of letters and digits in lower case, without an English plural or `-ing`. Parts of `camelCase` are
/// words, and where a script writes no spaces each two neighbours are one.
pub(crate) fn each_word(text: &str, mut take: impl FnMut(&str)) {
    let mut word = String::new();
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            stem(word);
            word.truncate(word.floor_char_boundary(LONGEST));
            take(word);
            word.clear();
        }
    };
    let mut before: Option<char> = None;
    let mut unspaced: Option<char> = None;
    for character in text.chars() {
        if is_unspaced(character) {
            end(&mut word);
            match unspaced.replace(character) {
                Some(first) => {
                    word.extend([first, character]);
                    end(&mut word);
                }
                None => {
                    word.push(character);
                    end(&mut word);
                }
            }
            before = None;
            continue;
        }
        unspaced = None;
        if !character.is_alphanumeric() {
            // An accent that stands by itself belongs to its letter.
            if !('\u{300}'..='\u{36f}').contains(&character) {
                end(&mut word);
                before = None;
            }
            continue;
        }
        if character.is_uppercase() && before.is_some_and(char::is_lowercase) {
            end(&mut word);
        }
        word.extend(character.to_lowercase());
        before = Some(character);
    }
    end(&mut word);
}

/// Whether a character belongs to a script that writes no spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// Takes endings off that do not change what a word is about; only from words of ASCII letters, which may be English.
fn stem(word: &mut String) {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    let length = word.len();
    if length > 4 && word.ends_with("ies") {
        word.replace_range(length - 3.., "y");
    } else if length > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
    if word.len() > 5 && word.ends_with("ing") {
        word.truncate(word.len() - 3);
        let bytes = word.as_bytes();
        // As in `scanning`; `calling` keeps both.
        if let [.., one, other] = bytes
            && one == other
            && !b"lsz".contains(one)
        {
            word.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::each_word;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut words = Vec::new();
        each_word(text, |word| words.push(word.to_owned()));
        assert_eq!(words, expected, "{text}");
    }

    #[test]
    fn words_are_compared_without_case_and_endings() {
        check("Code-Review of pull_requests", &["code", "review", "of", "pull", "request"]);
        check("scanning policies, classes", &["scan", "policy", "classe"]);
        check("camelCase HTTPServer v2", &["camel", "case", "httpserver", "v2"]);
        check("Ключ Schlüssel", &["ключ", "schlüssel"]);
        check("日本語", &["日", "日本", "本語"]);
        check("(.*+?[{^$|\\ \0 🦀", &[]);
        check("", &[]);
    }
}
