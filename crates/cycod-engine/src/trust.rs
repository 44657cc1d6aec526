//! Which tools of a project the person at this machine trusts.
//!
//! A tool that came with a project says what it says; that it may run is for the person to say, once, having seen what it
//! does. What they saw is kept as a [`Fingerprint`], and a tool that is another one since is not trusted any more.
//! Tools of the user and of the machine are trusted, and so are those of the project that a command of ours wrote.
//!
//! A file of a project cannot grant anything: what is trusted stands in the user's own directory, in directories that the
//! user's environment names, or in a file outside of the project that it names.

mod codes;
mod exhibit;
mod fingerprint;
mod programs;
mod team;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map},
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use cycod_catalog::{Entry, Scope, State};
use cycod_definition::Tool;
use cycod_diagnostic::Refusal;
use cycod_plan::Plan;
use cycod_policy::{Approved, Decision, Standing};
use cycod_store::{Digest, Pin, PinKey, Pins, StoreError};

use codes::{CHANGED, UNTRUSTED};
pub use fingerprint::Fingerprint;
pub use team::exported;

use crate::Engine;

/// Directories whose projects are all the user's own, as a list like `PATH`.
pub const TRUSTED_DIRECTORIES: &str = "CYCOD_TRUSTED_DIRECTORIES";

/// A file of digests that are trusted.
pub const TRUST_FILE: &str = "CYCOD_TRUST_FILE";

/// The kind of the pins.
const TOOL: &str = "tool";

/// A tool of the project, as it was looked at: what is shown of it is what becomes trusted.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The tools it reaches; nothing for one that is not there.
    pub used: BTreeMap<String, Option<Arc<Tool>>>,
    /// Everything that decides what it does.
    pub fingerprint: Fingerprint,
    /// Whether it is trusted.
    pub standing: Standing,
    /// What is different from what was trusted, for a person to judge.
    pub difference: Option<String>,
    key: PinKey,
}

impl Subject {
    /// What it is called.
    pub fn name(&self) -> &str {
        self.tool.name.as_str()
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        self.tool.origin.file.as_deref().unwrap_or(Path::new(""))
    }
}

/// What the person trusts, as it was read.
struct Trusted {
    pins: BTreeMap<PinKey, Pin>,
    directories: Vec<PathBuf>,
    team: BTreeMap<String, Digest>,
}

/// Finds the tool that a name leads to.
type Find<'a> = &'a dyn Fn(&str) -> Option<Arc<Tool>>;

/// The digest of everything that decides what a tool does here and now.
pub fn fingerprint(engine: &Engine, tool: &Tool) -> Digest {
    engine.fingerprint(tool).digest()
}

impl Engine {
    /// Everything that decides what a tool does: its definition, the tools it reaches, and the programs of the workspace
    /// that any of them names.
    pub fn fingerprint(&self, tool: &Tool) -> Fingerprint {
        let host = self.host();
        Fingerprint::of(tool, &self.reached(tool), &host.workspace, &host.working_directory)
    }

    /// The fingerprint of what a plan would do, by the very definitions that it holds.
    pub fn fingerprint_of_plan(&self, plan: &Plan) -> Fingerprint {
        let used = reached(&plan.asked, &|name| plan.library.get(name).cloned());
        Fingerprint::of(&plan.asked, &used, &self.host().workspace, &plan.host().working_directory)
    }

    /// The tools of the project that must be trusted before `tool` may run: itself, or those it reaches.
    ///
    /// # Errors
    /// When what is trusted cannot be told.
    pub fn subjects(&self, tool: &Arc<Tool>) -> Result<Vec<Subject>, Refusal> {
        let find = |name: &str| self.tool(name).ok();
        self.subjects_among(tool, &find, &self.host().working_directory)
    }

    /// As [`Engine::subjects`], for a plan, by the very definitions that it holds.
    ///
    /// # Errors
    /// When what is trusted cannot be told.
    pub fn subjects_of(&self, plan: &Plan) -> Result<Vec<Subject>, Refusal> {
        let find = |name: &str| plan.library.get(name).cloned();
        self.subjects_among(&plan.asked, &find, &plan.host().working_directory)
    }

    /// Every tool of the project that can be loaded, shadowed ones left out.
    ///
    /// # Errors
    /// When what is trusted cannot be told.
    pub fn project_tools(&self) -> Result<Vec<Subject>, Refusal> {
        let entries = self.catalog().entries();
        let local = entries.iter().filter(|entry| entry.scope == Scope::Local && entry.is_active());
        let loaded = local.filter_map(|entry| entry.load().ok());
        loaded
            .map(|opened| self.subjects(&Arc::new(opened.tool)))
            .collect::<Result<Vec<_>, _>>()
            .map(|all| all.concat())
    }

