//! Directories watched by the kernel. It reports what changes in them, and nothing that is only opened or read.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch},
    io::Errno,
};
use tokio::io::unix::AsyncFd;

/// What is reported. Of a file that is written, the end of that: a server appends to its own history in such a directory.
const CHANGES: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVE_SELF);

/// Room for some hundred reports.
const ROOM: usize = 16 << 10;

/// Watches directories.
pub(super) struct Watcher {
    kernel: AsyncFd<OwnedFd>,
    /// The paths of each directory, by the number that the kernel gave it.
    paths: BTreeMap<i32, Vec<PathBuf>>,
}

impl Watcher {
    pub(super) fn new() -> io::Result<Self> {
        let kernel = AsyncFd::new(init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?)?;
        Ok(Self { kernel, paths: BTreeMap::new() })
    }

    /// Watches a directory from now on.
    pub(super) fn watch(&mut self, path: &Path) -> io::Result<()> {
        let number = add_watch(&self.kernel, path, CHANGES)?;
        let paths = self.paths.entry(number).or_default();
        if !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
        Ok(())
    }

    /// Watches a directory no more.
    pub(super) fn unwatch(&mut self, path: &Path) {
        for paths in self.paths.values_mut() {
            paths.retain(|known| known != path);
        }
        for (number, _) in self.paths.extract_if(.., |_, paths| paths.is_empty()) {
            // It may be gone, and its watch with it.
            _ = remove_watch(&self.kernel, number);
        }
    }

    /// Whether a directory is watched. One that was removed no longer is, also when there is another one at its path.
    pub(super) fn is_watched(&self, path: &Path) -> bool {
        self.paths.values().flatten().any(|known| known == path)
    }

    /// Waits for a change at a path that concerns the caller.
    pub(super) async fn change(&mut self, concerns: impl Fn(&Path) -> bool) -> io::Result<()> {
        loop {
            self.kernel.readable().await?.retain_ready();
            if self.take(&concerns)? {
                return Ok(());
            }
        }
    }

    /// Takes what was reported so far, and returns whether some of it concerns the caller.
    pub(super) fn take(&mut self, concerns: &impl Fn(&Path) -> bool) -> io::Result<bool> {
        let mut room = Vec::with_capacity(ROOM);
        let mut is_concerned = false;
        let paths = &mut self.paths;
        let taken = self.kernel.try_io(tokio::io::Interest::READABLE, |kernel| -> io::Result<()> {
            let mut reader = Reader::new(kernel, room.spare_capacity_mut());
            loop {
                let event = match reader.next() {
                    Err(Errno::INTR) => continue,
                    event => event?,
                };
                if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                    is_concerned = true;
                }
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                for path in paths.get(&event.wd()).into_iter().flatten() {
                    is_concerned |= name.map_or_else(|| concerns(path), |name| concerns(&path.join(name)));
                }
                if event.events().contains(ReadFlags::IGNORED) {
                    paths.remove(&event.wd());
                }
            }
        });
        match taken {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            Ok(()) | Err(_) => Ok(is_concerned),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;

    #[tokio::test]
    async fn what_changes_is_reported_and_what_is_only_read_is_not() {
        let place = tempfile::tempdir().expect("a directory");
        let (root, sub) = (place.path().to_owned(), place.path().join("sub"));
        fs::create_dir(&sub).expect("a directory");
        fs::write(root.join("file"), "").expect("a file");
        let mut watcher = Watcher::new().expect("a watcher");
        watcher.watch(&root).expect("it is there");
        let reported = async |watcher: &mut Watcher| {
            let change = watcher.change(|path| path.starts_with(&root));
            tokio::time::timeout(Duration::from_millis(300), change).await.is_ok()
        };
        drop(fs::read(root.join("file")).expect("it can be read"));
        drop(fs::read_dir(&root).expect("it can be listed"));
        assert!(!reported(&mut watcher).await, "it was only read");
        fs::write(sub.join("file"), "").expect("a file");
        assert!(!reported(&mut watcher).await, "it is further down");
        fs::write(root.join("file"), "more").expect("it can be written");
        assert!(reported(&mut watcher).await);
        fs::rename(root.join("file"), root.join("other")).expect("it can be moved");
        assert!(reported(&mut watcher).await);
        fs::remove_file(root.join("other")).expect("it can be removed");
        let elsewhere = watcher.change(|path| path.ends_with("elsewhere"));
        assert!(tokio::time::timeout(Duration::from_millis(300), elsewhere).await.is_err());
    }

    #[tokio::test]
    async fn a_directory_that_was_removed_is_watched_no_more() {
        let place = tempfile::tempdir().expect("a directory");
        let sub = place.path().join("sub");
        fs::create_dir(&sub).expect("a directory");
        let mut watcher = Watcher::new().expect("a watcher");
        watcher.watch(&sub).expect("it is there");
        assert!(watcher.is_watched(&sub));
        fs::remove_dir(&sub).expect("it is empty");
        fs::create_dir(&sub).expect("a directory");
        watcher.change(|path| path == sub).await.expect("a change");
        while watcher.take(&|_| true).expect("the kernel reports") {}
        assert!(!watcher.is_watched(&sub));
        watcher.watch(&sub).expect("it is there");
        fs::write(sub.join("file"), "").expect("a file");
        watcher.change(|path| path == sub.join("file")).await.expect("a change");
        watcher.unwatch(&sub);
        assert!(!watcher.is_watched(&sub));
    }
}
