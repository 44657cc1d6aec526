/// Returns the candidate a person most likely meant by `word`, or nothing when none is near.
///
/// Case and `-`/`_` count as equal; otherwise the Damerau–Levenshtein distance may be at most a third of the
/// word's length (at least one).
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace('_', "-");
    let word = fold(word);
    let length = word.chars().count();
    let limit = (length / 3).max(1);
    candidates
        .into_iter()
        // Each letter more or less is one change, so most candidates need no closer look.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= limit)
        .map(|candidate| (strsim::damerau_levenshtein(&word, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Whether `word` is `meant` but for one slip: a letter too many, too few, another one, or two that changed places.
pub fn is_slip(word: &str, meant: &str) -> bool {
    word.chars().count().abs_diff(meant.chars().count()) <= 1 && strsim::damerau_levenshtein(word, meant) == 1
}
