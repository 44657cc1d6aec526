//! Changes of a snapshot, applied to the project of which it was made: all of them, or none.

use std::{
    ffi::{OsStr, OsString},
    fmt, io,
    io::Write as _,
    path::Path,
};

use cycod_file::{Folder, temporary_name};

use crate::{Change, Changes, MOST_BYTES, ProjectEntry, ProjectPath, SnapshotError, snapshot::Found};

/// A path where the project is no longer as the snapshot has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The path.
    pub path: ProjectPath,
    /// What is different.
    pub why: &'static str,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.why)
    }
}

/// Why nothing was applied.
#[derive(Debug)]
pub enum NotApplied {
    /// The project changed meanwhile.
    Conflicts(Vec<Conflict>),
    /// The system refused. The project is as it was, unless the text says otherwise.
    Failed(SnapshotError),
}

impl NotApplied {
    fn failed(path: impl fmt::Display, error: io::Error) -> Self {
        Self::Failed(SnapshotError::failed(path, error))
    }
}

impl Changes {
    /// The paths where a project is no longer as it was before the changes.
    ///
    /// # Errors
    /// When something can't be read.
    pub fn conflicts(&self, root: &Path) -> Result<Vec<Conflict>, SnapshotError> {
        let folder = Folder::open(root).map_err(|error| SnapshotError::failed(root.display(), error))?;
        let mut conflicts = Vec::new();
        for (path, change) in &self.changes {
            let found = Found::at(&folder, path, MOST_BYTES).map_err(|error| SnapshotError::failed(path, error))?;
            let why = match (&found, &change.before) {
                (Found::Other, _) => Some("is something else on this machine now"),
                // What was in it is removed by another change, or the directory stays in the way.
                (Found::Entry(ProjectEntry::Directory, _), None) => None,
                (found, before) => differs(found.entry(), before.as_ref()),
            };
            conflicts.extend(why.map(|why| Conflict { path: path.clone(), why }));
        }
        Ok(conflicts)
    }

    /// Applies the changes to a project, if each path is still as it was before them. If one isn't, nothing is applied.
    ///
    /// # Errors
    /// Where the project differs, or what the system refuses.
    pub fn apply(&self, root: &Path) -> Result<(), NotApplied> {
        let conflicts = self.conflicts(root).map_err(NotApplied::Failed)?;
        if !conflicts.is_empty() {
            return Err(NotApplied::Conflicts(conflicts));
        }
        self.apply_now(root)
    }

    /// The same where there was no conflict a moment ago.
    fn apply_now(&self, root: &Path) -> Result<(), NotApplied> {
        let here = |error| NotApplied::failed(root.display(), error);
        let root = Folder::open(root).map_err(here)?;
        let staging_name = temporary_name();
        let staging = root.make_new(&staging_name).map_err(here)?;
        let mut applying = Applying { root: &root, staging: &staging, done: Vec::new() };
        let applied = applying.all(self);
        let undone = if applied.is_err() { applying.undo() } else { Ok(()) };
        // If it can't be undone, what was moved away is still there.
        undone.map_err(|(path, error)| {
            let why = format!("it can't be put back, and is in `{}`: {error}", staging_name.display());
            NotApplied::failed(path, io::Error::other(why))
        })?;
        _ = root.remove_all(&staging_name);
        applied
    }
}

fn differs(now: Option<&ProjectEntry>, before: Option<&ProjectEntry>) -> Option<&'static str> {
    match (now, before) {
        (Some(now), Some(before)) if now.is_same(before) => None,
        (None, None) => None,
        (Some(_), Some(_)) => Some("changed on this machine meanwhile"),
        (Some(_), None) => Some("was added on this machine meanwhile"),
        (None, Some(_)) => Some("was removed on this machine meanwhile"),
    }
}

