//! What people say about programs, and which of it a judgement rested on.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::project::{Built, Project, ScriptPath};

/// What somebody says a program does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nature {
    /// They are text and files.
    Text,
    /// They are words that must be plain, such as the names of tasks.
    Plain,
    /// They are a command that it runs.
    Command,
    /// They are code.
    Code,
}

impl Nature {
    /// Every nature with the name it has in a file.
    pub const NAMES: [(&'static str, Self); 4] =
        [("text", Self::Text), ("plain", Self::Plain), ("command", Self::Command), ("code", Self::Code)];

    /// The name it has in a file.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, nature)| *nature == self).map_or("", |(name, _)| name)
    }

    /// The nature of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, nature)| nature)
    }
}

/// What the author of a tool says about programs, with what a file says about them for many tools, and what is known of the project.
///
/// What is said counts before the tables, and the tool's author before the file. What the project has counts behind them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    own: Vec<(String, Nature)>,
    shared: SharedPrograms,
    project: Project,
}

/// What a file says about programs, for many tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SharedPrograms {
    /// There is no file.
    #[default]
    Absent,
    /// It says this.
    Stated(Arc<[(String, Nature)]>),
    /// It is there and cannot be understood. No value is handed to a program that it may be about.
    Broken {
        /// Its text, as far as there is one.
        text: Option<Arc<str>>,
    },
}

impl Programs {
    /// Adds what the author says about a program, over what they said before.
    pub fn insert(&mut self, name: impl Into<String>, nature: Nature) {
        let name = name.into();
        self.own.retain(|(known, _)| *known != name);
        self.own.push((name, nature));
    }

    /// The same, with what a file says.
    #[must_use]
    pub fn with_shared(self, shared: SharedPrograms) -> Self {
        Self { shared, ..self }
    }

    /// The same, for a tool of this project.
    #[must_use]
    pub fn with_project(self, project: Project) -> Self {
        Self { project, ..self }
    }

    /// What is known of the project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// What the file says.
    pub fn shared(&self) -> &SharedPrograms {
        &self.shared
    }

    /// Every program of which the author says something, with its nature.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Nature)> {
        self.own.iter().map(|(name, nature)| (name.as_str(), *nature))
    }
}

/// What is said about the program of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// This.
    Nature(Nature),
    /// Nothing.
    Nothing,
    /// The file that may say something cannot be understood.
    Withheld,
}

/// What answers about programs rested on that stands outside of the tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grounds {
    /// The statements that were made for many tools, by name.
    pub stated: BTreeMap<String, Nature>,
    /// The programs that the project builds, with the file that says so.
    pub built: BTreeMap<String, String>,
    /// The scripts of the project that were asked for, whether they are there or not.
    pub scripts: BTreeSet<ScriptPath>,
}

impl Grounds {
    /// Adds what other answers rested on.
    pub fn extend(&mut self, other: Self) {
        self.stated.extend(other.stated);
        self.built.extend(other.built);
        self.scripts.extend(other.scripts);
    }
}

/// Answers what is said about programs, and remembers what it answered from outside of the tool.
#[derive(Debug)]
pub(crate) struct Statements<'a> {
    programs: &'a Programs,
    grounds: RefCell<Grounds>,
}

impl<'a> Statements<'a> {
    pub(crate) fn new(programs: &'a Programs) -> Self {
        Self { programs, grounds: RefCell::default() }
    }

    /// What the answers rested on.
    pub(crate) fn into_grounds(self) -> Grounds {
        self.grounds.into_inner()
    }

    /// Whether the project builds a program of this name.
    pub(super) fn is_built(&self, name: &str) -> bool {
        self.built(name).is_some()
    }

