//! The outputs of a user, and how long they stay.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufWriter, ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    Maker, OutputId, RunId, Spool, StoreError, StoredOutput, kept, private,
    tally::{LineIndex, Totals},
};

/// The end of the name of an output that is still being written.
const UNFINISHED: &str = ".part";

/// How much is copied at once.
const BLOCK: usize = 64 * 1024;

/// How long outputs are kept, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// An output goes when it is older.
    pub max_age: Duration,
    /// When all together are larger, the oldest go of the owner and the tool that take the most room.
    pub max_bytes: u64,
    /// Of a larger output, only the beginning and the end are kept.
    pub max_one: u64,
}

impl Default for Retention {
    /// A week, 16 GiB, 256 MiB.
    fn default() -> Retention {
        Retention { max_age: Duration::from_secs(7 * 24 * 60 * 60), max_bytes: 16 << 30, max_one: 256 << 20 }
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
    pub fn spool(&self, id: OutputId, maker: Maker, limit_in_memory: usize) -> Spool {
        Spool::new(self.clone(), id, maker, limit_in_memory)
    }

    /// Returns an output of this owner, as [`get`](Outputs::get) does. One of another owner is as if there were none.
    pub fn get_for(&self, id: &OutputId, owner: &str) -> Result<Option<StoredOutput>, StoreError> {
        Ok(self.get(id)?.filter(|kept| kept.maker().is_for(owner)))
    }

    /// Returns an output that was written to a file, for any owner; `None` when there is none, or none any more.
    /// For the user of this machine.
    ///
    /// One that a power failure damaged is removed.
    pub fn get(&self, id: &OutputId) -> Result<Option<StoredOutput>, StoreError> {
        let path = self.path(id);
        let file = match private::open(&private::options(), &path) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let kept = StoredOutput::read(self.clone(), id.clone(), file).map_err(StoreError::io("read", &path))?;
        if kept.is_none() {
            remove(&path);
        }
        Ok(kept)
    }

    /// Removes every output of a run.
    pub fn remove_run(&self, run: RunId) {
        remove_where(&self.directory, &|other| other == run);
    }

    /// The complete outputs, each with the time that its file has.
    pub(crate) fn names(&self) -> Result<Vec<(OutputId, SystemTime)>, StoreError> {
        let entries = fs::read_dir(&self.directory).map_err(StoreError::io("read directory", &*self.directory))?;
        let named = |entry: fs::DirEntry| {
            let name = entry.file_name();
            let (run, name) = name.to_str()?.split_once('.')?;
            let id = OutputId::new(run.parse().ok()?, name).ok()?;
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((id, metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)))
        };
        Ok(entries.flatten().filter_map(named).collect())
    }

