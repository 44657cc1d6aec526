//! Files and directories that nobody but their owner can read.

use std::{
    fs::{self, File, Metadata, TryLockError},
    io::{self, ErrorKind},
    path::Path,
};

use cycod_file::{Exposure, PrivateOptions};

use crate::StoreError;

/// Makes the directory, and those above it, unless it is there; refuses one that is not ours alone.
pub(crate) fn directory(path: &Path) -> Result<(), StoreError> {
    cycod_file::create_private_directories(path).map_err(StoreError::io("make directory", path))?;
    let (metadata, exposure) = cycod_file::exposure_at(path).map_err(StoreError::io("look at", path))?;
    must_be(metadata.is_dir(), "is not a directory", exposure, path)
}

/// Refuses what is not of its kind, or not ours alone.
fn must_be(is_kind: bool, otherwise: &'static str, exposure: Option<Exposure>, path: &Path) -> Result<(), StoreError> {
    let why = if is_kind { exposure.map(Exposure::why) } else { Some(otherwise) };
    why.map_or(Ok(()), |why| Err(StoreError::NotPrivate { path: path.to_owned(), why }))
}

/// Refuses a directory in which SQLite makes files for others. On Unix they have the permissions of the database.
pub(crate) fn beside(database: &Path) -> Result<(), StoreError> {
    match database.parent() {
        Some(parent) if cfg!(windows) => directory(parent),
        _ => Ok(()),
    }
}

/// Makes the directory for a private file unless it is there. One that is there may be open to others.
pub(crate) fn parent(path: &Path) -> Result<(), StoreError> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => directory(parent),
        _ => Ok(()),
    }
}

/// Begins the options for opening a private file.
pub(crate) fn options() -> PrivateOptions {
    PrivateOptions::default()
}

/// Opens a private file; refuses one that is not ours alone.
pub(crate) fn open(options: &PrivateOptions, path: &Path) -> Result<File, StoreError> {
    Ok(open_looked_at(options, path)?.0)
}

/// The same, with what the file is.
pub(crate) fn open_looked_at(options: &PrivateOptions, path: &Path) -> Result<(File, Metadata), StoreError> {
    let file = options.open(path).map_err(StoreError::io("open", path))?;
    let look_at = || StoreError::io("look at", path);
    let metadata = file.metadata().map_err(look_at())?;
    let exposure = cycod_file::exposure(&file, &metadata).map_err(look_at())?;
    must_be(metadata.is_file(), "is not a file", exposure, path)?;
    Ok((file, metadata))
}

/// Locks a file that one process at a time uses.
pub(crate) fn lock_alone(file: &File, path: &Path) -> Result<(), StoreError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => StoreError::InUse { path: path.to_owned() },
        TryLockError::Error(error) => StoreError::io("lock", path)(error),
    })
}

/// Lets go of a lock.
pub(crate) fn unlock(file: &File) -> io::Result<()> {
    /// What Wine answers where there is no lock any more. Windows has another number for that, which the standard library
    /// knows: it unlocks twice there.
    const NOT_LOCKED_BY_WINE: i32 = 33;
    match file.unlock() {
        Err(error) if cfg!(windows) && error.raw_os_error() == Some(NOT_LOCKED_BY_WINE) => Ok(()),
        unlocked => unlocked,
    }
}

/// Takes away what is behind so many bytes of a file that is open for appending.
pub(crate) fn shorten(file: &File, path: &Path, length: u64) -> Result<(), StoreError> {
    let shortened = (|| {
        if file.metadata()?.len() == length {
            return Ok(());
        }
        // Windows shortens nothing that is open for appending alone.
        if cfg!(windows) { options().write(true).open(path)?.set_len(length) } else { file.set_len(length) }
    })();
    shortened.map_err(StoreError::io("shorten", path))
}

/// Lists the files of a directory with this ending, without it, in order; a directory that is not there is empty.
pub(crate) fn names(directory: &Path, ending: &str) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(StoreError::io("read directory", directory))?,
    };
    let name = |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(ending)?.to_owned());
    let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
    names.sort_unstable();
    Ok(names)
}

/// Whether the open file is still the one that its name leads to.
#[cfg(unix)]
pub(crate) fn is_current(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => identity(open) == identity(named),
        _ => false,
    }
}

/// Whether the file that was opened is still the one at a path.
pub(crate) fn is_at(opened: &Metadata, path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|named| cfg!(not(unix)) || identity(&named) == identity(opened))
}

/// What tells one file from another.
pub(crate) type Identity = (u64, u64);

/// What file that is; nothing where the system does not tell.
#[cfg(unix)]
pub(crate) fn identity(metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// What file that is; nothing where the system does not tell.
#[cfg(not(unix))]
pub(crate) fn identity(_: &Metadata) -> Option<Identity> {
    None
}

/// The file at a path that is ours alone, with how long it is.
pub(crate) fn at(path: &Path) -> Option<(Identity, u64)> {
    let (metadata, exposure) = cycod_file::exposure_at(path).ok()?;
    let is_private = metadata.is_file() && exposure.is_none();
    Some((identity(&metadata).filter(|_| is_private)?, metadata.len()))
}

/// Whether there is still a file. It is the same: the names that this is asked for are random, and so used once.
#[cfg(not(unix))]
pub(crate) fn is_current(_: &File, path: &Path) -> bool {
    path.exists()
}
