//! What a person is shown who is to trust a tool.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use cycod_catalog::{Scope, State};
use cycod_definition::{Body, Level, Proof, Tool, looks_like, mixes_scripts, verdicts_by_parameter};
use cycod_plan::{Library, effective_level};
use cycod_policy::Standing;
use serde_json::Value as Json;

use super::{
    Difference, TrustSubject,
    display::{line, plain, shown},
};
use crate::Engine;

/// The most characters of a text that only tells something.
const PROSE: usize = 200;

/// How many suspicious words are named.
const MOST_WORDS: usize = 8;

/// Keys that only tell something; they come first, and are cut.
const TELLS: [&str; 8] = ["name", "title", "description", "group", "version", "metadata", "changelog", "deprecated"];

/// Keys that say what is run; they come last and in this order, where the question is.
const RUNS: [&str; 21] = [
    "environment",
    "file-paths",
    "resources",
    "shell",
    "shell-options",
    "input",
    "type",
    "base-tool",
    "default-parameters",
    "use-tool",
    "tool",
    "with",
    "bash",
    "cmd",
    "pwsh",
    "run",
    "python",
    "script",
    "commands",
    "steps",
    "handler",
];

/// What is shown of a tool that is to be trusted.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// All that it does, and how it stands.
    pub text: String,
    /// What is different since it was trusted.
    pub difference: Option<Difference>,
}

/// Whether a document names an address in a network.
fn names_address(document: &Json) -> bool {
    match document {
        Json::String(text) => text.contains("://"),
        Json::Array(items) => items.iter().any(names_address),
        Json::Object(entries) => {
            entries.iter().any(|(key, value)| !TELLS.contains(&key.as_str()) && key != "tests" && names_address(value))
        }
        _ => false,
    }
}

impl Engine {
    /// The level of a tool with those that it reaches, and whether it says that it reaches the network: by a permission, a
    /// hint, an address in what it runs, or because another program's server carries it out.
    pub fn told_reach(&self, subject: &TrustSubject) -> (Level, bool) {
        let reaches = |tool: &Tool| {
            matches!(tool.body, Body::Remote(_))
                || tool.hints.open_world == Some(true)
                || tool.security.permissions.iter().any(|one| one.source.starts_with("network:external"))
                || names_address(&tool.origin.document)
        };
        let is_reaching =
            std::iter::once(&subject.tool).chain(subject.used.values().flatten()).any(|tool| reaches(tool));
        (self.level(&subject.tool), is_reaching)
    }

    /// Shows all that a tool does, and what to beware of, with nothing in it that a terminal would act on or hide.
    ///
    /// Every line of the author's is indented, so none can be taken for one of ours; what is run is shown in full, last.
    pub fn exhibit(&self, subject: &TrustSubject) -> Exhibit {
        let host = self.host();
        let mut text = self.described(&subject.tool);
        let programs: Vec<String> = subject.fingerprint.programs().map(|(path, _)| line(path)).collect();
        if !programs.is_empty() {
            let _ = writeln!(text, "programs of this project that it starts or names: {}", programs.join(", "));
        }
        for what in subject.fingerprint.unpinned() {
            let _ = writeln!(text, "cannot be pinned: {}", line(what));
        }
        for warning in self.warnings(subject) {
            let _ = writeln!(text, "beware: {warning}");
        }
        let (name, path) = (subject.name(), shown(subject.path(), host));
        let difference = self.difference(subject);
        let _ = match (subject.standing, &difference) {
            (Standing::Trusted, _) => writeln!(text, "`{name}` ({path}) is trusted"),
            (_, None) => {
                writeln!(text, "`{name}` ({path}) is defined in this project, and you have not trusted it yet")
            }
            (_, Some(_)) => writeln!(text, "`{name}` ({path}) has changed since you trusted it:"),
        };
        Exhibit { text, difference }
    }