    /// How entries of the catalog stand; nothing for one that cannot be used, and for one of an MCP server, which is
    /// accepted in another way.
    ///
    /// Only the files of tools that were trusted once are read.
    ///
    /// # Errors
    /// When what is trusted cannot be told.
    pub fn standings(&self, entries: &[Entry]) -> Result<Vec<Option<Standing>>, Refusal> {
        let mut trusted = None;
        let find = |name: &str| self.tool(name).ok();
        let mut standing = |entry: &Entry| {
            let is_usable = !matches!(entry.state, State::Broken { .. } | State::Duplicate { .. });
            if !is_usable || matches!(entry.scope, Scope::Mcp | Scope::BuiltIn) {
                return Ok(None);
            }
            if entry.scope != Scope::Local && entry.summary.uses.is_empty() {
                return Ok(Some(Standing::Trusted));
            }
            let trusted = match &mut trusted {
                Some(trusted) => trusted,
                none => none.insert(Trusted::read(self)?),
            };
            if entry.scope == Scope::Local
                && let Some(directory) = entry.path.parent().map(in_project)
                && let Some(told) = trusted.without_looking(&directory, &entry.name)
            {
                return Ok(Some(told));
            }
            let Ok(opened) = entry.load() else { return Ok(None) };
            let here = &self.host().working_directory;
            let mut subjects = self.local_among(&Arc::new(opened.tool), &find).into_iter();
            Ok(Some(
                subjects
                    .find_map(|(tool, directory)| {
                        let standing = self.subject(trusted, &tool, &directory, &find, here).standing;
                        (standing != Standing::Trusted).then_some(standing)
                    })
                    .unwrap_or(Standing::Trusted),
            ))
        };
        entries.iter().map(&mut standing).collect()
    }

