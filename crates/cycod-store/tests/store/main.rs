//! The store as its users see it: real directories, real processes, real kills.
#![expect(clippy::print_stdout, reason = "a process of the test reports so")]

mod approvals;
mod child;
mod crash;
mod excerpt;
mod history;
mod hostile;
mod journal;
mod jq;
mod keys;
mod large;
mod outputs;
mod pins;
mod run_journal;
mod run_state;
mod search;
mod slice;
mod tickets;

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cycod_file::create_private_directory;
use cycod_store::{Maker, OutputId, Outputs, Retention, RunId, StoredOutput};
use tempfile::TempDir;

/// A directory that only its user may open, as cycod's own is: on Windows, one for temporary files may be open to others.
struct Place {
    path: PathBuf,
    _above: TempDir,
}

impl Place {
    fn new() -> Self {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("place");
        create_private_directory(&path).unwrap();
        Self { path, _above: above }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A store of its own.
struct Store {
    directory: Place,
    outputs: Outputs,
}

fn store() -> Store {
    store_with(Retention::default())
}

fn store_with(retention: Retention) -> Store {
    let directory = Place::new();
    let outputs = Outputs::open(&directory.path().join("outputs"), retention).unwrap();
    Store { directory, outputs }
}

impl Store {
    /// Keeps bytes, in memory up to the limit.
    fn keep(&self, bytes: &[u8], limit_in_memory: usize) -> StoredOutput {
        let mut spool = self.outputs.spool(id("stdout"), crate::maker(), limit_in_memory);
        spool.write(bytes).unwrap();
        spool.finish().unwrap()
    }

    fn files(&self) -> Vec<String> {
        files(self.outputs.directory())
    }
}

/// The files of a directory, but not those that are only locked, which are on Windows alone.
fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| cfg!(unix) || !name.ends_with(".lock")).collect();
    names.sort();
    names
}

fn maker() -> Maker {
    Maker::new("local", "test")
}

fn id(name: &str) -> OutputId {
    OutputId::new(RunId::random().unwrap(), name).unwrap()
}

/// Reads all of an output.
fn all(kept: &StoredOutput) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(kept.bytes()).unwrap()];
    assert_eq!(kept.read_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}
