//! What was read from a directory the last time, so that a file is parsed once and not once per run.
//!
//! # Never stale
//!
//! A record is used only when the file's device, inode, size, modification time and *change time* are what
//! they were when the file was read. The first four can be forged or can coincide (an editor that keeps the size, a
//! `touch -r`, a rename over the file); the change time cannot be set by a program, and every write, rename, link
//! and change of mode sets it to the file system's clock. What is left is how coarse that clock is: two
//! changes within one tick carry one time. So a file is recorded as *settled* only when its change time was at
//! least [`SETTLING`](cycod_file::SETTLING) before the moment at which we began to read it. Then every later change must carry a later
//! time. Files that are not settled are named in the index and read again on every use until they are.
//!
//! The directory is treated like its files: a settled directory whose own change time has not moved has the
//! same names in it, so listing it can be left out; of its files each is asked for its times nevertheless.
//!
//! What a file of the place says about programs decides what its tools are, too, and so does what the project builds. Both are read
//! each time, and an index that was made under other words is void. A tool that depends on scripts of the project is not kept.
//!
//! The argument needs honest change times, so it is made only for file systems that keep them (a list, below) and
//! for files on the same device as their directory; a clock that has gone back behind the moment at which the
//! index was written makes the index void. One hole remains that no program outside of the kernel can see: a
//! process that writes through a shared memory mapping, more than once, long after its first write to a page.
//!
//! # Layout
//!
//! ```text
//! header │ directory's path │ records, 64 bytes each │ file names, each with its NUL ║ readings
//! ◄──────────────────────── head, one checksum ────────────────────────────────────► each with its own
//! ```
//!
//! Looking up one tool reads the head and the readings with the right name hash. The file is replaced by a
//! rename, never changed, so a reader keeps what it opened; writers need no lock, the last one wins and each is
//! right. Whatever is wrong with the file (truncated, foreign, flipped bits, another version) means that
//! there is no index. Failure to write one is silent, because nothing is lost but time.

