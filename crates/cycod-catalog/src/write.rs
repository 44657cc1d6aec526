//! Changing a directory of tools so that no reader sees half a file and no two files get one name.
//!
//! Every change happens under an advisory lock of its directory, which the system releases when the process
//! ends, however it ends. Under the lock the names of the scope are looked at again, the new text is
//! written to a hidden file beside its target, forced to the disk, and renamed. A reader takes no lock: it
//! sees the old file or the new one. A crash leaves at most a hidden file, which a later `add` sweeps away.
//!
//! A file that is a symbolic link is read but never written: a rename would replace the link and leave the file
//! it points to as it was, and following it would write outside of the scope. (The directory itself may be
//! a link; it *is* the scope.) Removing a link removes the link alone.

use std::{
    fs::{self, File, Metadata, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use cycod_definition::{Beside, FileFormat, ToolName};
use cycod_diagnostic::SourceFile;
use cycod_file::{Durability, FileAccess, PendingFile};

use crate::{
    DirectoryStyle, Entry, Scope, Scopes,
    read::{self, Outcome},
    shelf::Shelf,
};

const LOCK: &str = ".lock";
/// How long to wait for another process before giving up with a message.
const PATIENCE: Duration = Duration::from_secs(30);

/// Adds, replaces and removes tool files.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    scopes: &'a Scopes,
}

/// Whether [`Writer::add`] may put a tool in the place of one that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// It may not.
    Refuse,
    /// It may.
    Replace,
}

/// What [`Writer::add`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Whether a tool of this name was there before.
    pub replaced: bool,
}

/// Why a directory was left as it was.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
pub enum WriteError {
    /// The scope has a tool of this name.
    #[error("tool `{name}` is already there, in `{}`", path.display())]
    Exists { name: String, path: PathBuf },
    /// Several files of the scope hold this name: which one is meant?
    #[error("tool `{name}` is in several files of one scope: {}", list(paths))]
    Ambiguous { name: String, paths: Vec<PathBuf> },
    /// The file that the tool would go into is there and holds something else.
    #[error("cannot write tool `{name}` to `{}`, which holds something else", path.display())]
    Occupied { name: String, path: PathBuf },
    /// The text gives itself another name.
    #[error("the text is to be tool `{name}` but calls itself `{says}`")]
    Misnamed { name: String, says: String },
    /// The name belongs to a built-in tool.
    #[error("`{name}` is the name of a built-in tool")]
    Reserved { name: String, note: String },
    /// The file is in a layout that is only read.
    #[error("`{}` belongs to another program; it is read, never written", path.display())]
    ReadOnly { path: PathBuf },
    /// The file is of a release.
    #[error("`{}` is the team's: only its next release can change it", path.display())]
    OfTeam { path: PathBuf },
    /// The file is a symbolic link or no file at all.
    #[error("`{}` is not a plain file: change what it points to instead", path.display())]
    NotPlain { path: PathBuf },
    /// The file was changed by someone else since it was read.
    #[error("`{}` was changed by someone else in the meantime", path.display())]
    Changed { path: PathBuf },
    /// The file has been removed since it was read.
    #[error("`{}` is no longer there", path.display())]
    Gone { path: PathBuf },
    /// Another process holds the lock and does not let go.
    #[error("another process has been changing `{}` for {} s", directory.display(), PATIENCE.as_secs())]
    Busy { directory: PathBuf },
    /// The file system refuses.
    #[error("failed to {doing} `{}`", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    shown.join(", ")
}

fn io_error<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> WriteError + 'a {
    move |source| WriteError::Io { doing, path: path.to_owned(), source }
}

impl<'a> Writer<'a> {
    /// Returns a writer for the directories of `scopes`.
    pub fn new(scopes: &'a Scopes) -> Self {
        Self { scopes }
    }

