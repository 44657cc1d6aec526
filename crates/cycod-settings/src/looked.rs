//! Which files were looked for, so that it can be told later whether all of them are as they were.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use cycod_file::{Look, Seen, keeps_names};

use crate::file::{self, FileError};

/// The files of several directories that were looked for. A directory that is not there is looked for once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looked {
    places: Vec<PathBuf>,
    /// The files that are there.
    seen: Vec<Seen>,
    directories: Vec<Directory>,
}

/// A directory in which files were looked for.
#[derive(Clone, Debug)]
struct Directory {
    path: PathBuf,
    /// As it was when nothing that is missing was in it.
    seen: Arc<Mutex<Seen>>,
    /// What is not there.
    missing: Vec<Seen>,
    keeps_names: OnceLock<bool>,
}

impl Looked {
    /// Whether something is at the path.
    pub(crate) fn see(&mut self, path: &Path, look: &Look) -> bool {
        self.places.push(path.to_owned());
        // Seen before what is in it.
        let directory = path.parent().map(|directory| self.directory(directory, look));
        let is_there = look.may_be_there(path) && !file::is_missing(path);
        match directory {
            _ if is_there => self.seen.push(Seen::at(path.to_owned())),
            Some(number) => self.directories[number].missing.push(Seen::restored(path.to_owned(), None)),
            None => self.seen.push(Seen::restored(path.to_owned(), None)),
        }
        is_there
    }

    /// Reads a file; nothing when there is none.
    pub(crate) fn read(&mut self, path: &Path, look: &Look) -> Result<Option<String>, FileError> {
        if self.see(path, look) { file::read(path) } else { Ok(None) }
    }

    /// Whether nothing has changed since.
    pub(crate) fn is_current(&self, look: &Look) -> bool {
        self.seen.iter().all(|seen| seen.is_current_in(look))
            && self.directories.iter().all(|directory| directory.is_current(look))
    }

    /// The files that were looked for, whether they are there or not.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().map(PathBuf::as_path)
    }

    /// The number of a directory. There are few, and mostly it is the last one again.
    fn directory(&mut self, path: &Path, look: &Look) -> usize {
        let is_it = |directory: &Directory| directory.path.as_os_str() == path.as_os_str();
        self.directories.iter().rposition(is_it).unwrap_or_else(|| {
            self.directories.push(Directory {
                path: path.to_owned(),
                seen: Arc::new(Mutex::new(look.seen(path))),
                missing: Vec::new(),
                keeps_names: OnceLock::new(),
            });
            self.directories.len() - 1
        })
    }
}

impl Directory {
    /// Whether what was missing still is. While the directory has not changed, nothing has come into it. If it has, each
    /// file is looked for, and the directory counts as it is now.
    fn is_current(&self, look: &Look) -> bool {
        if self.missing.is_empty() {
            return true;
        }
        // Seen before what is in it.
        let now = look.state(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let keeps_names = || *self.keeps_names.get_or_init(|| keeps_names(&self.path));
        if now.is_as(&seen) && (!now.is_there() || keeps_names()) {
            return true;
        }
        let is_missing = self.missing.iter().all(|missing| missing.is_current_in(look));
        if is_missing {
            *seen = now;
        }
        is_missing
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, time::Duration};

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().expect("a directory");
        let directory = fs::canonicalize(place.path()).expect("it is there").join("d");
        fs::create_dir(&directory).expect("a directory");
        (place, directory)
    }

    /// What was looked for in a directory that was left alone long enough, or was not.
    fn looked_in(directory: &Path) -> Looked {
        let (mut looked, look) = (Looked::default(), Look::default());
        assert!(
            !looked.see(&directory.join("policy.yaml"), &look) && !looked.see(&directory.join("policy.yml"), &look)
        );
        looked
    }

    #[test]
    fn a_file_that_comes_into_a_directory_counts_at_once() {
        let settled = cycod_file::SETTLING + Duration::from_millis(100);
        for pause in [Duration::ZERO, settled] {
            let (_place, directory) = place();
            std::thread::sleep(pause);
            let looked = looked_in(&directory);
            assert!(looked.is_current(&Look::default()));
            fs::write(directory.join("other"), "").expect("a file");
            assert!(looked.is_current(&Look::default()), "what was searched for is still not there");
            fs::write(directory.join("policy.yml"), "").expect("a file");
            let at = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
            fs::File::open(&directory).and_then(|open| open.set_times(at)).expect("the time can be set");
            assert!(!looked.is_current(&Look::default()), "its directory looks as old as before");
        }
    }

    #[test]
    fn a_directory_that_changed_is_enough_again() {
        let (_place, directory) = place();
        let looked = looked_in(&directory);
        let is_enough = || looked.directories[0].seen.lock().expect("no panic").is_current();
        assert!(looked.is_current(&Look::default()) && !is_enough(), "it has just been made");
        let settled = cycod_file::SETTLING + Duration::from_millis(100);
        std::thread::sleep(settled);
        assert!(looked.is_current(&Look::default()) && is_enough());
        fs::write(directory.join("other"), "").expect("a file");
        assert!(looked.is_current(&Look::default()) && !is_enough());
        std::thread::sleep(settled);
        assert!(looked.is_current(&Look::default()) && is_enough());
        fs::write(directory.join("policy.yml"), "").expect("a file");
        assert!(!looked.is_current(&Look::default()));
    }

    #[test]
    fn a_directory_that_comes_or_is_another_one_counts_at_once() {
        let (_place, directory) = place();
        fs::remove_dir(&directory).expect("it is empty");
        let looked = looked_in(&directory);
        assert!(looked.is_current(&Look::default()));
        fs::create_dir(&directory).expect("a directory");
        assert!(looked.is_current(&Look::default()), "there is still no file");
        fs::write(directory.join("policy.yaml"), "").expect("a file");
        assert!(!looked.is_current(&Look::default()));

        let (_place, directory) = place();
        std::thread::sleep(cycod_file::SETTLING + Duration::from_millis(100));
        let looked = looked_in(&directory);
        fs::remove_dir(&directory).expect("it is empty");
        fs::create_dir(&directory).expect("a directory");
        fs::write(directory.join("policy.yaml"), "").expect("a file");
        assert!(!looked.is_current(&Look::default()));
    }
}
