//! Files and directories that only their owner may use.

use std::{
    fs::{self, File, Metadata},
    io,
    path::Path,
};

/// Options for opening a private file: it is read, no link is followed, and a new one is for its owner alone.
///
/// On Windows, the system and the administrators of the machine may use it as well.
#[derive(Clone, Debug, Default)]
pub struct PrivateOptions {
    write: bool,
    append: bool,
    create: bool,
    create_new: bool,
}

impl PrivateOptions {
    /// Writes anywhere in the file, too.
    pub fn write(&mut self, write: bool) -> &mut Self {
        self.write = write;
        self
    }

    /// Writes at the end of the file, too.
    pub fn append(&mut self, append: bool) -> &mut Self {
        self.append = append;
        self
    }

    /// Makes the file if it isn't there.
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.create = create;
        self
    }

    /// Makes the file, and fails if something is there.
    pub fn create_new(&mut self, create_new: bool) -> &mut Self {
        self.create_new = create_new;
        self
    }

    /// Opens the file. One that was there may be open to others, as [`exposure`] tells.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        imp::open(self, path)
    }
}

/// Why a file or directory is not private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// It belongs to another user.
    Owner,
    /// Others may use it.
    Others,
}

impl Exposure {
    /// What is wrong, as the rest of a sentence about the file.
    pub fn why(self) -> &'static str {
        match self {
            Self::Owner => "belongs to another user",
            Self::Others => "is open to others",
        }
    }
}

/// Makes a directory that only its owner may use.
///
/// # Errors
/// Those of the file system; `AlreadyExists` when something is there.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    imp::create_directory(path)
}

/// Makes a directory that only its owner may use, and those above it. One that is there stays as it is.
///
/// # Errors
/// Those of the file system.
pub fn create_private_directories(path: &Path) -> io::Result<()> {
    match create_private_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty()).ok_or(error)?;
            create_private_directories(above)?;
            create_private_directory(path).or_else(|error| if path.is_dir() { Ok(()) } else { Err(error) })
        }
        Err(_) if path.is_dir() => Ok(()),
        created => created,
    }
}

/// Returns why an open file or directory is not private.
///
/// # Errors
/// When the system doesn't tell.
pub fn exposure(file: &File, metadata: &Metadata) -> io::Result<Option<Exposure>> {
    imp::exposure(file, metadata)
}

/// Returns what is at a path, and why it is not private; a link is not followed.
///
/// # Errors
/// When nothing is there, or the system doesn't tell.
pub fn exposure_at(path: &Path) -> io::Result<(Metadata, Option<Exposure>)> {
    let metadata = fs::symlink_metadata(path)?;
    let exposure = imp::exposure_at(path, &metadata)?;
    Ok((metadata, exposure))
}

#[cfg(unix)]
mod imp {
    use std::{
        os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
        sync::OnceLock,
    };

    use super::{Exposure, File, Metadata, Path, PrivateOptions, fs, io};

    pub(super) fn open(options: &PrivateOptions, path: &Path) -> io::Result<File> {
        let PrivateOptions { write, append, create, create_new } = *options;
        // Not blocking: a FIFO put in the place of a file must not hold us up.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        fs::OpenOptions::new()
            .read(true)
            .write(write)
            .append(append)
            .create(create)
            .create_new(create_new)
            .mode(0o600)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
    }

    pub(super) fn create_directory(path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(path)
    }

    pub(super) fn exposure(_: &File, metadata: &Metadata) -> io::Result<Option<Exposure>> {
        Ok(exposed(metadata))
    }

    pub(super) fn exposure_at(_: &Path, metadata: &Metadata) -> io::Result<Option<Exposure>> {
        Ok(exposed(metadata))
    }

    fn exposed(metadata: &Metadata) -> Option<Exposure> {
        static OURS: OnceLock<u32> = OnceLock::new();
        if metadata.uid() != *OURS.get_or_init(|| rustix::process::geteuid().as_raw()) {
            Some(Exposure::Owner)
        } else if metadata.mode() & 0o077 != 0 {
            Some(Exposure::Others)
        } else {
            None
        }
    }
}