    /// Shows all that a tool and those it reaches say, as [`Engine::exhibit`] does.
    pub fn described(&self, tool: &Tool) -> String {
        let mut text = String::new();
        for (name, used) in self.reached(tool) {
            match used {
                Some(used) => self.describe(&mut text, "it uses ", &used),
                None => _ = writeln!(text, "it uses {}, which is not here", line(&name)),
            }
        }
        self.describe(&mut text, "", tool);
        text
    }

    /// What is suspicious about a tool: what could make it be taken for another one, or for less than it is.
    pub fn warnings(&self, subject: &TrustSubject) -> Vec<String> {
        let mut warnings = Vec::new();
        let (name, key) = (subject.name(), subject.tool.name.key());
        for entry in self.catalog().entries() {
            let path = || shown(&entry.path, self.host());
            if entry.name.eq_ignore_ascii_case(name) {
                if entry.scope != Scope::Local && matches!(entry.state, State::Shadowed { .. }) {
                    warnings.push(format!("it takes the place of the {} tool `{name}`: {}", entry.scope, path()));
                }
            } else if looks_like(&entry.name, &key) {
                warnings.push(format!(
                    "its name looks like `{}`, which is another tool: {}",
                    line(&entry.name),
                    path()
                ));
            }
        }
        let tools = || std::iter::once(&subject.tool).chain(subject.used.values().flatten());
        let level = self.level(&subject.tool);
        let claims = |tool: &Tool| {
            tool.hints.read_only == Some(true) || tool.tags.iter().any(|tag| tag.eq_ignore_ascii_case("read"))
        };
        if level > Level::Read && claims(&subject.tool) {
            warnings.push(format!("it claims to only read, but its level is {level}"));
        }
        for tool in tools() {
            warnings.extend(
                tool.ignored.iter().map(|ignored| format!("in the file of `{}`, {}", tool.name, line(ignored))),
            );
        }
        let mut words = BTreeSet::new();
        for tool in tools() {
            suspicious(&tool.origin.document, &mut words);
        }
        let more = words.len().saturating_sub(MOST_WORDS);
        warnings.extend(words.into_iter().take(MOST_WORDS).map(|word| {
            format!("the word `{}` has letters that look like others: {}", line(&word), word.escape_unicode_letters())
        }));
        if more > 0 {
            warnings.push(format!("{more} more words have letters that look like others"));
        }
        warnings
    }

    fn describe(&self, text: &mut String, how: &str, tool: &Tool) {
        let host = self.host();
        let place = match (&tool.origin.file, &tool.body) {
            (Some(file), _) => format!(": {}", shown(file, host)),
            (None, Body::Remote(remote)) => format!(": tool of the MCP server {}", line(&remote.server)),
            (None, _) => String::new(),
        };
        let reach = if tool.security.permissions.is_empty() { ", with all your rights" } else { "" };
        let _ = writeln!(text, "{how}{} (level {}{reach}){place}", line(tool.name.as_str()), self.level(tool));
        if let Some(file) = &tool.stated.file
            && !tool.stated.natures.is_empty()
        {
            let natures: Vec<String> =
                tool.stated.natures.iter().map(|(name, nature)| format!("{name}: {}", nature.name())).collect();
            let file = shown(Path::new(&file.source.name), host);
            let _ = writeln!(text, "stated in {file}: {}", line(&natures.join(", ")));
        }
        for (name, verdict) in verdicts_by_parameter(tool) {
            if verdict.proof != Proof::Free {
                let _ = writeln!(text, "value of {}: {}", line(name), line(&verdict.describe()));
            }
        }
        let Json::Object(document) = &*tool.origin.document else { return };
        let rank = |key: &str| match RUNS.iter().position(|one| *one == key) {
            Some(place) => 2 + place,
            None => usize::from(!TELLS.contains(&key)),
        };
        let mut entries: Vec<_> = document.iter().collect();
        entries.sort_by_key(|(key, _)| rank(key));
        for (key, value) in entries {
            write_entry(text, [INDENT; 2], key, value, rank(key) == 0);
        }
    }

