//! All tools of a place: which files hold which name, and which of them wins.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use cycod_definition::{Host, Level, Tool, ToolName};
use cycod_diagnostic::{Code, closest};
use cycod_file::Look;

use crate::{
    Adopted, Availability, Entry, Problem, Scope, ScopeFilter, Scopes, State, Summary, Switches, ToolDirectory,
    ToolKind, ToolOrigin, UnavailableReason, Writer,
    availability::Machine,
    beside,
    read::{Outcome, Reading},
    shelf::{Cache, Shelf},
};

/// How many other files of one name are told of each: with many of them, nobody reads all pairs.
const MOST_OTHERS: usize = 10;

/// Which tools exist here: a snapshot of all directories.
#[derive(Debug)]
pub struct Catalog {
    scopes: Scopes,
    shelves: Vec<Shelf>,
    /// By key.
    adopted: BTreeMap<String, Arc<Adopted>>,
    built_in: Option<BuiltIn>,
    machine: Machine,
    switches: Option<Arc<dyn Switches>>,
}

/// Reads the built-in tools.
type ReadTools = Box<dyn FnOnce() -> BTreeMap<String, Arc<Adopted>> + Send>;

/// The built-in tools.
#[derive(Debug)]
struct BuiltIn {
    names: Vec<ToolName>,
    /// By key.
    tools: LazyLock<BTreeMap<String, Arc<Adopted>>, ReadTools>,
}

/// A file that may be the one a name leads to.
struct Candidate<'a> {
    directory: &'a ToolDirectory,
    path: PathBuf,
    reading: Reading,
}

impl Candidate<'_> {
    /// Whether the file takes its name away from others; a directory or a pipe does not.
    fn takes_name(&self) -> bool {
        !matches!(self.reading.outcome, Outcome::Foreign(_))
    }
}

impl Catalog {
    /// Looks into the directories of `scopes`, for the machine that `host` describes.
    ///
    /// This never fails: a directory that cannot be listed is among the [`problems`](Self::problems), a file
    /// that cannot be used among the [`entries`](Self::entries). What is read is remembered below the
    /// user's directory, so that an unchanged file is parsed once.
    pub fn open(scopes: Scopes, host: &Host) -> Self {
        Self::open_in(scopes, host, &Look::default())
    }

    /// The same, as part of a look at more.
    pub fn open_in(scopes: Scopes, host: &Host, look: &Look) -> Self {
        let cache = scopes.cache();
        Self::open_with(scopes, host, look, Some(&cache))
    }

    /// Looks into the directories and remembers nothing.
    pub fn open_uncached(scopes: Scopes, host: &Host) -> Self {
        Self::open_with(scopes, host, &Look::default(), None)
    }

    fn open_with(scopes: Scopes, host: &Host, look: &Look, cache: Option<&Cache>) -> Self {
        let mut known = beside::Known::default();
        let mut open = |directory: &ToolDirectory| {
            if look.is_missing(&directory.path) {
                return Shelf::empty(directory.clone());
            }
            Shelf::open(directory.clone(), || known.at(&directory.places, look, cache), cache)
        };
        let shelves = scopes.directories().iter().map(&mut open).collect();
        Self { scopes, shelves, adopted: BTreeMap::new(), built_in: None, machine: Machine::of(host), switches: None }
    }

    /// Adds the tools that other programs offer, after all that are in files.
    ///
    /// Of two with one name the first is kept.
    pub fn adopt(&mut self, tools: impl IntoIterator<Item = Adopted>) {
        for adopted in tools.into_iter().filter(|adopted| !self.scopes.is_reserved(&adopted.tool.name.key())) {
            self.adopted.entry(adopted.tool.name.key()).or_insert_with(|| Arc::new(adopted));
        }
    }