use std::{
    ffi::{CStr, OsStr},
    fs::{DirBuilder, File},
    os::{
        fd::BorrowedFd,
        unix::{
            ffi::OsStrExt as _,
            fs::{DirBuilderExt as _, FileExt as _},
        },
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use cycod_file::{Durability, FileAccess, Stamp, now};
use rustix::fs::{AtFlags, statat};

use crate::{
    codec,
    hash::hash,
    read::{Outcome, Reading},
};

const MAGIC: &[u8; 16] = b"cycod-catalog-05";
const HEADER: usize = 104;
const RECORD: usize = 64;
/// A file that says it is larger is not ours.
const LARGEST_HEAD: u64 = 256 << 20;

/// What is known of one file.
#[derive(Clone, Copy, Debug)]
struct Record {
    stamp: Stamp,
    is_settled: bool,
    key: u64,
    name: (u32, u16),
    reading: (u32, u32),
    reading_sum: u64,
}

/// An index, opened.
#[derive(Debug)]
pub(crate) struct Index {
    file: File,
    head: Vec<u8>,
    /// Where the records are in the head. Each is read when it is asked for.
    records_at: usize,
    names_at: usize,
    directory: Stamp,
    directory_is_settled: bool,
}

impl Index {
    /// The file that keeps the index of `directory`.
    pub(crate) fn path(cache: &Path, directory: &Path) -> PathBuf {
        cache.join(format!("{:016x}.index", hash(directory.as_os_str().as_bytes())))
    }

    /// Opens the index of `directory`, when there is one that can be trusted at all.
    ///
    /// `programs` stands for what is said about programs for its tools: what was read under other words is void.
    pub(crate) fn open(cache: &Path, directory: &Path, programs: u64) -> Option<Self> {
        let file = File::open(Self::path(cache, directory)).ok()?;
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0).ok()?;
        let u64_at = |bytes: &[u8], at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        if header[..16] != *MAGIC || u64_at(&header, 16)? != fingerprint() {
            return None;
        }
        let head_length = u64_at(&header, 32).filter(|&length| length <= LARGEST_HEAD && length >= HEADER as u64)?;
        if file.metadata().ok()?.len() < head_length {
            return None;
        }
        let mut head = vec![0; usize::try_from(head_length).ok()?];
        file.read_exact_at(&mut head, 0).ok()?;
        if u64_at(&head, 24)? != hash(&head[32..]) || u64_at(&head, 40)? as i64 > now() {
            return None;
        }
        let mut fields = Fields(&head[48..HEADER]);
        let (device, inode) = (fields.u64()?, fields.u64()?);
        let (modified, changed, flags) = (fields.u64()? as i64, fields.u64()? as i64, fields.u64()?);
        if fields.u64()? != programs {
            return None;
        }
        let (path_length, count) = (fields.u32()? as usize, fields.u32()? as usize);
        let records_at = HEADER.checked_add(path_length)?;
        if head.get(HEADER..records_at)? != directory.as_os_str().as_bytes() {
            return None;
        }
        let names_at = records_at.checked_add(count.checked_mul(RECORD)?)?;
        head.get(records_at..names_at)?;
        let directory = Stamp { device, inode, size: 0, modified, changed };
        Some(Self { file, records_at, names_at, directory, directory_is_settled: flags & 1 != 0, head })
    }

    pub(crate) fn len(&self) -> usize {
        (self.names_at - self.records_at) / RECORD
    }

    fn record(&self, record: usize) -> Record {
        let (records, _) = self.head[self.records_at..self.names_at].as_chunks();
        Record::parse(&records[record], self.directory.device).expect("a record has room for its fields")
    }

    /// Whether the directory still has the names it had.
    pub(crate) fn names_are_those_of(&self, directory: &Stamp) -> bool {
        self.directory_is_settled && self.directory == Stamp { size: 0, ..*directory }
    }

    /// The name of a file, without its path.
    pub(crate) fn name(&self, record: usize) -> &OsStr {
        OsStr::from_bytes(self.name_bytes(record).split_last().map_or(&[], |(_, name)| name))
    }

    fn name_bytes(&self, record: usize) -> &[u8] {
        self.name_at(self.record(record).name)
    }

    fn name_at(&self, (offset, length): (u32, u16)) -> &[u8] {
        let start = self.names_at.saturating_add(offset as usize);
        self.head.get(start..start.saturating_add(length.into())).unwrap_or_default()
    }

    /// Whether the file is what it was when it was read.
    fn is_current(&self, record: usize, directory: BorrowedFd<'_>) -> bool {
        let known = self.record(record);
        known.is_settled
            && CStr::from_bytes_with_nul(self.name_at(known.name)).is_ok_and(|name| {
                statat(directory, name, AtFlags::empty()).is_ok_and(|stat| Stamp::from(&stat) == known.stamp)
            })
    }

    /// Returns for each record whether its file is what it was, asking on as many threads as pay.
    ///
    /// `meanwhile` runs on the calling thread before it helps.
    pub(crate) fn current<T>(&self, directory: BorrowedFd<'_>, meanwhile: impl FnOnce() -> T) -> (Vec<bool>, T) {
        const CHUNK: usize = 128;
        let next = AtomicUsize::new(0);
        let ask = || {
            let mut stale = Vec::new();
            loop {
                let start = next.fetch_add(CHUNK, Ordering::Relaxed);
                if start >= self.len() {
                    return stale;
                }
                let chunk = start..(start + CHUNK).min(self.len());
                stale.extend(chunk.filter(|&record| !self.is_current(record, directory)));
            }
        };
        std::thread::scope(|scope| {
            let helpers: Vec<_> = (1..crate::shelf::threads(self.len() / 512)).map(|_| scope.spawn(ask)).collect();
            let result = meanwhile();
            let mut current = vec![true; self.len()];
            let mut mark = |stale: Vec<usize>| stale.into_iter().for_each(|record| current[record] = false);
            mark(ask());
            for helper in helpers {
                match helper.join() {
                    Ok(stale) => mark(stale),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            (current, result)
        })
    }

    /// Whether the tool of this record may have the name.
    pub(crate) fn may_be(&self, record: usize, key: u64) -> bool {
        self.record(record).key == key
    }

    /// What the file of one record says; nothing when the index is damaged there.
    pub(crate) fn reading(&self, record: usize) -> Option<Reading> {
        let Record { reading: (offset, length), reading_sum, .. } = self.record(record);
        let end = self.file.metadata().ok()?.len();
        let start = (self.head.len() as u64).checked_add(offset.into())?;
        if start.checked_add(length.into())? > end {
            return None;
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, start).ok()?;
        if hash(&bytes) == reading_sum { codec::decode(&bytes) } else { None }
    }

    /// The readings of all records in one piece, for [`reading_in`](Self::reading_in).
    pub(crate) fn all_readings(&self) -> Vec<u8> {
        let head = self.head.len() as u64;
        let length = self.file.metadata().map_or(0, |metadata| metadata.len().saturating_sub(head));
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        if self.file.read_exact_at(&mut bytes, head).is_err() {
            bytes.clear();
        }
        bytes
    }

    /// What the file of one record says, given all readings.
    pub(crate) fn reading_in(&self, all: &[u8], record: usize) -> Option<Reading> {
        codec::decode(self.bytes_in(all, record)?)
    }

    /// What the file of one record calls its tool, given all readings. Whether the index is damaged there is not looked at.
    pub(crate) fn tool_name_in(&self, all: &[u8], record: usize) -> Option<String> {
        let (offset, length) = self.record(record).reading;
        codec::name(all.get(offset as usize..)?.get(..length as usize)?)
    }

    fn bytes_in<'a>(&self, all: &'a [u8], record: usize) -> Option<&'a [u8]> {
        let Record { reading: (offset, length), reading_sum, .. } = self.record(record);
        let bytes = all.get(offset as usize..)?.get(..length as usize)?;
        (hash(bytes) == reading_sum).then_some(bytes)
    }
}

impl Record {
    fn parse(bytes: &[u8; RECORD], device: u64) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (inode, size) = (fields.u64()?, fields.u64()?);
        let (modified, changed) = (fields.u64()? as i64, fields.u64()? as i64);
        let (key, reading_sum) = (fields.u64()?, fields.u64()?);
        let reading = (fields.u32()?, fields.u32()?);
        let name = (fields.u32()?, fields.u16()?);
        let is_settled = fields.u16()? == 1;
        let stamp = Stamp { device, inode, size, modified, changed };
        Some(Self { stamp, is_settled, key, name, reading, reading_sum })
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }
}

