//! What a project has at one time: read from its directory, packed, unpacked and written into another one.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use cycod_file::{EntryKind, Folder};
use cycod_team::BlobDigest;
use serde::{Deserialize, Serialize};

use crate::{
    MOST_BYTES, MOST_FILES, ProjectPath, SnapshotError,
    listing::too_many,
    packed::{self, Contents},
    path::stays_inside,
};

/// What a path of a project is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum ProjectEntry {
    /// A file.
    File {
        /// How many bytes it has.
        size: u64,
        /// Their digest.
        sha256: BlobDigest,
        /// Whether it may be executed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// A link, with what it names.
    Link {
        /// A path from the directory of the link, which stays in the project.
        to: String,
    },
    /// A directory that is empty.
    Directory,
}

impl ProjectEntry {
    /// A file with these bytes.
    pub fn file(bytes: &[u8], executable: bool) -> Self {
        Self::File { size: bytes.len() as u64, sha256: BlobDigest::of(bytes), executable }
    }

    /// Whether two are the same for this system, which may not know what is executable.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { sha256: one, .. }, Self::File { sha256: two, .. }) if !cfg!(unix) => one == two,
            _ => self == other,
        }
    }

    pub(crate) fn check(&self, path: &ProjectPath) -> Result<(), SnapshotError> {
        match self {
            Self::Link { to } if !stays_inside(path, to) => {
                Err(SnapshotError::LeadsOut { link: path.to_string(), to: to.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// What is at a path of a directory now.
#[derive(Debug)]
pub(crate) enum Found {
    Nothing,
    Entry(ProjectEntry, Vec<u8>),
    /// A pipe, a socket, a device, a link that can't travel.
    Other,
}

impl Found {
    /// Looks at a path, through no link. Of a file, `most` bytes are read; a larger one is an error.
    pub(crate) fn at(root: &Folder, path: &ProjectPath, most: u64) -> io::Result<Self> {
        let Some((folder, name)) = path.parent(root)? else { return Ok(Self::Nothing) };
        Ok(match folder.kind(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Nothing,
            Err(error) => return Err(error),
            Ok(EntryKind::Directory) => Self::Entry(ProjectEntry::Directory, Vec::new()),
            Ok(EntryKind::Link(to)) => match to.to_str() {
                Some(to) => Self::Entry(ProjectEntry::Link { to: to.to_owned() }, Vec::new()),
                None => Self::Other,
            },
            Ok(EntryKind::Other) => Self::Other,
            Ok(EntryKind::File(_)) => {
                let file = folder.file(name)?;
                let metadata = file.metadata()?;
                if !metadata.is_file() {
                    return Ok(Self::Other);
                }
                let mut bytes = Vec::new();
                _ = file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
                if bytes.len() as u64 > most {
                    return Err(io::Error::other(format!("it has more than {most} bytes")));
                }
                Self::Entry(ProjectEntry::file(&bytes, is_executable(&metadata)), bytes)
            }
        })
    }

    /// The entry, and nothing for a directory, which only holds others.
    pub(crate) fn entry(&self) -> Option<&ProjectEntry> {
        match self {
            Self::Entry(ProjectEntry::Directory, _) | Self::Nothing | Self::Other => None,
            Self::Entry(entry, _) => Some(entry),
        }
    }
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}

/// The files of a project at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub(crate) entries: BTreeMap<ProjectPath, ProjectEntry>,
    pub(crate) contents: Contents,
}

/// What there is, in the order of the paths.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    entries: Vec<(ProjectPath, ProjectEntry)>,
}

impl Snapshot {
    /// Reads the files of a project that are listed by their paths from there. One that is gone is left out.
    ///
    /// # Errors
    /// When there is too much, a name can't travel, a link leads out, or something can't be read.
    pub fn of(root: &Path, listed: &BTreeSet<PathBuf>) -> Result<Self, SnapshotError> {
        let folder = Folder::open(root).map_err(|error| SnapshotError::failed(root.display(), error))?;
        let paths = listed.iter().map(|path| ProjectPath::of(path)).collect::<Result<Vec<_>, _>>()?;
        let mut sizes = Vec::new();
        for path in &paths {
            let failed = |error| SnapshotError::failed(path, error);
            if let Some((folder, name)) = path.parent(&folder).map_err(failed)?
                && let Ok(EntryKind::File(size)) = folder.kind(name)
            {
                sizes.push((path.to_string(), size));
            }
        }
        if paths.len() > MOST_FILES {
            return Err(SnapshotError::too_large(too_many(), sizes));
        }
        let all = sizes.iter().fold(0_u64, |all, (_, size)| all.saturating_add(*size));
        if all > MOST_BYTES {
            let what = format!("the files have {all} bytes, and {} MiB can travel", MOST_BYTES >> 20);
            return Err(SnapshotError::too_large(what, sizes));
        }
        let (mut snapshot, mut left) = (Self::default(), MOST_BYTES);
        for path in paths {
            let found = Found::at(&folder, &path, left).map_err(|error| SnapshotError::failed(&path, error))?;
            let Found::Entry(entry, content) = found else { continue };
            entry.check(&path)?;
            left -= content.len() as u64;
            if matches!(entry, ProjectEntry::File { .. }) {
                snapshot.contents.insert(path.clone(), content);
            }
            snapshot.entries.insert(path, entry);
        }
        Ok(snapshot)
    }

    /// What there is.
    pub fn entries(&self) -> &BTreeMap<ProjectPath, ProjectEntry> {
        &self.entries
    }

    /// How many bytes all files have together.
    pub fn bytes(&self) -> u64 {
        self.contents.values().map(|content| content.len() as u64).sum()
    }

    /// Adds a directory that has to be there, though it may be empty.
    pub fn add_directory(&mut self, path: &Path) -> Result<(), SnapshotError> {
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        let path = ProjectPath::of(path)?;
        let is_there = self.entries.keys().any(|other| other.above().any(|above| above == path.as_str()));
        if !is_there {
            self.entries.entry(path).or_insert(ProjectEntry::Directory);
        }
        Ok(())
    }

    /// Packs it.
    ///
    /// # Errors
    /// When that is too much.
    pub fn pack(&self) -> Result<Vec<u8>, SnapshotError> {
        let entries = self.entries.iter().map(|(path, entry)| (path.clone(), entry.clone())).collect();
        packed::pack(&Head { entries }, &self.contents)
    }

    /// Reads what was packed. Nothing is written.
    ///
    /// # Errors
    /// When it is something else, or more than travels.
    pub fn unpack(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let (head, contents) =
            packed::unpack(bytes, |head: &Head| head.entries.iter().map(|(path, entry)| (path, entry)).collect())?;
        if !head.entries.is_sorted_by(|(one, _), (two, _)| one < two) {
            return Err(SnapshotError::broken("two entries have one name"));
        }
        head.entries.iter().try_for_each(|(path, entry)| entry.check(path))?;
        Ok(Self { entries: head.entries.into_iter().collect(), contents })
    }

    /// Writes the files into a directory in which nothing is. Links come last, and nothing is written through one.
    ///
    /// # Errors
    /// When an entry is in the way of another, or the system refuses.
    pub fn write(&self, root: &Path) -> Result<(), SnapshotError> {
        let folder = Folder::open(root).map_err(|error| SnapshotError::failed(root.display(), error))?;
        let is_link = |entry: &ProjectEntry| matches!(entry, ProjectEntry::Link { .. });
        let (links, others): (Vec<_>, Vec<_>) = self.entries.iter().partition(|(_, entry)| is_link(entry));
        for (path, entry) in others.into_iter().chain(links) {
            let content = self.contents.get(path).map(Vec::as_slice).unwrap_or_default();
            let written = made_parent(&folder, path).and_then(|parent| put(&parent, path, entry, content));
            written.map_err(|error| SnapshotError::failed(path, error))?;
        }
        Ok(())
    }
}

/// The directory in which a path is; what is missing of it is made.
pub(crate) fn made_parent(root: &Folder, path: &ProjectPath) -> io::Result<Folder> {
    let mut folder = root.try_clone()?;
    for name in path.split().0 {
        folder = match folder.folder(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => folder.make_new(name)?,
            opened => opened?,
        };
    }
    Ok(folder)
}

/// Makes what is not there yet.
pub(crate) fn put(parent: &Folder, path: &ProjectPath, entry: &ProjectEntry, content: &[u8]) -> io::Result<()> {
    let name = path.split().1;
    match entry {
        ProjectEntry::File { executable, .. } => parent.create_new(name, *executable)?.write_all(content),
        ProjectEntry::Link { to } => parent.make_link(name, Path::new(to)),
        ProjectEntry::Directory => parent.make_new(name).map(drop),
    }
}