    /// Adds the tools that this program carries out itself, and takes their names away from files. What they are is read when
    /// one of them is wanted: most calls are of others.
    pub fn build_in(&mut self, names: Vec<ToolName>, tools: impl FnOnce() -> Vec<Tool> + Send + 'static) {
        for name in &names {
            self.scopes.reserve(name);
            self.adopted.remove(&name.key());
        }
        let adopted =
            |tool: Tool| (tool.name.key(), Arc::new(Adopted { tool, origin: ToolOrigin::built_in(), withheld: None }));
        let tools: ReadTools = Box::new(move || tools().into_iter().map(adopted).collect());
        self.built_in = Some(BuiltIn { names, tools: LazyLock::new(tools) });
    }

    /// Marks what `switches` turn off, and gives the names that they enforce to the tools of the global scope.
    pub fn heed(&mut self, switches: Arc<dyn Switches>) {
        self.switches = Some(switches);
    }

    /// What this machine lacks of what `tool` requires; where it works is for its plan to say.
    pub fn lacking(&self, tool: &Tool) -> Vec<UnavailableReason> {
        self.machine.lacking(tool.required_commands(), tool.required_variables())
    }

    /// The directories it was opened with.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// Returns what changes the directories; open the catalog again to see what it did.
    pub fn writer(&self) -> Writer<'_> {
        Writer::new(&self.scopes)
    }

    /// Directories that could not be listed, with the reason.
    pub fn problems(&self) -> impl Iterator<Item = (&Path, &io::Error)> {
        self.shelves.iter().filter_map(|shelf| Some((shelf.directory.path.as_path(), shelf.problem.as_ref()?)))
    }

    /// Returns every tool that somebody put here, in a file or by a server, sorted by name; of one name, the winning one first.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries_with(&[])
    }

    /// Returns the first tools, by name, whose names begin with `start` in any case: those of files and of servers. It costs
    /// little beyond those that it returns, however many there are.
    pub fn entries_starting(&self, start: &str, most: usize) -> Vec<Entry> {
        let start = start.to_ascii_lowercase();
        let is_meant =
            |name: &str| name.get(..start.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(&start));
        // Names alone are compared first, so that only what is returned is read.
        let mut keys: BTreeSet<String> = BTreeSet::new();
        let mut add = |name: &str| {
            if is_meant(name) {
                keys.insert(name.to_ascii_lowercase());
            }
        };
        self.shelves.iter().for_each(|shelf| shelf.names(&mut add));
        self.adopted.keys().for_each(|key| add(key));
        while keys.len() > most {
            keys.pop_last();
        }
        let is_first = |name: &str| is_meant(name) && keys.contains(&name.to_ascii_lowercase());
        let mut by_key: BTreeMap<String, Vec<Candidate<'_>>> = BTreeMap::new();
        for shelf in &self.shelves {
            for candidate in in_shelf(shelf, shelf.items_named(&is_first)) {
                by_key.entry(candidate.reading.name.to_ascii_lowercase()).or_default().push(candidate);
            }
        }
        let mut entries: Vec<Entry> = Vec::new();
        by_key.into_iter().for_each(|(key, group)| self.resolve(&key, self.with_known(&key, group), &mut entries));
        let adopted = self.adopted.iter().filter(|(key, _)| keys.contains(*key));
        entries.extend(adopted.map(|(key, adopted)| self.adopted_entry(adopted, || self.holder(key))));
        entries.sort_by_cached_key(|entry| entry.name.to_ascii_lowercase());
        entries
    }

    /// As [`entries`](Self::entries), with the tools that this program carries out itself.
    pub fn every_entry(&self) -> Vec<Entry> {
        let built_in: Vec<_> = self.built_in.iter().flat_map(|built_in| built_in.tools.iter()).collect();
        self.entries_with(&built_in)
    }

    fn entries_with(&self, built_in: &[(&String, &Arc<Adopted>)]) -> Vec<Entry> {
        let candidates = self.candidates().map(|candidate| (candidate.reading.name.to_ascii_lowercase(), candidate));
        let mut all: Vec<(String, Candidate<'_>)> = candidates.collect();
        // Stable: those of one name stay in the order of their directories.
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let with_key = |key: &str| {
            let from = &all[all.partition_point(|(other, _)| other.as_str() < key)..];
            from[..from.partition_point(|(other, _)| other == key)].iter().map(|(_, candidate)| candidate)
        };
        let used = |key: &str| winner(with_key(key)).cloned().or_else(|| self.remote(key));
        let known: Vec<Known> = all.iter().map(|(key, candidate)| Known::of(key, &candidate.reading, &used)).collect();
        let holder = |key: &String| with_key(key).find(|one| one.takes_name()).map(|one| one.path.clone());
        let adopted = self.adopted.iter().chain(built_in.iter().copied());
        let adopted: Vec<Entry> = adopted.map(|(key, adopted)| self.adopted_entry(adopted, || holder(key))).collect();
        let mut entries = Vec::with_capacity(all.len() + adopted.len());
        let mut rest = all.into_iter().zip(known).peekable();
        while let Some(((key, first), known)) = rest.next() {
            let mut group = vec![(first, known)];
            while let Some(((_, next), known)) = rest.next_if(|((other, _), _)| *other == key) {
                group.push((next, known));
            }
            self.resolve(&key, group, &mut entries);
        }
        if !adopted.is_empty() {
            entries.extend(adopted);
            // Stable: of one name, the files stay before the tools of other programs.
            entries.sort_by_cached_key(|entry| (entry.name.to_ascii_lowercase(), entry.scope != Scope::BuiltIn));
        }
        entries
    }

    /// Returns the entry that `name` leads to among the scopes asked for, in whatever state it is.
    ///
    /// With a filter a shadowed entry can be found; without one the entry is the one that a call would use, or
    /// the broken or duplicate one that stands in its place. Only files with this name are looked at.
    pub fn find(&self, name: &str, filter: ScopeFilter) -> Option<Entry> {
        let key = name.to_ascii_lowercase();
        let mut entries = Vec::new();
        self.resolve(&key, self.with_known(&key, self.with_key(&key)), &mut entries);
        entries.extend(self.outside_files(&key).map(|adopted| self.adopted_entry(adopted, || self.holder(&key))));
        entries.sort_by_key(|entry| entry.scope != Scope::BuiltIn);
        entries.into_iter().find(|entry| self.scopes.admits(filter, entry.scope))
    }

    /// The scope of the machine or of the team that has a tool of this name, so that no other one may run.
    pub fn binding(&self, name: &str) -> Option<Scope> {
        let key = name.to_ascii_lowercase();
        let binding = self.shelves.iter().filter(|shelf| shelf.directory.scope.binds());
        let mut all = binding.flat_map(|shelf| in_shelf(shelf, shelf.with_key(&key)));
        all.find(Candidate::takes_name).map(|one| one.directory.scope)
    }

    /// Returns the name nearest to `name`, for "did you mean".
    pub fn suggest(&self, name: &str) -> Option<String> {
        let mut names: BTreeSet<String> = self.candidates().map(|candidate| candidate.reading.name).collect();
        names.extend(self.built_in.iter().flat_map(|built_in| built_in.names.iter().map(ToString::to_string)));
        names.extend(self.adopted.values().map(|adopted| adopted.tool.name.to_string()));
        closest(name, names.iter().map(String::as_str)).map(str::to_owned)
    }

    /// The tool of this name that is in no file.
    fn outside_files(&self, key: &str) -> Option<&Arc<Adopted>> {
        let built_in = self.built_in.as_ref().filter(|built_in| built_in.names.iter().any(|name| name.key() == key));
        match built_in {
            Some(built_in) => built_in.tools.get(key),
            None => self.adopted.get(key),
        }
    }

    fn adopted_entry(&self, adopted: &Arc<Adopted>, holder: impl FnOnce() -> Option<PathBuf>) -> Entry {
        self.switched(adopted.entry(if adopted.is_built_in() { None } else { holder() }, &self.machine))
    }

    /// The entry with the mark of who turned it off.
    fn switched(&self, mut entry: Entry) -> Entry {
        let off = |switches: &Arc<dyn Switches>| {
            switches.turned_off(&entry.name, entry.scope, !entry.summary.is_off).map(UnavailableReason::TurnedOff)
        };
        if let Some(reason) = self.switches.as_ref().and_then(off) {
            entry.availability = entry.availability.and_not(reason);
        }
        entry
    }

    /// The file that holds a name, if one does.
    fn holder(&self, key: &str) -> Option<PathBuf> {
        self.with_key(key).into_iter().find(Candidate::takes_name).map(|candidate| candidate.path)
    }

    /// What a tool that is in no file means for those that use it.
    fn remote(&self, key: &str) -> Option<Arc<Summary>> {
        let adopted = self.outside_files(key)?;
        Some(Arc::new(Summary { own_level: Some(adopted.level()), ..Summary::default() }))
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.shelves.iter().flat_map(|shelf| in_shelf(shelf, shelf.items()))
    }

    fn with_key(&self, key: &str) -> Vec<Candidate<'_>> {
        self.shelves.iter().flat_map(|shelf| in_shelf(shelf, shelf.with_key(key))).collect()
    }

    /// Files of one name with what the tools that they use say of them, which are looked up one by one.
    fn with_known<'a>(&'a self, key: &str, group: Vec<Candidate<'a>>) -> Vec<(Candidate<'a>, Known)> {
        let used = |key: &str| winner(self.with_key(key).iter()).cloned().or_else(|| self.remote(key));
        let known = |candidate: Candidate<'a>| {
            let known = Known::of(key, &candidate.reading, &used);
            (candidate, known)
        };
        group.into_iter().map(known).collect()
    }

    /// Decides between the files that hold one name, and adds them: those that take it first, in the order in which they win.
    fn resolve(&self, key: &str, mut group: Vec<(Candidate<'_>, Known)>, entries: &mut Vec<Entry>) {
        let order = |(one, _): &(Candidate<'_>, Known)| (!one.takes_name(), one.directory.rank());
        group.sort_by(|one, other| (order(one), &one.0.path).cmp(&(order(other), &other.0.path)));
        let takers = group.iter().map(|(one, _)| one).filter(|one| one.takes_name());
        // Nothing is decided where one is alone, as most are.
        let takers: Vec<(_, PathBuf)> = match group.len() {
            1 => Vec::new(),
            _ => takers.map(|one| (one.directory.rank(), one.path.clone())).collect(),
        };
        let winning = takers.first().map(|(rank, _)| *rank);
        let others_in = |rank, but: &Path| -> Vec<PathBuf> {
            let there = takers[takers.partition_point(|(other, _)| *other < rank)..].iter();
            let there = there.take_while(|(other, _)| *other == rank).map(|(_, path)| path);
            there.filter(|path| *path != but).take(MOST_OTHERS).cloned().collect()
        };
        for (one, known) in group {
            let state = self.state_by_itself(key, &one).unwrap_or_else(|| {
                let rank = one.directory.rank();
                let with = others_in(rank, &one.path);
                if !with.is_empty() {
                    return State::Duplicate { with };
                }
                let by = winning.filter(|winning| *winning < rank).map(|winning| others_in(winning, &one.path));
                match by.and_then(|paths| paths.into_iter().next()) {
                    Some(by) => State::Shadowed { by },
                    None => State::Active,
                }
            });
            entries.push(self.entry(one, state, known));
        }
    }

    /// Why a file can't be used, whatever other files there are.
    fn state_by_itself(&self, key: &str, one: &Candidate<'_>) -> Option<State> {
        if let Outcome::Broken(problem) | Outcome::Foreign(problem) = &one.reading.outcome {
            return Some(State::Broken { problem: problem.clone() });
        }
        self.scopes.is_reserved(key).then(|| {
            let message = format!("`{}` is the name of a built-in tool", one.reading.name);
            let note = Some(self.scopes.reserved_note());
            State::Broken { problem: Problem { note, ..Problem::new(Code::ReservedName, message) } }
        })
    }

    fn entry(&self, one: Candidate<'_>, state: State, Known { level, bases }: Known) -> Entry {
        let (summary, availability) = match one.reading.outcome {
            Outcome::Tool(summary) => {
                let own = self.machine.availability(&summary);
                let of_bases = bases.iter().map(|base| self.machine.availability(base));
                let availability = of_bases.fold(own, Availability::and_of);
                (summary, availability)
            }
            _ => (Arc::default(), Availability::Available),
        };
        let &ToolDirectory { scope, style, ref places, .. } = one.directory;
        self.switched(Entry {
            name: one.reading.name,
            path: one.path,
            scope,
            origin: one.directory.origin(),
            style,
            places: Arc::clone(places),
            summary,
            level,
            state,
            availability,
            adopted: None,
        })
    }
}

/// The summary of the tool that a name leads to; nothing when there is not exactly one that works.
fn winner<'a, 'c: 'a>(group: impl Iterator<Item = &'a Candidate<'c>>) -> Option<&'a Arc<Summary>> {
    let mut winning: Option<(&Candidate<'_>, bool)> = None;
    for one in group.filter(|one| one.takes_name()) {
        winning = match winning {
            Some((best, _)) if one.directory.rank() == best.directory.rank() => Some((best, false)),
            Some((best, _)) if one.directory.rank() > best.directory.rank() => winning,
            _ => Some((one, true)),
        };
    }
    match winning {
        Some((Candidate { reading: Reading { outcome: Outcome::Tool(summary), .. }, .. }, true)) => Some(summary),
        _ => None,
    }
}

fn in_shelf<'a>(shelf: &'a Shelf, items: Vec<crate::shelf::Item>) -> impl Iterator<Item = Candidate<'a>> {
    let items = items.into_iter().filter(|item| item.reading.outcome != Outcome::Prose);
    items.map(|item| Candidate { directory: &shelf.directory, path: shelf.path(&item), reading: item.reading })
}