/// The next index of a directory, being put together.
#[derive(Debug)]
pub(crate) struct Draft {
    directory: Stamp,
    directory_is_settled: bool,
    records: Vec<u8>,
    count: u32,
    names: Vec<u8>,
    readings: Vec<u8>,
}

impl Draft {
    pub(crate) fn new(directory: Stamp, directory_is_settled: bool) -> Self {
        let (records, names, readings) = (Vec::new(), Vec::new(), Vec::new());
        Self { directory, directory_is_settled, records, count: 0, names, readings }
    }

    /// Adds a file that was read just now; `stamp` is there when it is settled.
    pub(crate) fn add(&mut self, name: &OsStr, reading: &Reading, stamp: Option<Stamp>) {
        let stamp = stamp.filter(|stamp| stamp.device == self.directory.device);
        let bytes = stamp.and_then(|_| codec::encode(reading));
        let key = match reading.outcome {
            Outcome::Prose => 0,
            _ => key_hash(&reading.name),
        };
        self.push(name, stamp.filter(|_| bytes.is_some()), key, &bytes.unwrap_or_default());
    }

    /// Adds a file of which `index` knows what it says.
    pub(crate) fn keep(&mut self, index: &Index, all: &[u8], record: usize) {
        let known = index.record(record);
        let bytes = index.bytes_in(all, record);
        let stamp = Some(known.stamp).filter(|_| known.is_settled && bytes.is_some());
        self.push(index.name(record), stamp, known.key, bytes.unwrap_or_default());
    }

