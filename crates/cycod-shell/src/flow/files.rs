//! The files that a script writes, and whose values are in them.

use std::collections::{BTreeSet, HashMap};

use super::value::{Atom, Tag, Text, beginning, literal};

/// Holes by the name of the file. The directory is not compared: `cd` may have changed it.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Files whose last name is known, by that name.
    named: HashMap<String, BTreeSet<usize>>,
    /// Files of any other name.
    others: HashMap<Text, BTreeSet<usize>>,
}

impl Written {
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.others.is_empty()
    }

    /// Notes values that are written to a file; tells whether that is new. Devices keep nothing.
    pub(super) fn add(&mut self, file: &Text, holes: &[usize]) -> bool {
        if beginning(file).starts_with("/dev/") {
            return false;
        }
        let known = match last(file) {
            Some(name) => self.named.entry(name.to_owned()).or_default(),
            None => self.others.entry(file.clone()).or_default(),
        };
        grow(known, holes)
    }

    /// Values in the files that this may be the name of.
    pub(super) fn holes(&self, name: &Text) -> Vec<usize> {
        if self.is_empty() || name.contains(&Atom::Unknown(Tag::Somewhere)) {
            return Vec::new();
        }
        let all = |known: Option<&BTreeSet<usize>>| known.into_iter().flatten().copied().collect();
        let Some(last) = last(name) else { return all(self.others.get(name)) };
        // A text with blanks is no pattern, but code in which such characters stand.
        let pattern =
            last.find(['*', '?', '[']).filter(|_| !last.contains(char::is_whitespace) && !matches!(last, "[" | "[["));
        match pattern {
            None => all(self.named.get(last)),
            Some(end) => {
                let fits = |known: &&String| known.starts_with(&last[..end]);
                let holes: BTreeSet<usize> =
                    self.named.keys().filter(fits).flat_map(|known| &self.named[known]).copied().collect();
                holes.into_iter().collect()
            }
        }
    }
}

/// Files that a command may have written whose words hold values, by their last name and by the command.
#[derive(Debug, Default)]
pub(super) struct Touched(HashMap<String, HashMap<u64, BTreeSet<usize>>>);

impl Touched {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes the values of a command that names a file; tells whether that is new.
    pub(super) fn add(&mut self, file: &Text, command: u64, holes: &[usize]) -> bool {
        let Some(name) = last(file) else { return false };
        let known = self.0.entry(name.to_owned()).or_default().entry(command).or_default();
        grow(known, holes)
    }

    /// Values of other commands than this one that name the file.
    pub(super) fn holes(&self, file: &Text, command: u64) -> Vec<usize> {
        let commands = last(file).and_then(|name| self.0.get(name));
        let others = commands.into_iter().flatten().filter(|(other, _)| **other != command);
        others.flat_map(|(_, holes)| holes).copied().collect()
    }
}

/// Adds to a set; tells whether something is new.
pub(super) fn grow(known: &mut BTreeSet<usize>, holes: &[usize]) -> bool {
    let before = known.len();
    known.extend(holes);
    known.len() > before
}

/// The name behind the last `/`, when it is the author's alone.
fn last(path: &Text) -> Option<&str> {
    literal(path)?.rsplit('/').next().filter(|name| !name.is_empty())
}
