//! One look at the file system, which asks for nothing twice.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{Seen, Stamp, now};

/// What was found at many paths: where they lead, whether something is there, and in which state.
///
/// What was learnt of a directory holds for everything below it, so a look is for one moment and not to be stored.
///
/// Paths are compared by their bytes: comparing them name by name would cost more than asking the system.
#[derive(Debug)]
pub struct Look {
    began: i64,
    paths: Mutex<HashMap<OsString, Found>>,
    stamps: Mutex<HashMap<OsString, Option<Stamp>>>,
    names: Mutex<HashMap<OsString, Names>>,
}

impl Default for Look {
    fn default() -> Self {
        Self { began: now(), paths: Mutex::default(), stamps: Mutex::default(), names: Mutex::default() }
    }
}

/// What was found at a path.
#[derive(Clone, Debug)]
enum Found {
    /// Something, with the path without links, and its state where that path is the same.
    Real(PathBuf, Option<Stamp>),
    /// Certainly nothing, not even a link.
    Nothing,
    /// A link that leads nowhere, or what the system does not tell.
    Unknown,
}

impl Look {
    /// Where a path leads to, as [`fs::canonicalize`] finds it; nothing where it leads nowhere.
    pub fn of(&self, path: &Path) -> Option<PathBuf> {
        match self.found(path) {
            Found::Real(real, _) => Some(real),
            Found::Nothing | Found::Unknown => None,
        }
    }

    /// The path with links followed as far as it leads somewhere.
    pub fn of_existing(&self, path: &Path) -> PathBuf {
        match path.ancestors().find_map(|existing| Some((existing, self.of(existing)?))) {
            Some((existing, real)) if existing.as_os_str() == path.as_os_str() => real,
            Some((existing, real)) => match path.strip_prefix(existing) {
                Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
                _ => real,
            },
            None => path.to_owned(),
        }
    }

    /// Whether certainly nothing is at a path, not even a link to nothing.
    pub fn is_missing(&self, path: &Path) -> bool {
        matches!(self.found(path), Found::Nothing)
    }

    /// Whether something may be at a path. A short list of its directory answers for all names in that.
    pub fn may_be_there(&self, path: &Path) -> bool {
        let Some((parent, name)) = split(path) else { return true };
        if self.knows_missing_in(path, Some((parent, name))) {
            return false;
        }
        match self.found(parent) {
            Found::Nothing => return false,
            Found::Real(_, Some(stamp)) if stamp.size > Names::LARGEST => return true,
            Found::Real(..) | Found::Unknown => {}
        }
        let mut names = lock(&self.names);
        if let Some(names) = names.get(parent.as_os_str()) {
            return names.may_hold(name);
        }
        names.entry(parent.into()).or_insert_with(|| Names::of(parent)).may_hold(name)
    }

    /// What is at a path, to tell later whether it is still there as it is.
    pub fn seen(&self, path: &Path) -> Seen {
        match self.found(path) {
            Found::Nothing => Seen::restored(path.to_owned(), None),
            Found::Real(_, Some(stamp)) => Seen::found(path.to_owned(), stamp, self.began),
            _ => Seen::at(path.to_owned()),
        }
    }

    /// What is at a path of which nothing but its state matters, as [`Seen::is_current_in`] asks for it.
    pub fn state(&self, path: &Path) -> Seen {
        self.stamp(path).map_or_else(
            || Seen::restored(path.to_owned(), None),
            |stamp| Seen::found(path.to_owned(), stamp, self.began),
        )
    }

    /// Whether it is known already that nothing is at a path.
    pub fn knows_missing(&self, path: &Path) -> bool {
        self.knows_missing_in(path, split(path))
    }

    fn knows_missing_in(&self, path: &Path, split: Option<(&Path, &OsStr)>) -> bool {
        let is_not_listed = |(parent, name): (&Path, &OsStr)| {
            lock(&self.names).get(parent.as_os_str()).is_some_and(|names| !names.may_hold(name))
        };
        matches!(lock(&self.paths).get(path.as_os_str()), Some(Found::Nothing)) || split.is_some_and(is_not_listed)
    }