    /// Writes `text` as the tool `name` of `scope`, creating its directory if need be.
    ///
    /// The text need not be a tool without errors, but it must not give itself another name. A new tool goes into
    /// `<name>.yaml`, or `<name>.md` if it is Markdown; one that replaces another keeps its file's name and mode (and its
    /// owner, where that is allowed), except that a file
    /// of another format, or one whose own name says something else than the text, gets the name of a new one.
    pub fn add(&self, scope: Scope, name: &ToolName, text: &str, overwrite: Overwrite) -> Result<Written, WriteError> {
        let directory = self.scopes.written(scope);
        match scope {
            Scope::Mcp | Scope::BuiltIn => return Err(WriteError::ReadOnly { path: directory }),
            Scope::Team => return Err(WriteError::OfTeam { path: directory }),
            Scope::Local | Scope::User | Scope::Global => {}
        }
        let ending = ending(text);
        let target = directory.join(format!("{name}.{ending}"));
        self.check_name(name.as_str(), text, &target)?;

        cycod_file::create_directories(&directory).map_err(io_error("create the directory", &directory))?;
        let _lock = lock(&directory)?;
        cycod_file::sweep(&directory);
        let mut rivals = self.holders(scope, &name.key(), None);
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let occupied = || WriteError::Occupied { name: name.to_string(), path: target.clone() };
        let Some((path, style)) = rivals.pop() else {
            if is_there(&target) {
                return Err(occupied());
            }
            let pending = pending(&target, text, None)?;
            let name = target.file_name().unwrap_or_default();
            pending.place_new(name, Durability::Power).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => occupied(),
                _ => io_error("write", &target)(error),
            })?;
            return Ok(Written { path: target, replaced: false });
        };
        if !rivals.is_empty() {
            let mut paths: Vec<PathBuf> = rivals.into_iter().map(|(path, _)| path).chain([path]).collect();
            paths.sort_unstable();
            return Err(WriteError::Ambiguous { name: name.to_string(), paths });
        }
        if overwrite == Overwrite::Refuse {
            return Err(WriteError::Exists { name: name.to_string(), path });
        }
        let metadata = plain(&path, style)?;
        let pending = pending(&path, text, Some(&metadata))?;
        let place_over =
            |target: &Path| pending.place_over(target, Durability::Power).map_err(io_error("replace", target));
        let has_ending = path.extension().is_some_and(|extension| {
            extension.eq_ignore_ascii_case(ending) || (ending == "yaml" && extension.eq_ignore_ascii_case("yml"))
        });
        if has_ending && says(text, &path).eq_ignore_ascii_case(name.as_str()) {
            place_over(&path)?;
            return Ok(Written { path, replaced: true });
        }
        // First the old file takes the new name, then the new text its place: at no time are there two of them or none.
        if is_there(&target) {
            return Err(occupied());
        }
        fs::rename(&path, &target).map_err(io_error("rename", &path))?;
        place_over(&target)?;
        Ok(Written { path: target, replaced: true })
    }

    /// Writes `text` over the file of `entry`, provided that it still holds `expected`.
    ///
    /// The text may give the tool another name, unless a file of the scope has it. Mode and owner are kept.
    pub fn replace(&self, entry: &Entry, expected: &str, text: &str) -> Result<(), WriteError> {
        let path = &entry.path;
        let directory = path.parent().unwrap_or(Path::new("."));
        if entry.scope == Scope::Team {
            return Err(WriteError::OfTeam { path: path.clone() });
        }
        plain(path, entry.style)?;
        let _lock = lock(directory)?;
        let metadata = plain(path, entry.style)?;
        match read::read_text(path) {
            Ok(current) if current == expected => {}
            _ => return Err(WriteError::Changed { path: path.clone() }),
        }
        let name = says(text, path);
        let key = name.to_ascii_lowercase();
        if key != entry.name.to_ascii_lowercase() {
            if self.scopes.is_reserved(&key) {
                return Err(WriteError::Reserved { name, note: self.scopes.reserved_note() });
            }
            if let Some((path, _)) = self.holders(entry.scope, &key, Some(path)).pop() {
                return Err(WriteError::Exists { name, path });
            }
        }
        let pending = pending(path, text, Some(&metadata))?;
        pending.place_over(path, Durability::Power).map_err(io_error("replace", path))
    }

    /// Removes the file of `entry`, provided that it still holds the same tool.
    pub fn remove(&self, entry: &Entry) -> Result<(), WriteError> {
        let path = &entry.path;
        let directory = path.parent().unwrap_or(Path::new("."));
        let gone = || WriteError::Gone { path: path.clone() };
        if entry.scope == Scope::Team {
            return Err(WriteError::OfTeam { path: path.clone() });
        }
        if entry.style != DirectoryStyle::Cycod {
            return Err(WriteError::ReadOnly { path: path.clone() });
        }
        fs::symlink_metadata(path).map_err(|_| gone())?;
        let _lock = lock(directory)?;
        let (reading, _) = read::read(path, &Beside::default()).ok_or_else(gone)?;
        match reading.outcome {
            Outcome::Foreign(_) => return Err(WriteError::NotPlain { path: path.clone() }),
            _ if !reading.name.eq_ignore_ascii_case(&entry.name) => {
                return Err(WriteError::Changed { path: path.clone() });
            }
            _ => {}
        }
        cycod_file::remove(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => gone(),
            _ => io_error("remove", path)(error),
        })
    }

    fn check_name(&self, name: &str, text: &str, target: &Path) -> Result<(), WriteError> {
        if self.scopes.is_reserved(&name.to_ascii_lowercase()) {
            return Err(WriteError::Reserved { name: name.to_owned(), note: self.scopes.reserved_note() });
        }
        let says = says(text, target);
        if says.eq_ignore_ascii_case(name) {
            return Ok(());
        }
        Err(WriteError::Misnamed { name: name.to_owned(), says })
    }

    /// The files of a scope that hold a name now.
    fn holders(&self, scope: Scope, key: &str, but: Option<&Path>) -> Vec<(PathBuf, DirectoryStyle)> {
        let scope = self.scopes.effective(scope);
        let cache = self.scopes.cache();
        let mut holders = Vec::new();
        for directory in self.scopes.directories().iter().filter(|directory| directory.scope == scope) {
            let shelf = Shelf::open(directory.clone(), || directory.places.read(), Some(&cache));
            for item in shelf.with_key(key) {
                let path = shelf.path(&item);
                if !matches!(item.reading.outcome, Outcome::Foreign(_) | Outcome::Prose) && Some(path.as_path()) != but
                {
                    holders.push((path, directory.style));
                }
            }
        }
        holders
    }
}

