//! Which files of a directory travel: all but those that `.gitignore` files leave out.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use cycod_file::{EntryKind, Folder};
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::{MOST_FILES, SnapshotError, path::is_own};

/// How deep directories may be.
const DEEPEST: usize = 200;

/// The largest file of rules that is read, in bytes.
const MOST_RULES: u64 = 1 << 20;

/// Lists the files and links below a directory that its `.gitignore` files don't leave out, and the directories that are empty,
/// by their paths from there. No link is followed.
///
/// # Errors
/// When there are too many, or something can't be read.
pub fn listed(root: &Path) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let folder = Folder::open(root).map_err(|error| SnapshotError::failed(root.display(), error))?;
    list(&folder)
}

pub(crate) fn list(root: &Folder) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let mut walk = Walk { rules: Vec::new(), found: BTreeSet::new() };
    walk.enter(root, Path::new(""), 0)?;
    Ok(walk.found)
}

struct Walk {
    /// The rules of the directories on the way.
    rules: Vec<(PathBuf, Gitignore)>,
    found: BTreeSet<PathBuf>,
}

impl Walk {
    fn enter(&mut self, folder: &Folder, below: &Path, depth: usize) -> Result<(), SnapshotError> {
        let failed = |error: io::Error| SnapshotError::failed(below.display(), error);
        if depth > DEEPEST {
            let what = format!("`{}` is more than {DEEPEST} directories deep", below.display());
            return Err(SnapshotError::too_large(what, Vec::new()));
        }
        let rules = rules_of(folder).map_err(failed)?;
        let has_rules = rules.is_some();
        self.rules.extend(rules.map(|rules| (below.to_owned(), rules)));
        let mut names: Vec<OsString> = Vec::new();
        folder
            .names(|name| {
                names.push(name.to_owned());
                Ok::<_, io::Error>(())
            })
            .map_err(failed)?;
        if names.is_empty() && depth > 0 {
            self.add(below)?;
        }
        for name in names.iter().filter(|name| !is_own(name)) {
            let path = below.join(name);
            let kind = folder.kind(name).map_err(|error| SnapshotError::failed(path.display(), error))?;
            if self.is_left_out(&path, kind == EntryKind::Directory) {
                continue;
            }
            match kind {
                EntryKind::Directory => {
                    let inner = folder.folder(name).map_err(|error| SnapshotError::failed(path.display(), error))?;
                    self.enter(&inner, &path, depth + 1)?;
                }
                EntryKind::File(_) | EntryKind::Link(_) => self.add(&path)?,
                EntryKind::Other => {}
            }
        }
        if has_rules {
            self.rules.pop();
        }
        Ok(())
    }

    fn add(&mut self, path: &Path) -> Result<(), SnapshotError> {
        self.found.insert(path.to_owned());
        if self.found.len() > MOST_FILES {
            return Err(SnapshotError::too_large(too_many(), Vec::new()));
        }
        Ok(())
    }

    /// Whether rules leave a path out; those of the innermost directory take precedence.
    fn is_left_out(&self, path: &Path, is_directory: bool) -> bool {
        let mut decided = self.rules.iter().rev().filter_map(|(directory, rules)| {
            let inside = path.strip_prefix(directory).ok()?;
            match rules.matched(inside, is_directory) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            }
        });
        decided.next().unwrap_or(false)
    }
}

pub(crate) fn too_many() -> String {
    format!("there are more than {MOST_FILES} files")
}

/// The rules of a directory.
fn rules_of(folder: &Folder) -> io::Result<Option<Gitignore>> {
    let name = OsStr::new(".gitignore");
    if !matches!(folder.kind(name), Ok(EntryKind::File(size)) if size <= MOST_RULES) {
        return Ok(None);
    }
    let mut text = Vec::new();
    _ = folder.file(name)?.take(MOST_RULES).read_to_end(&mut text)?;
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&text).lines() {
        // As git does, a line that is no pattern is ignored.
        _ = builder.add_line(None, line);
    }
    builder.build().map(Some).map_err(io::Error::other)
}
