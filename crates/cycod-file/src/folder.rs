//! Directories that are held open while something is done in them.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{Durability, FileAccess, PendingFile};

/// How many backups of one file there may be.
const MOST_BACKUPS: u32 = 1000;

/// What an entry of a directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
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

    /// Opens a directory by a path whose links are followed.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        imp::follow(path).map(Self)
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

    pub(crate) fn handle(&self) -> &imp::Handle {
        &self.0
    }

    /// The same directory, held open once more.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Makes the names in it outlast a power failure, where a directory can be forced to the disk.
    pub(crate) fn sync(&self) {
        imp::sync(&self.0);
    }

    /// What an entry is, without following a link.
    pub fn metadata(&self, name: &OsStr) -> io::Result<Metadata> {
        imp::metadata(&self.0, name)
    }

    /// What an entry is.
    pub fn kind(&self, name: &OsStr) -> io::Result<EntryKind> {
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
        let access = match replaced {
            Replaced::Nothing => FileAccess::Usual,
            Replaced::File(before) => FileAccess::Like(before),
        };
        let mut pending = PendingFile::within(self.try_clone()?, access)?;
        pending.write_all(content)?;
        match replaced {
            Replaced::Nothing => pending.place_new(name, Durability::Power),
            Replaced::File(before) if imp::is_same(&self.0, name, before)? => pending.place_as(name, Durability::Power),
            Replaced::File(_) => Err(io::Error::other("it was changed meanwhile by someone else; read it again")),
        }
    }

    /// Puts content into the place of the file `name`, or makes it; other things of that name stay as they are.
    pub fn put(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        match self.kind(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.replace(name, content, Replaced::Nothing),
            Err(error) => Err(error),
            Ok(EntryKind::File(_)) => self.replace(name, content, Replaced::File(&self.file(name)?.metadata()?)),
            Ok(_) => Err(io::Error::other("something is there that is not a file")),
        }
    }

    /// Keeps `name` under a second name as well, and returns that.
    pub fn back_up(&self, name: &OsStr) -> io::Result<OsString> {
        free_name(name, |backup| imp::link_or_copy(&self.0, name, backup))
    }

    /// Gives `name` another name out of the way, and returns that.
    pub fn put_aside(&self, name: &OsStr) -> io::Result<OsString> {
        let backup = free_name(name, |backup| imp::move_new(&self.0, name, backup))?;
        self.sync();
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
        let mut file = imp::create_new(&self.0, name, true)?;
        file.write_all(content)?;
        file.sync_all()
    }

    /// Makes a file in it that is not there yet, for writing.
    pub fn create_new(&self, name: &OsStr, is_executable: bool) -> io::Result<File> {
        let file = imp::create_new(&self.0, name, true)?;
        imp::permit(&file, &file.metadata()?, is_executable)?;
        Ok(file)
    }

    /// Makes a link in it that is not there yet; what that names is not looked at.
    pub fn make_link(&self, name: &OsStr, to: &Path) -> io::Result<()> {
        imp::make_link(&self.0, name, to)
    }

    /// Lets those read, write and execute a file who may do that with another one; it is executable only if it is to be.
    pub fn permit_like(&self, name: &OsStr, other: &Metadata, is_executable: bool) -> io::Result<()> {
        imp::permit(&self.file(name)?, other, is_executable)
    }

    /// Moves an entry into another directory, unless something has that name there.
    pub fn move_to_new(&self, from: &OsStr, other: &Self, to: &OsStr) -> io::Result<()> {
        imp::move_to_new(&self.0, from, &other.0, to)
    }

    /// Gives a file or a directory another name, unless something has it already.
    pub fn move_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        imp::move_new(&self.0, from, to)?;
        self.sync();
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
                EntryKind::Directory => folder.remove_all(&name)?,
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
pub(crate) mod imp;
#[cfg(not(unix))]
#[path = "folder/portable.rs"]
pub(crate) mod imp;
