//! Files below a directory that is named by its path, where nothing better is at hand.

use std::{
    ffi::OsStr,
    fs::{self, File, Metadata},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::EntryKind;
use crate::PrivateOptions;

/// The path of a directory: nothing better is at hand here.
#[derive(Debug)]
pub(crate) struct Handle(PathBuf);

impl Handle {
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.clone()))
    }
}

impl std::ops::Deref for Handle {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

pub(crate) fn follow(path: &Path) -> io::Result<Handle> {
    open(&fs::canonicalize(path)?)
}

pub(crate) fn open(path: &Path) -> io::Result<Handle> {
    if fs::symlink_metadata(path)?.is_dir() {
        Ok(Handle(path.to_owned()))
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

pub(crate) fn make(parent: &Path, name: &OsStr) -> io::Result<Handle> {
    let path = parent.join(name);
    match fs::create_dir(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => open(&path),
    }
}

pub(crate) fn make_new(parent: &Path, name: &OsStr) -> io::Result<Handle> {
    fs::create_dir(parent.join(name))?;
    folder(parent, name)
}

pub(crate) fn folder(parent: &Path, name: &OsStr) -> io::Result<Handle> {
    open(&parent.join(name))
}

pub(crate) fn kind(directory: &Path, name: &OsStr) -> io::Result<EntryKind> {
    let path = directory.join(name);
    let metadata = fs::symlink_metadata(&path)?;
    Ok(if metadata.is_symlink() {
        EntryKind::Link(fs::read_link(&path)?)
    } else if metadata.is_dir() {
        EntryKind::Directory
    } else if metadata.is_file() {
        EntryKind::File(metadata.len())
    } else {
        EntryKind::Other
    })
}

pub(crate) fn file(directory: &Path, name: &OsStr) -> io::Result<File> {
    crate::open_plain(&directory.join(name))
}

pub(crate) fn names<E: From<io::Error>>(
    directory: &Path,
    mut each: impl FnMut(&OsStr) -> Result<(), E>,
) -> Result<(), E> {
    for entry in fs::read_dir(directory)? {
        each(&entry?.file_name())?;
    }
    Ok(())
}

pub(crate) fn create_new(directory: &Path, name: &OsStr, _: bool) -> io::Result<File> {
    File::create_new(directory.join(name))
}

/// Makes a file for its owner alone.
pub(crate) fn create_private(directory: &Path, name: &OsStr) -> io::Result<File> {
    PrivateOptions::default().write(true).create_new(true).open(&directory.join(name))
}

pub(crate) fn take_owner(_: &File, _: &Metadata) {}

pub(crate) fn metadata(directory: &Path, name: &OsStr) -> io::Result<Metadata> {
    fs::symlink_metadata(directory.join(name))
}

pub(crate) fn is_same(directory: &Path, name: &OsStr, before: &Metadata) -> io::Result<bool> {
    let now = fs::symlink_metadata(directory.join(name))?;
    Ok(now.len() == before.len() && now.modified().ok() == before.modified().ok())
}

pub(crate) fn move_new(directory: &Path, from: &OsStr, to: &OsStr) -> io::Result<()> {
    if fs::symlink_metadata(directory.join(to)).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    move_over(directory, from, to)
}

pub(crate) fn move_to_new(directory: &Path, from: &OsStr, other: &Path, to: &OsStr) -> io::Result<()> {
    if fs::symlink_metadata(other.join(to)).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    renamed(&directory.join(from), &other.join(to))
}

/// Renames a file, and waits for a while if another program has open what is to be replaced: scanners of viruses open each new file.
fn renamed(from: &Path, to: &Path) -> io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(2);
    const LONGEST_PAUSE: Duration = Duration::from_millis(50);
    let end = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(1);
    loop {
        match fs::rename(from, to) {
            Err(error) if is_in_use(&error, to) && Instant::now() < end => thread::sleep(pause),
            renamed => return renamed,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Whether a file could not be replaced because somebody has it open.
fn is_in_use(error: &io::Error, file: &Path) -> bool {
    /// `ERROR_ACCESS_DENIED` and `ERROR_SHARING_VIOLATION` of Windows.
    const IN_USE: [i32; 2] = [5, 32];
    let is_file = || fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_file());
    error.raw_os_error().is_some_and(|error| IN_USE.contains(&error)) && is_file()
}

pub(crate) fn make_link(_: &Path, _: &OsStr, _: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "links can't be made on this system"))
}

pub(crate) fn permit(_: &File, _: &Metadata, _: bool) -> io::Result<()> {
    Ok(())
}

pub(crate) fn move_over(directory: &Path, from: &OsStr, to: &OsStr) -> io::Result<()> {
    renamed(&directory.join(from), &directory.join(to))
}

pub(crate) fn move_into(directory: &Path, from: &OsStr, other: &Path, to: &OsStr) -> io::Result<()> {
    renamed(&directory.join(from), &other.join(to))
}

pub(crate) fn link_or_copy(directory: &Path, from: &OsStr, to: &OsStr) -> io::Result<()> {
    match fs::hard_link(directory.join(from), directory.join(to)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            if fs::symlink_metadata(directory.join(to)).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::copy(directory.join(from), directory.join(to)).map(drop)
        }
        result => result,
    }
}

pub(crate) fn remove_file(directory: &Path, name: &OsStr) -> io::Result<()> {
    fs::remove_file(directory.join(name))
}

pub(crate) fn remove_directory(directory: &Path, name: &OsStr) -> io::Result<()> {
    fs::remove_dir(directory.join(name))
}

pub(crate) fn sync(_: &Path) {}
