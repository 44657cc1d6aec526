use std::collections::BTreeSet;

/// How to turn off many tools with few words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turning {
    /// What to turn off: names, and patterns with `*`.
    pub off: Vec<String>,
    /// What to turn on after that.
    pub on: Vec<String>,
}

/// Finds the fewest words that turn off these tools and leave those on.
pub fn turnings(off: &[&str], kept: &[&str]) -> Turning {
    let mut words = BTreeSet::new();
    let kept_keys: Vec<String> = kept.iter().map(|name| name.to_ascii_lowercase()).collect();
    let kept_sorted: BTreeSet<&str> = kept_keys.iter().map(String::as_str).collect();
    let is_free = |prefix: &str| kept_sorted.range(prefix..).next().is_none_or(|name| !name.starts_with(prefix));
    let keys: BTreeSet<String> = off.iter().map(|name| name.to_ascii_lowercase()).collect();
    let has_several =
        |prefix: &str| keys.range(prefix.to_owned()..).take(2).filter(|key| key.starts_with(prefix)).count() > 1;
    for name in off {
        let key = name.to_ascii_lowercase();
        let ends = key.char_indices().filter(|(_, letter)| "_-.".contains(*letter)).map(|(at, _)| at + 1);
        let pattern = ends.map(|end| &key[..end]).find(|prefix| is_free(prefix) && has_several(prefix));
        words.insert(pattern.map_or_else(|| (*name).to_owned(), |prefix| format!("{prefix}*")));
    }
    // Everything but a few is said with those few.
    if words.len() > kept.len() + 1 {
        return Turning { off: vec!["*".to_owned()], on: kept.iter().map(|name| (*name).to_owned()).collect() };
    }
    Turning { off: words.into_iter().collect(), on: Vec::new() }
}
