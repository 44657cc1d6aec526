//! Directories that are filled from somewhere which a value chooses: an archive that it names, a repository that it is the address of.
//!
//! Which files are there is not known, so whatever runs from there is one of them. Directories are told apart by their last names:
//! what stands in another one is not touched, and what is looked for where a command works is there when the script went there.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::files::{by_its_code, directories, directory_name, grow, is_any};
use super::left::{Before, Left};
use super::value::{Atom, Cut, Tag, Text, beginning, holes_of};
use super::{Field, Flow, Reason, literal, texts_among};
use crate::programs::{PlaceKind, State, UnpacksInto};

/// Where a command unpacks something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Where {
    /// In the directory that it works in.
    Here,
    /// The same, but it is one file, whose name the value decides.
    File,
    /// In a new one there, whose name it makes up.
    Below,
    /// In one of this name.
    Named(String),
}

/// What was unpacked, and by which values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filled {
    place: Where,
    program: String,
    command: u64,
    /// The commands in whose code that one is.
    around: Vec<u64>,
    holes: Vec<usize>,
}

impl Filled {
    /// Whether this command, or the code that it was given, unpacked it: it loads nothing of that when it begins.
    fn is_by(&self, command: u64) -> bool {
        self.command == command || self.around.contains(&by_its_code(command))
    }
}

/// What the commands of a script unpack, and where it goes.
#[derive(Default)]
pub(super) struct Unpacked {
    filled: Vec<Filled>,
    /// The names of the directories that the script goes to; an empty one for those that are not known.
    visited: BTreeSet<String>,
    /// Directories among the words of the command that is read, and what it may unpack.
    directories: Vec<Text>,
    sources: Vec<Text>,
    /// The files and directories among the words, where values name them.
    named: Vec<Text>,
    /// The same words, where they are names under which something is kept; and whether the command gives that name.
    names: Vec<(Text, bool)>,
    /// What is kept, by name, from which something else takes it.
    kept: BTreeMap<String, BTreeSet<usize>>,
}

/// The name of what was fetched last.
const FETCHED: &str = "FETCH_HEAD";

impl Unpacked {
    /// A command begins.
    pub(super) fn begin_command(&mut self) {
        self.directories.clear();
        self.sources.clear();
        self.named.clear();
        self.names.clear();
    }

    /// Values by which something was unpacked that may have this path, or a path below it.
    fn at(
        &self,
        path: &Text,
        has_values: bool,
        is_own_of: Option<&str>,
        command: u64,
        earlier: Option<(&Left, Before<'_>)>,
    ) -> Vec<usize> {
        let start = beginning(path);
        let is_relative = match path.first() {
            Some(Atom::Text(_)) => !start.starts_with(['/', '~']),
            Some(Atom::Unknown(Tag::Variable(name) | Tag::Given(name))) => &**name == "PWD",
            _ => false,
        };
        let names = directories(path);
        // What is looked for where a command works is in each directory that it goes to.
        let mut named: BTreeSet<String> = names.iter().cloned().collect();
        if is_relative {
            named.extend(self.visited.iter().cloned());
            named.extend(
                self.directories.iter().flat_map(|path| directories(path).into_iter().chain(directory_name(path))),
            );
        }
        let is_somewhere = |directory: &Text| directory_name(directory).is_none() && literal(directory).is_none();
        let is_below =
            has_values || is_relative && (!self.visited.is_empty() || self.directories.iter().any(is_somewhere));
        let general =
            [(is_relative, Where::Here), (is_relative && names.is_empty(), Where::File), (is_below, Where::Below)];
        let mut places: Vec<Where> =
            general.into_iter().filter(|(may_be, _)| *may_be).map(|(_, place)| place).collect();
        places.extend(named.iter().cloned().map(Where::Named));
        let is_own = |program: &str| is_own(program, is_own_of);
        // It runs before it has unpacked anything.
        let own = self.filled.iter().filter(|filled| !filled.is_by(command) && !is_own(&filled.program));
        let is_pattern = named_by_pattern(&named);
        let is_one = |place: &Where| places.contains(place) || is_pattern && matches!(place, Where::Named(_));
        let mut holes: Vec<usize> =
            own.filter(|filled| is_one(&filled.place)).flat_map(|filled| filled.holes.iter().copied()).collect();
        if let Some((left, before)) = earlier {
            for ((stage, program), filled) in
                left.filled.iter().filter(|(place, _)| is_one(place)).flat_map(|(_, of)| of)
            {
                holes.extend(filled.iter().filter(|_| before(*stage) && !is_own(program)));
            }
        }
        holes
    }
}

/// Whether one of these directories is any that fits a pattern.
fn named_by_pattern(names: &BTreeSet<String>) -> bool {
    names.iter().any(|name| name.contains(['*', '?', '[']))
}

/// Whether a file is one of the program's own, which it makes by itself.
pub(super) fn is_own(program: &str, is_own_of: Option<&str>) -> bool {
    is_own_of.is_some_and(|own| program.split(' ').next() == own.split(' ').next())
}

impl Flow<'_> {
    /// The script goes to another directory.
    pub(super) fn visits(&mut self, rest: &[Field]) {
        for target in texts_among(rest).iter().filter(|text| !beginning(text).starts_with('-')) {
            self.works_in(target);
        }
    }