    /// Trusts tools as they were looked at.
    ///
    /// # Errors
    /// When one cannot be told from a changed one, and when the pins cannot be written.
    pub fn trust<'a>(&self, subjects: impl IntoIterator<Item = &'a Subject>) -> Result<(), Refusal> {
        let subjects: Vec<&Subject> = subjects.into_iter().collect();
        if subjects.is_empty() {
            return Ok(());
        }
        if let Some(why) = subjects.iter().find_map(|subject| subject.fingerprint.incomplete()) {
            return Err(why);
        }
        let workspace = &self.host().workspace;
        let pinned = self.pins().update(|pins| {
            for Subject { key, fingerprint, .. } in subjects {
                let before = pins.get(key).map(|pin| &pin.definition);
                let definition = fingerprint.joined_with(before, workspace);
                pins.insert(key.clone(), Pin::new(definition, now()));
            }
        });
        pinned.map_err(|error| unreadable(&error))
    }

    /// Trusts a tool that the user has just written at `path`, and says whether it is trusted now.
    ///
    /// It is not when it reaches a tool of the project that nobody has looked at.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn trust_written(&self, mut tool: Tool, path: &Path) -> Result<bool, Refusal> {
        tool.origin.file = Some(path.to_owned());
        let tool = Arc::new(tool);
        let reached = self.reached(&tool);
        for used in reached.values().flatten() {
            if self.subjects(used)?.iter().any(|subject| subject.standing != Standing::Trusted) {
                return Ok(false);
            }
        }
        self.trust(&self.subjects(&tool)?)?;
        Ok(true)
    }

    /// Trusts a tool of the project no longer, whether it is still there or not; says whether it was trusted.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn distrust(&self, name: &str) -> Result<bool, Refusal> {
        let keys: Vec<PinKey> = self.local_directories().map(|directory| key(&directory, name)).collect();
        let removed = self.pins().update(|pins| keys.iter().filter(|key| pins.remove(key).is_some()).count());
        removed.map(|count| count > 0).map_err(|error| unreadable(&error))
    }

    /// Trusts no tool of this project any longer, and returns the names of those that were trusted.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn distrust_all(&self) -> Result<Vec<String>, Refusal> {
        let scopes: BTreeSet<String> = self.local_directories().map(|directory| scope_text(&directory)).collect();
        let removed = self.pins().update(|pins| {
            let gone: Vec<PinKey> =
                pins.keys().filter(|key| key.kind == TOOL && scopes.contains(&key.scope)).cloned().collect();
            gone.iter().for_each(|key| drop(pins.remove(key)));
            gone
        });
        removed.map(|keys| keys.into_iter().map(|key| key.name).collect()).map_err(|error| unreadable(&error))
    }

    /// Whether the tool of a plan, with all that it reaches, is known to this machine's user as it is. What cannot be
    /// told is not trusted.
    pub fn standing(&self, plan: &Plan) -> Standing {
        worst(self.subjects_of(plan))
    }

    /// As [`Engine::standing`], for a tool that is not planned.
    pub(crate) fn standing_of_tool(&self, tool: &Arc<Tool>) -> Standing {
        worst(self.subjects(tool))
    }

    /// Looks again at what somebody was asked about: an answer takes its time, in which files can change.
    pub(crate) fn still_trusted(&self, approved: Approved<Plan>) -> Result<Approved<Plan>, Refusal> {
        if self.standing(approved.subject()) == Standing::Trusted {
            return Ok(approved);
        }
        let tool = approved.subject().tool().name.as_str();
        let refusal = Refusal::new(CHANGED, format!("`{tool}` changed while it was asked about")).place(tool);
        Err(with_attempt(refusal, tool))
    }

    /// The decision, with the tool that it is about when it is for want of trust.
    pub(crate) fn with_doubt(&self, plan: &Plan, decision: Decision) -> Decision {
        if !matches!(decision.code, UNTRUSTED | CHANGED) {
            return decision;
        }
        let subjects = match self.subjects_of(plan) {
            Ok(subjects) => subjects,
            Err(refusal) => return Decision { rule: refusal.why, ..decision },
        };
        let Some(doubtful) = subjects.iter().find(|subject| subject.standing != Standing::Trusted) else {
            return decision;
        };
        let name = doubtful.name();
        let rule = match &doubtful.difference {
            Some(difference) => format!("`{name}` came with this project and is not what was trusted:\n{difference}"),
            None => format!("`{name}` came with this project, and nobody has said that it is trusted"),
        };
        Decision { rule, ..decision }
    }

    fn pins(&self) -> Pins {
        Pins::open(&self.catalog().scopes().user_directory().join("trust.json"))
    }

    /// The directories of the project's tools.
    fn local_directories(&self) -> impl Iterator<Item = PathBuf> {
        let local = self.catalog().scopes().directories().iter().filter(|directory| directory.scope == Scope::Local);
        local.map(|directory| in_project(&directory.path))
    }

    /// The directory of a tool of the project; nothing for any other tool.
    fn local_directory(&self, tool: &Tool) -> Option<PathBuf> {
        let parent = tool.origin.file.as_ref()?.parent()?;
        let mut directories = self.catalog().scopes().directories().iter();
        let local = directories.find(|directory| directory.scope == Scope::Local && directory.path == parent)?;
        Some(in_project(&local.path))
    }

    fn reached(&self, tool: &Tool) -> BTreeMap<String, Option<Arc<Tool>>> {
        reached(tool, &|name| self.tool(name).ok())
    }

    fn subjects_among(&self, tool: &Arc<Tool>, find: Find<'_>, here: &Path) -> Result<Vec<Subject>, Refusal> {
        let local = self.local_among(tool, find);
        if local.is_empty() {
            return Ok(Vec::new());
        }
        let trusted = Trusted::read(self)?;
        Ok(local.into_iter().map(|(tool, directory)| self.subject(&trusted, &tool, &directory, find, here)).collect())
    }

    /// `tool`, if it is one of the project, else the first such on every way from it; each with its directory.
    fn local_among(&self, tool: &Arc<Tool>, find: Find<'_>) -> Vec<(Arc<Tool>, PathBuf)> {
        let (mut found, mut seen, mut waiting) = (Vec::new(), BTreeSet::new(), vec![Arc::clone(tool)]);
        while let Some(tool) = waiting.pop() {
            match self.local_directory(&tool) {
                // Who trusts it has seen all that it reaches.
                Some(directory) => found.push((tool, directory)),
                None => {
                    let fresh = tool.uses().into_iter().filter(|name| seen.insert(name.to_ascii_lowercase()));
                    waiting.extend(fresh.filter_map(find));
                }
            }
        }
        found
    }

    fn subject(&self, trusted: &Trusted, tool: &Arc<Tool>, directory: &Path, find: Find<'_>, here: &Path) -> Subject {
        let used = reached(tool, find);
        let workspace = &self.host().workspace;
        let fingerprint = Fingerprint::of(tool, &used, workspace, here);
        let (standing, difference) = trusted.standing(directory, tool.name.as_str(), &fingerprint, workspace);
        let key = key(directory, tool.name.as_str());
        Subject { key, tool: Arc::clone(tool), used, fingerprint, standing, difference }
    }
}

