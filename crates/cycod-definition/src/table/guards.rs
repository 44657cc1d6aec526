//! Keys that restrict something, wherever they stand: what ignoring one would cost is not seen until it is needed.

use std::{collections::HashSet, sync::LazyLock};

use cycod_diagnostic::{closest, is_slip};
use cycod_schema::RULES;

use super::{Key, MARKDOWN, MIMIR, Section, TOOL, reference::places};

/// Names that say too little to tell what was meant where they do not belong.
const GENERAL: [&str; 19] = [
    "allowlist",
    "asks",
    "commands",
    "container",
    "enabled",
    "for",
    "image",
    "items",
    "justification",
    "mounts",
    "name",
    "network",
    "path",
    "platforms",
    "properties",
    "required",
    "schema",
    "secret",
    "type",
];

/// What an unknown key was meant to restrict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    /// A key of the same mapping, misspelt.
    Key(&'static str),
    /// A rule that only a whole schema can say.
    InSchema,
    /// Variables of the environment.
    Variables,
    /// A key of another mapping.
    Elsewhere(&'static str),
}

/// Returns what an unknown key of `section` was meant to restrict, if that is what it was meant to do.
pub(crate) fn meant(name: &str, section: &'static Section) -> Option<Meant> {
    if section.key("environment").is_some() && name.eq_ignore_ascii_case("env") {
        return Some(Meant::Variables);
    }
    let written = || section.keys.iter().filter(|key| key.synonym_of.is_none());
    let restricts = |key: &&Key| key.restricts || section.strict;
    let near = closest(name, written().filter(restricts).map(|key| key.name));
    if let Some(near) = near {
        // What is nearer to another key was meant to be that one, unless it is but a letter away from this one.
        let is_nearest = closest(name, written().map(|key| key.name)).is_some_and(|nearest| nearest == near);
        if is_nearest || is_slip(name, near) {
            return Some(Meant::Key(near));
        }
    }
    if section.key("minLength").is_some() && RULES.contains(&name) {
        return Some(Meant::InSchema);
    }
    elsewhere(name).map(Meant::Elsewhere)
}

/// The key of any mapping that `name` can only have been meant to be.
fn elsewhere(name: &str) -> Option<&'static str> {
    let is_meant = |guard: &&&'static str| **guard == name || guard.len() > 5 && is_slip(name, guard);
    GUARDS.iter().find(is_meant).copied()
}

/// Every key of any mapping that restricts something and whose name tells what.
static GUARDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let sections = [&TOOL, &MARKDOWN, &MIMIR].into_iter().flat_map(places).map(|(section, _)| section);
    let guards = sections.flat_map(|section| section.keys.iter().filter(|key| key.restricts).map(|key| key.name));
    let mut seen = HashSet::new();
    guards.filter(|guard| !GENERAL.contains(guard) && seen.insert(*guard)).collect()
});

