//! Which tools of a project the person at this machine trusts.
//!
//! A tool that came with a project says what it says; that it may run is for the person to say, once, having seen what it
//! does. What they saw is kept as a [`Fingerprint`], and a tool that is another one since is not trusted any more. Where the
//! project lies is no part of it.
//! Tools of the user and of the machine are trusted, and so are those of the project that a command of ours wrote.
//!
//! A file of a project cannot grant anything: what is trusted stands in the user's own directory, in directories that the
//! user's environment names, or in a file outside of the project that it names.

mod display;
mod exhibit;
mod fingerprint;
mod git;
mod mine;
mod pins;
mod portable;
mod programs;
mod repository;
pub(crate) mod skill_file;
mod skills;
mod team;
mod texts;
pub(crate) mod trusted;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map},
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use cycod_catalog::{Entry, EntryLoader, Scope, State};
use cycod_definition::{FunctionCalling, Parameter, Starts, Tool};
use cycod_diagnostic::{Code, Refusal};
use cycod_file::Look;
use cycod_plan::{Library, Plan};
use cycod_policy::{Approved, Decision, Standing, Surface, Verdict};
use cycod_store::{Digest, Pin, PinKey, Pins, StoreError};
use serde_json::Value as Json;

pub use exhibit::Exhibit;
use fingerprint::Doubtful;
pub use fingerprint::{Fingerprint, Used};
pub use portable::{Obstacle, Portable, PortableFile, files_of_git, take_keys};
use programs::Places;
use repository::real;
pub use skill_file::SkillFile;
pub use skills::{BrokenSkill, ScopedSkill, Skills};
pub use team::exported;
pub use texts::{Difference, Mark};
use trusted::{Known, Stands, TOOL, Taken, Trusted, key, scope_text, unreadable};
pub use trusted::{TRUST_FILE, TRUSTED_DIRECTORIES};

use crate::Engine;

/// A tool of the project, as it was looked at: what is shown of it is what becomes trusted.
#[derive(Clone, Debug)]
pub struct TrustSubject {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The tools it reaches; nothing for one that is not there.
    pub used: Used,
    /// Everything that decides what it does.
    pub fingerprint: Fingerprint,
    /// Whether it is trusted.
    pub standing: Standing,
    /// Whether it differs from what was trusted only in what it tells its readers: descriptions, titles, tests.
    pub runs_as_trusted: bool,
    /// What is different from what was trusted, for a person to judge.
    pub difference: Option<String>,
    /// The tools, and the programs by path, that are not as they were trusted; all of them when nothing was.
    doubtful: Doubtful,
    /// Whether it needs no trust, because its project lies in a directory of the user's own.
    is_in_trusted_directory: bool,
    key: PinKey,
}

impl TrustSubject {
    /// The files that are not as they were trusted; nothing when one of them cannot be named.
    fn doubtful_files(&self, workspace: &Path) -> Option<Vec<PathBuf>> {
        let mut files: Vec<PathBuf> = self.doubtful.programs.iter().map(|path| workspace.join(path)).collect();
        for name in &self.doubtful.tools {
            let tool = if self.tool.name.key() == *name { Some(&self.tool) } else { self.used.get(name)?.as_ref() };
            match tool?.origin.file.as_ref() {
                Some(file) => files.push(real(file)),
                // It comes with the program, or from a server.
                None => return None,
            }
        }
        if self.doubtful.natures {
            let tools = std::iter::once(&self.tool).chain(self.used.values().flatten());
            for file in tools.filter_map(|tool| tool.stated.file.as_ref()) {
                files.push(real(&workspace.join(&file.source.name)));
            }
        }
        Some(files)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        self.tool.name.as_str()
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        self.tool.origin.file.as_deref().unwrap_or(Path::new(""))
    }
}

