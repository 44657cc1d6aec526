//! The rules of what may run: `policy.yaml` beside the tools of each scope, and two variables of the environment.
//!
//! A mistake anywhere is a flaw of the whole policy, because a rule that cannot be read may be the one that denies.

mod edit;
mod example;
mod read;

use std::{cell::LazyCell, fs, ops::Deref, path::PathBuf, time::SystemTime};

use cycod_catalog::{DirectoryStyle, Scope, Scopes, TeamPlace, TeamRelease};
use cycod_definition::Host;
use cycod_diagnostic::{LineStarts, Severity, SourceFile, SourceReport, Span, most_important};
use cycod_file::Look;
use cycod_policy::{Allowlist, Flaw, Floor, Layer, Origin, Pattern, Policy, Rule, Verdict};
use serde_json::json;

use crate::{Consents, FileError, file, looked::Looked};

pub use edit::{NewRule, add, remove};

/// What a file of rules is called.
const NAME: &str = "policy.yaml";

/// What one would take for a file of rules, and is not.
const MISTAKEN: [&str; 2] = ["policy.yml", "policy.json"];

/// The variables that hold rules.
const VARIABLES: [(&str, Verdict); 2] = [("CYCOD_AUTO_APPROVE", Verdict::Allow), ("CYCOD_AUTO_DENY", Verdict::Deny)];

/// Every rule that is written down for this place.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The files that are there, from the broadest scope to the narrowest.
    pub files: Vec<RuleFile>,
    variables: Vec<Rule>,
    flaws: Vec<Flaw>,
    /// Everything that was looked at, as it was then.
    looked: Looked,
    /// When a release expires next.
    until: Option<SystemTime>,
}

/// A file of rules.
#[derive(Clone, Debug)]
pub struct RuleFile {
    /// Whose it is.
    pub scope: Scope,
    /// Where it is.
    pub path: PathBuf,
    /// What is wrong with it.
    pub report: SourceReport,
    /// What it says.
    pub rules: Vec<FileRule>,
    /// What alone it allows.
    pub lists: Vec<Allowlist>,
    /// The least that it asks of every call.
    pub floors: Vec<Floor>,
}

/// A rule of a file.
#[derive(Clone, Debug)]
pub struct FileRule {
    /// The rule.
    pub rule: Rule,
    /// Where its pattern stands.
    pub span: Span,
    /// Its line.
    pub line: usize,
    /// Whether it counts: what a project's file allows must have been written or agreed to by this machine's user.
    pub counts: bool,
    /// The key and the place in its list.
    pub(crate) at: (String, Option<usize>),
    digest: String,
}

impl Rules {
    /// Reads the rules of every scope and of the environment.
    pub fn load(scopes: &Scopes, host: &Host) -> Self {
        Self::load_in(scopes, host, &Look::default())
    }

    /// The same, as part of a look at more.
    pub fn load_in(scopes: &Scopes, host: &Host, look: &Look) -> Self {
        let mut rules = Self {
            files: Vec::new(),
            variables: Vec::new(),
            flaws: Vec::new(),
            looked: Looked::default(),
            until: None,
        };
        rules.looked.see(&Consents::path_of(scopes, "policy"), look);
        let consents = LazyCell::new(|| Consents::of_rules(scopes));
        for directory in scopes.with_rules().filter(|directory| directory.style == DirectoryStyle::Cycod).rev() {
            let Some(beside) = directory.path.parent() else { continue };
            let release = match directory.team.as_ref().map(|team| rules.release(&team.0, look)) {
                Some(None) => continue,
                release => release.flatten(),
            };
            for name in MISTAKEN {
                let path = beside.join(name);
                if rules.looked.see(&path, look) {
                    let message = format!("this file is not read: call it {NAME}");
                    rules.flaws.push(Flaw { place: file::shown(&path, host), message });
                }
            }
            let path = beside.join(NAME);
            let text = rules.looked.read(&path, look);
            match RuleFile::read(directory.scope, path, text, (host, release.as_ref()), &consents) {
                Ok(Some(mut file)) => {
                    // What a team allows, it allows until its release expires; what it denies stays denied.
                    let is_over = release.is_some_and(|release| release.is_over(SystemTime::now()));
                    for rule in file.rules.iter_mut().filter(|rule| is_over && rule.rule.verdict == Verdict::Allow) {
                        rule.counts = false;
                    }
                    rules.flaws.extend(file.flaw());
                    rules.files.push(file);
                }
                Ok(None) => {}
                Err(flaw) => rules.flaws.push(flaw),
            }
        }
        for (name, verdict) in VARIABLES {
            let Some(value) = host.environment.get(std::ffi::OsStr::new(name)) else { continue };
            let origin = || Origin::new(Layer::Environment, name);
            match value.to_str() {
                Some(list) => {
                    for text in Pattern::split(list) {
                        match Pattern::parse(text) {
                            Ok(pattern) => rules.variables.push(Rule::new(verdict, pattern, origin())),
                            Err(error) => {
                                let message = format!("`{text}`: {error}; {}", error.help);
                                rules.flaws.push(Flaw { place: name.to_owned(), message });
                            }
                        }
                    }
                }
                None => rules.flaws.push(Flaw { place: name.to_owned(), message: "this is not UTF-8".to_owned() }),
            }
        }
        rules
    }

    /// Whether nothing that was read has changed since.
    pub fn are_current(&self) -> bool {
        self.are_current_in(&Look::default())
    }

