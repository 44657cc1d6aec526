//! Where a client works: the first directory of its roots is the workspace of a server that was started outside any project.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rmcp::{Peer, RoleServer};

use crate::{blocking::blocking, shared::Shared, shelf::Difference, uri::decoded};

/// How long a client may take to say what its roots are, and how long requests wait for that.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The most roots that are looked at.
const MOST_ROOTS: usize = 100;

/// Asks a client for its roots, and goes to the first that is a directory here.
pub(crate) async fn follow(shared: &Arc<Shared>, peer: &Peer<RoleServer>) {
    // Without an answer, the server stays where it is.
    let Ok(Ok(listed)) = tokio::time::timeout(PATIENCE, peer.list_roots()).await else { return };
    let roots: Vec<String> = listed.roots.into_iter().take(MOST_ROOTS).map(|root| root.uri).collect();
    let shelf = Arc::clone(shared);
    let moving = blocking(move || {
        let directory = roots.iter().find_map(|root| directory(root))?;
        shelf.shelf.move_to(&directory)
    });
    if let Ok(Some(difference)) = moving.await {
        shared.moved.notify_one();
        for difference in difference.into_iter().filter(|difference| *difference != Difference::default()) {
            shared.changes.publish(difference);
        }
    }
}

/// The directory that a root names, if it is one on this machine.
fn directory(root: &str) -> Option<PathBuf> {
    let rest = root.strip_prefix("file://")?;
    let path = decoded(rest.strip_prefix("localhost").unwrap_or(rest))?;
    // `file:///C:/work` is `C:/work`.
    let path = if cfg!(windows) { path.trim_start_matches('/') } else { &path };
    let path = Path::new(path);
    let whole = path.is_absolute().then(|| path.canonicalize().ok()).flatten()?;
    whole.is_dir().then_some(whole)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_this_machine_is_a_root() {
        let place = tempfile::tempdir().expect("a directory");
        let there = place.path().canonicalize().expect("it is there").join("a b");
        std::fs::create_dir(&there).expect("it is made");
        std::fs::write(place.path().join("file"), "").expect("it is written");
        let at = |name: &str| directory(&format!("file://{}/{name}", place.path().display()));
        assert_eq!(at("a%20b").as_deref(), Some(&*there));
        assert_eq!(at("file"), None);
        assert_eq!(at("none"), None);
        for wrong in
            ["https://a.example/tmp", "file://other.example/tmp", "file://", "/tmp", "file:///%ff", "file:///a%00"]
        {
            assert_eq!(directory(wrong), None, "{wrong}");
        }
    }
}
