//! What differs between a snapshot and a directory later: compared, packed, unpacked, written.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use cycod_file::Folder;
use serde::{Deserialize, Serialize};

use crate::{
    MOST_BYTES, MOST_FILES, ProjectEntry, ProjectPath, SnapshotError,
    listing::{list, too_many},
    packed::{self, Contents},
    snapshot::{Found, made_parent, put},
};

/// What became of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What it was; nothing for one that was added.
    pub before: Option<ProjectEntry>,
    /// What it is; nothing for one that was removed.
    pub after: Option<ProjectEntry>,
}

/// What differs between a snapshot and a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub(crate) changes: BTreeMap<ProjectPath, Change>,
    pub(crate) contents: Contents,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    changes: Vec<(ProjectPath, Change)>,
}

impl Changes {
    /// Compares a directory with what it had before. What its `.gitignore` files leave out counts only if it was there before.
    ///
    /// # Errors
    /// When too much changed, a name can't travel, a link leads out, or something can't be read.
    pub fn since(before: &BTreeMap<ProjectPath, ProjectEntry>, root: &Path) -> Result<Self, SnapshotError> {
        let folder = Folder::open(root).map_err(|error| SnapshotError::failed(root.display(), error))?;
        let mut paths = list(&folder)?.iter().map(|path| ProjectPath::of(path)).collect::<Result<BTreeSet<_>, _>>()?;
        paths.extend(before.keys().cloned());
        let (mut changes, mut left) = (Self::default(), MOST_BYTES);
        for path in paths {
            let was = before.get(&path).filter(|entry| **entry != ProjectEntry::Directory);
            // One that did not change doesn't travel.
            let most = left.max(match was {
                Some(ProjectEntry::File { size, .. }) => *size,
                _ => 0,
            });
            let found = Found::at(&folder, &path, most).map_err(|error| SnapshotError::failed(&path, error))?;
            let is = found.entry();
            let is_same = match (was, is) {
                (Some(was), Some(is)) => was.is_same(is),
                (None, None) => true,
                _ => false,
            };
            if is_same {
                continue;
            }
            is.map_or(Ok(()), |entry| entry.check(&path))?;
            let change = Change { before: was.cloned(), after: is.cloned() };
            if let Found::Entry(ProjectEntry::File { .. }, content) = found {
                let larger = || {
                    let mut sizes = packed::sizes(&changes.contents);
                    sizes.push((path.to_string(), content.len() as u64));
                    SnapshotError::too_large(
                        format!("the changed files have more than {} MiB", MOST_BYTES >> 20),
                        sizes,
                    )
                };
                left = left.checked_sub(content.len() as u64).ok_or_else(larger)?;
                changes.contents.insert(path.clone(), content);
            }
            changes.changes.insert(path, change);
        }
        if changes.changes.len() > MOST_FILES {
            return Err(SnapshotError::too_large(too_many(), Vec::new()));
        }
        Ok(changes)
    }

