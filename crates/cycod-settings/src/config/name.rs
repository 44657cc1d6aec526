use std::fmt;

/// The name of a tool, or of several: `*` stands for any characters, and case does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern(String);

impl ToolPattern {
    /// A name, or nothing when no tool can be called so.
    pub fn new(text: &str) -> Option<Self> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_.-*".contains(letter);
        let starts = text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '*');
        (starts && text.len() <= 128 && text.chars().all(is_part)).then(|| Self(text.to_owned()))
    }

    /// The text, as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it may stand for several.
    pub fn is_open(&self) -> bool {
        self.0.contains('*')
    }

    /// How many characters are not open: of two patterns the one with more is more specific.
    pub(crate) fn weight(&self) -> usize {
        self.0.chars().filter(|letter| *letter != '*').count()
    }

    /// Whether it stands for a name.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.to_ascii_lowercase(), name.to_ascii_lowercase());
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
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