/// Says how to go on after a refusal for want of trust.
pub(crate) fn with_attempt(refusal: Refusal, tool: &str) -> Refusal {
    match refusal.code {
        UNTRUSTED | CHANGED => refusal.attempt(format!("cycod tool trust {tool}")),
        _ => refusal,
    }
}

impl Trusted {
    fn read(engine: &Engine) -> Result<Self, Refusal> {
        let environment = &engine.host().environment;
        let set = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let directories = set(TRUSTED_DIRECTORIES).map(std::env::split_paths).into_iter().flatten();
        Ok(Self {
            pins: engine.pins().all().map_err(|error| unreadable(&error))?,
            directories: directories.filter(|path| path.is_absolute()).map(|path| real(&path)).collect(),
            team: set(TRUST_FILE).map_or_else(|| Ok(BTreeMap::new()), |file| engine.trust_file(Path::new(file)))?,
        })
    }

    /// How a tool stands, when that can be told without reading it.
    fn without_looking(&self, directory: &Path, name: &str) -> Option<Standing> {
        if self.directories.iter().any(|trusted| directory.starts_with(trusted)) {
            return Some(Standing::Trusted);
        }
        let key = key(directory, name);
        let is_unknown = !self.pins.contains_key(&key) && !self.team.contains_key(&key.name);
        is_unknown.then_some(Standing::Untrusted)
    }

    /// How a tool stands, and what is different about it.
    fn standing(&self, directory: &Path, name: &str, is: &Fingerprint, workspace: &Path) -> (Standing, Option<String>) {
        if let Some(told) = self.without_looking(directory, name) {
            return (told, None);
        }
        let key = key(directory, name);
        let pin = self.pins.get(&key);
        let is_known = || pin.is_some_and(|pin| is.is_within(&pin.definition, workspace));
        if is.incomplete().is_none() && (self.team.get(&key.name) == Some(&is.digest()) || is_known()) {
            return (Standing::Trusted, None);
        }
        match pin {
            Some(pin) => (Standing::Changed, Some(is.difference(&pin.definition))),
            None => (Standing::Untrusted, None),
        }
    }
}

fn worst(subjects: Result<Vec<Subject>, Refusal>) -> Standing {
    let doubtful =
        |subjects: Vec<Subject>| subjects.into_iter().map(|one| one.standing).find(|one| *one != Standing::Trusted);
    subjects.map_or(Standing::Untrusted, |subjects| doubtful(subjects).unwrap_or_default())
}

/// The tools that one reaches, by key; nothing for one that is not there.
fn reached(tool: &Tool, find: Find<'_>) -> BTreeMap<String, Option<Arc<Tool>>> {
    let mut reached: BTreeMap<String, Option<Arc<Tool>>> = BTreeMap::new();
    let mut waiting: Vec<String> = tool.uses().into_iter().map(str::to_ascii_lowercase).collect();
    while let Some(name) = waiting.pop() {
        if let btree_map::Entry::Vacant(new) = reached.entry(name) {
            let found = find(new.key());
            let used = new.insert(found);
            waiting.extend(used.iter().flat_map(|used| used.uses()).map(str::to_ascii_lowercase));
        }
    }
    reached
}

fn key(directory: &Path, name: &str) -> PinKey {
    PinKey::new(TOOL, &scope_text(directory), &name.to_ascii_lowercase())
}

fn scope_text(directory: &Path) -> String {
    directory.to_string_lossy().into_owned()
}

/// The path with links followed, where it leads somewhere.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The path of a directory such as `.cycod/tools`, with the links to its project followed, but not those within: a project
/// whose directory leads into another one does not get what is trusted there.
fn in_project(directory: &Path) -> PathBuf {
    let inside: PathBuf = directory.iter().skip(directory.iter().count().saturating_sub(2)).collect();
    directory.ancestors().nth(2).map_or_else(|| directory.to_owned(), |project| real(project).join(inside))
}

fn unreadable(error: &StoreError) -> Refusal {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Refusal::new(UNTRUSTED, format!("what is trusted cannot be told: {error}{cause}"))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
