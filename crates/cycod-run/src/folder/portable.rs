use std::{
    ffi::OsStr,
    fs::{self, File, Metadata},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::{Kind, Replaced};

pub(super) type Handle = PathBuf;

pub(super) fn open(path: &Path) -> io::Result<PathBuf> {
    if fs::symlink_metadata(path)?.is_dir() { Ok(path.to_owned()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

pub(super) fn make(parent: &Path, name: &OsStr) -> io::Result<PathBuf> {
    let path = parent.join(name);
    match fs::create_dir(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => open(&path),
    }
}

pub(super) fn make_new(parent: &Path, name: &OsStr) -> io::Result<PathBuf> {
    fs::create_dir(parent.join(name))?;
    folder(parent, name)
}

pub(super) fn folder(parent: &Path, name: &OsStr) -> io::Result<PathBuf> {
    open(&parent.join(name))
}

pub(super) fn kind(directory: &Path, name: &OsStr) -> io::Result<Kind> {
    let path = directory.join(name);
    let metadata = fs::symlink_metadata(&path)?;
    Ok(if metadata.is_symlink() {
        Kind::Link(fs::read_link(&path)?)
    } else if metadata.is_dir() {
        Kind::Directory
    } else if metadata.is_file() {
        Kind::File(metadata.len())
    } else {
        Kind::Other
    })
}

pub(super) fn file(directory: &Path, name: &OsStr) -> io::Result<File> {
    crate::open_plain(&directory.join(name))
}

pub(super) fn names<E: From<io::Error>>(
    directory: &Path,
    mut each: impl FnMut(&OsStr) -> Result<(), E>,
) -> Result<(), E> {
    for entry in fs::read_dir(directory)? {
        each(&entry?.file_name())?;
    }
    Ok(())
}

pub(super) fn fill(directory: &Path, name: &OsStr, content: &[u8], replaced: Replaced<'_>) -> io::Result<()> {
    let mut file = File::create_new(directory.join(name))?;
    if let Replaced::File(before) = replaced {
        file.set_permissions(before.permissions())?;
    }
    file.write_all(content)?;
    file.sync_all()
}

pub(super) fn is_same(directory: &Path, name: &OsStr, before: &Metadata) -> io::Result<bool> {
    let now = fs::symlink_metadata(directory.join(name))?;
    Ok(now.len() == before.len() && now.modified().ok() == before.modified().ok())
}

pub(super) fn move_new(directory: &Path, from: &OsStr, to: &OsStr) -> io::Result<()> {
    if fs::symlink_metadata(directory.join(to)).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    move_over(directory, from, to)
}

pub(super) fn move_over(directory: &Path, from: &OsStr, to: &OsStr) -> io::Result<()> {
    fs::rename(directory.join(from), directory.join(to))
}

pub(super) fn move_into(directory: &Path, from: &OsStr, other: &Path, to: &OsStr) -> io::Result<()> {
    fs::rename(directory.join(from), other.join(to))
}

pub(super) fn link_or_copy(directory: &Path, from: &OsStr, to: &OsStr) -> io::Result<()> {
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

pub(super) fn remove_file(directory: &Path, name: &OsStr) -> io::Result<()> {
    fs::remove_file(directory.join(name))
}

pub(super) fn remove_directory(directory: &Path, name: &OsStr) -> io::Result<()> {
    fs::remove_dir(directory.join(name))
}

pub(super) fn sync(_: &Path) {}