/// One thing that was done, and can be undone.
enum Done {
    /// What was at the path is in the staging directory, under this name.
    MovedAway(ProjectPath, OsString),
    RemovedDirectory(ProjectPath),
    MadeDirectory(ProjectPath),
    Placed(ProjectPath),
}

struct Applying<'a> {
    root: &'a Folder,
    staging: &'a Folder,
    done: Vec<Done>,
}

impl Applying<'_> {
    fn all(&mut self, changes: &Changes) -> Result<(), NotApplied> {
        let each = || changes.changes.iter().enumerate();
        // Everything that needs room is written first.
        for (number, (path, change)) in each() {
            let content = changes.contents.get(path).map(Vec::as_slice).unwrap_or_default();
            self.stage(number, change, content).map_err(|error| NotApplied::failed(path, error))?;
        }
        for (number, (path, change)) in each().filter(|(_, (_, change))| change.before.is_some()) {
            self.move_away(number, path, change)?;
        }
        for (_, (path, _)) in each().filter(|(_, (_, change))| change.after.is_none()) {
            self.remove_empty(path);
        }
        for (number, (path, _)) in each().filter(|(_, (_, change))| change.after.is_some()) {
            self.place(number, path)?;
        }
        Ok(())
    }

    fn stage(&self, number: usize, change: &Change, content: &[u8]) -> io::Result<()> {
        match &change.after {
            Some(ProjectEntry::File { executable, .. }) => {
                self.staging.create_new(&new_name(number), *executable)?.write_all(content)
            }
            Some(ProjectEntry::Link { to }) => self.staging.make_link(&new_name(number), Path::new(to)),
            _ => Ok(()),
        }
    }

    /// Moves away what is at a path. Only then does nothing else change it, so it is compared once more.
    fn move_away(&mut self, number: usize, path: &ProjectPath, change: &Change) -> Result<(), NotApplied> {
        let gone = || {
            NotApplied::Conflicts(vec![Conflict { path: path.clone(), why: "was removed on this machine meanwhile" }])
        };
        let failed = |error| NotApplied::failed(path, error);
        let (parent, name) = path.parent(self.root).map_err(failed)?.ok_or_else(gone)?;
        let old = OsString::from(format!("old-{number}"));
        parent.move_to_new(name, self.staging, &old).map_err(failed)?;
        self.done.push(Done::MovedAway(path.clone(), old.clone()));
        let moved = ProjectPath::of(Path::new(&old)).map_err(NotApplied::Failed)?;
        let found = Found::at(self.staging, &moved, MOST_BYTES).map_err(failed)?;
        if let Some(why) = differs(found.entry(), change.before.as_ref()) {
            return Err(NotApplied::Conflicts(vec![Conflict { path: path.clone(), why }]));
        }
        if let (Found::Entry(ProjectEntry::File { .. }, _), Some(ProjectEntry::File { executable, .. })) =
            (&found, &change.after)
        {
            let like = self.staging.file(&old).and_then(|file| file.metadata());
            like.and_then(|like| self.staging.permit_like(&new_name(number), &like, *executable)).map_err(failed)?;
        }
        Ok(())
    }

    /// Removes the directories of a removed path that are empty now.
    fn remove_empty(&mut self, path: &ProjectPath) {
        let above: Vec<&str> = path.above().collect();
        for directory in above.into_iter().rev() {
            let Ok(directory) = ProjectPath::try_from(directory.to_owned()) else { return };
            let Ok(Some((parent, name))) = directory.parent(self.root) else { return };
            if parent.remove_directory(name).is_err() {
                return;
            }
            self.done.push(Done::RemovedDirectory(directory));
        }
    }

    fn place(&mut self, number: usize, path: &ProjectPath) -> Result<(), NotApplied> {
        let failed = |error| NotApplied::failed(path, error);
        let in_the_way =
            || NotApplied::Conflicts(vec![Conflict { path: path.clone(), why: "is in the way on this machine" }]);
        for directory in path.above() {
            let directory = ProjectPath::try_from(directory.to_owned()).map_err(NotApplied::Failed)?;
            let (parent, name) = directory.parent(self.root).map_err(failed)?.ok_or_else(in_the_way)?;
            match parent.make_new(name) {
                Ok(_) => self.done.push(Done::MadeDirectory(directory)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let (parent, name) = path.parent(self.root).map_err(failed)?.ok_or_else(in_the_way)?;
        match self.staging.move_to_new(&new_name(number), &parent, name) {
            Ok(()) => self.done.push(Done::Placed(path.clone())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(in_the_way()),
            Err(error) => return Err(failed(error)),
        }
        Ok(())
    }

    fn undo(&mut self) -> Result<(), (ProjectPath, io::Error)> {
        while let Some(done) = self.done.pop() {
            let (path, undone) = match done {
                Done::Placed(path) => {
                    let undone = self.in_parent(&path, |parent, name| parent.remove_file(name));
                    (path, undone)
                }
                Done::MadeDirectory(path) => {
                    // Someone may have put something into it.
                    _ = self.in_parent(&path, |parent, name| parent.remove_directory(name));
                    continue;
                }
                Done::RemovedDirectory(path) => {
                    let undone = self.in_parent(&path, |parent, name| parent.make_new(name).map(drop));
                    (path, undone)
                }
                Done::MovedAway(path, old) => {
                    let undone = self.in_parent(&path, |parent, name| self.staging.move_to_new(&old, parent, name));
                    (path, undone)
                }
            };
            undone.map_err(|error| (path, error))?;
        }
        Ok(())
    }

    fn in_parent(&self, path: &ProjectPath, what: impl FnOnce(&Folder, &OsStr) -> io::Result<()>) -> io::Result<()> {
        let (parent, name) = path.parent(self.root)?.ok_or(io::ErrorKind::NotFound)?;
        what(&parent, name)
    }
}

fn new_name(number: usize) -> OsString {
    OsString::from(format!("new-{number}"))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use super::*;

    #[test]
    fn what_changes_at_the_last_moment_is_noticed_and_put_back() {
        for (theirs, here) in [(true, Some("mine")), (true, None), (false, Some("mine"))] {
            let yard = tempfile::tempdir().expect("a directory");
            let root = fs::canonicalize(yard.path()).expect("a path");
            let path = |text: &str| ProjectPath::try_from(text.to_owned()).expect("a path");
            let file = |text: &str| Some(ProjectEntry::file(text.as_bytes(), false));
            let before = if theirs { file("b") } else { None };
            let changes = Changes {
                changes: BTreeMap::from([
                    (path("a"), Change { before: file("a"), after: file("A") }),
                    (path("d/c"), Change { before: file("c"), after: None }),
                    (path("e/f/b"), Change { before, after: file("B") }),
                    (path("x/y"), Change { before: None, after: file("Y") }),
                ]),
                contents: [("a", "A"), ("e/f/b", "B"), ("x/y", "Y")]
                    .map(|(name, text)| (path(name), text.as_bytes().to_vec()))
                    .into(),
            };
            let write = |name: &str, text: &str| {
                let file = root.join(name);
                fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
                fs::write(file, text).expect("a file");
            };
            write("a", "a");
            write("d/c", "c");
            here.into_iter().for_each(|text| write("e/f/b", text));
            let were = crate::listed(&root).expect("a list");
            let applied = changes.apply_now(&root);
            assert!(matches!(&applied, Err(NotApplied::Conflicts(all)) if all[0].path == path("e/f/b")), "{applied:?}");
            assert_eq!(crate::listed(&root).expect("a list"), were);
            let read = |name: &str| fs::read_to_string(root.join(name)).ok();
            assert_eq!((read("a").as_deref(), read("d/c").as_deref()), (Some("a"), Some("c")));
            assert_eq!(read("e/f/b").as_deref(), here);
        }
    }
}
