//! What is left of a value when the command that got it has ended, and no file holds it.
//!
//! Some programs remember what they are told, and print it when they run again: `git commit -m "{X}"`, then `git log`. And a value
//! in the name of a file comes back where names are listed: `touch "{X}"`, then `*`, `ls` or `find`. Directories are not compared,
//! as in `files`. Both count for what runs later; in a loop, for what runs before as well.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::evaluated::behind_name;
use super::files::{first_and_last, grow, is_name};
use super::left::{Before, Left};
use super::value::{Atom, Cut, Field, Text, holes_of, made_of, push};
use super::{Flow, Input, Part, Variable, Word, literal, texts_among};
use crate::programs::{self, Entry, Input as Reads, Place, PlaceKind, State, Writes};

/// Values by where they are kept.
#[derive(Debug, Default, Clone)]
pub(crate) struct Memory {
    /// By the program that was told them, and by the files that are its own.
    pub(super) told: BTreeMap<Arc<str>, BTreeSet<usize>>,
    /// Names that have values in them, without their directories; of those that are written alike, one.
    pub(super) names: BTreeMap<Vec<(Arc<str>, Cut)>, Text>,
}

impl Memory {
    /// What code leaves through which no value is followed.
    pub(super) fn of_code(code: &str, values: &[usize]) -> Self {
        let is_of_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let words = code.split(|c| !is_of_name(c)).filter(|word| programs::remembers(word));
        let told = words.map(|word| (word.into(), values.iter().copied().collect())).collect();
        let named = |hole: &usize| {
            let names = names_of(&vec![Atom::value(*hole)]);
            let written = vec![(hole.to_string().into(), Cut::WHOLE)];
            names.into_iter().map(move |name| (written.clone(), name)).collect::<Vec<_>>()
        };
        Self { told, names: values.iter().flat_map(named).collect() }
    }

    fn is_empty(&self) -> bool {
        self.told.is_empty() && self.names.is_empty()
    }
}

/// What the commands of a script left there: those that this pass has seen so far, and those of any pass.
#[derive(Default)]
pub(super) struct Memories {
    now: Memory,
    ever: Memory,
    /// Values that may have come back so, each with what says how.
    back: BTreeMap<usize, Arc<str>>,
}

impl Memories {
    pub(super) fn begin_pass(&mut self) {
        self.now = Memory::default();
    }

    /// How values may have come back.
    pub(super) fn ways(&mut self) -> BTreeMap<usize, Arc<str>> {
        std::mem::take(&mut self.back)
    }

    /// What the script leaves.
    pub(super) fn take(&mut self) -> Memory {
        std::mem::take(&mut self.ever)
    }
}