#[cfg(windows)]
mod imp {
    use cycod_process::{FileCreation, FileExposure, FileWriting};

    use super::{Exposure, File, Metadata, Path, PrivateOptions, io};

    pub(super) fn open(options: &PrivateOptions, path: &Path) -> io::Result<File> {
        let writing = match (options.append, options.write) {
            (true, _) => FileWriting::AtEnd,
            (false, true) => FileWriting::Anywhere,
            (false, false) => FileWriting::No,
        };
        let creation = match (options.create_new, options.create) {
            (true, _) => FileCreation::Always,
            (false, true) => FileCreation::IfMissing,
            (false, false) => FileCreation::No,
        };
        cycod_process::open_private_file(path, writing, creation)
    }

    pub(super) fn create_directory(path: &Path) -> io::Result<()> {
        cycod_process::create_private_directory(path)
    }

    pub(super) fn exposure(file: &File, _: &Metadata) -> io::Result<Option<Exposure>> {
        Ok(cycod_process::file_exposure(file)?.map(from))
    }

    pub(super) fn exposure_at(path: &Path, _: &Metadata) -> io::Result<Option<Exposure>> {
        Ok(cycod_process::path_exposure(path)?.map(from))
    }

    fn from(exposure: FileExposure) -> Exposure {
        match exposure {
            FileExposure::Owner => Exposure::Owner,
            FileExposure::Others => Exposure::Others,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with what is at a path.
    fn wrong(path: &Path) -> Option<Exposure> {
        exposure_at(path).expect("it is there").1
    }

    #[test]
    fn what_is_made_here_is_private_and_what_is_made_elsewhere_is_not() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("a/b");
        create_private_directories(&directory).expect("directories");
        create_private_directories(&directory).expect("they may be there");
        assert!(create_private_directory(&directory).is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists));
        let file = directory.join("file");
        let opened = PrivateOptions::default().write(true).create_new(true).open(&file).expect("a file");
        let metadata = opened.metadata().expect("it is open");
        assert_eq!(exposure(&opened, &metadata).expect("it is ours"), None);
        // Windows replaces no open file.
        drop(opened);
        for path in [&file, &directory, &place.path().join("a")] {
            assert_eq!(wrong(path), None, "{path:?}");
        }
        crate::replace(&file, b"text", crate::FileAccess::Private, crate::Durability::Process).expect("a file");
        assert_eq!(wrong(&file), None);
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_use_is_not_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("file");
        fs::write(&file, "text").expect("a file");
        for (mode, expected) in [(0o604, Some(Exposure::Others)), (0o640, Some(Exposure::Others)), (0o600, None)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
            assert_eq!(wrong(&file), expected, "{mode:o}");
            let opened = PrivateOptions::default().open(&file).expect("it is there");
            let metadata = opened.metadata().expect("it is open");
            assert_eq!(exposure(&opened, &metadata).expect("it is ours"), expected, "{mode:o}");
        }
    }

    #[test]
    fn a_file_is_opened_as_asked() {
        use std::io::{Read, Write};
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("file");
        let missing = PrivateOptions::default().open(&file);
        assert!(missing.is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
        PrivateOptions::default()
            .write(true)
            .create(true)
            .open(&file)
            .expect("a file")
            .write_all(b"one")
            .expect("room");
        let again = PrivateOptions::default().write(true).create_new(true).open(&file);
        assert!(again.is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists));
        let mut end = PrivateOptions::default().append(true).create(true).open(&file).expect("it is there");
        end.write_all(b"two").expect("room");
        let mut text = String::new();
        let mut reading = PrivateOptions::default().open(&file).expect("it is there");
        reading.read_to_string(&mut text).expect("text");
        assert_eq!(text, "onetwo");
        assert!(reading.write_all(b"three").is_err());
    }
}
