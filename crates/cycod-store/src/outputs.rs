use std::{
    fs::{self, File},
    io::{BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    Kept, OutputId, RunId, Spool, StoreError, private,
    tally::{LineIndex, Totals},
};

/// The end of the name of an output that is still being written.
const UNFINISHED: &str = ".part";

/// How long outputs are kept, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// An output goes when it is older.
    pub max_age: Duration,
    /// The oldest go when all together are larger; no single output may become larger.
    pub max_bytes: u64,
}

impl Default for Retention {
    /// A week, 16 GiB.
    fn default() -> Retention {
        Retention { max_age: Duration::from_secs(7 * 24 * 60 * 60), max_bytes: 16 << 30 }
    }
}

/// A directory of outputs: each byte that a run wrote and a model did not see.
///
/// Any number of processes may use one directory. An output gets its name when it is complete; until then its file is
/// locked by the process that writes it, so [`open`](Outputs::open) can tell what a killed process left behind from
/// what is being written.
#[derive(Clone, Debug)]
pub struct Outputs {
    directory: Arc<Path>,
    pub(crate) retention: Retention,
}

impl Outputs {
    /// Opens the directory, making it when it is missing, and removes what is incomplete, too old or too much.
    ///
    /// It reads the whole directory, so open it when it is first needed.
    pub fn open(directory: &Path, retention: Retention) -> Result<Outputs, StoreError> {
        private::directory(directory)?;
        let outputs = Outputs { directory: directory.into(), retention };
        outputs.sweep(None)?;
        Ok(outputs)
    }

    /// Names a directory that is there, without tidying it.
    pub(crate) fn existing(directory: PathBuf, retention: Retention) -> Outputs {
        Outputs { directory: directory.into(), retention }
    }

    /// Begins an output that stays in memory up to `limit_in_memory` bytes and is a file from there on.
    pub fn spool(&self, id: OutputId, limit_in_memory: usize) -> Spool {
        Spool::new(self.clone(), id, limit_in_memory)
    }

    /// Returns an output that was written to a file; `None` when there is none, or none any more.
    ///
    /// One that a power failure damaged is removed.
    pub fn get(&self, id: &OutputId) -> Result<Option<Kept>, StoreError> {
        let path = self.path(id);
        let file = match private::open(&private::options(), &path) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let kept = Kept::read(self.clone(), id.clone(), file).map_err(StoreError::io("read", &path))?;
        if kept.is_none() {
            remove(&path);
        }
        Ok(kept)
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Removes what is incomplete, too old or too much, but not `spared`.
    fn sweep(&self, spared: Option<&Path>) -> Result<(), StoreError> {
        let now = SystemTime::now();
        let (mut kept, mut total) = (Vec::new(), 0u64);
        for entry in
            fs::read_dir(&self.directory).map_err(StoreError::io("read directory", &*self.directory))?.flatten()
        {
            let (path, name) = (entry.path(), entry.file_name());
            // Of the entry itself, not of what a symbolic link leads to. Another process may have just removed it.
            let Some(metadata) = entry.metadata().ok().filter(fs::Metadata::is_file) else { continue };
            let Some(name) = name.to_str().filter(|name| is_ours(name)) else { continue };
            if name.ends_with(UNFINISHED) {
                if !remove_abandoned(&path) {
                    total += metadata.len();
                }
                continue;
            }
            let modified = metadata.modified().unwrap_or(now);
            if now.duration_since(modified).is_ok_and(|age| age > self.retention.max_age) {
                remove(&path);
            } else {
                total += metadata.len();
                kept.push((modified, metadata.len(), path));
            }
        }
        kept.sort();
        for (_, bytes, path) in kept.iter().filter(|(_, _, path)| Some(&**path) != spared) {
            if total <= self.retention.max_bytes {
                break;
            }
            remove(path);
            total -= bytes;
        }
        Ok(())
    }

    fn path(&self, id: &OutputId) -> PathBuf {
        self.directory.join(id.file_name())
    }
}

fn is_ours(name: &str) -> bool {
    name.split_once('.').is_some_and(|(run, _)| run.parse::<RunId>().is_ok())
}

/// Removes a file that nobody writes any more, whose lock went with its process, and says whether it was one.
///
/// It is locked until it is gone: a process that has just made it waits for the lock, finds the file gone, and makes another.
fn remove_abandoned(path: &Path) -> bool {
    let Ok(file) = private::open(&private::options(), path) else { return false };
    let is_abandoned = file.try_lock().is_ok() && private::is_current(&file, path);
    if is_abandoned {
        remove(path);
    }
    is_abandoned
}

/// Removes a file that another process may be removing as well. What cannot be removed now is tried again next time.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// A file that is being written: gone when it is dropped before it was kept.
pub(crate) struct Part {
    file: Option<BufWriter<File>>,
    path: PathBuf,
    outputs: Outputs,
}

impl Part {
    pub(crate) fn create(outputs: &Outputs, id: &OutputId) -> Result<Part, StoreError> {
        let path = outputs.directory.join(id.file_name() + UNFINISHED);
        if outputs.path(id).exists() {
            return Err(StoreError::Exists(id.to_string()));
        }
        loop {
            let file = match private::open(private::options().write(true).create_new(true), &path) {
                Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                    return Err(StoreError::Exists(id.to_string()));
                }
                file => file?,
            };
            file.lock().map_err(StoreError::io("lock", &path))?;
            // Another process may have found it in the moment before it was locked, and removed it.
            if private::is_current(&file, &path) {
                let file = Some(BufWriter::with_capacity(64 * 1024, file));
                return Ok(Part { file, path, outputs: outputs.clone() });
            }
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let file = self.file.as_mut().expect("only `keep` takes the file, and it takes `self` too");
        file.write_all(bytes).map_err(StoreError::io("write", &self.path))
    }

    /// Gives the complete file its name, and makes room for it.
    ///
    /// Nothing waits for the disk: after a power failure an output may be missing, which its end tells.
    pub(crate) fn keep(mut self, id: &OutputId, totals: &Totals, index: &LineIndex) -> Result<File, StoreError> {
        self.write(&crate::kept::trailer(totals, index))?;
        let file = self.file.take().expect("only this function takes the file");
        let (file, buffered) = file.into_parts();
        let written = buffered.map_err(|_| ErrorKind::Other.into()).and_then(|rest| (&file).write_all(&rest));
        let path = self.outputs.path(id);
        let kept = written.and_then(|()| fs::rename(&self.path, &path));
        if kept.is_err() {
            remove(&self.path);
        }
        kept.and_then(|()| file.unlock()).map_err(StoreError::io("keep", &path))?;
        // The output is safe; that others could not be removed is told when the store is opened.
        let _ = self.outputs.sweep(Some(&path));
        Ok(file)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            remove(&self.path);
            // What is still in the buffer would only be written to a file without a name.
            drop(file.into_parts());
        }
    }
}
