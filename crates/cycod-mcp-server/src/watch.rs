//! Watches the files that decide what is offered, and looks again when one changes.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use cycod_engine::{
    catalog::{Overrides, Scopes},
    settings::Settings,
};
use cycod_mcp_client::Account;
use cycod_thread::{blocking, detach_task};
use tokio::sync::Notify;

use crate::{ServerOptions, shared::Shared, shelf::Difference};

#[cfg_attr(target_os = "linux", path = "watch/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "watch/elsewhere.rs")]
mod watcher;

use watcher::Watcher;

/// How long to wait for more changes after one: an editor saves in several steps.
const SETTLE: Duration = Duration::from_millis(80);

/// Watches the directories of the tools for as long as the server lives.
///
/// Where the system cannot watch, lists are as fresh as the last start; a call reads its tool's file anyway.
pub(crate) fn watch(shared: &Arc<Shared>) {
    let Ok(watcher) = Watcher::new() else { return };
    let mut watched = Watched { watcher, paths: Vec::new(), wanted: Vec::new() };
    watched.set(directories(&shared.shelf.options()));
    detach_task(follow(Arc::downgrade(shared), watched, Arc::clone(&shared.moved)));
}

async fn follow(shared: Weak<Shared>, mut watched: Watched, moved: Arc<Notify>) {
    if let Some(shared) = shared.upgrade() {
        // The next request for the lists finds them made.
        blocking(move || shared.shelf.stock(&Account::Owner).lists()).detach();
    }
    loop {
        let may_be_more = tokio::select! {
            may_be_more = watched.change() => may_be_more,
            // Other directories matter now.
            () = moved.notified() => true,
        };
        if !may_be_more {
            return;
        }
        tokio::time::sleep(SETTLE).await;
        watched.settle();
        let Some(shared) = shared.upgrade() else { return };
        let changes = shared.changes.clone();
        let options = shared.shelf.options();
        // What breaks off once is tried again with the next change.
        if let Ok(now) = blocking(move || directories(&options)).await {
            watched.set(now);
        }
        let reloading = blocking(move || {
            let differences = shared.shelf.reload();
            shared.shelf.stock(&Account::Owner).lists();
            differences
        });
        for difference in reloading.await.unwrap_or_default() {
            if difference != Difference::default() {
                changes.publish(difference);
            }
        }
    }
}

/// What is watched. It is watched before it is looked at, so that no change falls between the two.
struct Watched {
    watcher: Watcher,
    paths: Vec<PathBuf>,
    /// The directories themselves; of those that are not there, the nearest one above is watched.
    wanted: Vec<PathBuf>,
}

impl Watched {
    fn set(&mut self, wanted: Vec<PathBuf>) {
        let paths: Vec<PathBuf> = wanted.iter().map(|path| nearest(path)).collect();
        self.wanted = wanted;
        for path in self.paths.extract_if(.., |path| !paths.contains(path)) {
            self.watcher.unwatch(&path);
        }
        self.paths.retain(|path| self.watcher.is_watched(path));
        for path in paths {
            if !self.paths.contains(&path) && self.watcher.watch(&path).is_ok() {
                self.paths.push(path);
            }
        }
    }

    /// Waits for a change that concerns a directory that is wanted; returns whether there can be more.
    async fn change(&mut self) -> bool {
        let wanted = &self.wanted;
        self.watcher.change(|path| concerns(path, wanted)).await.is_ok()
    }

    /// Takes what has changed meanwhile together with what is about to be looked at.
    fn settle(&mut self) {
        // What broke does so again when it is waited for.
        _ = self.watcher.take(&|_| false);
    }
}

/// Whether a change at `path` may be one in a directory of `wanted`, or make one appear or go.
fn concerns(path: &Path, wanted: &[PathBuf]) -> bool {
    wanted.iter().any(|directory| path.starts_with(directory) || directory.starts_with(path))
}

/// The directories and files of settings whose changes may change what is offered, whether they are there or not.
fn directories(options: &ServerOptions) -> Vec<PathBuf> {
    let scopes = Scopes::discover(&options.host, &Overrides::from_environment(&options.host.environment));
    let of_tools = scopes
        .directories()
        .iter()
        .flat_map(|directory| std::iter::once(directory.path.clone()).chain(directory.places.all()));
    // A release comes into force by a link in this directory.
    let of_team = scopes.team().map(|team| team.directory.clone());
    let settings = Settings::load(&scopes, &options.host);
    let of_settings = settings.places().map(Path::to_owned);
    of_tools.chain(of_team).chain(options.watched.iter().cloned()).chain(of_settings).collect()
}

/// The directory, or the nearest one above it that exists: where it would appear.
fn nearest(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.is_dir()).unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_beside_a_directory_does_not_concern_it() {
        let wanted = [PathBuf::from("/home/ada/project/.cycod/tools")];
        let check = |path: &str, expect: bool| assert_eq!(concerns(Path::new(path), &wanted), expect, "{path}");
        check("/home/ada/project/.cycod/tools/x.yaml", true);
        check("/home/ada/project/.cycod/tools", true);
        check("/home/ada/project/.cycod", true);
        check("/home/ada/project/notes.txt", false);
        check("/home/ada/project/.cycod/cache", false);
    }
}
