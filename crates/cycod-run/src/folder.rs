//! Directories that are held open while something is done in them.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// How many backups of one file there may be.
const MOST_BACKUPS: u32 = 1000;

/// What an entry of a directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file, with its size.
    File(u64),
    /// A directory.
    Directory,
    /// A link, with what it names.
    Link(PathBuf),
    /// A pipe, a socket or a device.
    Other,
}

/// Whether a file was there before.
#[derive(Clone, Copy, Debug)]
pub enum Replaced<'a> {
    /// Nothing was: something that has come meanwhile stays.
    Nothing,
    /// This one was: its mode and, where possible, its owner are kept, and one that has come meanwhile stays.
    File(&'a Metadata),
}

/// An open directory: what is done in it stays in it, whatever becomes of its path.
#[derive(Debug)]
pub struct Folder(imp::Handle);

impl Folder {
    /// Opens a directory, through no link.
    pub fn open(path: &Path) -> io::Result<Self> {
        imp::open(path).map(Self)
    }

    /// Opens a directory, making what is missing of it.
    pub fn make(path: &Path) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
                imp::make(&Self::make(parent)?.0, name).map(Self)
            }
            opened => opened,
        }
    }

    /// What an entry is.
    pub fn kind(&self, name: &OsStr) -> io::Result<Kind> {
        imp::kind(&self.0, name)
    }

    /// Opens a file in it for reading.
    pub fn file(&self, name: &OsStr) -> io::Result<File> {
        imp::file(&self.0, name)
    }

    /// Gives every name to `each`, until it fails.
    pub fn names<E: From<io::Error>>(&self, each: impl FnMut(&OsStr) -> Result<(), E>) -> Result<(), E> {
        imp::names(&self.0, each)
    }

    /// Puts content into the place of `name` in one step, so that nobody ever sees half of it.
    pub fn replace(&self, name: &OsStr, content: &[u8], replaced: Replaced<'_>) -> io::Result<()> {
        let temporary = temporary_name();
        let placed = imp::fill(&self.0, &temporary, content, replaced).and_then(|()| match replaced {
            Replaced::Nothing => imp::move_new(&self.0, &temporary, name),
            Replaced::File(before) if imp::is_same(&self.0, name, before)? => imp::move_over(&self.0, &temporary, name),
            Replaced::File(_) => Err(io::Error::other("it was changed meanwhile by someone else; read it again")),
        });
        if placed.is_err() {
            _ = imp::remove_file(&self.0, &temporary);
        }
        placed?;
        imp::sync(&self.0);
        Ok(())
    }

    /// Keeps `name` under a second name as well, and returns that.
    pub fn back_up(&self, name: &OsStr) -> io::Result<OsString> {
        free_name(name, |backup| imp::link_or_copy(&self.0, name, backup))
    }

    /// Gives `name` another name out of the way, and returns that.
    pub fn put_aside(&self, name: &OsStr) -> io::Result<OsString> {
        let backup = free_name(name, |backup| imp::move_new(&self.0, name, backup))?;
        imp::sync(&self.0);
        Ok(backup)
    }

    /// Opens a directory in it, which is no link.
    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        imp::folder(&self.0, name).map(Self)
    }

    /// Makes a directory in it that is not there yet.
    pub fn make_new(&self, name: &OsStr) -> io::Result<Self> {
        imp::make_new(&self.0, name).map(Self)
    }

    /// Writes a file in it that is not there yet.
    pub fn write_new(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        imp::fill(&self.0, name, content, Replaced::Nothing)
    }

    /// Gives a file or a directory another name, unless something has it already.
    pub fn move_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        imp::move_new(&self.0, from, to)?;
        imp::sync(&self.0);
        Ok(())
    }

    /// Moves an entry into another directory, over what has that name there.
    pub fn move_into(&self, from: &OsStr, other: &Self, to: &OsStr) -> io::Result<()> {
        imp::move_into(&self.0, from, &other.0, to)
    }

    /// Removes a file or a link.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        imp::remove_file(&self.0, name)
    }

    /// Removes a directory that is empty.
    pub fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        imp::remove_directory(&self.0, name)
    }

    /// Removes a directory with all that is in it; links in it are removed, not followed.
    pub fn remove_all(&self, name: &OsStr) -> io::Result<()> {
        let folder = self.folder(name)?;
        let mut names = Vec::new();
        folder.names(|name| {
            names.push(name.to_owned());
            Ok::<_, io::Error>(())
        })?;
        for name in names {
            match folder.kind(&name)? {
                Kind::Directory => folder.remove_all(&name)?,
                _ => folder.remove_file(&name)?,
            }
        }
        self.remove_directory(name)
    }
}

/// A name for something that is being made, which nobody else of this machine uses.
pub fn temporary_name() -> OsString {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    OsString::from(format!(".cycod-{}-{serial}.tmp", std::process::id()))
}

/// The first of the names `NAME.bak`, `NAME.bak2` and so on that `take` finds free.
fn free_name(name: &OsStr, take: impl Fn(&OsStr) -> io::Result<()>) -> io::Result<OsString> {
    for serial in 1..=MOST_BACKUPS {
        let mut backup = name.to_owned();
        backup.push(".bak");
        if serial > 1 {
            backup.push(serial.to_string());
        }
        match take(&backup) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result.map(|()| backup),
        }
    }
    Err(io::Error::other(format!(
        "there are {MOST_BACKUPS} backups of it already: remove some, or pass `backup: false`"
    )))
}

#[cfg(unix)]
#[path = "folder/unix.rs"]
mod imp;
#[cfg(not(unix))]
#[path = "folder/portable.rs"]
mod imp;
