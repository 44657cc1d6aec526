//! Files below a directory that is held open, by the calls of Unix.

use std::{
    ffi::OsStr,
    fs::{File, Metadata, Permissions},
    io::{self, Read as _, Write as _},
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStrExt as _,
            fs::{MetadataExt as _, PermissionsExt as _, fchown},
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, Mode, OFlags, linkat, mkdirat, openat, readlinkat, renameat, statat, symlinkat,
        unlinkat,
    },
    io::Errno,
};

use super::EntryKind;
use crate::open_plain;

pub(crate) type Handle = OwnedFd;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    let directory = open_plain(path)?;
    if directory.metadata()?.is_dir() { Ok(directory.into()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

pub(crate) fn follow(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

pub(crate) fn make(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    match mkdirat(parent, name, Mode::from(0o777)) {
        Ok(()) | Err(Errno::EXIST) => folder(parent, name),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn make_new(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    mkdirat(parent, name, Mode::from(0o777))?;
    folder(parent, name)
}

pub(crate) fn folder(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(openat(parent, name, DIRECTORY, Mode::empty())?)
}

/// Opened only as a name, so that a pipe or a file that nobody may read is looked at like any other.
pub(crate) fn metadata(directory: &OwnedFd, name: &OsStr) -> io::Result<Metadata> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_vendor = "apple")]
    let flags = OFlags::SYMLINK | OFlags::NONBLOCK | OFlags::CLOEXEC;
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    File::from(openat(directory, name, flags, Mode::empty())?).metadata()
}

pub(crate) fn kind(directory: &OwnedFd, name: &OsStr) -> io::Result<EntryKind> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File(u64::try_from(stat.st_size).unwrap_or_default()),
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => {
            let target = readlinkat(directory, name, Vec::new())?;
            EntryKind::Link(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
        }
        _ => EntryKind::Other,
    })
}

pub(crate) fn names<E: From<io::Error>>(
    directory: &OwnedFd,
    mut each: impl FnMut(&OsStr) -> Result<(), E>,
) -> Result<(), E> {
    let listing = Dir::read_from(directory).map_err(io::Error::from)?;
    for entry in listing {
        let entry = entry.map_err(io::Error::from)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            each(name)?;
        }
    }
    Ok(())
}

/// Makes a file for writing: one that is to be kept from others is never open to them, not even for a moment.
pub(crate) fn create_new(directory: &OwnedFd, name: &OsStr, is_usual: bool) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::from(if is_usual { 0o666 } else { 0o600 }))?.into())
}

/// Makes a file for its owner alone.
pub(crate) fn create_private(directory: &OwnedFd, name: &OsStr) -> io::Result<File> {
    create_new(directory, name, false)
}

pub(crate) fn take_owner(file: &File, other: &Metadata) {
    if file.metadata().is_ok_and(|ours| (ours.uid(), ours.gid()) != (other.uid(), other.gid())) {
        _ = fchown(file, Some(other.uid()), Some(other.gid()));
    }
}

pub(crate) fn is_same(directory: &OwnedFd, name: &OsStr, before: &Metadata) -> io::Result<bool> {
    let now = match file(directory, name) {
        Ok(file) => file.metadata()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let told =
        |metadata: &Metadata| (metadata.dev(), metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec());
    Ok(told(&now) == told(before))
}

/// Gives a file a name that nothing has, in one step.
pub(crate) fn move_new(directory: &OwnedFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    move_to_new(directory, from, directory, to)
}

/// The same, into another directory.
pub(crate) fn move_to_new(directory: &OwnedFd, from: &OsStr, other: &OwnedFd, to: &OsStr) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    match rustix::fs::renameat_with(directory, from, other, to, rustix::fs::RenameFlags::NOREPLACE) {
        // The file system cannot do it in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        result => return Ok(result?),
    }
    match statat(other, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(renameat(directory, from, other, to)?),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn make_link(directory: &OwnedFd, name: &OsStr, to: &Path) -> io::Result<()> {
    Ok(symlinkat(to, directory, name)?)
}

/// Gives a file the mode of another one. Those who may read it may execute it, if it is to be executable; else no one may.
pub(crate) fn permit(file: &File, like: &Metadata, is_executable: bool) -> io::Result<()> {
    let mode = like.mode() & 0o666;
    let mode = if is_executable { mode | 0o100 | ((mode & 0o444) >> 2) } else { mode };
    file.set_permissions(Permissions::from_mode(mode))
}

pub(crate) fn move_over(directory: &OwnedFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    Ok(renameat(directory, from, directory, to)?)
}

pub(crate) fn move_into(directory: &OwnedFd, from: &OsStr, other: &OwnedFd, to: &OsStr) -> io::Result<()> {
    Ok(renameat(directory, from, other, to)?)
}

/// A second name for the same file costs nothing and keeps all of it: who replaces the first name leaves the second alone.
pub(crate) fn link_or_copy(directory: &OwnedFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    match linkat(directory, from, directory, to, AtFlags::empty()) {
        // The file system has no second names, or the file is somebody else's.
        Err(Errno::PERM | Errno::NOTSUP | Errno::MLINK | Errno::NOSYS | Errno::XDEV) => copy(directory, from, to),
        result => Ok(result?),
    }
}

fn copy(directory: &OwnedFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let mut source = file(directory, from)?;
    let metadata = source.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut content = Vec::new();
    source.read_to_end(&mut content)?;
    if statat(directory, to, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut copy = create_new(directory, to, false)?;
    take_owner(&copy, &metadata);
    copy.set_permissions(metadata.permissions())?;
    copy.write_all(&content)?;
    copy.sync_all()
}

pub(crate) fn file(directory: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::empty())?.into())
}

pub(crate) fn remove_file(directory: &OwnedFd, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(directory, name, AtFlags::empty())?)
}

pub(crate) fn remove_directory(directory: &OwnedFd, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(directory, name, AtFlags::REMOVEDIR)?)
}

/// Makes a rename outlast a power failure, where a directory can be forced to the disk.
pub(crate) fn sync(directory: &OwnedFd) {
    _ = rustix::fs::fsync(directory);
}
