//! Working trees of one repository: a project is the same one in each of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A project, as all working trees of its repository have it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Project {
    /// The directory that the working trees share.
    shared: PathBuf,
    /// Where in a working tree it lies.
    inside: PathBuf,
}

impl Project {
    /// The project in a directory; nothing for one without a repository.
    ///
    /// A directory that says it is a working tree of a repository counts only if the repository knows it by that path: anybody
    /// can write the one, but not the other.
    pub(super) fn at(directory: &Path) -> Option<Self> {
        let directory = fs::canonicalize(directory).ok()?;
        let root = directory.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok())?;
        let inside = directory.strip_prefix(root).ok()?.to_owned();
        let dot_git = root.join(".git");
        if dot_git.symlink_metadata().ok()?.is_dir() {
            return Some(Self { shared: real(&dot_git), inside });
        }
        let text = read(&dot_git)?;
        let own = fs::canonicalize(root.join(text.strip_prefix("gitdir:")?.trim())).ok()?;
        let known = own.join(read(&own.join("gitdir"))?.trim());
        if real(&known) != real(&dot_git) {
            return None;
        }
        let shared = fs::canonicalize(own.join(read(&own.join("commondir"))?.trim())).ok()?;
        Some(Self { shared, inside })
    }
}

/// A short file of the repository.
fn read(path: &Path) -> Option<String> {
    let is_short = path.metadata().ok()?.is_file() && path.metadata().ok()?.len() < 1 << 16;
    is_short.then(|| fs::read_to_string(path).ok()).flatten()
}

/// The path with links followed, where it leads somewhere.
pub(super) fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The project of a directory of tools.
pub(super) fn project_of(directory: &Path) -> Option<Project> {
    Project::at(directory.ancestors().nth(2)?)
}