    fn level(&self, tool: &Tool) -> Level {
        // What cannot be told may do anything.
        let library = Library::collect(tool, &|name| self.tool(name).ok());
        library.map_or(Level::Run, |library| effective_level(tool, &library))
    }
}

/// How much deeper the lines of a value stand than its key.
const INDENT: &str = "    ";

/// Writes a key with its value, after what stands before its first line and before the others; a text of several lines as a
/// block, each line marked.
fn write_entry(text: &mut String, [first, indent]: [&str; 2], key: &str, value: &Json, is_prose: bool) {
    let deeper = format!("{indent}{INDENT}");
    let is_prose = is_prose || matches!(key, "description" | "detailed-help" | "examples");
    let _ = match value {
        // A number or the like, as its author spells it.
        Json::Object(entries) if entries.len() == 1 && entries.get("written").is_some_and(Json::is_string) => {
            writeln!(text, "{first}{}: {}", line(key), line(entries["written"].as_str().unwrap_or_default()))
        }
        Json::Object(entries) if !entries.is_empty() => {
            let _ = writeln!(text, "{first}{}:", line(key));
            entries.iter().for_each(|(key, value)| write_entry(text, [&deeper; 2], key, value, is_prose));
            Ok(())
        }
        Json::Array(items) if items.iter().any(|item| item.is_object() || is_block(item)) => {
            let _ = writeln!(text, "{first}{}:", line(key));
            let dash = format!("{indent}  - ");
            for item in items {
                match item {
                    Json::Object(entries) if !entries.is_empty() => {
                        for (at, (key, value)) in entries.iter().enumerate() {
                            let first = if at == 0 { &dash } else { &deeper };
                            write_entry(text, [first, &deeper], key, value, is_prose);
                        }
                    }
                    item => write_entry(text, [&deeper; 2], "-", item, is_prose),
                }
            }
            Ok(())
        }
        Json::String(block) if is_block(value) && !is_prose => {
            let _ = writeln!(text, "{first}{}:", line(key));
            block.lines().try_for_each(|one| writeln!(text, "{indent}    | {}", plain(one)))
        }
        Json::String(word) => {
            writeln!(text, "{first}{}: {}", line(key), if is_prose { cut(word) } else { line(word) })
        }
        other => {
            let whole = other.to_string();
            writeln!(text, "{first}{}: {}", line(key), if is_prose { cut(&whole) } else { line(&whole) })
        }
    };
}

fn is_block(value: &Json) -> bool {
    value.as_str().is_some_and(|text| text.trim_end().contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']))
}

/// Adds the words of a document in which letters of several scripts stand together.
fn suspicious(document: &Json, words: &mut BTreeSet<String>) {
    let mut add = |text: &str| {
        let apart = text.split(|c: char| !(c.is_alphanumeric() || "._-".contains(c)));
        words.extend(apart.filter(|word| mixes_scripts(word)).map(str::to_owned));
    };
    match document {
        Json::String(text) => add(text),
        Json::Array(items) => items.iter().for_each(|item| suspicious(item, words)),
        Json::Object(entries) => {
            for (key, value) in entries {
                let mut key_words = BTreeSet::new();
                suspicious(&Json::String(key.clone()), &mut key_words);
                words.append(&mut key_words);
                suspicious(value, words);
            }
        }
        _ => {}
    }
}

trait Letters {
    fn escape_unicode_letters(&self) -> String;
}

impl Letters for String {
    /// The letters beyond ASCII, as escapes.
    fn escape_unicode_letters(&self) -> String {
        self.chars().map(|c| if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() }).collect()
    }
}

/// A text on one line, the beginning of it.
fn cut(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(PROSE) {
        Some((end, _)) => format!("{} […{} more characters]", line(&joined[..end]), joined[end..].chars().count()),
        None => line(&joined),
    }
}
