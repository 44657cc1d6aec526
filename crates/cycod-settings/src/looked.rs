//! Which files were looked for, so that it can be told later whether all of them are as they were.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use cycod_file::Seen;

use crate::file::{self, FileError};

/// The files of several directories that were looked for. A directory that is not there is looked for once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looked {
    places: Vec<PathBuf>,
    seen: Vec<Seen>,
    directories: BTreeMap<PathBuf, bool>,
}

impl Looked {
    /// Whether something is at the path.
    pub(crate) fn see(&mut self, path: &Path) -> bool {
        if !self.may_be_there(path) {
            return false;
        }
        let seen = Seen::at(path.to_owned());
        let is_there = seen.is_there();
        self.seen.push(seen);
        is_there
    }

    /// Reads a file; nothing when there is none.
    pub(crate) fn read(&mut self, path: &Path) -> Result<Option<String>, FileError> {
        if !self.may_be_there(path) {
            return Ok(None);
        }
        if file::is_missing(path) {
            self.seen.push(Seen::restored(path.to_owned(), None));
            return Ok(None);
        }
        self.seen.push(Seen::at(path.to_owned()));
        file::read(path)
    }

    /// Whether nothing has changed since.
    pub(crate) fn is_current(&self) -> bool {
        self.seen.iter().all(Seen::is_current)
    }

    /// The files that were looked for, whether they are there or not.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().map(PathBuf::as_path)
    }

    /// Whether the directory of a path is there.
    fn may_be_there(&mut self, path: &Path) -> bool {
        self.places.push(path.to_owned());
        let Some(directory) = path.parent() else { return true };
        if let Some(is_there) = self.directories.get(directory) {
            return *is_there;
        }
        let is_there = !file::is_missing(directory);
        if !is_there {
            self.seen.push(Seen::restored(directory.to_owned(), None));
        }
        self.directories.insert(directory.to_owned(), is_there);
        is_there
    }
}
