//! A new file that takes the place of an old one as a whole, or leaves it as it was.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Metadata},
    io::{self, Write},
    path::Path,
    time::Duration,
};

use crate::{Folder, folder::imp};

/// A pending file this old belongs to a process that has died.
const STRAY: Duration = Duration::from_secs(60 * 60);

/// What new content survives once it is in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process, however it comes. For what can be made again, such as a cache.
    Process,
    /// A power failure as well: the content is on the disk before it takes its place, and its name before we return.
    Power,
}

/// Who may read a new file.
#[derive(Clone, Copy, Debug)]
pub enum FileAccess<'a> {
    /// Only its owner.
    Private,
    /// The users whom the user's mask lets.
    Usual,
    /// The users who may read this one: its mode and, where possible, its owner are taken over.
    Like(&'a Metadata),
}

/// Puts content into the place of a file, or makes one. The directory has to be there; a link is replaced, not followed.
///
/// # Errors
/// Those of the file system. The place is then as it was before.
pub fn replace(path: &Path, content: &[u8], access: FileAccess<'_>, durability: Durability) -> io::Result<()> {
    let mut pending = PendingFile::beside(path, access)?;
    pending.write_all(content)?;
    pending.place_over(path, durability)
}

/// Removes a file or a link; when it returns, a power failure does not bring it back.
///
/// # Errors
/// Those of the file system.
pub fn remove(path: &Path) -> io::Result<()> {
    let (folder, name) = split(path)?;
    imp::remove_file(folder.handle(), name)?;
    folder.sync();
    Ok(())
}

/// Removes from a directory the pending files of processes that were killed, an hour after they were.
pub fn sweep(directory: &Path) {
    let Ok(listing) = fs::read_dir(directory) else { return };
    for entry in listing.flatten() {
        let is_pending =
            entry.file_name().to_str().is_some_and(|name| name.starts_with(".cycod-") && name.ends_with(".tmp"));
        let is_old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age > STRAY)
        };
        if is_pending && is_old() {
            // Somebody else may have removed it, or the directory is theirs.
            _ = fs::remove_file(entry.path());
        }
    }
}

/// A file on its way to its place: under a hidden name until it takes it, removed again when it does not.
#[derive(Debug)]
pub struct PendingFile {
    folder: Folder,
    name: OsString,
    file: File,
    is_placed: bool,
}

impl PendingFile {
    /// Begins a file beside the place that it is meant for.
    ///
    /// # Errors
    /// When nothing can be written into the directory, or there is none.
    pub fn beside(place: &Path, access: FileAccess<'_>) -> io::Result<Self> {
        Self::within(split(place)?.0, access)
    }

    /// Begins a file in a directory.
    pub(crate) fn within(folder: Folder, access: FileAccess<'_>) -> io::Result<Self> {
        let (name, file) = loop {
            let name = crate::temporary_name();
            let created = match access {
                FileAccess::Private => imp::create_private(folder.handle(), &name),
                FileAccess::Usual => imp::create_new(folder.handle(), &name, true),
                FileAccess::Like(_) => imp::create_new(folder.handle(), &name, false),
            };
            match created {
                // A process of this number left it, or one of another container has this number now.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => break (name, created?),
            }
        };
        let pending = Self { folder, name, file, is_placed: false };
        if let FileAccess::Like(other) = access {
            // Before there is anything in it that its readers may not see.
            pending.take_owner(other);
            pending.file.set_permissions(other.permissions())?;
        }
        Ok(pending)
    }

    /// Gives the file to the owner of another, where we may: only root can. For anyone else the file becomes theirs, as with
    /// every editor.
    pub fn take_owner(&self, other: &Metadata) {
        imp::take_owner(&self.file, other);
    }

    /// Puts the file into the place of the one that is there, if any.
    ///
    /// # Errors
    /// Those of the file system. The place is then as it was before.
    pub fn place_over(self, place: &Path, durability: Durability) -> io::Result<()> {
        let (folder, name) = split(place)?;
        self.placed(&folder, durability, |pending| {
            imp::move_into(pending.folder.handle(), &pending.name, folder.handle(), name)
        })
    }

    /// Gives the file its name in its own directory, unless something has it.
    ///
    /// # Errors
    /// `AlreadyExists` when something has the name, otherwise those of the file system.
    pub fn place_new(self, name: &OsStr, durability: Durability) -> io::Result<()> {
        let folder = self.folder.try_clone()?;
        self.placed(&folder, durability, |pending| imp::move_new(pending.folder.handle(), &pending.name, name))
    }

    /// Puts the file into the place of `name` in its own directory.
    pub(crate) fn place_as(self, name: &OsStr, durability: Durability) -> io::Result<()> {
        let folder = self.folder.try_clone()?;
        self.placed(&folder, durability, |pending| imp::move_over(pending.folder.handle(), &pending.name, name))
    }

    fn placed(
        mut self,
        into: &Folder,
        durability: Durability,
        rename: impl FnOnce(&Self) -> io::Result<()>,
    ) -> io::Result<()> {
        if durability == Durability::Power {
            self.file.sync_all()?;
        }
        rename(&self)?;
        self.is_placed = true;
        if durability == Durability::Power {
            into.sync();
        }
        Ok(())
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.is_placed {
            // What failed has been reported; a file that stays behind is hidden and harms nobody.
            _ = imp::remove_file(self.folder.handle(), &self.name);
        }
    }
}

/// Makes the name of a new file in a directory outlast a power failure.
///
/// Windows has no directories that could be written to the disk. NTFS writes the name with the file, which its log has before.
///
/// # Errors
/// Those of the file system.
pub fn sync_name(file: &File, directory: &Path) -> io::Result<()> {
    if cfg!(windows) { file.sync_all() } else { File::open(directory)?.sync_all() }
}

/// The directory of a path, and the name in it.
fn split(place: &Path) -> io::Result<(Folder, &OsStr)> {
    let name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((Folder::at(directory)?, name))
}
