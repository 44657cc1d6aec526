//! Directories that several workers have, such as those of a network file system. Only the worker says where they are.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use cycod_engine::definition::{SHARED_NAME, SharedName};

use crate::command_error::CommandError;

/// The directories that a worker shares with others, by name.
pub(super) struct SharedDirectories(BTreeMap<SharedName, PathBuf>);

impl SharedDirectories {
    /// Those of options such as `data=/srv/data`; `own` is the directory with the keys and the rules of the user.
    ///
    /// # Errors
    /// When one can't be shared.
    pub(super) fn named(options: &[String], own: &Path) -> Result<Self, CommandError> {
        let own = fs::canonicalize(own).unwrap_or_else(|_| own.to_owned());
        let mut all = BTreeMap::new();
        for option in options {
            let (name, path) = option.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or_else(|| {
                CommandError::usage(format!("`{option}` names no directory")).hint("write, for example, data=/srv/data")
            })?;
            let known = SharedName::new(name)
                .ok_or_else(|| CommandError::usage(format!("`{name}` can't be shared: {SHARED_NAME}")))?;
            let directory = fs::canonicalize(path).and_then(|directory| fs::read_dir(&directory).map(|_| directory));
            let directory =
                directory.map_err(|error| CommandError::failure(format!("cannot share `{path}`: {error}")))?;
            if own.starts_with(&directory) || directory.starts_with(&own) {
                let why = format!("cannot share `{path}`: the keys of this worker are in `{}`", own.display());
                return Err(CommandError::failure(why).hint("share a directory that has only what runs may change"));
            }
            if all.insert(known, directory).is_some() {
                return Err(CommandError::usage(format!("`--shared {name}` is there twice")));
            }
        }
        Ok(Self(all))
    }

    /// Where a directory is, if it is there now.
    pub(super) fn there(&self, name: &SharedName) -> Option<PathBuf> {
        self.0.get(name).filter(|path| path.is_dir()).cloned()
    }

    /// The labels of those that are there now.
    pub(super) fn labels(&self) -> impl Iterator<Item = String> {
        self.0.keys().filter(|name| self.there(name).is_some()).map(SharedName::label)
    }
}
