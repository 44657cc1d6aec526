//! The files of the project on the way to a worker, and what a run changed of them on the way back.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use cycod_engine::{
    definition::Host,
    diagnostic::{Code, Refusal},
    trust::{files_of_git, take_keys},
};
use cycod_file::{Durability, FileAccess, replace};
use cycod_snapshot::{Changes, NotApplied, ProjectEntry, ProjectPath, Snapshot, SnapshotError, listed, travels};
use serde::{Deserialize, Serialize};

/// How long changes are kept that were not applied.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// How many paths a message names.
const NAMED: usize = 10;

/// The files of the project, as they travel with one run.
#[derive(Debug)]
pub(crate) struct Travelling {
    pub(crate) snapshot: Snapshot,
    /// Files that hold keys or logins. They stay.
    pub(crate) stay: BTreeSet<PathBuf>,
    /// Where the user is, from the project.
    pub(crate) directory: String,
}

impl Travelling {
    /// Reads the files of the project of a host.
    ///
    /// # Errors
    /// When they can't travel.
    pub(crate) fn of(host: &Host) -> Result<Self, Refusal> {
        let root = fs::canonicalize(&host.workspace).map_err(|error| refused(&error.to_string()))?;
        let mut files = match files_of_git(host).map_err(|obstacle| refused(&obstacle.to_string()))? {
            Some(files) => files.into_iter().filter(|file| travels(file)).collect(),
            None => listed(&root).map_err(|error| cannot_travel(&error))?,
        };
        let stay = take_keys(host, &mut files);
        let mut snapshot = Snapshot::of(&root, &files).map_err(|error| cannot_travel(&error))?;
        let here = fs::canonicalize(&host.working_directory).map_err(|error| refused(&error.to_string()))?;
        let directory = here.strip_prefix(&root).unwrap_or("".as_ref());
        let directory = if travels(directory) { directory } else { "".as_ref() };
        snapshot.add_directory(directory).map_err(|error| cannot_travel(&error))?;
        Ok(Self { snapshot, stay, directory: directory.to_string_lossy().replace('\\', "/") })
    }

    /// How many files there are.
    pub(crate) fn count(&self) -> usize {
        self.snapshot.entries().values().filter(|entry| **entry != ProjectEntry::Directory).count()
    }

    /// Packs the files.
    pub(crate) fn pack(&self) -> Result<Vec<u8>, Refusal> {
        self.snapshot.pack().map_err(|error| cannot_travel(&error))
    }
}

/// The entries of a snapshot, with the files of the tool, which are there in any case: their paths, bytes, and whether they are executable.
pub(crate) fn entries_with<'a>(
    snapshot: &Snapshot,
    files: impl IntoIterator<Item = (&'a String, &'a [u8], bool)>,
) -> BTreeMap<ProjectPath, ProjectEntry> {
    let mut entries = snapshot.entries().clone();
    for (path, bytes, is_executable) in files {
        if let Ok(path) = ProjectPath::try_from(path.clone()) {
            entries.entry(path).or_insert_with(|| ProjectEntry::file(bytes, is_executable));
        }
    }
    entries
}

fn refused(why: &str) -> Refusal {
    Refusal::new(Code::WorkspaceRefused, format!("the files of the project can't travel: {why}"))
}

fn cannot_travel(error: &SnapshotError) -> Refusal {
    let attempt = match error {
        SnapshotError::TooLarge { .. } => "leave files out by a .gitignore, or run it here: --on here",
        SnapshotError::Name(_) => "rename it, or leave it out by a .gitignore",
        SnapshotError::LeadsOut { .. } => "remove the link, or leave it out by a .gitignore",
        SnapshotError::Broken(_) | SnapshotError::Failed { .. } => return refused(&error.to_string()),
    };
    refused(&error.to_string()).attempt(attempt)
}

/// Changes of a run that were not applied, as they are kept for the user.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptChanges {
    /// The project to which they belong.
    pub(crate) project: PathBuf,
}

impl KeptChanges {
    fn paths(home: &Path, run: &str) -> (PathBuf, PathBuf) {
        let directory = home.join("changes");
        (directory.join(format!("{run}.json")), directory.join(format!("{run}.changes")))
    }

    /// Keeps packed changes of a run.
    pub(crate) fn keep(&self, home: &Path, run: &str, packed: &[u8]) -> io::Result<()> {
        let (about, file) = Self::paths(home, run);
        let directory = home.join("changes");
        fs::create_dir_all(&directory)?;
        forget_old(&directory);
        replace(&file, packed, FileAccess::Private, Durability::Power)?;
        replace(&about, &serde_json::to_vec(self)?, FileAccess::Private, Durability::Power)
    }

    /// The changes of a run; nothing if none are kept.
    pub(crate) fn read(home: &Path, run: &str) -> io::Result<Option<(Self, Vec<u8>)>> {
        let (about, file) = Self::paths(home, run);
        match fs::read(about) {
            Ok(about) => Ok(Some((serde_json::from_slice(&about)?, fs::read(file)?))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Forgets the changes of a run.
    pub(crate) fn forget(home: &Path, run: &str) {
        let (about, file) = Self::paths(home, run);
        _ = fs::remove_file(about);
        _ = fs::remove_file(file);
    }
}

fn forget_old(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|metadata| metadata.modified());
        if age.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > KEPT)) {
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Applies changes to a project.
///
/// # Errors
/// When nothing was applied, and why.
pub(crate) fn apply(changes: &Changes, project: &Path, run: &str) -> Result<(), Refusal> {
    let root = fs::canonicalize(project).map_err(|error| not_applied(&error.to_string(), run))?;
    match changes.apply(&root) {
        Ok(()) => Ok(()),
        Err(NotApplied::Failed(error)) => Err(not_applied(&error.to_string(), run)),
        Err(NotApplied::Conflicts(conflicts)) => {
            let named = some(conflicts.iter().map(ToString::to_string));
            let why = format!("nothing that the run changed was applied, because {named}");
            let attempt =
                format!("put your own changes away, for example with `git stash`, then: cycod runs apply {run}");
            Err(Refusal::new(Code::WorkspaceConflict, why).attempt(attempt))
        }
    }
}

fn not_applied(why: &str, run: &str) -> Refusal {
    Refusal::new(Code::WorkspaceRefused, format!("nothing that the run changed was applied: {why}"))
        .attempt(format!("try it again: cycod runs apply {run}"))
}

/// The first of many, in words.
fn some(all: impl ExactSizeIterator<Item = String>) -> String {
    let count = all.len();
    let mut named: Vec<String> = all.take(NAMED).collect();
    if count > NAMED {
        named.push(format!("{} more", count - NAMED));
    }
    named.join(", ")
}