    /// The state of what is at a path whose links are followed; nothing when there is nothing.
    pub(crate) fn stamp(&self, path: &Path) -> Option<Stamp> {
        if self.knows_missing(path) {
            return None;
        }
        if let Some(Found::Real(_, Some(stamp))) = lock(&self.paths).get(path.as_os_str()) {
            return Some(*stamp);
        }
        if let Some(stamp) = lock(&self.stamps).get(path.as_os_str()) {
            return *stamp;
        }
        let stamp = Stamp::at(path);
        lock(&self.stamps).insert(path.into(), stamp);
        stamp
    }

    fn found(&self, path: &Path) -> Found {
        if is_plain(path) { self.found_plain(path) } else { asked(path) }
    }

    /// What is at a path that [is plain](is_plain).
    fn found_plain(&self, path: &Path) -> Found {
        let Some((parent, name)) = split_plain(path) else { return asked(path) };
        if let Some(known) = lock(&self.paths).get(path.as_os_str()) {
            return known.clone();
        }
        let found = match self.found_plain(parent) {
            Found::Real(parent, _) => entry(parent.join(name)),
            other => other,
        };
        lock(&self.paths).insert(path.into(), found.clone());
        found
    }
}

/// Whether each name of a path is in the directory that stands before it: it begins at the root, and has no `.`, no `..` (a
/// name after that does not lie where the path says) and no slash without need.
#[cfg(unix)]
fn is_plain(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    let Some(names) = path.as_os_str().as_bytes().strip_prefix(b"/") else { return false };
    names.is_empty() || names.split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
}

#[cfg(not(unix))]
fn is_plain(_: &Path) -> bool {
    false
}

/// The directory of a path and the name in it; nothing of a path that ends with no name.
fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    if is_plain(path) { split_plain(path) } else { path.parent().zip(path.file_name()) }
}

/// The same of a path that [is plain](is_plain).
#[cfg(unix)]
fn split_plain(path: &Path) -> Option<(&Path, &OsStr)> {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = path.as_os_str().as_bytes();
    let slash = bytes.iter().rposition(|byte| *byte == b'/')?;
    let (parent, name) = (&bytes[..slash.max(1)], &bytes[slash + 1..]);
    (!name.is_empty()).then(|| (Path::new(OsStr::from_bytes(parent)), OsStr::from_bytes(name)))
}

#[cfg(not(unix))]
fn split_plain(path: &Path) -> Option<(&Path, &OsStr)> {
    path.parent().zip(path.file_name())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the system finds at a path of which nothing is known.
fn asked(path: &Path) -> Found {
    match fs::canonicalize(path) {
        Ok(real) => Found::Real(real, None),
        Err(_) if fs::symlink_metadata(path).is_err_and(|error| is_nothing(&error)) => Found::Nothing,
        Err(_) => Found::Unknown,
    }
}

/// What is at a path that has no link before its last name.
#[cfg(unix)]
fn entry(path: PathBuf) -> Found {
    use rustix::fs::FileType;
    match rustix::fs::lstat(&path) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            fs::canonicalize(&path).map_or(Found::Unknown, |real| Found::Real(real, None))
        }
        Ok(stat) => Found::Real(path, Some(Stamp::from(&stat))),
        Err(error) if is_nothing(&error.into()) => Found::Nothing,
        Err(_) => Found::Unknown,
    }
}

#[cfg(not(unix))]
fn entry(path: PathBuf) -> Found {
    asked(&path)
}

/// Whether an error says that nothing is at a path: no such name, or a file where a directory would have to be.
pub fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The names in a directory, each with a NUL behind it, unless they are many, cannot be read or are not all ASCII.
#[derive(Debug)]
struct Names(Option<Vec<u8>>);

impl Names {
    /// A directory that takes more bytes than this has many names, or had them once, and listing it takes long.
    const LARGEST: u64 = 16 << 10;

