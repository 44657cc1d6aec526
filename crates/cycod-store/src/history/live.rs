//! Which processes are still there: each holds the kernel's lock on a file of its own until it ends.

use std::{
    fs::{self, File, TryLockError},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::{RunId, StoreError, private};

/// The file of this process, removed at its end.
#[derive(Debug)]
pub(super) struct Live {
    name: String,
    path: PathBuf,
    _locked: File,
}

impl Live {
    pub(super) fn new(directory: &Path) -> Result<Live, StoreError> {
        loop {
            let name = RunId::random()?.to_string();
            let path = directory.join(&name);
            let opened = private::open_looked_at(private::options().write(true).create_new(true), &path);
            let (file, metadata) = match opened {
                Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    private::directory(directory)?;
                    continue;
                }
                file => file?,
            };
            file.lock().map_err(StoreError::io("lock", &path))?;
            // Another process may have found it in the moment before it was locked, and removed it.
            if private::is_at(&metadata, &path) {
                return Ok(Live { name, path, _locked: file });
            }
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
    }
}

/// Whether the process that has the file of this name is there.
pub(super) fn is_there(directory: &Path, name: &str) -> bool {
    // The name comes out of the database, and must not lead elsewhere.
    name.parse::<RunId>().is_ok() && is_locked(&directory.join(name))
}

/// Removes the files that killed processes left.
pub(super) fn sweep(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !is_locked(&entry.path()) {
            _ = fs::remove_file(entry.path());
        }
    }
}

fn is_locked(path: &Path) -> bool {
    let file = private::open(&private::options(), path);
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}
