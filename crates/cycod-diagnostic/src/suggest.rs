/// The most letters of a word that a person types and mistypes. To compare longer ones would take the product of their lengths.
const LONGEST: usize = 100;

/// Returns the candidate a person most likely meant by `word`, or nothing when none is near.
///
/// Case and `-`/`_` count as equal; otherwise the Damerau–Levenshtein distance may be at most a third of the
/// word's length (at least one). Near a word of more than 100 letters is nothing.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace('_', "-");
    if word.chars().nth(LONGEST).is_some() {
        return None;
    }
    let word = fold(word);
    let length = word.chars().count();
    let limit = (length / 3).max(1);
    candidates
        .into_iter()
        // Each letter more or less is one change, so most candidates need no closer look.
        .filter(|candidate| candidate.chars().take(length + limit + 1).count().abs_diff(length) <= limit)
        .map(|candidate| (strsim::damerau_levenshtein(&word, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Whether `word` is `meant` but for one slip: a letter too many, too few, another one, or two that changed places.
pub fn is_slip(word: &str, meant: &str) -> bool {
    let same =
        word.chars().zip(meant.chars()).take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum();
    let (word, meant): (&str, &str) = (&word[same..], &meant[same..]);
    let end = word.chars().rev().zip(meant.chars().rev()).take_while(|(one, other)| one == other);
    let end: usize = end.map(|(one, _)| one.len_utf8()).sum();
    let letters = |text: &str| -> [Option<char>; 3] {
        let mut letters = text[..text.len() - end].chars();
        [letters.next(), letters.next(), letters.next()]
    };
    match (letters(word), letters(meant)) {
        ([Some(_), None, _], [None, ..] | [Some(_), None, _]) | ([None, ..], [Some(_), None, _]) => true,
        ([Some(a), Some(b), None], [Some(c), Some(d), None]) => (a, b) == (d, c),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{closest, is_slip};

    #[test]
    fn a_slip_is_one_change() {
        let alphabet =
            ["", "a", "b", "ab", "ba", "aa", "aba", "bab", "abab", "abba", "é", "aé", "éa", "aéb", "abc", "acb", "cab"];
        for word in alphabet {
            for meant in alphabet {
                assert_eq!(is_slip(word, meant), strsim::damerau_levenshtein(word, meant) == 1, "{word} {meant}");
            }
        }
    }

    #[test]
    fn nothing_is_near_a_word_that_nobody_types() {
        let word = "a".repeat(100);
        assert_eq!(closest(&word, [word.as_str()]), Some(word.as_str()));
        assert_eq!(closest(&format!("{word}a"), [word.as_str()]), None);
    }
}