/// The ending of a file with this text.
fn ending(text: &str) -> &'static str {
    match FileFormat::of(&SourceFile::new("", text)) {
        FileFormat::Markdown => "md",
        FileFormat::Cycod | FileFormat::Mimir => "yaml",
    }
}

/// The name that a tool of this text has in the file at `path`.
fn says(text: &str, path: &Path) -> String {
    read::check_text(SourceFile::new(path.display().to_string(), text), path, &Beside::default()).name
}

/// The metadata of a file that may be written.
fn plain(path: &Path, style: DirectoryStyle) -> Result<Metadata, WriteError> {
    if style != DirectoryStyle::Cycod {
        return Err(WriteError::ReadOnly { path: path.to_owned() });
    }
    let metadata = fs::symlink_metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => WriteError::Gone { path: path.to_owned() },
        _ => io_error("look at", path)(error),
    })?;
    if !metadata.is_file() {
        return Err(WriteError::NotPlain { path: path.to_owned() });
    }
    Ok(metadata)
}

/// Holds the lock of a directory until it is dropped.
///
/// The directory itself is locked, which leaves nothing in a repository; where that can't be (on NFS), a hidden file in it is.
fn lock(directory: &Path) -> Result<File, WriteError> {
    match cycod_file::lock_directory(directory, PATIENCE) {
        Ok(lock) => return Ok(lock),
        Err(TryLockError::WouldBlock) => return Err(WriteError::Busy { directory: directory.to_owned() }),
        Err(TryLockError::Error(_)) => {}
    }
    let path = directory.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(io_error("write into", directory))?;
    match cycod_file::lock(&file, PATIENCE) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(WriteError::Busy { directory: directory.to_owned() }),
        Err(TryLockError::Error(source)) => Err(io_error("lock", &path)(source)),
    }
}

/// Begins a file with this text, which has the mode and owner of `like`.
fn pending(place: &Path, text: &str, like: Option<&Metadata>) -> Result<PendingFile, WriteError> {
    let directory = place.parent().unwrap_or(Path::new("."));
    let mut pending = PendingFile::beside(place, like.map_or(FileAccess::Usual, FileAccess::Like))
        .map_err(io_error("write into", directory))?;
    pending.write_all(text.as_bytes()).map_err(io_error("write into", directory))?;
    Ok(pending)
}
