//! Public types whose name another crate has, too: a reader can't tell which one is meant.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::sources::{is_test, without_tests};

/// Names that two crates have in two meanings.
const SHARED: [&str; 15] = [
    "Call", "Ending", "Entry", "Event", "Limits", "Offered", "Pattern", "Question", "Refusal", "Request", "Session",
    "Sink", "State", "Value", "Verdict",
];

/// The names that several crates give to public types, and the exceptions that are needed no more.
pub(super) fn shared_names(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources.iter().filter(|path| !is_test(path)) {
        let relative = path.strip_prefix(root.join("crates")).unwrap_or(path);
        let mut parts = relative.iter().map(|part| part.to_string_lossy().into_owned());
        let (Some(name), Some(below)) = (parts.next(), parts.next()) else { continue };
        // What is for tests only is no part of the program.
        if below != "src" || !name.starts_with("cycod") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        for found in public_types(without_tests(&text)) {
            homes.entry(found.to_owned()).or_default().insert(name.clone());
        }
    }
    let is_shared = |name: &str| homes.get(name).is_some_and(|homes| homes.len() > 1);
    let needless = SHARED.iter().filter(|name| !is_shared(name));
    let needless =
        needless.map(|name| format!("`{name}` is one type: take it from the exceptions (xtask/src/tidy/names.rs)"));
    let needless: Vec<String> = needless.collect();
    let shared = homes.iter().filter(|(name, homes)| homes.len() > 1 && !SHARED.contains(&name.as_str()));
    let shared = shared.map(|(name, homes)| {
        let homes: Vec<&str> = homes.iter().map(String::as_str).collect();
        format!("`{name}` is a public type of {}: give each a name of its own", homes.join(" and "))
    });
    shared.chain(needless).collect()
}

/// The public types that code defines.
fn public_types(code: &str) -> impl Iterator<Item = &str> {
    const KINDS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "union "];
    let is_end = |next: char| !next.is_alphanumeric() && next != '_';
    code.lines().filter_map(move |line| {
        let item = line.trim_start().strip_prefix("pub ")?;
        let name = KINDS.iter().find_map(|kind| item.strip_prefix(kind))?;
        name.split(is_end).next()
    })
}

#[cfg(test)]
mod tests {
    use super::public_types;

    #[test]
    fn only_public_types_count() {
        let code = "pub struct A<'a>(&'a u8);\n    pub enum B {\nstruct C;\npub(crate) struct D;\npub fn e() {}\n// pub struct F;\npub trait G: H {}\npub type I = A;\n";
        assert_eq!(public_types(code).collect::<Vec<_>>(), ["A", "B", "G", "I"]);
    }
}
