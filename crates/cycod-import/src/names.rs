//! Names that tools and parameters can have, from names that tasks have.

use std::collections::{HashMap, HashSet};

use cycod_syntax::template::Predefined;

/// Names that were given, compared as the catalog compares them.
#[derive(Default)]
pub(crate) struct Taken {
    names: HashSet<String>,
    /// The last number that was put behind a name.
    numbers: HashMap<String, usize>,
}

impl Taken {
    /// Names that are never free.
    pub(crate) fn of(names: &[String]) -> Self {
        Self { names: names.iter().map(|name| name.to_lowercase()).collect(), numbers: HashMap::new() }
    }

    /// Returns the name, or with a number behind it the first that is free.
    pub(crate) fn free(&mut self, name: &str) -> String {
        let mut candidate = name.to_owned();
        let number = self.numbers.entry(name.to_lowercase()).or_insert(1);
        while !self.names.insert(candidate.to_lowercase()) {
            *number += 1;
            let ending = format!("-{number}");
            let kept = &name[..name.len().min(MAX_TOOL - ending.len())];
            candidate = format!("{kept}{ending}");
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
pub(crate) fn parameter(name: &str, taken: &[String]) -> String {
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
    let is_taken = |name: &str| taken.iter().any(|known| known.eq_ignore_ascii_case(name));
    let mut candidate = base.clone();
    let mut number = 2;
    while is_taken(&candidate) {
        candidate = format!("{base}_{number}");
        number += 1;
    }
    candidate
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
        let taken = ["TARGET".to_owned()];
        for (name, expect) in [
            ("target", "TARGET_2"),
            ("dry-run", "DRY_RUN"),
            ("os", "os"),
            ("raw", "raw"),
            ("2nd", "ARG_2nd".to_ascii_uppercase().as_str()),
            ("--", "ARG"),
            ("日本", "ARG"),
        ] {
            assert_eq!(parameter(name, &taken), expect, "{name}");
        }
    }
}