impl Flow<'_> {
    /// Whether something may be remembered that has to be asked for.
    pub(super) fn has_memory(&self) -> bool {
        let left = |(left, _): (&Left, Before<'_>)| !left.told.is_empty() || !left.names.is_empty();
        !self.memories.ever.is_empty() || self.earlier.is_some_and(left)
    }

    fn memory(&self) -> &Memory {
        if self.runs_once() { &self.memories.now } else { &self.memories.ever }
    }

    /// Notes what a program was told, and that it runs.
    pub(super) fn note_memory(&mut self, state: &State) {
        let program: Arc<str> = state.label().split(' ').next().unwrap_or_default().into();
        let entry = state.entry();
        if entry.remembers && !entry.is_filter {
            // Variables that are called after it are for it: `GIT_AUTHOR_NAME`.
            let prefix = format!("{}_", program.to_ascii_uppercase());
            let own =
                self.in_variables.iter().filter(|(name, _)| name.starts_with(&prefix)).flat_map(|(_, holes)| holes);
            let told = [&self.running.words, &self.running.taken, &self.running.files, &self.running.outputs];
            let told = told.into_iter().flatten().chain(own).copied();
            let told: Vec<usize> = told.filter(|hole| self.is_text(*hole)).collect();
            // It keeps that in files of its own.
            let files = entry.own.iter().map(|file| Arc::from(*file));
            for place in files.chain([Arc::clone(&program)]) {
                self.remember(&place, &told);
            }
        }
        // What is not known, and code that is not followed, may list anything.
        self.running.lists |= entry.lists
            || state.is_of_unknown_program()
            || state.is_of_project()
            || matches!(entry.input, Reads::Code { .. });
        self.running.shows |= entry.shows_processes;
        self.running.programs.push(program);
    }

    /// Code may name files after what it reads, what is in its environment, and its words, which it may not take for such names.
    pub(super) fn note_names_by_code(&mut self, fields: &[Field]) {
        if !std::mem::take(&mut self.running.names_files) {
            return;
        }
        let words = texts_among(fields).into_iter().flat_map(|word| [behind_name(&word), Some(word)]).flatten();
        let given = |name: &str, variable: &Variable| variable.is_exported || self.assigned.is_passed(name);
        let given = self.variables.iter().filter(|(name, variable)| given(name, variable));
        let names = words.chain(given.flat_map(|(_, variable)| variable.texts.iter().cloned()));
        let is_file =
            |name: &Text| literal(name).is_some_and(|name| is_name(name) && !name.contains(char::is_whitespace));
        let names: Vec<Text> = names.filter(is_file).collect();
        self.spend(names.len());
        self.touch_all(&names, self.running.id);
        let read = [self.input.holes(), self.running.files.clone(), self.running.outputs.clone()].concat();
        let holes: BTreeSet<usize> = read.into_iter().chain(self.in_environment.iter().copied()).collect();
        let holes: Vec<usize> = holes.into_iter().filter(|hole| self.is_text(*hole)).collect();
        if !holes.is_empty() {
            let name = vec![made_of(&holes)];
            self.note_named(&name);
            self.note_name(&name);
        }
    }

    fn remember(&mut self, place: &Arc<str>, told: &[usize]) {
        if !told.is_empty() {
            grow(self.memories.now.told.entry(Arc::clone(place)).or_default(), told);
            self.has_grown |= grow(self.memories.ever.told.entry(Arc::clone(place)).or_default(), told);
        }
    }

    /// Values decide what is unpacked into a directory, and so the names of files; no name is that where the command works.
    pub(super) fn note_unpacked_names(&mut self, directory: &str, holes: &[usize]) {
        self.remember(&format!("{UNPACKED}{directory}").into(), holes);
    }

    /// The values that decide the names of files where patterns look.
    fn unpacked_names(&mut self, patterns: &[Field]) -> Option<Text> {
        let mut directories = self.directories_of_work();
        directories.push(String::new());
        for field in patterns {
            field.each(&mut |pattern| directories.extend(super::files::directories(pattern)));
        }
        let mut holes: Vec<usize> =
            directories.iter().flat_map(|directory| self.told_to(&format!("{UNPACKED}{directory}"))).collect();
        holes.sort_unstable();
        holes.dedup();
        (!holes.is_empty()).then(|| vec![made_of(&holes)])
    }

    /// A word of a command may be, or decide, the path of a file that is made.
    pub(super) fn note_path(&mut self, state: &State, place: PlaceKind<'_>, text: &Text, is_of_option: bool) {
        let entry = state.entry();
        let may_be_path = match place {
            PlaceKind::Data("output") => return self.note_name(text),
            PlaceKind::Data("file" | "directory" | "prefix" | "pattern") | PlaceKind::Unknown => true,
            // Code in another language does with a text what it likes.
            PlaceKind::Data("text") => entry.writes == Writes::Anything || runs_code(entry),
            _ => false,
        };
        // The operands of a filter are what it reads.
        let only_reads = entry.is_filter && !is_of_option && !entry.keeps_input && !runs_code(entry);
        if may_be_path && !only_reads && entry.writes != Writes::Nothing {
            self.note_name(text);
        }
    }

    /// A file, or a directory, may be made at this path.
    pub(super) fn note_name(&mut self, path: &Text) {
        for name in names_of(path) {
            let written = self.as_written(&name);
            self.has_grown |= !self.memories.ever.names.contains_key(&written);
            self.memories.ever.names.entry(written.clone()).or_insert_with(|| name.clone());
            self.memories.now.names.entry(written).or_insert(name);
        }
    }

    /// The values in the words and the environments of the processes of the script, its shell among them.
    fn in_processes(&mut self) -> Vec<usize> {
        let holes = self.own_holes().into_iter().chain(self.in_environment.iter().copied());
        let holes: Vec<usize> = holes.filter(|hole| self.is_text(*hole)).collect();
        self.comes_back(&holes, "the words of processes are shown");
        holes
    }

    /// Values that a command may print because its programs were told them, or because it shows processes.
    pub(super) fn told(&mut self, programs: &[Arc<str>], shows: bool) -> Vec<usize> {
        let mut holes: Vec<usize> = programs.iter().flat_map(|program| self.told_to(program)).collect();
        if shows {
            holes.extend(self.in_processes());
        }
        holes.sort_unstable();
        holes.dedup();
        holes
    }

    fn told_to(&mut self, program: &str) -> Vec<usize> {
        let mut told: Vec<usize> = self.memory().told.get(program).into_iter().flatten().copied().collect();
        if let Some((left, before)) = self.earlier {
            let left = left.told.get(program).into_iter().flatten().filter(|(stage, _)| before(**stage));
            told.extend(left.flat_map(|(_, holes)| holes));
        }
        if !told.is_empty() {
            let how = if program.starts_with(UNPACKED) {
                "it decides which files are unpacked, and the command lists their names; `./*` lists none that begins with `-`".to_owned()
            } else {
                format!("`{program}` keeps what it was told, and may print it later")
            };
            self.comes_back(&told, &how);
        }
        told
    }

    /// Values in a file because a program keeps there what it was told, or because it is one of a process.
    pub(super) fn told_in_file(&mut self, file: &Text) -> Vec<usize> {
        if is_of_process(file) {
            return self.in_processes();
        }
        if !self.has_memory() {
            return Vec::new();
        }
        // What follows a value begins no name: `{NAME}.git`.
        let texts = file.iter().enumerate().filter_map(|(at, atom)| match atom {
            Atom::Text(text) => Some((usize::from(at > 0), Arc::clone(text))),
            _ => None,
        });
        let texts: Vec<(usize, Arc<str>)> = texts.collect();
        let names = texts.iter().flat_map(|(begun, text)| text.split('/').skip(*begun));
        let names = names.filter(|name| name.starts_with('.'));
        names.flat_map(|name| self.told_to(name)).collect()
    }

    /// Says how values came back.
    fn comes_back(&mut self, holes: &[usize], how: &str) {
        for hole in holes {
            self.memories.back.entry(*hole).or_insert_with(|| how.into());
        }
    }

    /// Values in names of files, where something lists those.
    pub(super) fn holes_in_names(&mut self, lists: bool) -> Vec<usize> {
        let names = if lists { self.names() } else { Vec::new() };
        let holes: Vec<usize> = names.into_iter().flat_map(holes_of).collect();
        self.comes_back(&holes, NAMED);
        holes
    }

    /// What a command prints that lists names, `printed` beside them; and the values in its `own` words.
    pub(super) fn listed_names(&mut self, printed: &[usize], own: &[usize]) -> Input {
        let holes = self.holes_in_names(true);
        let mut names: Vec<Text> = self.names().into_iter().cloned().collect();
        if let Input::Printed(all) = Input::printed(printed) {
            // What is among it need not be a name, and what it was told itself is none by that.
            let is_of_others = |name: &Text| !holes_of(name).iter().all(|hole| own.contains(hole));
            let is_made = |name: &Text| name.iter().any(|atom| matches!(atom, Atom::Derived(_)));
            names.retain(|name| is_of_others(name) && !is_made(name));
            if names.is_empty() {
                return Input::printed(&[&holes, printed].concat());
            }
            names.push(vec![Atom::Output(all)]);
        }
        super::input::one_of(names).unwrap_or_else(|| Input::made("", &[&holes, printed].concat()))
    }

    /// The names of files that values are in.
    fn names(&self) -> Vec<&Text> {
        let mut names: Vec<&Text> = self.memory().names.values().collect();
        if let Some((left, before)) = self.earlier {
            names.extend(left.names.iter().filter(|(stage, _)| before(*stage)).map(|(_, name)| name));
        }
        names
    }

    /// A text with what the author wrote in the place of each value.
    fn as_written(&self, text: &Text) -> Vec<(Arc<str>, Cut)> {
        let written = |atom: &Atom| match atom {
            Atom::Value { hole, cut } => (self.holes.get(*hole).map_or("", |hole| &hole.shown).into(), *cut),
            Atom::Text(text) => (Arc::clone(text), Cut::WHOLE),
            _ => ("".into(), Cut::WHOLE),
        };
        text.iter().map(written).collect()
    }

    /// The names with values that a pattern in a word may stand for.
    pub(super) fn names_for(&mut self, word: &Word, fields: &[Field]) -> Option<Field> {
        let may_be_pattern = |part: &Part| match part {
            Part::Text { text, quoted } => !quoted && text.contains(PATTERN),
            Part::Expansion(expansion) => !expansion.quoted,
            Part::Output { quoted, .. } => !quoted,
            _ => false,
        };
        if !self.has_memory() || !word.parts.iter().any(may_be_pattern) {
            return None;
        }
        let unpacked = self.unpacked_names(fields);
        let known: Vec<&Text> = self.names().into_iter().chain(&unpacked).collect();
        let (mut found, mut looks) = (Vec::new(), 0);
        for field in fields {
            field.each(&mut |pattern| {
                looks += known.len();
                let pattern = Pattern::of(pattern);
                found.extend(known.iter().filter_map(|name| pattern.as_ref()?.path(name)));
            });
        }
        let holes: Vec<usize> = found.iter().flat_map(holes_of).collect();
        self.comes_back(&holes, NAMED);
        // Each is judged as a word of the command.
        self.spend(4 * (looks + found.len() * COST));
        (!found.is_empty()).then(|| Field::any_of(found))
    }
}