    fn built(&self, name: &str) -> Option<&'a Built> {
        let name = without_version(name);
        self.programs.project().built().iter().find(|built| built.name == name)
    }

    /// Notes that an answer rested on the project's building this program.
    pub(super) fn note_built(&self, name: &str) {
        if let Some(built) = self.built(name) {
            self.grounds.borrow_mut().built.insert(built.name.clone(), built.manifest.clone());
        }
    }

    /// The file that says that the project builds this program, when an answer rested on that.
    pub(crate) fn manifest(&self, program: &str) -> Option<String> {
        self.grounds.borrow().built.get(without_version(program)).cloned()
    }

    /// The text of a script that a command reads: one of the project, or one that it names relative to where it works.
    pub(crate) fn script(&self, path: &str, is_of_project: bool) -> Option<(ScriptPath, Arc<str>)> {
        let project = self.programs.project();
        if !project.has_scripts() {
            return None;
        }
        let path = if is_of_project { ScriptPath::OfProject(path.to_owned()) } else { project.beside(path)? };
        self.grounds.borrow_mut().scripts.insert(path.clone());
        let text = project.script(&path)?;
        Some((path, text))
    }

    /// What is said about a program that goes by any of these names, the first one first. `is_known` tells whether without a
    /// statement something else says what the program does.
    pub(crate) fn about(&self, names: &[&str], is_known: impl FnOnce() -> bool) -> Said {
        let among = |statements: &[(String, Nature)]| {
            names.iter().find_map(|name| statements.iter().find(|(known, _)| known == name).cloned())
        };
        if let Some((_, nature)) = among(&self.programs.own) {
            return Said::Nature(nature);
        }
        match &self.programs.shared {
            SharedPrograms::Absent => Said::Nothing,
            SharedPrograms::Stated(statements) => match among(statements) {
                Some((name, nature)) => {
                    self.grounds.borrow_mut().stated.insert(name, nature);
                    Said::Nature(nature)
                }
                None => Said::Nothing,
            },
            SharedPrograms::Broken { text } => {
                let may_be_about = |text: &str| names.iter().any(|name| may_name(text, name));
                match text.as_deref() {
                    Some(text) if is_known() && !may_be_about(text) => Said::Nothing,
                    _ => Said::Withheld,
                }
            }
        }
    }
}

/// The name of a program: what runs those of packages takes a version behind it.
fn without_version(name: &str) -> &str {
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// Whether a text that is nearly YAML may have this name in it. An escape can spell any.
fn may_name(text: &str, name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_.+-@/".contains(c);
    if text.contains('\\') || !name.chars().all(is_of_name) {
        return true;
    }
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + name.len()..].chars().next();
        !before.is_some_and(is_of_name) && !behind.is_some_and(is_of_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(programs: &Programs, names: &[&str], is_known: bool, expect: Said, used: &[&str]) {
        let statements = Statements::new(programs);
        assert_eq!(statements.about(names, || is_known), expect);
        let of_file: Vec<String> = statements.into_grounds().stated.into_keys().collect();
        assert_eq!(of_file, used);
    }

    #[test]
    fn the_author_counts_before_the_file() {
        let shared = [("./bin/fossa".to_owned(), Nature::Code), ("other".to_owned(), Nature::Plain)];
        let mut programs = Programs::default().with_shared(SharedPrograms::Stated(shared.into()));
        check(&programs, &["./bin/fossa", "fossa"], true, Said::Nature(Nature::Code), &["./bin/fossa"]);
        programs.insert("fossa", Nature::Text);
        check(&programs, &["./bin/fossa", "fossa"], true, Said::Nature(Nature::Text), &[]);
        check(&programs, &["other"], true, Said::Nature(Nature::Plain), &["other"]);
        check(&programs, &["fossa2"], false, Said::Nothing, &[]);
    }

    #[test]
    fn what_a_broken_file_may_be_about_is_withheld() {
        let text = "fossa: [\n'git': code\n./scripts/run: code\nhello-world: text\n";
        let mut programs = Programs::default().with_shared(SharedPrograms::Broken { text: Some(text.into()) });
        let check = |programs: &Programs, name, is_known, expect| check(programs, &[name], is_known, expect, &[]);
        check(&programs, "fossa", true, Said::Withheld);
        check(&programs, "git", true, Said::Withheld);
        check(&programs, "./scripts/run", true, Said::Withheld);
        check(&programs, "curl", true, Said::Nothing);
        check(&programs, "hello", true, Said::Nothing);
        check(&programs, "world", true, Said::Nothing);
        check(&programs, "unheard", false, Said::Withheld);
        programs.insert("git", Nature::Text);
        check(&programs, "git", true, Said::Nature(Nature::Text));
        let unreadable = Programs::default().with_shared(SharedPrograms::Broken { text: None });
        check(&unreadable, "curl", true, Said::Withheld);
        let escaped = SharedPrograms::Broken { text: Some("\"\\x63url\": [".into()) };
        check(&Programs::default().with_shared(escaped), "curl", true, Said::Withheld);
    }
}
