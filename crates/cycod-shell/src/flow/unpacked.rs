//! Directories that are filled from somewhere which a value chooses: an archive that it names, a repository that it is the address of.
//!
//! Which files are there is not known, so whatever runs from there is one of them. Directories are told apart by their last names:
//! what stands in another one is not touched, and what is looked for where a command works is there when the script went there.

use std::collections::BTreeSet;

use super::files::{directories, directory_name};
use super::value::{Atom, Tag, Text, beginning, holes_of};
use super::{Field, Flow, Reason, literal, texts_among};
use crate::programs::{PlaceKind, State, UnpacksInto};

/// Where a command unpacks something.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Where {
    /// In the directory that it works in.
    Here,
    /// In a new one there, whose name it makes up.
    Below,
    /// In one of this name.
    Named(String),
}

/// What was unpacked, and by which values.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Filled {
    place: Where,
    program: String,
    command: u64,
    holes: Vec<usize>,
}

/// What the commands of a script unpack, and where it goes.
#[derive(Debug, Default)]
pub(super) struct Unpacked {
    filled: Vec<Filled>,
    /// The names of the directories that the script goes to; an empty one for those that are not known.
    visited: BTreeSet<String>,
    /// Directories among the words of the command that is read, and what it may unpack.
    directories: Vec<Text>,
    sources: Vec<Text>,
}

impl Unpacked {
    pub(super) fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// A command begins.
    pub(super) fn begin_command(&mut self) {
        self.directories.clear();
        self.sources.clear();
    }

    /// Values by which something was unpacked that may have this path, or a path below it.
    fn at(&self, path: &Text, is_own_of: Option<&str>, command: u64) -> Vec<usize> {
        let start = beginning(path);
        let is_relative = match path.first() {
            Some(Atom::Text(_)) => !start.starts_with(['/', '~']),
            Some(Atom::Unknown(Tag::Variable(name) | Tag::Given(name))) => &**name == "PWD",
            _ => false,
        };
        let names = directories(path);
        let has_values = path.iter().any(|atom| !atom.holes().is_empty());
        let goes_to = |name: &str| {
            self.visited.contains(name)
                || self.directories.iter().any(|own| directory_name(own).as_deref() == Some(name))
        };
        let may_be = |filled: &&Filled| match &filled.place {
            // It runs before it has unpacked anything.
            _ if filled.command == command => false,
            // It makes its own files by itself.
            _ if is_own_of.is_some_and(|program| filled.program.split(' ').next() == program.split(' ').next()) => {
                false
            }
            Where::Here => is_relative,
            Where::Below => has_values || is_relative && !self.visited.is_empty(),
            Where::Named(name) => names.contains(name) || is_relative && goes_to(name),
        };
        self.filled.iter().filter(may_be).flat_map(|filled| filled.holes.iter().copied()).collect()
    }
}

impl Flow<'_> {
    /// The script goes to another directory.
    pub(super) fn visits(&mut self, rest: &[Field]) {
        for target in texts_among(rest).iter().filter(|text| !beginning(text).starts_with('-')) {
            let mut names = directories(target);
            names.extend(directory_name(target));
            if names.is_empty() && !matches!(literal(target), Some("." | "..")) {
                names.push(String::new());
            }
            for name in names {
                self.has_grown |= self.unpacked.visited.insert(name);
            }
        }
    }

    /// Notes what a word is to a command that may unpack something.
    pub(super) fn note_unpacking(&mut self, place: PlaceKind<'_>, text: &Text) {
        match place {
            PlaceKind::Data("directory") => self.unpacked.directories.push(text.clone()),
            PlaceKind::Data("file" | "url" | "name") => self.unpacked.sources.push(text.clone()),
            _ => {}
        }
    }

    /// Tells what a command unpacks.
    pub(super) fn unpacks(&mut self, state: &State) {
        let how = state.entry().unpacks;
        if how.when != 0 && state.seen() & how.when == 0 || state.seen() & how.unless != 0 {
            return;
        }
        let place = match how.into {
            UnpacksInto::Nothing => return,
            UnpacksInto::Named => return self.fetches_by_address(),
            UnpacksInto::Below => Where::Below,
            UnpacksInto::Last if self.unpacked.directories.is_empty() => {
                self.unpacked.directories.extend(self.unpacked.sources.pop());
                Where::Here
            }
            UnpacksInto::Here | UnpacksInto::Last => Where::Here,
        };
        let place = match self.unpacked.directories.last() {
            Some(directory) if matches!(literal(directory), Some("." | "./")) => Where::Here,
            Some(directory) => match directory_name(directory) {
                Some(name) => Where::Named(name),
                // What a value names is refused where it runs.
                None => return,
            },
            None => place,
        };
        let sources: Vec<usize> = self.unpacked.sources.iter().flat_map(|text| holes_of(text)).collect();
        let read =
            [sources, self.input.holes(), self.input_files.clone(), self.in_files.clone(), self.in_outputs.clone()];
        let mut holes: Vec<usize> = read.concat().into_iter().filter(|hole| self.is_text(*hole)).collect();
        holes.sort_unstable();
        holes.dedup();
        let filled = Filled { place, program: state.label().to_string(), command: self.command, holes };
        if !filled.holes.is_empty() && !self.unpacked.filled.contains(&filled) {
            self.unpacked.filled.push(filled);
            self.has_grown = true;
        }
    }

    /// Files get the last parts of their addresses for names.
    fn fetches_by_address(&mut self) {
        for address in std::mem::take(&mut self.unpacked.sources) {
            let holes: Vec<usize> = holes_of(&address).into_iter().filter(|hole| self.is_text(*hole)).collect();
            self.note_written(&address, &holes);
        }
    }

    /// A file runs, or something is loaded from it, which may have been unpacked. `is_own_of` is the program that makes it otherwise.
    pub(super) fn runs_unpacked(&mut self, file: &Text, is_own_of: Option<&str>) {
        if !self.unpacked.is_empty() {
            let holes = self.unpacked.at(file, is_own_of, self.command);
            self.find_all(holes, &Reason::Unpacked);
        }
    }

    /// The same for what stands in a directory.
    pub(super) fn runs_unpacked_below(&mut self, directory: &Text) {
        if !self.unpacked.is_empty() {
            let mut file = directory.clone();
            super::value::push(&mut file, Atom::text("/."));
            self.runs_unpacked(&file, None);
        }
    }

    /// A program looks for files by itself where it works.
    pub(super) fn finds_unpacked(&mut self, program: &str) {
        if !self.unpacked.is_empty() {
            let holes = self.unpacked.at(&vec![Atom::text("settings")], Some(program), self.command);
            let why = format!("`{program}` may take a file for its settings or code that the value decides about");
            self.find_unclear(holes, &why);
        }
    }
}
