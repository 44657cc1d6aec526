//! What is said of tools by their names, or by patterns in which `*` stands for any characters.

use std::{cmp::Reverse, collections::HashMap};

use cycod_definition::matches_stars;

/// The most patterns of one key. Each is compared with each tool.
pub(crate) const MOST_PATTERNS: usize = 100;

/// Whether a text stands for several names.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains('*')
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
        let open = self.patterns.iter().filter(move |(pattern, _)| matches_stars(pattern, tool));
        self.exact.get(tool).copied().into_iter().chain(open.map(|(_, value)| *value))
    }
}
