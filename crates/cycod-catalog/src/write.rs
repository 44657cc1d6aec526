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
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use cycod_definition::{FileFormat, ToolName};
use cycod_diagnostic::SourceFile;

use crate::{
    Entry, Scope, Scopes, Style, programs,
    read::{self, Outcome},
    shelf::Shelf,
};

const LOCK: &str = ".lock";
/// How long to wait for another process before giving up with a message.
const PATIENCE: Duration = Duration::from_secs(30);
/// A temporary file this old belongs to a process that has died.
const STRAY: Duration = Duration::from_secs(60 * 60);

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
        if matches!(scope, Scope::Mcp | Scope::BuiltIn) {
            return Err(WriteError::ReadOnly { path: directory });
        }
        let ending = ending(text);
        let target = directory.join(format!("{name}.{ending}"));
        self.check_name(name.as_str(), text, &target)?;

        fs::create_dir_all(&directory).map_err(io_error("create the directory", &directory))?;
        let _lock = lock(&directory)?;
        sweep(&directory);
        let mut rivals = self.holders(scope, &name.key(), None);
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        let occupied = || WriteError::Occupied { name: name.to_string(), path: target.clone() };
        let Some((path, style)) = rivals.pop() else {
            if is_there(&target) {
                return Err(occupied());
            }
            let temporary = Temporary::write(&directory, text, None)?;
            temporary.place_new(&target).map_err(|error| match error.kind() {
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
        let temporary = Temporary::write(path.parent().unwrap_or(&directory), text, Some(&metadata))?;
        let has_ending = path.extension().is_some_and(|extension| {
            extension.eq_ignore_ascii_case(ending) || (ending == "yaml" && extension.eq_ignore_ascii_case("yml"))
        });
        if has_ending && says(text, &path).eq_ignore_ascii_case(name.as_str()) {
            temporary.place_over(&path)?;
            return Ok(Written { path, replaced: true });
        }
        // First the old file takes the new name, then the new text its place: at no time are there two of them or none.
        if is_there(&target) {
            return Err(occupied());
        }
        fs::rename(&path, &target).map_err(io_error("rename", &path))?;
        temporary.place_over(&target)?;
        Ok(Written { path: target, replaced: true })
    }

    /// Writes `text` over the file of `entry`, provided that it still holds `expected`.
    ///
    /// The text may give the tool another name, unless a file of the scope has it. Mode and owner are kept.
    pub fn replace(&self, entry: &Entry, expected: &str, text: &str) -> Result<(), WriteError> {
        let path = &entry.path;
        let directory = path.parent().unwrap_or(Path::new("."));
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
        Temporary::write(directory, text, Some(&metadata))?.place_over(path)
    }

    /// Removes the file of `entry`, provided that it still holds the same tool.
    pub fn remove(&self, entry: &Entry) -> Result<(), WriteError> {
        let path = &entry.path;
        let directory = path.parent().unwrap_or(Path::new("."));
        let gone = || WriteError::Gone { path: path.clone() };
        if entry.style != Style::Cycod {
            return Err(WriteError::ReadOnly { path: path.clone() });
        }
        fs::symlink_metadata(path).map_err(|_| gone())?;
        let _lock = lock(directory)?;
        let (reading, _) = read::read(path, None).ok_or_else(gone)?;
        match reading.outcome {
            Outcome::Foreign(_) => return Err(WriteError::NotPlain { path: path.clone() }),
            _ if !reading.name.eq_ignore_ascii_case(&entry.name) => {
                return Err(WriteError::Changed { path: path.clone() });
            }
            _ => {}
        }
        fs::remove_file(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => gone(),
            _ => io_error("remove", path)(error),
        })?;
        sync_directory(directory);
        Ok(())
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
    fn holders(&self, scope: Scope, key: &str, but: Option<&Path>) -> Vec<(PathBuf, Style)> {
        let scope = self.scopes.effective(scope);
        let cache = self.scopes.cache();
        let mut holders = Vec::new();
        for directory in self.scopes.directories().iter().filter(|directory| directory.scope == scope) {
            let programs = directory.programs.as_deref().and_then(programs::read_programs);
            let shelf = Shelf::open(directory.clone(), programs, Some(&cache));
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
    read::check_text(SourceFile::new(path.display().to_string(), text), path, None).name
}

/// The metadata of a file that may be written.
fn plain(path: &Path, style: Style) -> Result<Metadata, WriteError> {
    if style != Style::Cycod {
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
/// The directory itself is locked, which leaves nothing in a repository; where a directory cannot be locked (on
/// Windows, on NFS), a hidden file in it is.
fn lock(directory: &Path) -> Result<File, WriteError> {
    if cfg!(unix) {
        let handle = File::open(directory).map_err(io_error("open", directory))?;
        match wait_for(&handle) {
            Ok(()) => return Ok(handle),
            Err(TryLockError::WouldBlock) => return Err(WriteError::Busy { directory: directory.to_owned() }),
            Err(TryLockError::Error(_)) => {}
        }
    }
    let path = directory.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(io_error("write into", directory))?;
    match wait_for(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(WriteError::Busy { directory: directory.to_owned() }),
        Err(TryLockError::Error(source)) => Err(io_error("lock", &path)(source)),
    }
}

/// Takes a lock as soon as it is free, or gives up when patience ends.
fn wait_for(file: &File) -> Result<(), TryLockError> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

/// A new text on the disk, under a hidden name beside its target; removed unless it is placed.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Writes the text with the mode and owner of `like`.
    fn write(directory: &Path, text: &str, like: Option<&Metadata>) -> Result<Self, WriteError> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".cycod-{}-{serial}.tmp", std::process::id()));
        // Left by a process that died and had our number. Nobody else uses the name: we hold the lock.
        _ = fs::remove_file(&path);
        let mut file = File::create_new(&path).map_err(io_error("write into", directory))?;
        let temporary = Self { path };
        let fill = |file: &mut File| {
            if let Some(like) = like {
                // Before the text is in it, lest it can be read by those whom the old mode kept out.
                take_owner(file, like);
                file.set_permissions(like.permissions())?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        fill(&mut file).map_err(io_error("write", &temporary.path))?;
        Ok(temporary)
    }

    /// Gives the file its name, unless there is one of this name.
    fn place_new(self, target: &Path) -> io::Result<()> {
        rename_new(&self.path, target)?;
        self.placed(target);
        Ok(())
    }

    /// Puts the file in the place of the one that is there.
    fn place_over(self, target: &Path) -> Result<(), WriteError> {
        fs::rename(&self.path, target).map_err(io_error("replace", target))?;
        self.placed(target);
        Ok(())
    }

    fn placed(self, target: &Path) {
        std::mem::forget(self);
        sync_directory(target.parent().unwrap_or(Path::new(".")));
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::{
        fs::{CWD, RenameFlags, renameat_with},
        io::Errno,
    };
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system cannot do it in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => rename_checked(from, to),
        result => Ok(result?),
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    rename_checked(from, to)
}

/// Renames after a look: the lock keeps out those who take it.
fn rename_checked(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Makes a rename outlast a power failure, where a directory can be forced to the disk.
fn sync_directory(directory: &Path) {
    if cfg!(unix)
        && let Ok(handle) = File::open(directory)
    {
        _ = handle.sync_all();
    }
}

#[cfg(unix)]
fn take_owner(file: &File, like: &Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    if file.metadata().is_ok_and(|ours| (ours.uid(), ours.gid()) != (like.uid(), like.gid())) {
        // Only root may give files away; for anyone else the file becomes theirs, as with every editor.
        _ = fchown(file, Some(like.uid()), Some(like.gid()));
    }
}

#[cfg(not(unix))]
fn take_owner(_: &File, _: &Metadata) {}

/// Removes what processes that died left behind.
fn sweep(directory: &Path) {
    let Ok(listing) = fs::read_dir(directory) else {
        return;
    };
    for entry in listing.flatten() {
        let name = entry.file_name();
        let is_temporary = name.to_str().is_some_and(|name| name.starts_with(".cycod-") && name.ends_with(".tmp"));
        let is_old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age > STRAY)
        };
        if is_temporary && is_old() {
            _ = fs::remove_file(entry.path());
        }
    }
}
