//! Which tools are on, who turned them off, and what they cost a model.

use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    sync::Arc,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cycod_catalog::{Entry, EntryLoader, Scope, ScopeFilter, Scopes, State, ToolSource};
use cycod_definition::{Body, Tool, function_schema};
use cycod_diagnostic::{Code, Refusal};
use cycod_schema::Function;
use cycod_settings::{
    FileError,
    config::{self, Cause, Settings, Switch, SwitchedOffBy, ToolPattern},
};
use cycod_store::Filter;
use cycod_tokens::{Candidate, Fit, Measure, fit};

use crate::{Engine, EngineError, Standing};

/// How long ago a tool was last used that counts as used.
const OF_LATE: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// How many calls are looked at to see which tools are used.
const CALLS: usize = 10_000;

/// How many tools make it worth while to count them on several threads.
const WORTH_A_THREAD: usize = 100;

/// How many tools of one beginning are a family.
const FAMILY: usize = 3;

/// Every tool with what it costs.
#[derive(Clone, Debug)]
pub struct Registry {
    /// By source, then by name; of one name, the winning one first.
    pub tools: Vec<Registered>,
    /// How they were counted.
    pub measure: Measure,
}

/// A tool with what it costs, and whether a model is told of it.
#[derive(Clone, Debug)]
pub struct Registered {
    /// The tool as the catalog has it.
    pub entry: Entry,
    /// Where it comes from.
    pub source: ToolSource,
    /// Whether it is on.
    pub switch: Switch,
    /// How it stands, where that is a question.
    pub standing: Option<Standing>,
    /// How many tokens it costs when a model is told of it; nothing when it cannot be loaded.
    pub tokens: Option<usize>,
    /// What the estimate is.
    pub estimate: Option<usize>,
    /// What its author says.
    pub declared: Option<usize>,
}

impl Registered {
    /// Whether models are told of it: it is on, its name leads to it, it can run here and is trusted, or was before it changed.
    pub fn is_offered(&self) -> bool {
        self.switch.is_on() && self.is_usable()
    }

    /// Whether models would be told of it if it were on.
    pub fn is_usable(&self) -> bool {
        self.entry.is_active()
            && self.entry.availability.if_on() == cycod_catalog::Availability::Available
            && self.standing.as_ref().is_none_or(|standing| *standing != Standing::Untrusted)
    }
}

impl Registry {
    /// How many tokens the tools cost that models are told of.
    pub fn total(&self) -> usize {
        self.offered().filter_map(|tool| tool.tokens).sum()
    }

    /// What the estimate of that is.
    pub fn estimated_total(&self) -> usize {
        self.offered().filter_map(|tool| tool.estimate).sum()
    }

    /// The tools that models are told of.
    pub fn offered(&self) -> impl Iterator<Item = &Registered> {
        self.tools.iter().filter(|tool| tool.is_offered())
    }
}

/// A tool that was turned on or off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The tool, or the pattern of several.
    pub name: String,
    /// Whether it was so before.
    pub was_so: bool,
    /// How many tools a pattern stands for that were not so before.
    pub tools: usize,
    /// How many tokens they cost.
    pub tokens: usize,
    /// The scope whose settings say so now.
    pub scope: Scope,
}

/// Why tools could not be turned on or off. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
pub enum SwitchError {
    /// No tool is called so.
    #[error("Tool not found: {name}")]
    Unknown { name: String, suggestion: Option<String> },
    /// Only who looks after the machine may turn it off.
    #[error("Cannot disable tool: {name} (enforced by enterprise policy)")]
    Enforced { name: String },
    /// Something else keeps it off, which writing here would not change.
    #[error("Cannot enable tool: {name} ({place}: {said})")]
    StaysOff { name: String, place: String, said: String, attempt: String },
    /// Settings are of one scope that has a file.
    #[error("settings are written to the local, the user or the global scope")]
    NoFile,
    /// The file could not be changed.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Which tools must stay whatever they cost.
#[derive(Clone, Debug, Default)]
pub struct KeptTools(pub Vec<ToolPattern>);

impl Engine {
    /// The settings that hold now: files that have changed are read again.
    pub fn settings(&self) -> Arc<Settings> {
        self.moments.begin();
        self.settings_now()
    }

    /// The settings that hold for the call that is planned: before the first, as they were when the place was opened.
    pub fn settings_now(&self) -> Arc<Settings> {
        let look = self.look();
        let read = || Ok::<_, Infallible>(Settings::load_in(self.catalog().scopes(), self.host(), &look));
        let Ok(settings) = self.configured.get(&self.moments, |settings| settings.are_current_in(&look), read);
        settings
    }