    fn push(&mut self, name: &OsStr, stamp: Option<Stamp>, key: u64, reading: &[u8]) {
        let (Ok(name_length), Ok(name_at), Ok(reading_at), Ok(reading_length)) = (
            u16::try_from(name.len() + 1),
            u32::try_from(self.names.len()),
            u32::try_from(self.readings.len()),
            u32::try_from(reading.len()),
        ) else {
            // Over 4 GB of readings; such a file is simply read each time. Its name is missing, so the
            // directory must be listed, too.
            self.directory_is_settled = false;
            return;
        };
        let is_settled = u16::from(stamp.is_some());
        let empty = Stamp { device: 0, inode: 0, size: 0, modified: 0, changed: 0 };
        let Stamp { inode, size, modified, changed, .. } = stamp.unwrap_or(empty);
        let words = [inode, size, modified as u64, changed as u64, key, hash(reading)];
        words.iter().for_each(|word| self.records.extend(word.to_le_bytes()));
        [reading_at, reading_length, name_at].iter().for_each(|word| self.records.extend(word.to_le_bytes()));
        [name_length, is_settled].iter().for_each(|word| self.records.extend(word.to_le_bytes()));
        self.names.extend(name.as_bytes());
        self.names.push(0);
        self.readings.extend(reading);
        self.count += 1;
    }

    /// Puts the index in the place of the one of `directory`; `None` when that cannot be done.
    pub(crate) fn save(self, cache: &Path, directory: &Path, programs: u64) -> Option<()> {
        let path = directory.as_os_str().as_bytes();
        let mut body = Vec::with_capacity(HEADER + path.len() + self.records.len() + self.names.len());
        let head_length = HEADER + path.len() + self.records.len() + self.names.len();
        let Stamp { device, inode, modified, changed, .. } = self.directory;
        let flags = u64::from(self.directory_is_settled);
        let words = [head_length as u64, now() as u64, device, inode, modified as u64, changed as u64, flags, programs];
        words.iter().for_each(|word| body.extend(word.to_le_bytes()));
        body.extend(u32::try_from(path.len()).ok()?.to_le_bytes());
        body.extend(self.count.to_le_bytes());
        body.extend(path);
        body.extend(self.records);
        body.extend(self.names);
        let mut bytes = Vec::with_capacity(32 + body.len() + self.readings.len());
        bytes.extend(MAGIC);
        bytes.extend(fingerprint().to_le_bytes());
        bytes.extend(hash(&body).to_le_bytes());
        bytes.extend(body);
        bytes.extend(self.readings);

        DirBuilder::new().recursive(true).mode(0o700).create(cache).ok()?;
        // What cannot be written costs time at the next reading, no more.
        cycod_file::replace(&Index::path(cache, directory), &bytes, FileAccess::Usual, Durability::Process).ok()
    }
}

/// The hash under which a name is looked up.
pub(crate) fn key_hash(name: &str) -> u64 {
    hash(name.to_ascii_lowercase().as_bytes())
}

/// Names the program that wrote an index: another one may read files differently.
pub(crate) fn fingerprint() -> u64 {
    static FINGERPRINT: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *FINGERPRINT.get_or_init(|| {
        let mut identity = env!("CARGO_PKG_VERSION").as_bytes().to_vec();
        // Between two builds of one version only a developer's changes.
        if cfg!(debug_assertions)
            && let Some(stamp) = std::env::current_exe().and_then(File::open).ok().and_then(Stamp::of)
        {
            identity.extend(format!("{stamp:?}").bytes());
        }
        hash(&identity)
    })
}
