//! Files that change, and those who want to know.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use notify::{RecursiveMode, Watcher};
use tokio::sync::{broadcast, mpsc};

use crate::{handler::Shared, shelf::Difference};

/// How long to wait for more changes after one: an editor saves in several steps.
const SETTLE: Duration = Duration::from_millis(80);

/// How many differences may wait for a listener; one that lags is told that everything changed.
const BACKLOG: usize = 16;

/// Where differences are told.
#[derive(Clone, Debug)]
pub(crate) struct Changes(broadcast::Sender<Arc<Difference>>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG).0)
    }
}

impl Changes {
    /// Listens from now on.
    pub(crate) fn listen(&self) -> Listener {
        Listener(self.0.subscribe())
    }
}

/// Somebody who wants to know.
#[derive(Debug)]
pub(crate) struct Listener(broadcast::Receiver<Arc<Difference>>);

impl Listener {
    /// Waits for the next difference; nothing when there will be none.
    pub(crate) async fn next(&mut self) -> Option<Arc<Difference>> {
        match self.0.recv().await {
            Ok(difference) => Some(difference),
            Err(broadcast::error::RecvError::Lagged(_)) => {
                Some(Arc::new(Difference { tools: true, prompts: true, resources: true, updated: Vec::new() }))
            }
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// Watches the directories of the tools for as long as the server lives.
///
/// Where the system cannot watch, lists are as fresh as the last start; a call reads its tool's file anyway.
pub(crate) fn watch(shared: &Arc<Shared>) {
    let (sender, receiver) = mpsc::channel(1);
    let notice = move |event: notify::Result<notify::Event>| {
        let is_change = event.map_or(true, |event| !matches!(event.kind, notify::EventKind::Access(_)));
        if is_change {
            // One that waits stands for all that follow.
            let _ = sender.try_send(());
        }
    };
    let Ok(watcher) = notify::recommended_watcher(notice) else { return };
    tokio::spawn(follow(Arc::downgrade(shared), watcher, receiver));
}

async fn follow(shared: Weak<Shared>, mut watcher: notify::RecommendedWatcher, mut noticed: mpsc::Receiver<()>) {
    let mut watched: Vec<PathBuf> = Vec::new();
    loop {
        let Some(strong) = shared.upgrade() else { return };
        let looking = tokio::task::spawn_blocking(move || {
            let stock = strong.shelf.stock();
            // Whoever asks for the lists finds them made.
            stock.lists();
            let directories = stock.engine.catalog().scopes().directories();
            let also = strong.options.watched.iter();
            directories
                .iter()
                .map(|directory| &directory.path)
                .chain(also)
                .map(|path| nearest(path))
                .collect::<Vec<_>>()
        });
        let Ok(directories) = looking.await else { return };
        for path in watched.extract_if(.., |path| !directories.contains(path)) {
            // It may be gone, and its watch with it.
            let _ = watcher.unwatch(&path);
        }
        for path in directories {
            if !watched.contains(&path) && watcher.watch(&path, RecursiveMode::NonRecursive).is_ok() {
                watched.push(path);
            }
        }
        if noticed.recv().await.is_none() {
            return;
        }
        tokio::time::sleep(SETTLE).await;
        while noticed.try_recv().is_ok() {}
        let Some(shared) = shared.upgrade() else { return };
        let changes = shared.changes.clone();
        let reloading = tokio::task::spawn_blocking(move || shared.shelf.reload());
        if let Ok(difference) = reloading.await
            && difference != Difference::default()
        {
            // Nobody may be listening.
            let _ = changes.0.send(Arc::new(difference));
        }
    }
}

/// The directory, or the nearest one above it that exists: where it would appear.
fn nearest(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.is_dir()).unwrap_or(path).to_owned()
}