    /// Refuses tools of which one is off, and all of them while it is not known which are.
    pub(crate) fn refuse_what_is_off<'a>(
        &self,
        settings: &Settings,
        tools: impl Iterator<Item = &'a Arc<Tool>>,
    ) -> Result<(), Refusal> {
        if let Some(flaw) = settings.flaws().first() {
            let why = format!("the settings are invalid, so cycod does not know which tools are off: {}", flaw.message);
            return Err(Refusal::new(Code::SettingsBroken, why).rule(&flaw.place).attempt("cycod tools list"));
        }
        for tool in tools {
            let scope = scope_of(self.catalog().scopes(), tool);
            let name = tool.name.as_str();
            // Someone may ask for the one of a scope.
            if matches!(scope, Scope::Local | Scope::User)
                && let Some(binding) = self.catalog().binding(name)
            {
                let why = format!("`{name}` is a tool of the {binding} scope, and no other of its name runs");
                let attempt = format!("give that of the {scope} scope another name");
                return Err(Refusal::new(Code::ToolEnforced, why).place(name).attempt(attempt));
            }
            let switch = settings.switch(name, scope, tool.enabled);
            if let Some(cause) = switch.causes.first() {
                return Err(turned_off(name, cause));
            }
        }
        Ok(())
    }

    /// Every tool with what it costs.
    pub fn registry(&self, measure: Measure) -> Registry {
        let entries = self.catalog().every_entry();
        let settings = self.settings();
        let standings = self.standings_or_untrusted(&entries);
        let costs = self.costs(&entries, measure);
        let registered =
            entries.into_iter().zip(standings).zip(costs).map(|((entry, standing), (tokens, estimate))| {
                let switch = settings.switch(&entry.name, entry.scope, !entry.summary.is_off);
                let declared = entry.summary.token_cost.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
                Registered { source: entry.origin.source, switch, standing, tokens, estimate, declared, entry }
            });
        let mut tools: Vec<Registered> = registered.collect();
        // Stable: within a source the order of names stays.
        tools.sort_by_key(|tool| tool.source);
        Registry { tools, measure }
    }

    /// What each entry costs, and what the estimate is; nothing for one that cannot be loaded.
    fn costs(&self, entries: &[Entry], measure: Measure) -> Vec<(Option<usize>, Option<usize>)> {
        let loader = EntryLoader::default();
        let cost = |entry: &Entry| {
            let estimated = entry.summary.estimated_tokens.map(|tokens| tokens as usize);
            if estimated.is_some() && measure.is_estimate() {
                return (estimated, estimated);
            }
            let function = self.function_by(&loader, entry);
            let tokens = function.as_ref().map(|function| measure.of(function));
            (tokens, estimated.or_else(|| function.map(|function| Measure::ESTIMATE.of(&function))))
        };
        side_by_side(entries, cost)
    }

    /// What a model is told of an entry; nothing when it cannot be loaded.
    pub fn function(&self, entry: &Entry) -> Option<Function> {
        self.moments.begin();
        self.function_by(&EntryLoader::default(), entry)
    }

    fn function_by(&self, loader: &EntryLoader, entry: &Entry) -> Option<Function> {
        if matches!(entry.state, State::Broken { .. } | State::Duplicate { .. }) {
            return None;
        }
        let tool = loader.load(entry).ok()?.tool;
        Some(Function::from_json(&function_schema(&self.told_to_models(tool))))
    }

    /// Proposes what to do so that the tools that models are told of take at most so many tokens.
    pub fn fit_tools(&self, registry: &Registry, most: usize, kept: &KeptTools) -> Fit {
        let offered: Vec<&Registered> = registry.offered().collect();
        let total = registry.total();
        if total <= most {
            let kept = offered.into_iter().map(|tool| tool.entry.name.clone()).collect();
            return Fit { most, before: total, after: total, kept, ..Fit::default() };
        }
        let uses = self.uses();
        let families = families(&offered);
        let loader = EntryLoader::default();
        let functions = side_by_side(&offered, |tool| self.function_by(&loader, &tool.entry));
        let candidates = offered.iter().zip(families).zip(functions).filter_map(|((tool, family), function)| {
            let name = &tool.entry.name;
            Some(Candidate {
                function: function?,
                family,
                uses: uses.get(&name.to_ascii_lowercase()).copied().unwrap_or_default(),
                must_stay: tool.switch.is_enforced || kept.0.iter().any(|pattern| pattern.matches(name)),
                is_ours: tool.source == ToolSource::Custom,
            })
        });
        fit(candidates.collect(), most, registry.measure)
    }

