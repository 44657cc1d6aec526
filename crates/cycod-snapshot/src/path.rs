//! Paths below a project, and where links in it may lead.

use std::{
    ffi::OsStr,
    io,
    path::{Component, Path},
};

use cycod_file::{EntryKind, Folder};
use serde::{Deserialize, Serialize};

use crate::SnapshotError;

/// Directories that belong to programs of one machine: the history of git, and the tools and rules of cycod.
const OWN: [&str; 2] = [".git", ".cycod"];

/// The longest path, in bytes.
const LONGEST: usize = 4096;

/// A path below a project, with `/` between names. It can't lead out, and names nothing of git or cycod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProjectPath(String);

impl ProjectPath {
    /// The path that a path from the project names.
    ///
    /// # Errors
    /// When a name isn't Unicode, has control characters, or can't be one of a file of the project.
    pub fn of(path: &Path) -> Result<Self, SnapshotError> {
        let wrong = || SnapshotError::Name(path.to_string_lossy().into_owned());
        let names: Option<Vec<&str>> = path
            .components()
            .map(|component| match component {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        Self::try_from(names.ok_or_else(wrong)?.join("/"))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names of the directories on its way, and its own.
    pub(crate) fn split(&self) -> (impl Iterator<Item = &OsStr> + use<'_>, &OsStr) {
        let (above, name) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        (above.split('/').filter(|name| !name.is_empty()).map(OsStr::new), OsStr::new(name))
    }

    /// The directories on its way, the outermost first.
    pub(crate) fn above(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(at, _)| &self.0[..at])
    }

    /// The directory in which it is, and its name there; nothing where a directory on its way is none.
    pub(crate) fn parent(&self, root: &Folder) -> io::Result<Option<(Folder, &OsStr)>> {
        let (above, name) = self.split();
        let mut folder = root.try_clone()?;
        for name in above {
            match folder.kind(name) {
                Ok(EntryKind::Directory) => folder = folder.folder(name)?,
                Ok(_) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some((folder, name)))
    }
}

/// Whether a path is of the project, and not of git or cycod.
pub fn travels(path: &Path) -> bool {
    !path.components().any(|component| is_own(component.as_os_str()))
}

/// Whether a name is one of a directory that never travels, in the way of file systems that don't tell case.
pub(crate) fn is_own(name: &OsStr) -> bool {
    OWN.iter().any(|own| name.eq_ignore_ascii_case(own))
}

fn is_name(name: &str) -> bool {
    // On Windows, these are more than letters of a name.
    let is_plain = |c: char| !c.is_control() && (cfg!(unix) || !matches!(c, '\\' | ':'));
    !matches!(name, "" | "." | "..") && name.chars().all(is_plain) && !is_own(OsStr::new(name))
}

impl TryFrom<String> for ProjectPath {
    type Error = SnapshotError;

    fn try_from(text: String) -> Result<Self, SnapshotError> {
        match text.len() <= LONGEST && text.split('/').all(is_name) {
            true => Ok(Self(text)),
            false => Err(SnapshotError::Name(text)),
        }
    }
}

impl From<ProjectPath> for String {
    fn from(path: ProjectPath) -> Self {
        path.0
    }
}

impl std::fmt::Display for ProjectPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a link at a path stays in the project: it goes up at first only, and not too far. What it names may be a link again,
/// for which the same is true.
pub(crate) fn stays_inside(path: &ProjectPath, to: &str) -> bool {
    let mut height = path.above().count();
    let mut went_down = false;
    let is_plain = !to.is_empty() && !to.contains('\0') && (cfg!(unix) || !to.contains(['\\', ':']));
    is_plain
        && to.len() <= LONGEST
        && !to.starts_with('/')
        && to.split('/').all(|name| match name {
            "" | "." => true,
            ".." if went_down || height == 0 => false,
            ".." => {
                height -= 1;
                true
            }
            _ => {
                went_down = true;
                true
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_not_lead_out() {
        for good in ["a", "a/b", ".gitignore", "a b/ü", "..a", "a..", ".github/x"] {
            assert!(ProjectPath::try_from(good.to_owned()).is_ok(), "{good}");
        }
        let long = "a".repeat(4097);
        for bad in [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "../a",
            "a/.",
            ".git",
            "a/.GIT/hooks",
            ".cycod/x",
            "a\nb",
            "\0",
            &long,
        ] {
            assert!(ProjectPath::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_link_stays_inside_whatever_other_links_there_are() {
        let stays = |path: &str, to: &str| stays_inside(&ProjectPath::try_from(path.to_owned()).expect("a path"), to);
        assert!(stays("a", "b/c") && stays("d/a", "../b") && stays("d/e/a", "../../b") && stays("a", "./b"));
        // `x/y` may itself be a link, and then `..` is not `x`.
        for (path, to) in
            [("a", "../b"), ("a", "/b"), ("d/a", "../../b"), ("a", "x/../b"), ("d/a", "x/y/../../.."), ("a", "")]
        {
            assert!(!stays(path, to), "{path} -> {to}");
        }
    }
}