/// What the tools that a tool uses say of it.
struct Known {
    level: Level,
    /// The tools that it stands for, one behind the other.
    bases: Vec<Arc<Summary>>,
}

impl Known {
    fn of(key: &str, reading: &Reading, used: &dyn Fn(&str) -> Option<Arc<Summary>>) -> Self {
        let mut bases: Vec<Arc<Summary>> = Vec::new();
        let mut next = match &reading.outcome {
            Outcome::Tool(summary) => base(summary),
            _ => None,
        };
        let mut seen = BTreeSet::new();
        while let Some(base_key) = next.filter(|base| base != key && seen.insert(base.clone())) {
            let Some(summary) = used(&base_key) else { break };
            next = base(&summary);
            bases.push(summary);
        }
        Self { level: level(key, reading, used), bases }
    }
}

/// The key of the tool that an alias stands for.
fn base(summary: &Summary) -> Option<String> {
    let base = summary.uses.first().filter(|_| summary.kind == ToolKind::Alias);
    base.map(|name| name.to_ascii_lowercase())
}

/// The highest of a tool's own level and those of the tools it uses; one that is missing or broken may do anything.
fn level(key: &str, reading: &Reading, used: &dyn Fn(&str) -> Option<Arc<Summary>>) -> Level {
    fn highest(
        first: &str,
        summary: &Summary,
        seen: &mut BTreeSet<String>,
        used: &dyn Fn(&str) -> Option<Arc<Summary>>,
    ) -> Level {
        let mut level = summary.own_level.unwrap_or(Level::Run);
        for name in &summary.uses {
            let key = name.to_ascii_lowercase();
            if level == Level::Run {
                break;
            }
            // A cycle adds nothing; that it is an error is for the plan to say.
            if key != first && seen.insert(key.clone()) {
                level = level.max(used(&key).map_or(Level::Run, |summary| highest(first, &summary, seen, used)));
            }
        }
        level
    }
    match &reading.outcome {
        Outcome::Tool(summary) => highest(key, summary, &mut BTreeSet::new(), used),
        _ => Level::Run,
    }
}
