//! Directories watched in the way of the system.

use std::{
    io,
    path::{Path, PathBuf},
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

/// How many changes may wait. With one that no longer finds room, all are taken for changes that concern the caller.
const BACKLOG: usize = 1000;

/// Watches directories.
pub(super) struct Watcher {
    system: RecommendedWatcher,
    changed: mpsc::Receiver<Vec<PathBuf>>,
}

impl Watcher {
    pub(super) fn new() -> io::Result<Self> {
        let (sender, changed) = mpsc::channel(BACKLOG);
        let notice = move |event: notify::Result<notify::Event>| match event {
            Ok(event) if event.kind.is_access() => {}
            // Those that wait stand for it.
            Ok(event) => drop(sender.try_send(event.paths)),
            Err(_) => drop(sender.try_send(Vec::new())),
        };
        let system = notify::recommended_watcher(notice).map_err(io::Error::other)?;
        Ok(Self { system, changed })
    }

    /// Watches a directory from now on.
    pub(super) fn watch(&mut self, path: &Path) -> io::Result<()> {
        self.system.watch(path, RecursiveMode::NonRecursive).map_err(io::Error::other)
    }

    /// Watches a directory no more.
    pub(super) fn unwatch(&mut self, path: &Path) {
        // It may be gone, and its watch with it.
        _ = self.system.unwatch(path);
    }

    pub(super) fn is_watched(&self, _: &Path) -> bool {
        true
    }

    /// Waits for a change at a path that concerns the caller.
    pub(super) async fn change(&mut self, concerns: impl Fn(&Path) -> bool) -> io::Result<()> {
        loop {
            let paths = self.changed.recv().await.ok_or(io::ErrorKind::BrokenPipe)?;
            if self.is_concerned(&paths, &concerns) {
                return Ok(());
            }
        }
    }

    /// Takes what was reported so far, and returns whether some of it concerns the caller.
    pub(super) fn take(&mut self, concerns: &impl Fn(&Path) -> bool) -> io::Result<bool> {
        let mut is_concerned = false;
        while let Ok(paths) = self.changed.try_recv() {
            is_concerned |= self.is_concerned(&paths, concerns);
        }
        Ok(is_concerned)
    }

    fn is_concerned(&self, paths: &[PathBuf], concerns: &impl Fn(&Path) -> bool) -> bool {
        paths.is_empty() || self.changed.len() + 1 >= BACKLOG || paths.iter().any(|path| concerns(path))
    }
}
