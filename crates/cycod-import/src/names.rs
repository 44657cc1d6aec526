//! Names that tools and parameters can have, from names that tasks have.

use std::collections::{HashMap, HashSet};

use cycod_syntax::template::Predefined;

/// Names that were given, compared as the catalog compares them.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    names: HashSet<String>,
    /// The last number that was put behind a name.
    numbers: HashMap<String, usize>,
}

impl Taken {
    /// Whether a name was given, or is never free.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.contains(&name.to_lowercase())
    }

    /// Names that are never free.
    pub(crate) fn of(names: &[String]) -> Self {
        Self { names: names.iter().map(|name| name.to_lowercase()).collect(), numbers: HashMap::new() }
    }

    /// Returns the name, or with a number behind it the first that is free.
    pub(crate) fn free(&mut self, name: &str) -> String {
        self.numbered(name, |number| {
            let ending = format!("-{number}");
            format!("{}{ending}", &name[..name.len().min(MAX_TOOL - ending.len())])
        })
    }

    /// Returns the name, or the first of its numbered forms that is free.
    fn numbered(&mut self, name: &str, form: impl Fn(usize) -> String) -> String {
        let mut candidate = name.to_owned();
        let number = self.numbers.entry(name.to_lowercase()).or_insert(1);
        while !self.names.insert(candidate.to_lowercase()) {
            *number += 1;
            candidate = form(*number);
        }
        candidate
    }
}

const MAX_TOOL: usize = 64;

/// Returns the nearest name that a tool can have.
pub(crate) fn tool(name: &str) -> String {
    let mut fixed = String::new();
    for character in name.chars() {
        match character {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '.' => fixed.push(character),
            // What separates is kept as one separation.
            _ if !fixed.ends_with('-') => fixed.push('-'),
            _ => {}
        }
    }
    let kept = fixed.trim_start_matches(|first: char| !first.is_ascii_alphanumeric());
    let kept = &kept[..kept.len().min(MAX_TOOL)];
    let kept = kept.trim_end_matches('-');
    if kept.is_empty() { "task".to_owned() } else { kept.to_owned() }
}

/// Returns a parameter's name in the way that placeholders are written, `None` behind all that are taken.
pub(crate) fn parameter(name: &str, taken: &mut Taken) -> String {
    let letters = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    let mut plain: String = name.chars().map(letters).collect();
    plain = plain.trim_matches('_').to_owned();
    plain.truncate(MAX_TOOL);
    if plain.is_empty() || plain.starts_with(|first: char| first.is_ascii_digit()) {
        plain = format!("ARG_{plain}").trim_end_matches('_').to_owned();
    }
    let upper = plain.to_ascii_uppercase();
    let is_ours = upper == "RAW" || Predefined::NAMES.iter().any(|(known, _)| *known == upper);
    // In small letters nothing is predefined.
    let base = if is_ours { plain.to_ascii_lowercase() } else { upper };
    taken.numbered(&base, |number| format!("{base}_{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_get_names_they_can_have() {
        for (name, expect) in [
            ("build", "build"),
            ("build:prod", "build-prod"),
            ("_helper", "helper"),
            ("a  b//c", "a-b-c"),
            ("größe", "gr-e"),
            ("--", "task"),
            ("", "task"),
            ("v1.2_x-", "v1.2_x"),
        ] {
            assert_eq!(tool(name), expect, "{name}");
        }
        assert_eq!(tool(&"x".repeat(200)).len(), 64);
        let mut taken = Taken::default();
        assert_eq!(taken.free("a"), "a");
        assert_eq!(taken.free("A"), "A-2");
        assert_eq!(taken.free("a"), "a-3");
        let long = "x".repeat(64);
        taken.free(&long);
        assert_eq!(taken.free(&long).len(), 64);
    }

    #[test]
    fn parameters_get_names_that_shadow_nothing() {
        for (name, expect) in [
            ("target", "TARGET_2"),
            ("dry-run", "DRY_RUN"),
            ("os", "os"),
            ("raw", "raw"),
            ("2nd", "ARG_2nd".to_ascii_uppercase().as_str()),
            ("--", "ARG"),
            ("日本", "ARG"),
        ] {
            assert_eq!(parameter(name, &mut Taken::of(&["TARGET".to_owned()])), expect, "{name}");
        }
    }
}
