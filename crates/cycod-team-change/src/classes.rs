//! How a file of a release changes, by meaning.

use std::collections::{BTreeMap, BTreeSet};

use cycod_definition::{Isolation, Level, Tool, function_schema, level, load};
use cycod_diagnostic::SourceFile;
use cycod_team::ChangeClass;
use serde_json::Value;

use crate::content::{has_wrong_rules, is_tool, rules};

/// A change with its class.
#[derive(Clone, Debug)]
pub struct FileChange {
    /// What kind of change it is.
    pub class: ChangeClass,
    /// In words.
    pub text: String,
}

impl FileChange {
    fn new(class: ChangeClass, text: impl Into<String>) -> Self {
        Self { class, text: text.into() }
    }
}

/// How a file changes that has this path: `tools/…`, or the name of a file next to that directory.
pub fn of_file(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<FileChange> {
    let Some(tool) = path.strip_prefix("tools/") else { return of_part(path, old, new) };
    let (before, after) = (loaded(tool, old), loaded(tool, new));
    match (old, new) {
        (_, None) => vec![FileChange::new(ChangeClass::Removed, "removed")],
        (None, Some(_)) => {
            let level = after.as_ref().map(level_of).filter(|level| *level > Level::Read);
            let higher = level.map(|level| FileChange::new(ChangeClass::HigherLevel, format!("level {level}")));
            [FileChange::new(ChangeClass::New, "new")].into_iter().chain(higher).collect()
        }
        _ => match (before, after) {
            (Some(old), Some(new)) => classes(&old, &new),
            // One that can't be read is no tool, so nothing is known of what it was.
            (None, Some(new)) if level_of(&new) > Level::Read => {
                let level = format!("level {}", level_of(&new));
                vec![
                    FileChange::new(ChangeClass::HigherLevel, level),
                    FileChange::new(ChangeClass::File, "another file"),
                ]
            }
            _ => vec![FileChange::new(ChangeClass::File, "another file")],
        },
    }
}

/// How the rules, servers, settings or programs change.
fn of_part(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<FileChange> {
    let class = match path {
        "policy.yaml" => ChangeClass::Rules,
        "mcp.json" => ChangeClass::Servers,
        "config.yaml" => ChangeClass::Settings,
        _ => ChangeClass::Programs,
    };
    if class == ChangeClass::Rules {
        let (old, new) = (rules(old), rules(new));
        let added = new.iter().filter(|rule| !old.contains(rule)).map(|rule| format!("now `{rule}`"));
        let removed = old.iter().filter(|rule| !new.contains(rule)).map(|rule| format!("no longer `{rule}`"));
        let changes: Vec<FileChange> = added.chain(removed).map(|text| FileChange::new(class, text)).collect();
        if !changes.is_empty() {
            return changes;
        }
    }
    let text = match (old, new) {
        (None, _) => "new",
        (_, None) => "removed",
        _ => "another file",
    };
    vec![FileChange::new(class, text)]
}

fn level_of(tool: &Tool) -> Level {
    level(tool, &|_| Some(Level::Read))
}

fn loaded(path: &str, bytes: Option<&[u8]>) -> Option<Tool> {
    let bytes = bytes.filter(|bytes| is_tool(path, bytes))?;
    let text = String::from_utf8_lossy(bytes).into_owned();
    load(&SourceFile::new(path, text), path.rsplit_once('.').map(|(stem, _)| stem)).tool
}

/// Whether a file has an error by which it would be broken for everyone: a tool that can't be read, or rules.
pub fn is_broken(path: &str, bytes: &[u8]) -> bool {
    match path.strip_prefix("tools/") {
        Some(tool) => is_tool(tool, bytes) && loaded(tool, Some(bytes)).is_none(),
        None => path == "policy.yaml" && has_wrong_rules(bytes),
    }
}

/// The keys of a tool that have classes of their own.
const SHOWN: [&str; 7] = ["name", "title", "description", "parameters", "security", "tags", "tests"];

/// How the reach of a tool changes.
fn of_reach(old: &Tool, new: &Tool) -> Vec<FileChange> {
    let mut classes = Vec::new();
    let levels = [old, new].map(level_of);
    if levels[0] != levels[1] {
        let (class, how) = match levels[1] > levels[0] {
            true => (ChangeClass::HigherLevel, "higher"),
            false => (ChangeClass::LowerLevel, "lower"),
        };
        classes.push(FileChange::new(class, format!("{how} level: {}, was {}", levels[1], levels[0])));
    }
    let permissions = |tool: &Tool| -> BTreeSet<String> {
        tool.security.permissions.iter().map(|permission| permission.source.clone()).collect()
    };
    let (before, after) = (permissions(old), permissions(new));
    if after.is_empty() && !before.is_empty() {
        let text = "wider reach: no permissions any more, so everything";
        classes.push(FileChange::new(ChangeClass::WiderReach, text));
    } else if before.is_empty() && !after.is_empty() {
        classes.push(FileChange::new(ChangeClass::NarrowerReach, "narrower reach: permissions"));
    } else {
        let wider = |permission| FileChange::new(ChangeClass::WiderReach, format!("wider reach: {permission}"));
        let narrower =
            |permission| FileChange::new(ChangeClass::NarrowerReach, format!("narrower reach: no {permission}"));
        let (added, removed) = (after.difference(&before).map(wider), before.difference(&after).map(narrower));
        classes.extend(added.chain(removed));
    }
    let strength = |tool: &Tool| match tool.security.isolation {
        Isolation::None => 0,
        Isolation::Process => 1,
        Isolation::Container => 2,
    };
    if strength(old) != strength(new) {
        let (class, how) = match strength(new) < strength(old) {
            true => (ChangeClass::WeakerIsolation, "weaker"),
            false => (ChangeClass::StrongerIsolation, "stronger"),
        };
        classes.push(FileChange::new(class, format!("{how} isolation")));
    }
    if old.security.privilege != new.security.privilege {
        classes.push(FileChange::new(ChangeClass::Privileges, "other privileges"));
    }
    classes
}

/// How a tool changes, the gravest first.
fn classes(old: &Tool, new: &Tool) -> Vec<FileChange> {
    let mut classes = of_reach(old, new);
    let part = |tool: &Tool, key: &str| tool.origin.document[key].clone();
    let rest = |tool: &Tool| -> BTreeMap<String, Value> {
        let parts = tool.origin.document.as_object().into_iter().flatten();
        let others = parts.filter(|(key, _)| !SHOWN.contains(&key.as_str()));
        others.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    if rest(old) != rest(new) {
        classes.push(FileChange::new(ChangeClass::Commands, "other commands"));
    }
    let (told_before, told_now) = (function_schema(old), function_schema(new));
    if old.description != new.description || old.title != new.title {
        classes.push(FileChange::new(ChangeClass::Description, "other description"));
    }
    if told_before["parameters"] != told_now["parameters"] {
        classes.push(FileChange::new(ChangeClass::Parameters, "other parameters"));
    }
    if new.tests.len() < old.tests.len() {
        let text = format!("fewer tests: {}, was {}", new.tests.len(), old.tests.len());
        classes.push(FileChange::new(ChangeClass::FewerTests, text));
    } else if part(old, "tests") != part(new, "tests") {
        classes.push(FileChange::new(ChangeClass::Tests, "other tests"));
    }
    if classes.is_empty() {
        classes.push(FileChange::new(ChangeClass::File, "another file"));
    }
    classes
}