    /// How often each tool was called of late, by key; nothing when there is no history.
    fn uses(&self) -> HashMap<String, u64> {
        let mut uses = HashMap::new();
        let Some(history) = &self.history else { return uses };
        let since = self.host().now.checked_sub(OF_LATE).unwrap_or(UNIX_EPOCH);
        let filter = Filter { since: Some(milliseconds(since)), limit: CALLS, ..Filter::default() };
        // A history that cannot be read says nothing about what is used.
        _ = history.each_run(&filter, &mut |run| {
            *uses.entry(run.tool.to_ascii_lowercase()).or_default() += 1;
            true
        });
        uses
    }

    /// Turns tools on or off in the settings of a scope: all of them, or none when one cannot be.
    ///
    /// Without a scope a tool of a project is turned off in the settings of that project, so that one of its name stays on
    /// elsewhere, and every other in those of the user; it is turned on where it was turned off.
    ///
    /// # Errors
    /// When one is not there, is enforced, or would stay off; and when the file cannot be changed.
    pub fn turn_tools(&self, names: &[String], on: bool, scope: Option<Scope>) -> Result<Vec<Turn>, SwitchError> {
        if !matches!(scope, None | Some(Scope::Local | Scope::User | Scope::Global)) {
            return Err(SwitchError::NoFile);
        }
        let registry = self.registry(Measure::ESTIMATE);
        let mut turns = Vec::new();
        let mut patterns: BTreeMap<Scope, Vec<ToolPattern>> = BTreeMap::new();
        for name in names {
            let unknown = || SwitchError::Unknown { name: name.clone(), suggestion: self.catalog().suggest(name) };
            let pattern = ToolPattern::new(name).ok_or_else(unknown)?;
            let mut meant: Vec<&Registered> =
                registry.tools.iter().filter(|tool| pattern.matches(&tool.entry.name)).collect();
            // A name means the tool that it leads to.
            meant.sort_by_key(|tool| !tool.entry.is_active());
            if !pattern.is_open() {
                meant.truncate(1);
            }
            if meant.is_empty() {
                return Err(unknown());
            }
            let scope =
                scope.unwrap_or_else(|| if pattern.is_open() { Scope::User } else { own_settings(meant[0], on) });
            let scope = if self.catalog().scopes().is_user(scope) { Scope::User } else { scope };
            if !pattern.is_open() {
                self.check_turn(meant[0], on, scope)?;
            }
            let other: Vec<&&Registered> = meant.iter().filter(|tool| tool.switch.is_on() != on).collect();
            let stays = |tool: &Registered| tool.switch.is_enforced && !on && scope != Scope::Global;
            let turned = other.into_iter().filter(|tool| !stays(tool)).map(|tool| tool.tokens.unwrap_or_default());
            let turned: Vec<usize> = turned.collect();
            let was_so = turned.is_empty() && !pattern.is_open();
            let name = if pattern.is_open() { name.clone() } else { meant[0].entry.name.clone() };
            if !was_so {
                patterns.entry(scope).or_default().push(ToolPattern::new(&name).unwrap_or(pattern));
            }
            turns.push(Turn { name, was_so, tools: turned.len(), tokens: turned.iter().sum(), scope });
        }
        for (scope, patterns) in patterns {
            config::turn(self.catalog().scopes(), scope, &patterns, on)?;
        }
        Ok(turns)
    }

    /// Refuses to write what would change nothing.
    fn check_turn(&self, tool: &Registered, on: bool, scope: Scope) -> Result<(), SwitchError> {
        let name = &tool.entry.name;
        if !on {
            let is_theirs = tool.switch.is_enforced && tool.switch.is_on() && scope != Scope::Global;
            return if is_theirs { Err(SwitchError::Enforced { name: name.clone() }) } else { Ok(()) };
        }
        let stays = |cause: &&Cause| match (cause.what, &cause.by) {
            (SwitchedOffBy::OwnFile, _) | (_, None) => scope == Scope::Local,
            (SwitchedOffBy::LocalForbidden | SwitchedOffBy::Expired, _) => true,
            (SwitchedOffBy::Disabled, Some(by)) => by.scope != scope,
            // A scope names tools for itself and for those within it, and wider scopes come later.
            (SwitchedOffBy::NotLoaded, Some(by)) => scope < by.scope,
        };
        match tool.switch.causes.iter().find(stays) {
            Some(cause) => Err(SwitchError::StaysOff {
                name: name.clone(),
                place: cause.place().to_owned(),
                said: cause.said(name),
                attempt: attempt(name, cause),
            }),
            None => Ok(()),
        }
    }
}

