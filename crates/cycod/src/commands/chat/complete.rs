//! What a word that was begun may become.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cycod_engine::diagnostic::is_hidden;

use super::words::{COMMANDS, Command};

/// What there is to complete by.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// The tools, and whether each is on.
    pub(super) tools: Vec<(String, bool)>,
    /// The models that are known.
    pub(super) models: Vec<String>,
    /// What waits to be approved.
    pub(super) waiting: Vec<String>,
    /// The conversations that are kept.
    pub(super) kept: Vec<String>,
    /// Where relative paths begin.
    pub(super) directory: PathBuf,
}

/// The most that is offered.
const MOST: usize = 500;

/// Finds where the word before the cursor begins, and what it may become.
pub(super) fn complete(before: &str, names: &Names) -> (usize, Vec<String>) {
    let start =
        before.rfind(char::is_whitespace).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let word = &before[start..];
    if let Some(path) = word.strip_prefix('@') {
        return (start + 1, paths(path, &names.directory));
    }
    let Some(line) = before.strip_prefix('/').filter(|line| !line.contains('\n')) else { return (start, Vec::new()) };
    if start == 0 {
        let commands = COMMANDS.iter().map(|entry| format!("/{} ", entry.name));
        return (0, matching(word, commands.collect()));
    }
    let mut words = line.split_whitespace();
    let command = words.next().and_then(|name| COMMANDS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name)));
    let rest: Vec<&str> = words.collect();
    let is_first = rest.is_empty() || (rest.len() == 1 && !word.is_empty());
    let spaced = |names: &[&str]| names.iter().map(|name| format!("{name} ")).collect::<Vec<_>>();
    let tools = |wanted: Option<bool>| -> Vec<String> {
        let tools = names.tools.iter().filter(|(_, is_on)| wanted.is_none_or(|wanted| wanted == *is_on));
        tools.map(|(name, _)| format!("{name} ")).collect()
    };
    let all = match (command.map(|entry| entry.command), is_first) {
        (Some(Command::Tools), true) => spaced(&["list", "enable", "disable", "info", "tokens", "budget"]),
        (Some(Command::Tools), false) => match rest[0] {
            "enable" => tools(Some(false)),
            "disable" => tools(Some(true)),
            "info" => tools(None),
            _ => Vec::new(),
        },
        (Some(Command::Model), true) => names.models.clone(),
        (Some(Command::Approve), is_first) => {
            let list = if is_first { spaced(&["list"]) } else { Vec::new() };
            list.into_iter().chain(names.waiting.clone()).chain(tools(None)).collect()
        }
        (Some(Command::Deny), _) => names.waiting.iter().cloned().chain(tools(None)).collect(),
        (Some(Command::Resume), true) => names.kept.clone(),
        (Some(Command::Save), true) => paths(word, &names.directory),
        _ => Vec::new(),
    };
    (start, matching(word, all))
}

fn matching(word: &str, all: Vec<String>) -> Vec<String> {
    let word = word.to_ascii_lowercase();
    let mut found: Vec<String> = all
        .into_iter()
        .filter(|one| one.to_ascii_lowercase().starts_with(&word) && !one.chars().any(is_hidden))
        .collect();
    found.truncate(MOST);
    found
}

/// The paths that a path may become, directories with a slash. Hidden files are left out until they are asked for.
fn paths(begun: &str, directory: &Path) -> Vec<String> {
    let (folder, name) = begun.rsplit_once('/').map_or(("", begun), |(folder, name)| (folder, name));
    let shown = if begun.contains('/') { format!("{folder}/") } else { String::new() };
    let Ok(entries) = fs::read_dir(directory.join(&shown)) else { return Vec::new() };
    let mut found: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let is_meant = file.starts_with(name) && (name.starts_with('.') || !file.starts_with('.'));
            // Nothing that a terminal would act on is written to one, and a space would end the word.
            let is_plain = !file.chars().any(|character| is_hidden(character) || character.is_whitespace());
            let end = if entry.path().is_dir() { "/" } else { "" };
            (is_meant && is_plain).then(|| format!("{shown}{file}{end}"))
        })
        .take(MOST)
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Names {
            tools: vec![("bash".to_owned(), true), ("git".to_owned(), false), ("grep".to_owned(), true)],
            models: owned(&["claude-sonnet", "gpt-4o"]),
            waiting: owned(&["AB12CD34"]),
            kept: owned(&["20260101-fox"]),
            directory: PathBuf::new(),
        }
    }

    fn check(before: &str, start: usize, expect: &[&str]) {
        assert_eq!(
            complete(before, &names()),
            (start, expect.iter().map(|&one| one.to_owned()).collect()),
            "{before:?}"
        );
    }

    #[test]
    fn commands_and_their_words_are_completed() {
        check("/to", 0, &["/tools "]);
        check("/x", 0, &[]);
        check("/tools en", 7, &["enable "]);
        check("/tools enable ", 14, &["git "]);
        check("/tools disable g", 15, &["grep "]);
        check("/tools disable bash g", 20, &["grep "]);
        check("/tools info G", 12, &["git ", "grep "]);
        check("/model g", 7, &["gpt-4o"]);
        check("/approve ", 9, &["list ", "AB12CD34", "bash ", "git ", "grep "]);
        check("/deny ab", 6, &["AB12CD34"]);
        check("/resume ", 8, &["20260101-fox"]);
        check("/tools\nen", 7, &[]);
        check("hello g", 6, &[]);
        check("", 0, &[]);
    }

    #[test]
    fn paths_are_completed_after_an_at() {
        let place = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(place.path().join("src/deep")).expect("a directory in it");
        for name in ["src/main.rs", "src/map.rs", "src/.git", "src/a b", "src/m\u{1b}[31m", "sürf"] {
            fs::write(place.path().join(name), "").expect("a file");
        }
        let names = Names { directory: place.path().to_owned(), ..Names::default() };
        let check = |before: &str, start: usize, expect: &[&str]| {
            assert_eq!(
                complete(before, &names),
                (start, expect.iter().map(|&one| one.to_owned()).collect()),
                "{before:?}"
            );
        };
        check("look at @s", 9, &["src/", "sürf"]);
        check("ü @src/m", 4, &["src/main.rs", "src/map.rs"]);
        check("@src/", 1, &["src/deep/", "src/main.rs", "src/map.rs"]);
        check("@src/.", 1, &["src/.git"]);
        check("@nowhere/", 1, &[]);
        check("/save src/ma", 6, &["src/main.rs", "src/map.rs"]);
    }
}