    /// The changes by path.
    pub fn by_path(&self) -> &BTreeMap<ProjectPath, Change> {
        &self.changes
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Packs them.
    ///
    /// # Errors
    /// When that is too much.
    pub fn pack(&self) -> Result<Vec<u8>, SnapshotError> {
        let changes = self.changes.iter().map(|(path, change)| (path.clone(), change.clone())).collect();
        packed::pack(&Head { changes }, &self.contents)
    }

    /// Reads what was packed. Nothing is written.
    ///
    /// # Errors
    /// When it is something else, or more than travels.
    pub fn unpack(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let (head, contents) = packed::unpack(bytes, |head: &Head| {
            head.changes.iter().filter_map(|(path, change)| Some((path, change.after.as_ref()?))).collect()
        })?;
        if !head.changes.is_sorted_by(|(one, _), (two, _)| one < two) {
            return Err(SnapshotError::broken("two changes have one name"));
        }
        let is_directory = |entry: &Option<ProjectEntry>| *entry == Some(ProjectEntry::Directory);
        for (path, change) in &head.changes {
            if is_directory(&change.before) || is_directory(&change.after) || change.before == change.after {
                return Err(SnapshotError::broken("a change is none"));
            }
            change.after.as_ref().map_or(Ok(()), |entry| entry.check(path))?;
        }
        if head.changes.len() > MOST_FILES {
            return Err(SnapshotError::broken("there is too much"));
        }
        Ok(Self { changes: head.changes.into_iter().collect(), contents })
    }

    /// Whether they are changes of a snapshot: what was before is in it.
    pub fn is_of(&self, before: &BTreeMap<ProjectPath, ProjectEntry>) -> bool {
        self.changes.iter().all(|(path, change)| {
            before.get(path).filter(|entry| **entry != ProjectEntry::Directory) == change.before.as_ref()
        })
    }

    /// Adds what changed after these, where it began with what they left. What is as it was at first is no change.
    ///
    /// # Errors
    /// When they began with something else.
    pub fn add(&mut self, later: Self) -> Result<(), SnapshotError> {
        let Self { changes, mut contents } = later;
        for (path, change) in changes {
            let before = match self.changes.get(&path) {
                Some(earlier) if earlier.after == change.before => earlier.before.clone(),
                Some(_) => return Err(SnapshotError::broken(format!("`{path}` was something else before it changed"))),
                None => change.before,
            };
            let after = change.after;
            _ = self.contents.remove(&path);
            if before == after {
                _ = self.changes.remove(&path);
                continue;
            }
            if let Some(content) = contents.remove(&path) {
                _ = self.contents.insert(path.clone(), content);
            }
            _ = self.changes.insert(path, Change { before, after });
        }
        Ok(())
    }

    /// Leaves out what others changed in the same way from the same beginning. Returns the paths that they changed in another
    /// way, or where one needs a directory and the other has none.
    pub fn after(&mut self, others: &Self) -> Vec<ProjectPath> {
        let same = |path: &ProjectPath, change: &Change| others.changes.get(path).is_some_and(|other| other == change);
        self.changes.retain(|path, change| !same(path, change));
        self.contents.retain(|path, _| self.changes.contains_key(path));
        let is_below = |path: &ProjectPath, (other, change): (&ProjectPath, &Change)| {
            change.after.is_some() && path.above().any(|above| above == other.as_str())
        };
        let meets = |path: &ProjectPath, change: &Change| {
            others.changes.contains_key(path)
                || others.changes.iter().any(|other| is_below(path, other) && change.after.is_some())
                || others
                    .changes
                    .iter()
                    .any(|(other, theirs)| theirs.after.is_some() && is_below(other, (path, change)))
        };
        self.changes.iter().filter(|(path, change)| meets(path, change)).map(|(path, _)| path.clone()).collect()
    }

    /// What there is after the changes, where this was there before.
    pub fn entries_after(
        &self,
        mut before: BTreeMap<ProjectPath, ProjectEntry>,
    ) -> BTreeMap<ProjectPath, ProjectEntry> {
        for (path, change) in &self.changes {
            _ = before.remove(path);
            if let Some(entry) = &change.after {
                _ = before.insert(path.clone(), entry.clone());
            }
        }
        before
    }

    /// Writes the files that were added or changed into a directory that doesn't have them.
    ///
    /// # Errors
    /// When one is there, or the system refuses.
    pub fn write(&self, root: &Path) -> Result<(), SnapshotError> {
        let folder = Folder::open(root).map_err(|error| SnapshotError::failed(root.display(), error))?;
        for (path, change) in &self.changes {
            let Some(entry) = &change.after else { continue };
            let content = self.contents.get(path).map(Vec::as_slice).unwrap_or_default();
            let written = made_parent(&folder, path).and_then(|parent| put(&parent, path, entry, content));
            written.map_err(|error| SnapshotError::failed(path, error))?;
        }
        Ok(())
    }
}