/// Of how many tools it is remembered what they start; beyond that they are read again.
const MOST_KNOWN: usize = 64;

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
        let here = &self.host().working_directory;
        self.fingerprint_in(tool, &self.reached(tool), here, Arc::default())
    }

    /// The fingerprint of what a plan would do, by the very definitions that it holds.
    pub fn fingerprint_of_plan(&self, plan: &Plan) -> Fingerprint {
        let used = reached(&plan.asked, &|name| plan.library.get(name).cloned());
        self.fingerprint_at(&plan.asked, &used, &plan.host().working_directory)
    }

    /// The scripts of the project that a tool and those that it reaches start, by their paths.
    ///
    /// # Errors
    /// When some of them can't be known.
    pub fn scripts_started(&self, tool: &Tool, library: &Library) -> Result<Vec<(String, String)>, Refusal> {
        let refused = |why| Refusal::new(cycod_diagnostic::Code::NotForFleet, why).place(tool.name.as_str());
        self.scripts_of(tool, library, &self.host().working_directory).map_err(refused)
    }

    /// The scripts of the project that a tool and those that it reaches start, each with its digest or what else is known of
    /// it now.
    ///
    /// # Errors
    /// Why some of them can't be known.
    pub(crate) fn scripts_of(
        &self,
        tool: &Tool,
        library: &Library,
        here: &Path,
    ) -> Result<Vec<(String, String)>, String> {
        let used = reached(tool, &|name| library.get(name).cloned());
        let fingerprint = self.fingerprint_in(tool, &used, here, Arc::default());
        match fingerprint.incomplete() {
            Some(refusal) => Err(refusal.why),
            None => Ok(fingerprint.programs().map(|(path, state)| (path.to_owned(), state.to_owned())).collect()),
        }
    }

    /// The fingerprint of a tool with those that it reaches. What was looked at for a call is not looked at again for it.
    fn fingerprint_at(&self, tool: &Arc<Tool>, used: &Used, here: &Path) -> Fingerprint {
        let moment = self.moments.now();
        let (starts, taken) = self.remembered(tool, used);
        if let Some(taken) = taken.filter(|taken| (taken.moment, taken.here.as_path()) == (moment, here)) {
            return taken.fingerprint.clone();
        }
        let starts = starts.unwrap_or_else(|| fingerprint::started(tool, used).into());
        let interpreters = || self.configured_interpreters();
        let fingerprint =
            Fingerprint::of((tool, used), Starts::clone(&starts), self.places(here), self.look(), &interpreters);
        let taken = Taken { moment, here: here.to_owned(), fingerprint: fingerprint.clone() };
        let known = Known { tool: Arc::clone(tool), used: used.clone(), starts, taken: taken.into() };
        let mut all = self.fingerprints.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| !known.is_of(tool, used));
        if all.len() >= MOST_KNOWN {
            all.clear();
        }
        all.push(known);
        fingerprint
    }

    /// What a tool with those that it reaches starts, and its fingerprint as it was taken last, as far as they are remembered.
    fn remembered(&self, tool: &Arc<Tool>, used: &Used) -> (Option<Arc<Starts>>, Option<Arc<Taken>>) {
        let all = self.fingerprints.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|known| known.is_of(tool, used));
        known.map(|known| (Arc::clone(&known.starts), Arc::clone(&known.taken))).unzip()
    }

    /// The tools of the project that must be trusted before `tool` may run: itself, or those it reaches.
    ///
    /// # Errors
    /// When what is trusted cannot be told.
    pub fn subjects(&self, tool: &Arc<Tool>) -> Result<Vec<TrustSubject>, Refusal> {
        self.moments.begin();
        self.subjects_now(tool)
    }

    /// The same, by what was read in this moment.
    fn subjects_now(&self, tool: &Arc<Tool>) -> Result<Vec<TrustSubject>, Refusal> {
        let find = |name: &str| self.tool(name).ok();
        self.subjects_among(tool, &find, &self.host().working_directory)
    }

    /// As [`Engine::subjects`], for a plan, by the very definitions that it holds.
    ///
    /// # Errors
    /// When what is trusted cannot be told.
    pub fn subjects_of(&self, plan: &Plan) -> Result<Vec<TrustSubject>, Refusal> {
        let find = |name: &str| plan.library.get(name).cloned();
        self.subjects_among(&plan.asked, &find, &plan.host().working_directory)
    }

    /// Every tool of the project that can be loaded, shadowed ones left out.
    ///
    /// # Errors
    /// When what is trusted cannot be told.
    pub fn project_tools(&self) -> Result<Vec<TrustSubject>, Refusal> {
        let entries = self.catalog().entries();
        let local = entries.iter().filter(|entry| entry.scope == Scope::Local && entry.is_active());
        let loader = EntryLoader::default();
        let loaded = local.filter_map(|entry| loader.load(entry).ok());
        self.moments.begin();
        loaded
            .map(|opened| self.subjects_now(&Arc::new(opened.tool)))
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
        self.moments.begin();
        let look = self.look();
        let (mut trusted, loader) = (None, EntryLoader::default());
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
                none => none.insert(self.trusted()?),
            };
            if entry.scope == Scope::Local
                && let Some(directory) = entry.path.parent().map(|parent| in_project(parent, &look))
                && let Some(told) = trusted.without_looking(&directory, &entry.name)
            {
                return Ok(Some(told));
            }
            let Ok(opened) = loader.load(entry) else { return Ok(None) };
            let here = &self.host().working_directory;
            for (tool, directory) in self.local_among(&Arc::new(opened.tool), &find) {
                let standing = self.subject(trusted, &tool, &directory, &find, here)?.standing;
                if standing != Standing::Trusted {
                    return Ok(Some(standing));
                }
            }
            Ok(Some(Standing::Trusted))
        };
        entries.iter().map(&mut standing).collect()
    }

    /// As [`Engine::standings`]; when what is trusted cannot be told, nothing is.
    pub(crate) fn standings_or_untrusted(&self, entries: &[Entry]) -> Vec<Option<Standing>> {
        self.standings(entries).unwrap_or_else(|_| vec![Some(Standing::Untrusted); entries.len()])
    }

    /// What a tool of the project starts that trust in it cannot rest on, each a phrase for people; nothing for a tool that needs
    /// no trust.
    pub fn unpinned(&self, tool: &Arc<Tool>) -> Vec<String> {
        let Ok(subjects) = self.subjects(tool) else { return Vec::new() };
        let watched = subjects.iter().filter(|subject| !subject.is_in_trusted_directory);
        let mut all: Vec<String> = watched.flat_map(|subject| subject.fingerprint.unpinned().iter().cloned()).collect();
        all.dedup();
        all
    }

    /// Trusts tools as they were looked at.
    ///
    /// # Errors
    /// When one cannot be told from a changed one, and when the pins cannot be written.
    pub fn trust<'a>(&self, subjects: impl IntoIterator<Item = &'a TrustSubject>) -> Result<(), Refusal> {
        let subjects: Vec<&TrustSubject> = subjects.into_iter().collect();
        if subjects.is_empty() {
            return Ok(());
        }
        if let Some(why) = subjects.iter().find_map(|subject| subject.fingerprint.incomplete()) {
            return Err(why);
        }
        let workspace = &self.host().workspace;
        let pinned = self.update_pins(|pins| {
            for TrustSubject { key, fingerprint, .. } in &subjects {
                let before = pins.get(key).map(|pin| &pin.definition);
                let definition = fingerprint.joined_with(before, workspace);
                pins.insert(key.clone(), Pin::new(definition, now()));
            }
            pins.clone()
        });
        let pins = pinned.map_err(|error| unreadable(&error))?;
        self.keep_texts(&subjects, &pins);
        Ok(())
    }

    /// Trusts a tool that the user has just written at `path` as this `text`, and says whether it is trusted now.
    ///
    /// It is not when it reaches a tool of the project that nobody has looked at.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn trust_written(&self, mut tool: Tool, path: &Path, text: &str) -> Result<bool, Refusal> {
        tool.origin.file = Some(path.to_owned());
        let tool = Arc::new(tool);
        let reached = self.reached(&tool);
        for used in reached.values().flatten() {
            if self.subjects(used)?.iter().any(|subject| subject.standing != Standing::Trusted) {
                return Ok(false);
            }
        }
        let subjects = self.subjects(&tool)?;
        self.trust(&subjects)?;
        if !subjects.is_empty() {
            self.keep_written(&tool, text);
        }
        Ok(true)
    }

    /// Trusts a tool of the project no longer, whether it is still there or not; says whether it was trusted. What it is now
    /// is not trusted in other projects either, because it is the same tool there.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn distrust(&self, name: &str) -> Result<bool, Refusal> {
        let keys: BTreeSet<PinKey> = self.local_directories().map(|directory| key(&directory, name)).collect();
        let here = self.project_tools()?;
        let here: Vec<&TrustSubject> =
            here.iter().filter(|subject| subject.name().eq_ignore_ascii_case(name)).collect();
        self.drop_pins(&here, |key| keys.contains(key)).map(|gone| !gone.is_empty())
    }

    /// Trusts no tool of this project any longer, and returns the names of those that were trusted.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn distrust_all(&self) -> Result<Vec<String>, Refusal> {
        let scopes: BTreeSet<String> = self.local_directories().map(|directory| scope_text(&directory)).collect();
        let here = self.project_tools()?;
        let gone = self.drop_pins(&here.iter().collect::<Vec<_>>(), |key| scopes.contains(&key.scope))?;
        let names: BTreeSet<String> = gone.into_iter().map(|key| key.name).collect();
        Ok(names.into_iter().collect())
    }

    /// Removes pins of tools: those that are meant, and those by which one of `here` is trusted.
    fn drop_pins(&self, here: &[&TrustSubject], is_meant: impl Fn(&PinKey) -> bool) -> Result<Vec<PinKey>, Refusal> {
        let workspace = &self.host().workspace;
        let removed = self.update_pins(|pins| {
            let is_gone = |key: &PinKey, pin: &Pin| {
                let is_here = |subject: &&&TrustSubject| {
                    subject.key.name == key.name && subject.fingerprint.is_within(&pin.definition, workspace)
                };
                key.kind == TOOL && (is_meant(key) || here.iter().any(|subject| is_here(&subject)))
            };
            let gone: Vec<PinKey> =
                pins.iter().filter(|(key, pin)| is_gone(key, pin)).map(|(key, _)| key.clone()).collect();
            gone.iter().for_each(|key| drop(pins.remove(key)));
            self.forget_texts(pins);
            gone
        });
        removed.map_err(|error| unreadable(&error))
    }

    /// Lets a person run a tool by hand as it is now, as long as this engine lives. Models do not get it by that.
    pub fn vouch(&self, subject: &TrustSubject) {
        // It took a person's time to say so.
        self.moments.renew();
        let mut vouched = self.vouched.lock().unwrap_or_else(PoisonError::into_inner);
        vouched.insert(subject.fingerprint.digest());
    }

    /// Whether a person may run a tool by hand as it is now, because somebody vouched for it.
    pub fn is_vouched(&self, subject: &TrustSubject) -> bool {
        self.vouched.lock().unwrap_or_else(PoisonError::into_inner).contains(&subject.fingerprint.digest())
    }

    /// How a plan stands for who asks for it: a person is not stopped by what they vouched for.
    pub(crate) fn standing_for(&self, plan: &Plan, surface: Surface) -> Standing {
        let subjects = self.subjects_of(plan);
        if surface != Surface::Person {
            return worst(subjects);
        }
        let vouched = self.vouched.lock().unwrap_or_else(PoisonError::into_inner);
        worst(subjects.map(|mut subjects| {
            subjects.retain(|subject| !vouched.contains(&subject.fingerprint.digest()));
            subjects
        }))
    }

    /// Trusts what somebody said yes to who was shown how a tool has changed; nothing when it is another one since.
    pub(crate) fn trust_shown(&self, plan: &Plan, shown: &str) -> Result<(), Refusal> {
        if self.fingerprint_of_plan(plan).digest().to_string() != shown {
            return Ok(());
        }
        let changed = self.subjects_of(plan)?;
        self.trust(changed.iter().filter(|subject| subject.standing == Standing::Changed))
    }

    /// What models are told of a tool: what a caller of it meets; of one that has changed since it was trusted, only what was
    /// trusted of it. Who has the change before them decides about the rest.
    ///
    /// What is trusted counts as it was read last, so that a list of many tools reads it once: see [`Engine::look_again`].
    pub fn told_to_models(&self, tool: Tool) -> Tool {
        let tool = Arc::new(tool);
        let subjects = self.subjects_now(&tool).unwrap_or_default();
        let changed = subjects.iter().find(|subject| subject.standing == Standing::Changed);
        let Some(changed) = changed else { return self.resulting(Arc::unwrap_or_clone(tool)) };
        let trusted = self.trusted().ok();
        let accepted =
            trusted.as_ref().and_then(|trusted| trusted.accepted(Path::new(&changed.key.scope), &changed.key).ok()?);
        let accepted = accepted.map(|pin| &pin.definition["tools"][tool.name.key()]);
        let accepted = accepted.filter(|_| changed.name().eq_ignore_ascii_case(tool.name.as_str()));
        let (accepted, document) = (accepted.unwrap_or(&Json::Null), &tool.origin.document);
        let text = |key: &str| accepted[key].as_str().map(str::to_owned);
        let is_same = |key: &str| accepted[key] == document[key];
        let is_kept = |parameter: &&Parameter| {
            let name = parameter.name.as_str();
            document["parameters"][name].is_object() && accepted["parameters"][name] == document["parameters"][name]
        };
        let description = text("description").map(|told| told.trim_end().to_owned());
        Tool {
            description: Some(format!(
                "{}{}(It has changed since the user trusted it; the user must approve it before it runs.)",
                description.as_deref().unwrap_or_default(),
                if description.is_some() { " " } else { "" }
            )),
            title: text("title"),
            parameters: tool.parameters.iter().filter(is_kept).cloned().collect(),
            input_schema: tool.input_schema.clone().filter(|_| is_same("input-schema")),
            returns: tool.returns.clone().filter(|_| is_same("returns")),
            function_calling: if is_same("function-calling") {
                tool.function_calling.clone()
            } else {
                FunctionCalling::default()
            },
            ..Tool::clone(&tool)
        }
    }

    /// What has changed about the tools of a plan since they were trusted, for people; nothing when all are as they were.
    pub(crate) fn changes_since_trusted(&self, plan: &Plan) -> Option<String> {
        let subjects = self.subjects_of(plan).ok()?;
        let differences = subjects.iter().filter_map(|subject| {
            let difference = self.difference(subject)?;
            Some(if subjects.len() == 1 {
                difference.to_string()
            } else {
                format!("{}:\n{difference}", subject.name())
            })
        });
        let all = differences.collect::<Vec<_>>().join("\n");
        (!all.is_empty()).then_some(all)
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
    pub(crate) fn still_trusted(&self, approved: Approved<Plan>, surface: Surface) -> Result<Approved<Plan>, Refusal> {
        if self.standing_for(approved.subject(), surface) == Standing::Trusted {
            return Ok(approved);
        }
        let tool = approved.subject().tool().name.as_str();
        let refusal = Refusal::new(Code::ToolChanged, format!("`{tool}` changed while it was asked about")).place(tool);
        Err(with_attempt(refusal, tool))
    }

    /// The decision, with the tool that it is about when it is for want of trust.
    pub(crate) fn with_doubt(&self, plan: &Plan, decision: Decision) -> Decision {
        if !matches!(decision.code, Code::UntrustedTool | Code::ToolChanged) {
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
        let rule = match self.difference(doubtful) {
            // It is shown by itself.
            Some(_) if decision.verdict == Verdict::Ask => format!("`{name}` is not what was trusted"),
            Some(difference) => {
                format!("`{name}` is defined in this project and has changed since you trusted it:\n{difference}")
            }
            None => format!("`{name}` is defined in this project and is not trusted yet"),
        };
        Decision { rule, ..decision }
    }

    fn fingerprint_in(&self, tool: &Tool, used: &Used, here: &Path, look: Arc<Look>) -> Fingerprint {
        let starts = fingerprint::started(tool, used);
        Fingerprint::of((tool, used), starts, self.places(here), look, &|| self.configured_interpreters())
    }

    fn places<'a>(&'a self, working_directory: &'a Path) -> Places<'a> {
        let host = self.host();
        Places { workspace: &host.workspace, working_directory, home: &host.home, host }
    }

    /// What the person trusts.
    fn trusted(&self) -> Result<Arc<Trusted>, Refusal> {
        self.trusted.get(&self.moments, |_| false, || self.read_trusted())
    }

    /// Reads what the person trusts.
    fn read_trusted(&self) -> Result<Trusted, Refusal> {
        let (environment, look) = (&self.host().environment, self.look());
        let set = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let directories = set(TRUSTED_DIRECTORIES).map(std::env::split_paths).into_iter().flatten();
        Ok(Trusted {
            pins: match self.pins() {
                pins if look.knows_missing(pins.path()) => pins.none(),
                pins => pins.read().map_err(|error| unreadable(&error))?,
            },
            directories: directories
                .filter(|path| path.is_absolute())
                .map(|path| look.of(&path).unwrap_or(path))
                .collect(),
            team: set(TRUST_FILE).map_or_else(|| Ok(BTreeMap::new()), |file| self.trust_file(Path::new(file)))?,
        })
    }

    /// Changes what is trusted.
    fn update_pins<T>(&self, change: impl FnOnce(&mut BTreeMap<PinKey, Pin>) -> T) -> Result<T, StoreError> {
        let changed = self.pins().update(change);
        self.moments.renew();
        changed
    }

    fn pins(&self) -> Pins {
        Pins::open(&self.catalog().scopes().user_directory().join("trust.json"))
    }

    /// The directories of the project's tools.
    fn local_directories(&self) -> impl Iterator<Item = PathBuf> {
        let local = self.catalog().scopes().directories().iter().filter(|directory| directory.scope == Scope::Local);
        let look = self.look();
        local.map(move |directory| in_project(&directory.path, &look))
    }

    /// The directory of a tool of the project; nothing for any other tool.
    fn local_directory(&self, tool: &Tool) -> Option<PathBuf> {
        let parent = tool.origin.file.as_ref()?.parent()?;
        let mut directories = self.catalog().scopes().directories().iter();
        let local = directories.find(|directory| directory.scope == Scope::Local && directory.path == parent)?;
        Some(in_project(&local.path, &self.look()))
    }

    pub(crate) fn reached(&self, tool: &Tool) -> Used {
        reached(tool, &|name| self.tool(name).ok())
    }

    fn subjects_among(&self, tool: &Arc<Tool>, find: Find<'_>, here: &Path) -> Result<Vec<TrustSubject>, Refusal> {
        let local = self.local_among(tool, find);
        if local.is_empty() {
            return Ok(Vec::new());
        }
        let trusted = self.trusted()?;
        local.into_iter().map(|(tool, directory)| self.subject(&trusted, &tool, &directory, find, here)).collect()
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

    fn subject(
        &self,
        trusted: &Trusted,
        tool: &Arc<Tool>,
        directory: &Path,
        find: Find<'_>,
        here: &Path,
    ) -> Result<TrustSubject, Refusal> {
        let used = reached(tool, find);
        let workspace = &self.host().workspace;
        let fingerprint = self.fingerprint_at(tool, &used, here);
        let Stands { standing, difference, runs_as_trusted, doubtful } =
            trusted.standing(directory, tool.name.as_str(), &fingerprint, workspace)?;
        Ok(TrustSubject {
            key: key(directory, tool.name.as_str()),
            tool: Arc::clone(tool),
            used,
            fingerprint,
            standing,
            runs_as_trusted,
            difference,
            doubtful,
            is_in_trusted_directory: trusted.has_directory(directory),
        })
    }
}

/// Says how to go on after a refusal for want of trust.
pub(crate) fn with_attempt(refusal: Refusal, tool: &str) -> Refusal {
    match refusal.code {
        Code::UntrustedTool | Code::ToolChanged => refusal.attempt(format!("cycod trust {tool}")),
        _ => refusal,
    }
}

fn worst(subjects: Result<Vec<TrustSubject>, Refusal>) -> Standing {
    let doubtful = |subjects: Vec<TrustSubject>| {
        subjects.into_iter().map(|one| one.standing).find(|one| *one != Standing::Trusted)
    };
    subjects.map_or(Standing::Untrusted, |subjects| doubtful(subjects).unwrap_or_default())
}

/// The tools that one reaches, by key; nothing for one that is not there.
fn reached(tool: &Tool, find: Find<'_>) -> Used {
    let mut reached = Used::new();
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

/// The path of a directory such as `.cycod/tools`, with the links to its project followed, but not those within: a project
/// whose directory leads into another one does not get what is trusted there.
fn in_project(directory: &Path, look: &Look) -> PathBuf {
    let inside: PathBuf = directory.iter().skip(directory.iter().count().saturating_sub(2)).collect();
    let project = directory.ancestors().nth(2);
    project.map_or_else(|| directory.to_owned(), |project| look.of(project).as_deref().unwrap_or(project).join(inside))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