    #[cfg(target_os = "linux")]
    fn of(directory: &Path) -> Self {
        use rustix::fs::{Mode, OFlags, RawDir, open};
        /// Of a directory with more names, each is asked for by itself.
        const MOST: usize = 200;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(directory) = open(directory, flags, Mode::empty()) else { return Self(None) };
        let mut buffer = Vec::with_capacity(16 << 10);
        let mut entries = RawDir::new(&directory, buffer.spare_capacity_mut());
        let (mut names, mut count) = (Vec::new(), 0);
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else { return Self(None) };
            let name = entry.file_name().to_bytes_with_nul();
            if count >= MOST || !name.is_ascii() {
                return Self(None);
            }
            names.extend(name);
            count += 1;
        }
        Self(Some(names))
    }

    #[cfg(not(target_os = "linux"))]
    fn of(_: &Path) -> Self {
        Self(None)
    }

    /// Whether a name may lead to one of them. Some file systems take one case for the other.
    fn may_hold(&self, name: &OsStr) -> bool {
        let Some(names) = &self.0 else { return true };
        let name = name.as_encoded_bytes();
        !name.is_ascii() || names.split(|byte| *byte == 0).any(|known| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_the_system_finds() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path();
        fs::create_dir_all(root.join("a/b")).expect("directories");
        fs::write(root.join("a/file"), "").expect("a file");
        for (link, target) in
            [("to_a", "a"), ("a/up", ".."), ("loop", "loop"), ("dangling", "nowhere"), ("a/b/deep", "../../to_a/b")]
        {
            std::os::unix::fs::symlink(target, root.join(link)).expect("a link");
        }
        let names = [
            "",
            ".",
            "a",
            "a/b",
            "a/file",
            "a/file/x",
            "to_a",
            "to_a/b",
            "to_a/b/deep",
            "a/up",
            "a/up/a/up/to_a/b",
            "loop",
            "loop/x",
            "dangling",
            "dangling/x",
            "missing/x/y",
            "a/../a/b",
            "to_a/../a",
            "a/./b",
            "a//b/",
        ];
        let real = Look::default();
        for name in names.into_iter().chain(names) {
            let path = root.join(name);
            assert_eq!(real.of(&path), fs::canonicalize(&path).ok(), "{name}");
        }
        let here = fs::canonicalize(root).expect("it is there");
        assert_eq!(real.of_existing(&root.join("to_a/b/new/file")), here.join("a/b/new/file"));
        assert_eq!(real.of(Path::new("/")), Some(PathBuf::from("/")));
    }

    #[test]
    fn what_is_missing_is_told_from_what_cannot_be_told() {
        let place = tempfile::tempdir().expect("a directory");
        let root = fs::canonicalize(place.path()).expect("it is there");
        fs::create_dir(root.join("there")).expect("a directory");
        fs::write(root.join("there/Config.yaml"), "").expect("a file");
        fs::write(root.join("file"), "").expect("a file");
        std::os::unix::fs::symlink("loop", root.join("loop")).expect("a link");
        let look = Look::default();
        let missing = |name: &str| look.is_missing(&root.join(name));
        assert!(missing("nothing") && missing("nothing/x") && missing("file/x"));
        assert!(!missing("there") && !missing("loop") && !missing("loop/x"), "a loop is no absence");
        let may = |name: &str| look.may_be_there(&root.join(name));
        assert!(may("there") && may("loop") && may("loop/x") && may("there/Config.yaml") && may("there/config.yaml"));
        assert!(!may("nothing") && !may("nothing/x"));
        assert_eq!(may("there/other"), cfg!(not(target_os = "linux")));
        for count in 0..300 {
            fs::write(root.join(format!("there/{count}")), "").expect("a file");
        }
        assert!(Look::default().may_be_there(&root.join("there/other")), "a long list is not read to its end");
    }

    #[test]
    fn a_look_holds_and_the_next_one_sees_what_has_changed() {
        let place = tempfile::tempdir().expect("a directory");
        let root = fs::canonicalize(place.path()).expect("it is there");
        let (file, none) = (root.join("file"), root.join("none"));
        fs::write(&file, "one").expect("a file");
        let look = Look::default();
        assert!(!look.seen(&file).is_current(), "it was written just now");
        let absent = look.seen(&none);
        assert!(absent.is_current_in(&look));
        fs::write(&none, "").expect("a file");
        assert!(absent.is_current_in(&look) && !absent.is_current_in(&Look::default()) && !absent.is_current());
        std::thread::sleep(crate::SETTLING + std::time::Duration::from_millis(100));
        let look = Look::default();
        let seen = look.seen(&file);
        assert!(seen.is_current_in(&look) && seen.is_current());
        fs::write(&file, "two").expect("a file");
        assert!(!seen.is_current_in(&Look::default()));
    }
}