    /// Makes an output as young as one that was written now.
    pub(crate) fn touch(&self, id: &OutputId) {
        // Windows changes the time of a file only for those who may write to it.
        if let Ok(file) = private::open(private::options().write(true), &self.path(id)) {
            // One that stays old only goes earlier.
            _ = file.set_modified(SystemTime::now());
        }
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Removes what is incomplete, too old or too much, but not `spared`.
    fn sweep(&self, spared: Option<&Path>) -> Result<(), StoreError> {
        let now = SystemTime::now();
        let (mut kept, mut unfinished, mut total) = (Vec::new(), Vec::new(), 0u64);
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
                    unfinished.push((maker_in(name), metadata.len()));
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
        if total > self.retention.max_bytes {
            make_room(total - self.retention.max_bytes, kept, &unfinished, spared);
        }
        Ok(())
    }

    fn path(&self, id: &OutputId) -> PathBuf {
        self.directory.join(id.file_name())
    }
}

/// Removes at least so many bytes, the oldest first, of the one that has the most: an owner, and among its tools the one that
/// does. What one writes can so never push out what others have kept. When what has the most is still being written, no
/// other makes room for it.
fn make_room(
    mut surplus: u64,
    mut kept: Vec<(SystemTime, u64, PathBuf)>,
    unfinished: &[(Maker, u64)],
    spared: Option<&Path>,
) {
    #[derive(Default)]
    struct Share {
        bytes: u64,
        /// The newest first.
        removable: Vec<(u64, PathBuf)>,
    }
    let mut owners: BTreeMap<_, (u64, BTreeMap<_, Share>)> = BTreeMap::new();
    let mut add = |maker: Maker, bytes: u64, path: Option<PathBuf>| {
        let (owner, tool) = maker.parts();
        let (sum, tools) = owners.entry(owner).or_default();
        let share = tools.entry(tool).or_default();
        *sum += bytes;
        share.bytes += bytes;
        share.removable.extend(path.map(|path| (bytes, path)));
    };
    kept.sort_by(|one, other| other.cmp(one));
    for (_, bytes, path) in kept {
        let file = private::open(&private::options(), &path).ok();
        let maker = file.and_then(|file| kept::maker_of(&file).ok().flatten()).unwrap_or_else(nobody);
        let is_spared = Some(&*path) == spared;
        add(maker, bytes, (!is_spared).then_some(path));
    }
    for (maker, bytes) in unfinished {
        add(*maker, *bytes, None);
    }
    while surplus > 0 {
        let Some((sum, tools)) = owners.values_mut().max_by_key(|(sum, _)| *sum) else { return };
        let with_removable = tools.values_mut().filter(|share| !share.removable.is_empty());
        let Some(share) = with_removable.max_by_key(|share| share.bytes) else { return };
        let Some((bytes, path)) = share.removable.pop() else { return };
        remove(&path);
        share.bytes -= bytes;
        *sum -= bytes;
        surplus = surplus.saturating_sub(bytes);
    }
}

/// The maker of what does not say who made it.
fn nobody() -> Maker {
    Maker::new("", "")
}

/// The maker in the name of an output that is still being written.
fn maker_in(name: &str) -> Maker {
    name.split('.').nth(2).and_then(Maker::parse).unwrap_or_else(nobody)
}

fn is_ours(name: &str) -> bool {
    run_in(name).is_some()
}

/// The run in the name of an output.
fn run_in(name: &str) -> Option<RunId> {
    name.split_once('.').and_then(|(run, _)| run.parse().ok())
}

/// Removes the outputs in a directory of the runs that are chosen, but for those that are still being written.
pub(crate) fn remove_where(directory: &Path, is_chosen: &dyn Fn(RunId) -> bool) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((name, run)) = name.to_str().and_then(|name| Some((name, run_in(name)?))) else { continue };
        if !is_chosen(run) {
            continue;
        }
        if name.ends_with(UNFINISHED) {
            remove_abandoned(&entry.path());
        } else {
            remove(&entry.path());
        }
    }
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
    pub(crate) fn create(outputs: &Outputs, id: &OutputId, maker: &Maker) -> Result<Part, StoreError> {
        Part::named(outputs, id, &format!(".{maker}{UNFINISHED}"))
    }

    fn named(outputs: &Outputs, id: &OutputId, end: &str) -> Result<Part, StoreError> {
        let path = outputs.directory.join(id.file_name() + end);
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
                let file = Some(BufWriter::with_capacity(BLOCK, file));
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
    pub(crate) fn keep(
        mut self,
        id: &OutputId,
        maker: &Maker,
        totals: &Totals,
        index: &LineIndex,
    ) -> Result<File, StoreError> {
        self.write(&kept::trailer(maker, totals, index))?;
        let file = self.file.take().expect("only this function takes the file");
        let (file, buffered) = file.into_parts();
        let written = buffered.map_err(|_| ErrorKind::Other.into()).and_then(|rest| (&file).write_all(&rest));
        let path = self.outputs.path(id);
        let kept = written.and_then(|()| fs::rename(&self.path, &path));
        if kept.is_err() {
            remove(&self.path);
        }
        kept.and_then(|()| private::unlock(&file)).map_err(StoreError::io("keep", &path))?;
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

/// The last bytes that were written, as many as there is room for.
pub(crate) struct Ring {
    part: Part,
    room: u64,
    /// How many bytes were ever written.
    written: u64,
}

impl Ring {
    pub(crate) fn create(outputs: &Outputs, id: &OutputId, maker: &Maker, room: u64) -> Result<Ring, StoreError> {
        Ok(Ring { part: Part::named(outputs, id, &format!(".{maker}.end{UNFINISHED}"))?, room, written: 0 })
    }

    /// How many bytes were ever written.
    pub(crate) fn bytes(&self) -> u64 {
        self.written
    }

    /// How many of them are not there any more.
    pub(crate) fn dropped(&self) -> u64 {
        self.written.saturating_sub(self.room)
    }

    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        if self.room == 0 {
            self.written += bytes.len() as u64;
            return Ok(());
        }
        while !bytes.is_empty() {
            let at = self.written % self.room;
            if at == 0 && self.written > 0 {
                self.part.seek(0)?;
            }
            let fits = usize::try_from(self.room - at).unwrap_or(usize::MAX).min(bytes.len());
            let (piece, rest) = bytes.split_at(fits);
            self.part.write(piece)?;
            self.written += piece.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    /// Passes on what is left, from the oldest byte to the newest.
    pub(crate) fn read(mut self, take: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>) -> Result<(), StoreError> {
        if self.room == 0 {
            return take(&[]);
        }
        let begin = if self.written > self.room { self.written % self.room } else { 0 };
        let length = self.written.min(self.room);
        self.part.pass(begin, length - begin, take)?;
        self.part.pass(0, begin, take)
    }
}

impl Part {
    fn seek(&mut self, to: u64) -> Result<(), StoreError> {
        let file = self.file.as_mut().expect("only `keep` takes the file, and it takes `self` too");
        file.seek(SeekFrom::Start(to)).map(drop).map_err(StoreError::io("write", &self.path))
    }

    /// Passes so many bytes on from a place.
    fn pass(
        &mut self,
        from: u64,
        length: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.seek(from)?;
        let file = self.file.as_ref().expect("only `keep` takes the file, and it takes `self` too");
        let (mut from, mut block) = (file.get_ref().take(length), vec![0; BLOCK]);
        loop {
            match from.read(&mut block).map_err(StoreError::io("read", &self.path))? {
                0 => return Ok(()),
                count => take(&block[..count])?,
            }
        }
    }
}