    /// The same, as far as a look at more tells.
    pub fn are_current_in(&self, look: &Look) -> bool {
        self.until.is_none_or(|until| SystemTime::now() < until) && self.looked.is_current(look)
    }

    /// The release of a team whose rules are read. When it can't be told, nothing runs.
    fn release(&mut self, place: &TeamPlace, look: &Look) -> Option<TeamRelease> {
        for file in [place.member(), place.about()] {
            self.looked.see(&file, look);
        }
        match place.release() {
            Ok(release) => {
                if !release.is_over(SystemTime::now()) {
                    self.until = Some(self.until.map_or(release.end(), |until| until.min(release.end())));
                }
                Some(release)
            }
            Err(error) => {
                let message = error.to_string();
                self.flaws.push(Flaw { place: place.directory.display().to_string(), message });
                None
            }
        }
    }

    /// The policy that they make together with others.
    pub fn policy(&self, others: &[Rule]) -> Policy {
        let of_files = self.files.iter().flat_map(|file| &file.rules).filter(|rule| rule.counts).map(|rule| &rule.rule);
        let lists = self.files.iter().flat_map(|file| &file.lists).cloned().collect();
        let floors = self.files.iter().flat_map(|file| &file.floors).cloned().collect();
        let rules = of_files.chain(&self.variables).chain(others).cloned().collect();
        Policy::new(rules, self.flaws.clone()).limited_to(lists).above(floors)
    }

    /// Why they decide nothing.
    pub fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }

    /// The rules that do not count because nobody agreed to them.
    pub fn waiting(&self) -> impl Iterator<Item = (&RuleFile, &FileRule)> {
        self.files
            .iter()
            .flat_map(|file| file.rules.iter().map(move |rule| (file, rule)))
            .filter(|(file, rule)| file.scope == Scope::Local && !rule.counts)
    }

    /// Agrees to rules that wait, as they are.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn accept<'a>(
        scopes: &Scopes,
        rules: impl IntoIterator<Item = (&'a RuleFile, &'a FileRule)>,
    ) -> Result<(), FileError> {
        let record = |(file, rule): (&RuleFile, &FileRule)| {
            let said = format!("{} {}", rule.rule.verdict, rule.rule.pattern);
            (rule.digest.clone(), json!({"rule": said, "file": file.path.to_string_lossy()}))
        };
        Consents::of_rules(scopes).remember(rules.into_iter().map(record))
    }
}

impl RuleFile {
    /// Reads the file of a scope, if there is one.
    fn read(
        scope: Scope,
        path: PathBuf,
        text: Result<Option<String>, FileError>,
        (host, release): (&Host, Option<&TeamRelease>),
        consents: &impl Deref<Target = Consents>,
    ) -> Result<Option<Self>, Flaw> {
        let name = match release {
            Some(release) => format!("{}, {NAME}", release.name()),
            None => file::shown(&path, host),
        };
        let text = match text {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            Err(FileError::Wrong { at, message, .. }) => {
                return Err(Flaw { place: format!("{name}:{}:{}", at.line, at.column), message });
            }
            Err(error) => return Err(Flaw { place: name, message: error.to_string() }),
        };
        let mut file = Self::of(scope, path, SourceFile::new(name, text));
        for rule in &mut file.rules {
            rule.rule.origin.ask = release.map(TeamRelease::whom_to_ask);
            rule.counts = scope != Scope::Local || rule.rule.verdict != Verdict::Allow || consents.has(&rule.digest);
        }
        let limits = file.lists.iter_mut().map(|list| &mut list.origin);
        for origin in limits.chain(file.floors.iter_mut().map(|floor| &mut floor.origin)) {
            origin.ask = release.map(TeamRelease::whom_to_ask);
        }
        Ok(Some(file))
    }

    /// Reads the text of a file, all of whose rules count.
    pub fn of(scope: Scope, path: PathBuf, source: SourceFile) -> Self {
        let layer = match scope {
            Scope::Local | Scope::Mcp | Scope::BuiltIn => Layer::Local,
            Scope::Team => Layer::Team,
            Scope::User => Layer::User,
            Scope::Global => Layer::Global,
        };
        let read::Read { found: rules, lists, floors, diagnostics } = read::rules(&source, layer);
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let lines = LineStarts::of(&source.text);
        let rules = rules.into_iter().map(|read::Found { rule, span, at }| {
            let line = lines.position(span.start).line;
            let about = format!("{}\0{} {}\0{:?}", real.display(), rule.verdict, rule.pattern, rule.surfaces.names());
            FileRule { rule, span, line, counts: true, at, digest: cycod_definition::digest(&about) }
        });
        Self {
            scope,
            path,
            rules: rules.collect(),
            lists,
            floors,
            report: SourceReport { source, diagnostics: most_important(diagnostics) },
        }
    }

    /// The first mistake in it.
    fn flaw(&self) -> Option<Flaw> {
        let mistake = self.report.diagnostics.iter().find(|found| found.severity == Severity::Error)?;
        let at = self.report.source.position(mistake.span().unwrap_or_default().start);
        let place = format!("{}:{}:{}", self.report.source.name, at.line, at.column);
        Some(Flaw { place, message: mistake.message.clone() })
    }
}

/// The file of a scope's rules, whether it is there or not.
pub fn path(scopes: &Scopes, scope: Scope) -> PathBuf {
    scopes.written(scope).with_file_name(NAME)
}