    /// Commands of the script work in this directory.
    pub(super) fn works_in(&mut self, directory: &Text) {
        let directory = &self.told_apart(directory);
        let mut names = directories(directory);
        names.extend(directory_name(directory));
        if names.is_empty() && !matches!(literal(directory), Some("." | "..")) {
            names.push(String::new());
        }
        for name in names {
            self.has_grown |= self.unpacked.visited.insert(name);
        }
    }

    /// A path in which a value is what its placeholder says: two that look alike are the same.
    fn told_apart(&self, path: &Text) -> Text {
        let named = |atom: &Atom| match atom {
            Atom::Value { hole, cut } if *cut == Cut::WHOLE => {
                let shown = self.holes.get(*hole).map(|hole| &*hole.shown).filter(|shown| !shown.is_empty());
                shown.map_or_else(|| atom.clone(), |shown| Atom::Unknown(Tag::Given(shown.into())))
            }
            atom => atom.clone(),
        };
        path.iter().map(named).collect()
    }

    /// Whether something was unpacked, here or before.
    pub(super) fn has_unpacked(&self) -> bool {
        let left = |(left, _): (&Left, Before<'_>)| !left.filled.is_empty() || !left.fetched.is_empty();
        !self.unpacked.filled.is_empty() || !self.unpacked.kept.is_empty() || self.earlier.is_some_and(left)
    }

    /// What the script keeps under names, for those that run after it.
    pub(super) fn fetched(&mut self) -> BTreeMap<String, BTreeSet<usize>> {
        std::mem::take(&mut self.unpacked.kept)
    }

    /// What is kept under the names that these words say, or may say; under any if there are none and that is `or_any`.
    fn kept_under(&self, names: &[(Text, bool)], or_any: bool) -> Vec<usize> {
        let fits = |kept: &str| {
            let is_it = |(name, _): &(Text, bool)| match literal(name) {
                // `o/main` is a branch of `o`, and `FETCH_HEAD~1` is what was before it.
                Some(name) => name
                    .strip_prefix(kept)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '~', '^', ':', '@'])),
                None => true,
            };
            or_any && names.is_empty() || names.iter().any(is_it)
        };
        let own = self.unpacked.kept.iter().filter(|(name, _)| fits(name)).flat_map(|(_, holes)| holes);
        let mut holes: Vec<usize> = own.copied().collect();
        if let Some((left, before)) = self.earlier {
            for (stage, fetched) in left.fetched.iter().filter(|(name, _)| fits(name)).flat_map(|(_, of_name)| of_name)
            {
                holes.extend(fetched.iter().filter(|_| before(*stage)));
            }
        }
        holes
    }

    /// What a value decides is kept under the names that the words of the command say.
    fn keeps(&mut self) {
        let names = std::mem::take(&mut self.unpacked.names);
        let sources = self.unpacked.sources.iter().flat_map(holes_of);
        let mut holes: Vec<usize> = sources.filter(|hole| self.is_text(*hole)).collect();
        holes.extend(self.kept_under(&names, true));
        if holes.is_empty() {
            return;
        }
        // `main` of there is none of here, but `main:a` is `a`; and an address is no name.
        let under = |(name, is_own): &(Text, bool)| match (literal(name)?.rsplit_once(':'), is_own) {
            (Some((_, to)), false) => Some(to.trim_start_matches("refs/heads/").to_owned()),
            (None, true) => literal(name).map(str::to_owned),
            _ => None,
        };
        let names: Vec<String> = names.iter().filter_map(under).collect();
        for name in names.into_iter().filter(|name| !name.is_empty()).chain([FETCHED.to_owned()]) {
            self.has_grown |= grow(self.unpacked.kept.entry(name).or_default(), &holes);
        }
    }

    /// What the script has unpacked, for those that run after it.
    pub(super) fn filled(&mut self) -> Vec<(Where, String, Vec<usize>)> {
        let here = self.directory.as_ref().and_then(|own| directory_name(&self.told_apart(own)));
        // One file there is one of the directory for those that work elsewhere.
        let filled = std::mem::take(&mut self.unpacked.filled).into_iter();
        let filled = filled.map(|filled| match (filled.place, &here) {
            (Where::Here | Where::File, Some(name)) => (Where::Named(name.clone()), filled.program, filled.holes),
            (place, _) => (place, filled.program, filled.holes),
        });
        filled.collect()
    }

    /// The names of the directories where the command may work.
    pub(super) fn directories_of_work(&self) -> Vec<String> {
        let of_command = self.unpacked.directories.iter().filter_map(directory_name);
        self.unpacked.visited.iter().filter(|name| !name.is_empty()).cloned().chain(of_command).collect()
    }

    /// The words of the command that are files and directories which values name.
    pub(super) fn named_files(&self) -> Vec<Text> {
        self.unpacked.named.clone()
    }

    fn unpacked_at(&self, path: &Text, is_own_of: Option<&str>) -> Vec<usize> {
        let has_values = path.iter().any(|atom| !atom.holes().is_empty());
        self.unpacked.at(&self.told_apart(path), has_values, is_own_of, self.running.id, self.earlier)
    }

    /// Notes what a word is to a command that may unpack something.
    pub(super) fn note_unpacking(&mut self, state: &State, place: PlaceKind<'_>, text: &Text, is_of_option: bool) {
        let named = state.is_inside() && literal(text).is_some_and(|text| text.contains("{}"));
        let text = &*if named { Cow::Owned(self.with_names(text)) } else { Cow::Borrowed(text) };
        if place == PlaceKind::Data("ref") || !is_of_option && matches!(place, PlaceKind::Data("name" | "url")) {
            self.unpacked.names.push((text.clone(), place == PlaceKind::Data("name")));
        }
        if matches!(place, PlaceKind::Data("directory" | "file" | "output"))
            && text.iter().any(|atom| !atom.holes().is_empty())
        {
            self.unpacked.named.push(text.clone());
        }
        match place {
            PlaceKind::Data("directory") => {
                let directory = self.told_apart(text);
                self.unpacked.directories.push(directory);
            }
            PlaceKind::Data("name") if state.entry().unpacks_by_name() => {}
            PlaceKind::Data("file" | "url" | "name") => self.unpacked.sources.push(text.clone()),
            _ => {}
        }
    }

    /// Tells what a command unpacks.
    pub(super) fn unpacks(&mut self, state: &State) {
        let how = state.entry().unpacks;
        if !how.with.holds(state.seen()) {
            return;
        }
        let mut kept = Vec::new();
        let place = match how.into {
            UnpacksInto::Nothing => return,
            UnpacksInto::Named => return self.fetches_by_address(state.label()),
            UnpacksInto::Kept => return self.keeps(),
            // Its name is all that a value decides.
            UnpacksInto::Beside => return self.named_files().iter().for_each(|file| self.note_named(file)),
            into @ (UnpacksInto::FromKept | UnpacksInto::FromAnyKept) => {
                kept = self.kept_under(&self.unpacked.names, into == UnpacksInto::FromAnyKept);
                Where::Here
            }
            UnpacksInto::Below => {
                self.names_sources(true);
                Where::Below
            }
            UnpacksInto::Last if self.unpacked.directories.is_empty() => {
                let last = self.unpacked.sources.pop().map(|last| self.told_apart(&last));
                self.unpacked.directories.extend(last);
                Where::Here
            }
            UnpacksInto::Here | UnpacksInto::Last => Where::Here,
        };
        // What a value names may be what runs, or where that is.
        self.named_files().iter().for_each(|file| self.note_named(file));
        let sources: Vec<usize> = self.unpacked.sources.iter().flat_map(holes_of).collect();
        // What is copied, moved or linked may be a directory.
        if how.into == UnpacksInto::Last {
            for source in self.unpacked.sources.clone() {
                let below = self.unpacked_below(&source);
                kept.extend(below);
            }
        }
        let read = [
            sources,
            kept,
            self.input.holes(),
            self.input_files.clone(),
            self.running.files.clone(),
            self.running.outputs.clone(),
        ];
        let holes: Vec<usize> = read.concat().into_iter().filter(|hole| self.is_text(*hole)).collect();
        let directory = self.unpacked.directories.last().filter(|_| !holes.is_empty()).cloned();
        // Where a value names it, that may be where something else runs.
        let is_it = |named: &&Text| directory.as_ref().is_some_and(|directory| self.told_apart(named) == *directory);
        let named: Vec<Text> = self.unpacked.named.iter().filter(is_it).cloned().collect();
        named.iter().for_each(|named| self.note_filled(named, state.label()));
        let place = match &directory {
            Some(directory) if matches!(literal(directory), Some("." | "./")) => Where::Here,
            Some(directory) => match directory_name(directory) {
                Some(name) => Where::Named(name),
                // What a value names is refused where it runs.
                None => return,
            },
            None => place,
        };
        self.fills(place, state.label(), holes);
    }

    /// What is made of an address gets a part of it for a name, in a directory or as one.
    fn names_sources(&mut self, is_directory: bool) {
        let sources = self.unpacked.sources.clone();
        let has_directory = !self.unpacked.directories.is_empty();
        if !has_directory {
            sources.iter().for_each(|source| self.note_named(source));
        }
        if !(has_directory && is_directory) {
            sources.iter().for_each(|source| self.note_name(source));
        }
    }

    /// Files get the last parts of their addresses for names.
    fn fetches_by_address(&mut self, program: &str) {
        self.names_sources(false);
        for address in std::mem::take(&mut self.unpacked.sources) {
            let holes: Vec<usize> = holes_of(&address).into_iter().filter(|hole| self.is_text(*hole)).collect();
            self.note_written(&address, &holes);
            if is_any(&address) && !holes.is_empty() {
                self.fills(Where::File, program, holes);
            }
        }
    }

    fn fills(&mut self, place: Where, program: &str, mut holes: Vec<usize>) {
        holes.sort_unstable();
        holes.dedup();
        self.note_unpacked_names(if let Where::Named(directory) = &place { directory } else { "" }, &holes);
        let around = self.around.clone();
        let filled = Filled { place, program: program.to_owned(), command: self.running.id, around, holes };
        if !filled.holes.is_empty() && !self.unpacked.filled.contains(&filled) {
            self.unpacked.filled.push(filled);
            self.has_grown = true;
        }
    }

    /// Values that decide what a file holds because they decide what was unpacked.
    pub(super) fn holes_unpacked(&mut self, file: &Text) -> Vec<usize> {
        if !self.has_unpacked() {
            return Vec::new();
        }
        self.spend(self.unpacked.filled.len() / 8);
        self.unpacked_at(file, None)
    }

    /// Values that decide what was unpacked anywhere.
    pub(super) fn all_unpacked(&self) -> Vec<usize> {
        let own = self.unpacked.filled.iter().filter(|filled| !filled.is_by(self.running.id));
        let mut holes: Vec<usize> = own.flat_map(|filled| filled.holes.iter().copied()).collect();
        if let Some((left, before)) = self.earlier {
            let filled = left.filled.values().flatten().filter(|((stage, _), _)| before(*stage));
            holes.extend(filled.flat_map(|(_, holes)| holes));
        }
        holes
    }

    /// A file runs, or something is loaded from it, which may have been unpacked. `is_own_of` is the program that makes it otherwise.
    pub(super) fn runs_unpacked(&mut self, file: &Text, is_own_of: Option<&str>) {
        if self.has_unpacked() {
            let holes = self.unpacked_at(file, is_own_of);
            self.find_all(holes, &Reason::Unpacked);
        }
    }

    /// The same for what stands in a directory.
    pub(super) fn runs_unpacked_below(&mut self, directory: &Text) {
        let holes = self.unpacked_below(directory);
        self.find_all(holes, &Reason::Unpacked);
    }

    fn unpacked_below(&mut self, directory: &Text) -> Vec<usize> {
        let mut file = directory.clone();
        super::value::push(&mut file, Atom::text("/."));
        self.holes_unpacked(&file)
    }

    /// A program runs the files that `find` finds.
    pub(super) fn runs_what_is_found(&mut self, program: &Arc<str>) {
        let unpacked = self.all_unpacked();
        self.find_all(unpacked, &Reason::Unpacked);
        self.find_code(self.running.arguments.clone(), program, "program");
    }

    /// A program looks for files by itself where it works.
    pub(super) fn finds_unpacked(&mut self, program: &str) {
        self.guard_filled(Some(program));
        if self.has_unpacked() {
            let holes = self.unpacked_at(&vec![Atom::text("any directory/settings")], Some(program));
            let why = format!("`{program}` may take a file for its settings or code that the value decides about");
            self.find_unclear(holes, &why);
        }
    }
}
