//! Reading and changing files that belong to others as well: never half a file, never a byte more than was meant.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use cycod_definition::Host;
use cycod_diagnostic::{LineColumn, SourceFile};
use cycod_file::{Durability, FileAccess, LoosePath, PendingFile, is_nothing, loose_machine_path};

use crate::tree::Wrong;

/// Other programs keep histories beside their settings; beyond this it is no file of settings.
const LARGEST: u64 = 64 << 20;
/// How long to wait for another process of ours.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a file of settings could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
pub enum FileError {
    /// Something in it is wrong.
    #[error("{}:{}:{}: {message}", path.display(), at.line, at.column)]
    Wrong { path: PathBuf, at: LineColumn, message: String },
    /// There is none.
    #[error("there is no file `{}`", path.display())]
    Missing { path: PathBuf },
    /// It is a directory, a device or a link to nothing.
    #[error("`{}` is not a plain file", path.display())]
    NotPlain { path: PathBuf },
    /// It is too large to be settings.
    #[error("`{}` is larger than {} MB", path.display(), LARGEST >> 20)]
    TooLarge { path: PathBuf },
    /// A link in a project leads elsewhere: what is written there would change more than the project.
    #[error("`{}` leads to `{}`, which is not in the project", path.display(), real.display())]
    Outside { path: PathBuf, real: PathBuf },
    /// Somebody protected it.
    #[error("`{}` is read-only", path.display())]
    ReadOnly { path: PathBuf },
    /// It is a file of the machine that others than its administrator could have changed.
    #[error("{loose}")]
    Loose { path: PathBuf, loose: LoosePath },
    /// Another program wrote it while we did.
    #[error("`{}` was changed by another program in the meantime", path.display())]
    Changed { path: PathBuf },
    /// Another process holds the lock and does not let go.
    #[error("another process has been changing `{}` for {} s", path.display(), PATIENCE.as_secs())]
    Busy { path: PathBuf },
    /// The file system refuses.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn io_error<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> FileError + 'a {
    move |source| FileError::Io { doing, path: path.to_owned(), source }
}

impl FileError {
    /// The file, or the directory.
    pub fn path(&self) -> &Path {
        match self {
            Self::Wrong { path, .. }
            | Self::Missing { path }
            | Self::NotPlain { path }
            | Self::TooLarge { path }
            | Self::Outside { path, .. }
            | Self::ReadOnly { path }
            | Self::Loose { path, .. }
            | Self::Changed { path }
            | Self::Busy { path }
            | Self::Io { path, .. } => path,
        }
    }

    /// What is wrong in the text of a file.
    pub(crate) fn wrong(path: &Path, text: &str, wrong: &Wrong) -> Self {
        let at = SourceFile::new("", text).position(u32::try_from(wrong.at).unwrap_or(u32::MAX));
        Self::Wrong { path: path.to_owned(), at, message: wrong.message.clone() }
    }
}

/// Reads a file; nothing when there is none. One of the machine must be its administrator's alone.
pub(crate) fn read(path: &Path) -> Result<Option<String>, FileError> {
    if is_missing(path) {
        return Ok(None);
    }
    match loose_machine_path(path) {
        Ok(None) => {}
        Ok(Some(loose)) => return Err(FileError::Loose { path: path.to_owned(), loose }),
        Err(error) if is_nothing(&error) => {}
        Err(error) => return Err(io_error("read", path)(error)),
    }
    let metadata = match fs::metadata(path) {
        Err(error) if is_nothing(&error) => None,
        metadata => Some(metadata.map_err(io_error("read", path))?),
    };
    if !metadata.is_some_and(|metadata| metadata.is_file()) {
        return Err(FileError::NotPlain { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io_error("read", path))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(io_error("read", path))?;
    if bytes.len() as u64 > LARGEST {
        return Err(FileError::TooLarge { path: path.to_owned() });
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        FileError::wrong(path, &text, &Wrong::new(valid, "this byte is not UTF-8"))
    })
}

/// Whether certainly nothing is at a path, not even a link to nothing.
pub(crate) fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| is_nothing(&error))
}

/// What becomes of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It stays as it is.
    Nothing,
    /// It holds this text, and so many may read it.
    Write(String, Privacy),
    /// It goes.
    Remove,
}