/// Whether a path may be one of `/proc` where a process, and not the machine, is shown.
fn is_of_process(path: &Text) -> bool {
    let Some(rest) = super::beginning(path).strip_prefix("/proc/") else { return false };
    let first = rest.split('/').next().unwrap_or_default();
    matches!(first, "self" | "thread-self") || !first.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Whether what a program reads or is told may be code.
fn runs_code(entry: &Entry<'_>) -> bool {
    let is_code = |place: &Place<'_>| matches!(place.kind, PlaceKind::CodeIn(_));
    matches!(entry.input, Reads::Code { .. })
        || entry.operands.iter().any(|operand| is_code(&operand.place))
        || entry.options.kinds.iter().flatten().any(is_code)
}

/// How much work it is to look at one of many values that were told.
pub(super) const COST: usize = 16;

/// Before the directory into which values decide what is unpacked; no program has such a name.
const UNPACKED: &str = "*/";

/// How a value in the name of a file comes back.
const NAMED: &str = "it is in the name of a file, and the command lists names";

/// What makes a word a pattern.
const PATTERN: [char; 3] = ['*', '?', '['];

/// A word that stands for names of files.
struct Pattern<'a> {
    /// The directory of the names.
    above: Text,
    /// What each of them begins and ends with.
    first: &'a str,
    last: &'a str,
}