/// Where a key belongs that restricts something: its path in a file of ours, or nothing where it has none.
pub(crate) fn place_of(name: &str) -> Option<String> {
    let mut places = places(&TOOL).into_iter().filter(|(section, _)| section.key(name).is_some());
    let (_, paths) = places.next()?;
    let path = paths.into_iter().next()?;
    Some(if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") })
}

#[cfg(test)]
mod tests {
    use cycod_diagnostic::{Severity, SourceFile};

    use super::*;
    use crate::{load, table::Takes};

    /// Every word that is one slip away from `word`: a letter too few, twice, another one, or two that changed places.
    fn slips(word: &str) -> Vec<String> {
        let letters: Vec<char> = word.chars().collect();
        let mut slips = Vec::new();
        let mut add = |letters: Vec<char>| slips.push(letters.into_iter().collect::<String>());
        for at in 0..letters.len() {
            let mut fewer = letters.clone();
            fewer.remove(at);
            add(fewer);
            for other in ['e', 'x', letters[at]] {
                let mut more = letters.clone();
                more.insert(at, other);
                add(more);
                let mut changed = letters.clone();
                changed[at] = other;
                add(changed);
            }
            if at > 0 {
                let mut swapped = letters.clone();
                swapped.swap(at - 1, at);
                add(swapped);
            }
        }
        slips.retain(|slip| slip != word && !slip.is_empty() && !slip.starts_with("x-") && !slip.starts_with('-'));
        slips.sort_unstable();
        slips.dedup();
        slips
    }

    /// A tool in which `{` … `}` at `path`, such as `parameters.NAME.validation`, holds `entry`.
    fn tool_with(path: &str, entry: &str) -> String {
        let mut inner = format!("{{{entry}}}");
        let mut parts: Vec<&str> = if path.is_empty() { Vec::new() } else { path.split('.').collect() };
        while let Some(part) = parts.pop() {
            let (name, is_list) = part.strip_suffix("[]").map_or((part, false), |name| (name, true));
            inner = if is_list { format!("{{{name}: [{inner}]}}") } else { format!("{{{name}: {inner}}}") };
        }
        inner
    }

    #[test]
    fn a_guard_that_is_misspelt_is_an_error_wherever_it_may_stand() {
        let mut seen = 0;
        for (section, paths) in places(&TOOL) {
            for key in section.keys.iter().filter(|key| key.restricts || section.strict && key.synonym_of.is_none()) {
                // A section stands in many places, of which the first three show all there is to see.
                for path in paths.iter().take(3) {
                    for slip in slips(key.name).into_iter().filter(|slip| section.key(slip).is_none()) {
                        let value = if matches!(key.takes, Takes::Object(_) | Takes::Map(..)) { "{}" } else { "x" };
                        let text = tool_with(path, &format!("\"{slip}\": {value}"));
                        let found = load(&SourceFile::new("t.yaml", &*text), Some("t")).diagnostics;
                        let of_key =
                            found.iter().find(|found| found.message.ends_with(&format!("has no key `{slip}`")));
                        let severity = of_key.map(|found| found.severity);
                        assert_eq!(severity, Some(Severity::Error), "{text}: {found:#?}");
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 5000, "only {seen} slips were tried");
    }

    #[test]
    fn a_guard_in_the_wrong_place_is_an_error() {
        let guards: Vec<&str> = places(&TOOL)
            .into_iter()
            .flat_map(|(section, _)| section.keys)
            .filter(|key| key.restricts && !GENERAL.contains(&key.name))
            .map(|key| key.name)
            .collect();
        let mut seen = 0;
        for (section, paths) in places(&TOOL) {
            let Some(path) = paths.first() else { continue };
            for guard in guards.iter().filter(|guard| section.key(guard).is_none()) {
                // In a step these are the names of variables as well.
                if path.ends_with("environment") {
                    continue;
                }
                let text = tool_with(path, &format!("{guard}: x"));
                let found = load(&SourceFile::new("t.yaml", &*text), Some("t")).diagnostics;
                let of_key = found.iter().find(|found| found.message.ends_with(&format!("has no key `{guard}`")));
                assert_eq!(of_key.map(|found| found.severity), Some(Severity::Error), "{text}: {found:#?}");
                seen += 1;
            }
        }
        assert!(seen > 500, "only {seen} places were tried");
    }

    #[test]
    fn what_was_meant_is_told() {
        let check = |name: &str, section: &'static Section, expect: Option<Meant>| {
            assert_eq!(meant(name, section), expect, "{name} of {}", section.noun);
        };
        let parameter = crate::table::parameter();
        check("sensitiv", parameter, Some(Meant::Key("sensitive")));
        check("Sensitive", parameter, Some(Meant::Key("sensitive")));
        check("typ", parameter, Some(Meant::Key("type")));
        check("patern", parameter, Some(Meant::Key("pattern")));
        check("const", parameter, Some(Meant::InSchema));
        check("escape-shell", parameter, Some(Meant::Elsewhere("escape-shell")));
        check("escape_shell", parameter, Some(Meant::Elsewhere("escape-shell")));
        check("isolation", &TOOL, Some(Meant::Elsewhere("isolation")));
        check("env", &TOOL, Some(Meant::Variables));
        check("tag", &TOOL, Some(Meant::Key("tags")));
        check("max-memory", &TOOL, Some(Meant::Elsewhere("max-memory")));
        for harmless in
            ["timout", "descripton", "colour", "author", "working_directory", "icon", "name", "items", "default"]
        {
            check(harmless, &TOOL, None);
        }
        for harmless in ["descripton", "label", "title", "defaul", "exampels"] {
            check(harmless, parameter, None);
        }
        assert_eq!(place_of("isolation").as_deref(), Some("security.isolation"));
        assert_eq!(place_of("sensitive").as_deref(), Some("parameters.NAME.sensitive"));
    }
}