/// A file to change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// Where it is, or will be.
    pub(crate) path: &'a Path,
    /// The project that a link must not leave.
    pub(crate) within: Option<&'a Path>,
}

/// Who may read a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// Only its owner, whatever was before.
    Always,
    /// Only its owner, if it is new.
    WhenNew,
    /// As is usual.
    Usual,
}

/// Changes a file in one step. `edit` gets its text, or an empty one when there is none.
///
/// Processes of ours wait for each other; a program that knows nothing of us is noticed when it wrote in between.
pub(crate) fn change<T>(
    target: Target<'_>,
    edit: impl FnOnce(Option<&str>) -> Result<(Change, T), FileError>,
) -> Result<T, FileError> {
    let real = resolve(target)?;
    let directory = real.parent().unwrap_or(Path::new("/"));
    let lock = if directory.is_dir() { Some(lock(directory)?) } else { None };
    let before = read(&real)?;
    let (change, result) = edit(before.as_deref())?;
    match change {
        Change::Nothing => return Ok(result),
        Change::Remove => {
            cycod_file::remove(&real).map_err(io_error("remove", &real))?;
            return Ok(result);
        }
        Change::Write(text, privacy) => {
            let _lock = match lock {
                Some(lock) => lock,
                None => {
                    cycod_file::create_directories(directory).map_err(io_error("create the directory", directory))?;
                    self::lock(directory)?
                }
            };
            write(&real, before.as_deref(), &text, privacy)?;
        }
    }
    Ok(result)
}

/// Follows links, which must not lead out of a project.
fn resolve(target: Target<'_>) -> Result<PathBuf, FileError> {
    let path = target.path;
    let mut existing = path;
    let mut missing = Vec::new();
    while fs::symlink_metadata(existing).is_err() {
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else { break };
        missing.push(name);
        existing = parent;
    }
    let real = fs::canonicalize(existing).map_err(|_| FileError::NotPlain { path: existing.to_owned() })?;
    let real = missing.into_iter().rev().fold(real, |path, name| path.join(name));
    let within = target.within.map(|within| fs::canonicalize(within).unwrap_or_else(|_| within.to_owned()));
    match within {
        Some(within) if !real.starts_with(&within) => Err(FileError::Outside { path: path.to_owned(), real }),
        _ => Ok(real),
    }
}

/// Holds the lock of a directory until it is dropped. Where directories cannot be locked there is none.
fn lock(directory: &Path) -> Result<Option<File>, FileError> {
    match cycod_file::lock_directory(directory, PATIENCE) {
        Ok(lock) => Ok(Some(lock)),
        Err(fs::TryLockError::WouldBlock) => Err(FileError::Busy { path: directory.to_owned() }),
        Err(fs::TryLockError::Error(_)) => Ok(None),
    }
}

fn write(path: &Path, before: Option<&str>, text: &str, privacy: Privacy) -> Result<(), FileError> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        return Err(FileError::ReadOnly { path: path.to_owned() });
    }
    let access = match (&old, privacy) {
        (_, Privacy::Always) | (None, Privacy::WhenNew) => FileAccess::Private,
        (None, Privacy::Usual) => FileAccess::Usual,
        (Some(old), Privacy::WhenNew | Privacy::Usual) => FileAccess::Like(old),
    };
    let mut pending = PendingFile::beside(path, access).map_err(io_error("write into", directory))?;
    if let Some(old) = &old {
        pending.take_owner(old);
    }
    pending.write_all(text.as_bytes()).map_err(io_error("write into", directory))?;
    if read(path)?.as_deref() != before {
        return Err(FileError::Changed { path: path.to_owned() });
    }
    pending.place_over(path, Durability::Power).map_err(io_error("replace", path))
}

/// A path as a person would write it from the project.
pub(crate) fn shown(path: &Path, host: &Host) -> String {
    match (path.strip_prefix(&host.workspace), path.strip_prefix(&host.home)) {
        (Ok(here), _) => here.display().to_string(),
        (_, Ok(home)) => Path::new("~").join(home).display().to_string(),
        _ => path.display().to_string(),
    }
}