impl<'a> Pattern<'a> {
    fn of(word: &'a Text) -> Option<Self> {
        let is_pattern = |atom: &Atom| matches!(atom, Atom::Text(text) if text.contains(PATTERN));
        let at = word.iter().rposition(is_pattern)?;
        let Atom::Text(text) = &word[at] else { return None };
        let text = text.trim_end_matches('/');
        let own = text.rfind('/').map_or(0, |slash| slash + 1);
        let (first, last) = first_and_last(&text[own..])?;
        let mut above = word[..at].to_vec();
        push(&mut above, Atom::text(&text[..own]));
        Some(Self { above, first, last })
    }

    /// The path that it stands for, if it may be this name: as the pattern begins, where that says it.
    fn path(&self, name: &Text) -> Option<Text> {
        let begins = match name.first() {
            Some(Atom::Text(begins)) => begins.starts_with(self.first) || self.first.starts_with(&**begins),
            _ => true,
        };
        let ends = match name.last() {
            Some(Atom::Text(ends)) => ends.ends_with(self.last) || self.last.ends_with(&**ends),
            _ => true,
        };
        if !begins || !ends {
            return None;
        }
        let mut path = self.above.clone();
        match name.first() {
            Some(Atom::Text(begins)) if begins.starts_with(self.first) => {}
            _ if self.first.is_empty() => {}
            // What it begins with is known from the pattern.
            _ => {
                push(&mut path, Atom::text(self.first));
                push(&mut path, made_of(&holes_of(name)));
                return Some(path);
            }
        }
        name.iter().for_each(|atom| push(&mut path, atom.clone()));
        Some(path)
    }
}

/// The names along a path that have values in them. What is behind a `/` of the value is a name as well.
fn names_of(path: &Text) -> Vec<Text> {
    let mut names: Vec<Text> = Vec::new();
    let mut name = Text::new();
    let mut end = |name: &mut Text| {
        let name = std::mem::take(name);
        if holes_of(&name).is_empty() {
            return;
        }
        if literal(&name[..1]).is_some() {
            names.push(name.clone());
        }
        let from = name.iter().position(|atom| !atom.holes().is_empty()).unwrap_or(0);
        let behind = |atom: &Atom| match (atom, Cut::behind('/')) {
            (Atom::Value { hole, cut }, Some(behind)) => {
                cut.and(behind).map_or_else(|| made_of(&[*hole]), |cut| Atom::Value { hole: *hole, cut })
            }
            (atom, _) => atom.clone(),
        };
        let mut last = vec![behind(&name[from])];
        last.extend(name[from + 1..].iter().cloned());
        names.push(last);
    };
    for atom in path {
        let Atom::Text(text) = atom else {
            name.push(atom.clone());
            continue;
        };
        for (at, part) in text.split('/').enumerate() {
            if at > 0 {
                end(&mut name);
            }
            push(&mut name, Atom::text(part));
        }
    }
    end(&mut name);
    names
}
