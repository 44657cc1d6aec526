use std::fmt;

use cycod_definition::matches_stars;

use crate::by_name::{is_pattern, weight};

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
        is_pattern(&self.0)
    }

    /// How many characters are not open: of two patterns the one with more is more specific.
    pub(crate) fn weight(&self) -> usize {
        weight(&self.0)
    }

    /// Whether it stands for a name.
    pub fn matches(&self, name: &str) -> bool {
        matches_stars(&self.0.to_ascii_lowercase(), &name.to_ascii_lowercase())
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