/// The scope that a tool is of.
pub(crate) fn scope_of(scopes: &Scopes, tool: &Tool) -> Scope {
    match &tool.body {
        Body::BuiltIn(_) => Scope::BuiltIn,
        Body::Remote(_) => Scope::Mcp,
        _ => {
            let parent = tool.origin.file.as_ref().and_then(|file| file.parent());
            let mut directories = scopes.directories().iter();
            let directory = parent.and_then(|parent| directories.find(|directory| directory.path == parent));
            directory.map_or(Scope::Local, |directory| directory.scope)
        }
    }
}

/// Does the same with each of many, on several threads where that is worth it; the answers are in their order.
fn side_by_side<T: Sync, U: Send>(many: &[T], work: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(many.len() / WORTH_A_THREAD + 1);
    let share = many.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let work = &work;
        let parts: Vec<_> =
            many.chunks(share).map(|part| scope.spawn(move || part.iter().map(work).collect())).collect();
        let parts = parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        parts.collect::<Vec<Vec<U>>>().into_iter().flatten().collect()
    })
}

/// The scope in whose settings a tool is turned on or off when nobody says which.
fn own_settings(tool: &Registered, on: bool) -> Scope {
    let off =
        tool.switch.causes.iter().find_map(|cause| cause.by.as_ref().filter(|_| cause.what == SwitchedOffBy::Disabled));
    match off {
        // What a whole machine turns off is turned on by who looks after it, and says so.
        Some(by) if on && by.scope == Scope::Local => Scope::Local,
        Some(_) if on => Scope::User,
        _ if tool.entry.scope == Scope::Local && !on => Scope::Local,
        _ => Scope::User,
    }
}

/// Why a tool may not run.
pub(crate) fn turned_off(name: &str, cause: &Cause) -> Refusal {
    if cause.what == SwitchedOffBy::Expired {
        let why = format!("`{name}` is a tool of the team, and {} has expired", cause.place());
        return Refusal::new(Code::ReleaseExpired, why).place(name).attempt(attempt(name, cause));
    }
    let why = format!("`{name}` is turned off by {}", cause.place());
    Refusal::new(Code::ToolDisabled, why).place(name).rule(cause.said(name)).attempt(attempt(name, cause))
}

/// What takes a cause away.
fn attempt(name: &str, cause: &Cause) -> String {
    match (cause.what, &cause.by) {
        (SwitchedOffBy::Expired, _) => "cycod team sync".to_owned(),
        (SwitchedOffBy::LocalForbidden, by) => {
            let place = by.as_ref().map_or("the settings", |by| &by.place);
            format!("take `disableLocalTools` out of {place}, or ask the owner of that file")
        }
        (_, Some(by)) if by.scope == Scope::Team => {
            "ask the team, whose next release can change it: cycod team show".to_owned()
        }
        (_, Some(by)) if by.scope != Scope::User => format!("cycod tools enable {name} --{}", by.scope),
        _ => format!("cycod tools enable {name}"),
    }
}

/// With which others each tool belongs together: a server, a group, or a common beginning.
fn families(tools: &[&Registered]) -> Vec<Option<String>> {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    let named: Vec<Option<String>> = tools
        .iter()
        .map(|tool| match &tool.entry.adopted {
            Some(adopted) => match &adopted.tool.body {
                Body::Remote(remote) => Some(format!("mcp_{}_", remote.server)),
                _ => None,
            },
            None => tool.entry.summary.group.clone().or_else(|| {
                let end = tool.entry.name.find(['_', '-', '.'])?;
                Some(tool.entry.name[..=end].to_owned())
            }),
        })
        .collect();
    named.iter().flatten().for_each(|family| *sizes.entry(family.clone()).or_default() += 1);
    named.into_iter().map(|family| family.filter(|family| sizes[family] >= FAMILY)).collect()
}

fn milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The registered tool that a name leads to.
impl Registry {
    /// Finds the tool that `name` leads to.
    ///
    /// # Errors
    /// As [`Engine::entry`].
    pub fn find<'a>(&'a self, engine: &Engine, name: &str) -> Result<&'a Registered, EngineError> {
        let is_it = |tool: &&Registered| tool.entry.name.eq_ignore_ascii_case(name);
        let found = self.tools.iter().filter(is_it).min_by_key(|tool| !tool.entry.is_active());
        match found {
            Some(tool) => Ok(tool),
            None => Err(engine.entry(name, ScopeFilter::Any).err().unwrap_or_else(|| EngineError::Unknown {
                name: name.to_owned(),
                suggestion: engine.catalog().suggest(name),
            })),
        }
    }
}
