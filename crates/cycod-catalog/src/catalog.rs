use std::{
    collections::{BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
};

use cycod_definition::{Host, Level};
use cycod_diagnostic::closest;

use crate::{
    Availability, Entry, Problem, Scope, ScopeFilter, Scopes, State, Summary,
    availability::Machine,
    codes,
    read::Outcome,
    shelf::{Item, Shelf},
};

/// Which tools exist here: a snapshot of all directories.
#[derive(Debug)]
pub struct Catalog {
    scopes: Scopes,
    shelves: Vec<Shelf>,
    machine: Machine,
}

/// A file on its shelf.
type Place<'a> = (&'a Shelf, &'a Item);

impl Catalog {
    /// Looks into the directories of `scopes`, for the machine that `host` describes.
    ///
    /// This never fails: a directory that cannot be listed is among the [`problems`](Self::problems), a file
    /// that cannot be used among the [`entries`](Self::entries).
    pub fn open(scopes: Scopes, host: &Host) -> Self {
        let shelves = scopes.directories().iter().cloned().map(Shelf::open).collect();
        Self { scopes, shelves, machine: Machine::of(host) }
    }

    /// The directories it was opened with.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// Directories that could not be listed, with the reason.
    pub fn problems(&self) -> impl Iterator<Item = (&Path, &io::Error)> {
        self.shelves.iter().filter_map(|shelf| Some((shelf.directory.path.as_path(), shelf.problem.as_ref()?)))
    }

    /// Returns every tool file, sorted by name; of one name, the winning one first.
    pub fn entries(&self) -> Vec<Entry> {
        let mut by_key: HashMap<String, Vec<Place<'_>>> = HashMap::new();
        for (shelf, item) in self.places() {
            by_key.entry(item.reading.name.to_ascii_lowercase()).or_default().push((shelf, item));
        }
        let mut groups: Vec<(String, Vec<Place<'_>>)> = by_key.into_iter().collect();
        groups.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        groups.into_iter().flat_map(|(key, places)| self.resolve(&key, &places)).collect()
    }

    /// Returns the entry that `name` leads to among the scopes asked for, in whatever state it is.
    ///
    /// With a filter a shadowed entry can be found; without one the entry is the one that a call would use, or
    /// the broken or duplicate one that stands in its place.
    pub fn find(&self, name: &str, filter: ScopeFilter) -> Option<Entry> {
        let key = name.to_ascii_lowercase();
        let entries = self.resolve(&key, &self.with_key(&key));
        let mut admitted = entries.into_iter().filter(|entry| self.scopes.admits(filter, entry.scope));
        admitted.next()
    }

    /// Returns the name nearest to `name`, for "did you mean".
    pub fn suggest(&self, name: &str) -> Option<String> {
        let names: BTreeSet<&str> = self.places().map(|(_, item)| item.reading.name.as_str()).collect();
        closest(name, names.iter().copied()).map(str::to_owned)
    }

    fn places(&self) -> impl Iterator<Item = Place<'_>> {
        self.shelves
            .iter()
            .flat_map(|shelf| shelf.items.iter().map(move |item| (shelf, item)))
            .filter(|(_, item)| item.reading.outcome != Outcome::Prose)
    }

    fn with_key(&self, key: &str) -> Vec<Place<'_>> {
        self.places().filter(|(_, item)| item.reading.name.eq_ignore_ascii_case(key)).collect()
    }

    /// Decides between the files that hold one name: those that take it first, in the order in which they win.
    fn resolve(&self, key: &str, places: &[Place<'_>]) -> Vec<Entry> {
        let takes = |(_, item): &&Place<'_>| !matches!(item.reading.outcome, Outcome::Foreign(_));
        let winner = places.iter().filter(takes).map(|(shelf, _)| shelf.directory.scope).min();
        let mut entries: Vec<Entry> = places
            .iter()
            .map(|place| {
                let (shelf, item) = *place;
                let scope = shelf.directory.scope;
                let rivals_in = |scope: Scope| -> Vec<PathBuf> {
                    let rivals = places.iter().filter(takes).filter(|(other, rival)| {
                        other.directory.scope == scope && !std::ptr::eq(*rival, item)
                    });
                    let mut paths: Vec<PathBuf> = rivals.map(|(other, rival)| other.path(rival)).collect();
                    paths.sort_unstable();
                    paths
                };
                let reserved = || {
                    let message = format!("`{}` is the name of a built-in tool", item.reading.name);
                    self.scopes.is_reserved(key).then(|| Problem::new(codes::RESERVED_NAME.0, message))
                };
                let broken = match &item.reading.outcome {
                    Outcome::Broken(problem) | Outcome::Foreign(problem) => Some(problem.clone()),
                    Outcome::Tool(_) | Outcome::Prose => reserved(),
                };
                let state = match broken {
                    Some(problem) => State::Broken { problem },
                    None => match (rivals_in(scope), winner) {
                        (with, _) if !with.is_empty() => State::Duplicate { with },
                        (_, Some(first)) if first < scope => {
                            State::Shadowed { by: rivals_in(first).into_iter().next().unwrap_or_default() }
                        }
                        _ => State::Active,
                    },
                };
                let summary = match &item.reading.outcome {
                    Outcome::Tool(summary) => (**summary).clone(),
                    _ => Summary::default(),
                };
                let (level, availability) = match &item.reading.outcome {
                    Outcome::Tool(_) => {
                        let mut seen = BTreeSet::from([key.to_owned()]);
                        (self.level(&summary, &mut seen), self.machine.availability(&summary))
                    }
                    _ => (Level::Run, Availability::Available),
                };
                Entry {
                    name: item.reading.name.clone(),
                    path: shelf.path(item),
                    scope,
                    style: shelf.directory.style,
                    summary,
                    level,
                    state,
                    availability,
                }
            })
            .collect();
        let is_foreign = |entry: &Entry| matches!(&entry.state, State::Broken { problem } if problem.code == codes::NOT_A_FILE.0);
        entries.sort_by(|one, other| {
            (is_foreign(one), one.scope, &one.path).cmp(&(is_foreign(other), other.scope, &other.path))
        });
        entries
    }

    /// The highest of a tool's own level and those of the tools it uses; one that is missing or broken may be anything.
    fn level(&self, summary: &Summary, seen: &mut BTreeSet<String>) -> Level {
        let mut highest = summary.own_level.unwrap_or(Level::Run);
        for used in &summary.uses {
            if highest == Level::Run {
                break;
            }
            let key = used.to_ascii_lowercase();
            if !seen.insert(key.clone()) {
                continue;
            }
            let places = self.with_key(&key);
            let winner = places.iter().map(|(shelf, _)| shelf.directory.scope).min();
            let of_winner: Vec<_> = places.iter().filter(|(shelf, _)| Some(shelf.directory.scope) == winner).collect();
            let used_level = match of_winner.as_slice() {
                [(_, item)] => match &item.reading.outcome {
                    Outcome::Tool(summary) => self.level(summary, seen),
                    _ => Level::Run,
                },
                _ => Level::Run,
            };
            highest = highest.max(used_level);
        }
        highest
    }
}
