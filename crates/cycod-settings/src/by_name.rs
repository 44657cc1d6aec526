//! What is said of tools by their names, or by patterns in which `*` stands for any characters.

use std::{cmp::Reverse, collections::HashMap};

/// The most patterns of one key. Each is compared with each tool.
pub(crate) const MOST_PATTERNS: usize = 100;

/// Whether a text stands for several names.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains('*')
}

/// Whether a pattern stands for a name. Case matters, as it does to servers.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(last) = parts.next_back() else { return first == name };
    let Some(mut rest) = name.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else { return false };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// How many characters of a pattern are not open: of two, the one with more is more specific.
pub(crate) fn weight(pattern: &str) -> usize {
    pattern.chars().filter(|letter| *letter != '*').count()
}

/// What is said of tools by name and by pattern.
#[derive(Clone, Debug)]
pub(crate) struct ByName<'a, T> {
    exact: HashMap<&'a str, &'a T>,
    /// The most specific first; of equally specific ones, the first that was written.
    patterns: Vec<(&'a str, &'a T)>,
}

impl<'a, T> ByName<'a, T> {
    pub(crate) fn new(said: impl IntoIterator<Item = (&'a str, &'a T)>) -> Self {
        let mut exact = HashMap::new();
        let mut patterns = Vec::new();
        for (name, value) in said {
            if is_pattern(name) {
                patterns.push((name, value));
            } else {
                // Of two for one tool, the first counts.
                exact.entry(name).or_insert(value);
            }
        }
        patterns.sort_by_key(|(pattern, _)| Reverse(weight(pattern)));
        Self { exact, patterns }
    }

    /// Everything that is said of a tool, the most specific first.
    pub(crate) fn all<'b>(&'b self, tool: &'b str) -> impl Iterator<Item = &'a T> + 'b {
        let open = self.patterns.iter().filter(move |(pattern, _)| matches(pattern, tool));
        self.exact.get(tool).copied().into_iter().chain(open.map(|(_, value)| *value))
    }
}
