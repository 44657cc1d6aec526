//! One directory of tools, as it is now.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use cycod_definition::Beside;
use cycod_file::SETTLING;

use crate::{
    ToolDirectory,
    read::{self, Reading, Seen},
};

/// Where indexes are kept, and how they are trusted.
#[derive(Clone, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "there is no index to keep"))]
pub(crate) struct Cache {
    pub(crate) directory: PathBuf,
    /// How long a file must have been left alone; tests shorten it to the tick of the machine they run on.
    pub(crate) settling: Duration,
}

impl Cache {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, settling: SETTLING }
    }
}

/// The tool files of one directory with what they say.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) directory: ToolDirectory,
    /// Files that had to be read.
    fresh: Vec<Item>,
    /// Files of which the index knows what they say.
    #[cfg(unix)]
    known: Option<Known>,
    /// Why the directory could not be listed; one that does not exist is merely empty.
    pub(crate) problem: Option<io::Error>,
    /// What lies beside its tools.
    #[cfg(unix)]
    beside: Beside,
}

/// A file with the name of a tool file.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) file_name: OsString,
    pub(crate) reading: Reading,
}

/// An index with the numbers of its records that hold.
#[cfg(unix)]
#[derive(Debug)]
struct Known {
    index: crate::index::Index,
    records: Vec<u32>,
    cache: PathBuf,
}

impl Shelf {
    /// Looks into the directory, with the help of the index in `cache` if there is one.
    ///
    /// `beside` reads what lies beside its tools, and is called only where the directory is there.
    pub(crate) fn open(directory: ToolDirectory, beside: impl FnOnce() -> Beside, cache: Option<&Cache>) -> Self {
        // While others can change the directory of the machine, nothing that was read of it before counts.
        let cache = cache.filter(|_| read::loose(&directory.path).is_none());
        #[cfg(unix)]
        let shelf = indexed::open(directory, beside, cache);
        #[cfg(not(unix))]
        let shelf = {
            let _ = cache;
            Self::open_plainly(directory, &beside())
        };
        shelf
    }

    /// A directory that is not there.
    pub(crate) fn empty(directory: ToolDirectory) -> Self {
        Self {
            directory,
            fresh: Vec::new(),
            #[cfg(unix)]
            known: None,
            problem: None,
            #[cfg(unix)]
            beside: Beside::default(),
        }
    }

    /// Lists the directory and reads every file.
    #[cfg(not(unix))]
    fn open_plainly(directory: ToolDirectory, beside: &Beside) -> Self {
        let (names, problem) = match list(&directory) {
            Ok(names) => (names, None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let readings = read_all(&directory.path, &names, beside);
        let fresh = names.into_iter().zip(readings).filter_map(|(file_name, read)| {
            let (reading, _) = read?;
            Some(Item { file_name, reading })
        });
        Self { fresh: fresh.collect(), directory, problem }
    }

    /// Every file.
    pub(crate) fn items(&self) -> Vec<Item> {
        self.items_named(&|_| true)
    }

    /// The files whose effective names are wanted. Of the others in the index nothing but the name is read.
    pub(crate) fn items_named(&self, is_wanted: &dyn Fn(&str) -> bool) -> Vec<Item> {
        let fresh = self.fresh.iter().filter(|item| is_wanted(&item.reading.name)).cloned();
        #[cfg(unix)]
        if let Some(known) = &self.known {
            let all = known.index.all_readings();
            let kept = known.records.iter().filter_map(|&record| {
                let record = record as usize;
                if known.index.tool_name_in(&all, record).is_some_and(|name| !is_wanted(&name)) {
                    return None;
                }
                self.item(known, record, known.index.reading_in(&all, record))
            });
            return kept.chain(fresh).collect();
        }
        fresh.collect()
    }

    /// Gives the effective name of every file to `each`.
    pub(crate) fn names(&self, each: &mut dyn FnMut(&str)) {
        self.fresh.iter().for_each(|item| each(&item.reading.name));
        #[cfg(unix)]
        if let Some(known) = &self.known {
            let all = known.index.all_readings();
            let names = known.records.iter().filter_map(|&record| known.index.tool_name_in(&all, record as usize));
            names.for_each(|name| each(&name));
        }
    }

    /// The files whose effective name is `key`, given in lower case.
    pub(crate) fn with_key(&self, key: &str) -> Vec<Item> {
        let is_meant = |item: &&Item| item.reading.name.eq_ignore_ascii_case(key);
        let fresh = self.fresh.iter().filter(is_meant).cloned();
        #[cfg(unix)]
        if let Some(known) = &self.known {
            let hash = crate::index::key_hash(key);
            let records = known.records.iter().map(|&record| record as usize);
            let kept = records
                .filter(|&record| known.index.may_be(record, hash))
                .filter_map(|record| self.item(known, record, known.index.reading(record)));
            return kept.filter(|item| is_meant(&item)).chain(fresh).collect();
        }
        fresh.collect()
    }

    #[cfg(unix)]
    fn item(&self, known: &Known, record: usize, reading: Option<Reading>) -> Option<Item> {
        let file_name = known.index.name(record).to_owned();
        let reading = match reading {
            Some(reading) => reading,
            None => {
                // The index is damaged. The file itself is not, and the next run makes a new index.
                _ = fs::remove_file(crate::index::Index::path(&known.cache, &self.directory.path));
                read::read(&self.directory.path.join(&file_name), &self.beside)?.0
            }
        };
        Some(Item { file_name, reading })
    }

    /// The path of one of its files.
    pub(crate) fn path(&self, item: &Item) -> PathBuf {
        self.directory.path.join(&item.file_name)
    }
}

/// The names of the files that may be tools.
#[cfg(not(unix))]
fn list(directory: &ToolDirectory) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory.path)? {
        let name = entry?.file_name();
        if directory.style.admits(name.as_encoded_bytes()) {
            names.push(name);
        }
    }
    Ok(names)
}

type Read = Option<(Reading, Option<Seen>)>;

/// Reads the files, on several threads when there are many; the answers are in the order of the names.
fn read_all(directory: &Path, names: &[OsString], beside: &Beside) -> Vec<Read> {
    const CHUNK: usize = 16;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            let Some(chunk) = names.get(start..(start + CHUNK).min(names.len())).filter(|chunk| !chunk.is_empty())
            else {
                return done;
            };
            done.push((
                start,
                chunk.iter().map(|name| read::read(&directory.join(name), beside)).collect::<Vec<Read>>(),
            ));
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads(names.len() / CHUNK)).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for helper in helpers {
            match helper.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done.sort_unstable_by_key(|(start, _)| *start);
        done.into_iter().flat_map(|(_, chunk)| chunk).collect()
    })
}

/// How many threads to use for so many pieces of work.
pub(crate) fn threads(pieces: usize) -> usize {
    const MOST: usize = 8;
    if pieces < 2 {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, usize::from).min(pieces).min(MOST)
}

#[cfg(unix)]
mod indexed {
    use std::{
        collections::HashMap,
        ffi::{OsStr, OsString},
        io,
        os::{
            fd::{AsFd as _, OwnedFd},
            unix::ffi::OsStrExt as _,
        },
    };

    use cycod_definition::Beside;
    use cycod_file::{Stamp, keeps_change_times, now};
    #[cfg(not(target_os = "linux"))]
    use rustix::fs::Dir;
    use rustix::fs::{Mode, OFlags};

    use super::{Cache, Item, Known, Shelf, read_all};
    use crate::{
        DirectoryStyle, ToolDirectory,
        index::{Draft, Index},
    };

    enum Slot {
        Known(u32),
        Fresh(OsString),
    }

    pub(super) fn open(directory: ToolDirectory, beside: impl FnOnce() -> Beside, cache: Option<&Cache>) -> Shelf {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let (opened, beside) = match rustix::fs::open(&directory.path, flags, Mode::empty()) {
            Ok(handle) => {
                let beside = beside();
                (try_open(&handle, &directory, &beside, cache), beside)
            }
            Err(error) => (Err(error.into()), Beside::default()),
        };
        match opened {
            Ok((fresh, known)) => Shelf { directory, fresh, known, problem: None, beside },
            Err(error) => {
                let problem = Some(error).filter(|error| error.kind() != io::ErrorKind::NotFound);
                Shelf { directory, fresh: Vec::new(), known: None, problem, beside }
            }
        }
    }

    fn try_open(
        handle: &OwnedFd,
        directory: &ToolDirectory,
        beside: &Beside,
        cache: Option<&Cache>,
    ) -> io::Result<(Vec<Item>, Option<Known>)> {
        let began = now();
        let key = crate::beside::key(beside);
        let cache = cache.filter(|_| keeps_change_times(handle.as_fd()));
        let stamp = Stamp::of(handle);
        let index = cache.and_then(|cache| Index::open(&cache.directory, &directory.path, key));

        let is_same_directory =
            index.as_ref().zip(stamp).is_some_and(|(index, stamp)| index.names_are_those_of(&stamp));
        let known = |index: Option<Index>, records| {
            index.zip(cache).map(|(index, cache)| Known { index, records, cache: cache.directory.clone() })
        };
        let slots = match &index {
            Some(before) => {
                let (current, names) = before.current(handle.as_fd(), || {
                    if is_same_directory { Ok(None) } else { list(handle, directory.style).map(Some) }
                });
                match names? {
                    None if current.iter().all(|&is_current| is_current) => {
                        let records = (0..before.len() as u32).collect();
                        return Ok((Vec::new(), known(index, records)));
                    }
                    None => (0..before.len()).map(|record| slot(before, record, &current)).collect(),
                    Some(names) => match_up(before, names, &current),
                }
            }
            None => list(handle, directory.style)?.into_iter().map(Slot::Fresh).collect::<Vec<_>>(),
        };

        let names: Vec<OsString> = slots
            .iter()
            .filter_map(|slot| if let Slot::Fresh(name) = slot { Some(name.clone()) } else { None })
            .collect();
        let mut read = read_all(&directory.path, &names, beside);
        for (_, file) in read.iter_mut().flatten() {
            *file = file.filter(|seen| {
                let is_here = stamp.is_some_and(|directory| directory.device == seen.stamp.device);
                is_here && cache.is_some_and(|cache| seen.stamp.is_settled(seen.began, cache.settling))
            });
        }

        if let (Some(cache), Some(stamp)) = (cache, stamp) {
            let is_worth_it = index.is_some() || !slots.is_empty();
            let settled = is_worth_it && stamp.is_settled(began, cache.settling) && Stamp::of(handle) == Some(stamp);
            let has_news = read.iter().flatten().any(|(_, file)| file.is_some());
            if is_worth_it && (has_news || (settled && !is_same_directory)) {
                let mut draft = Draft::new(stamp, settled);
                let all = index.as_ref().map(Index::all_readings).unwrap_or_default();
                let mut fresh = read.iter();
                for slot in &slots {
                    match (slot, &index) {
                        (Slot::Known(record), Some(index)) => {
                            draft.keep(index, &all, *record as usize);
                        }
                        (Slot::Fresh(name), _) => {
                            if let Some(Some((reading, file))) = fresh.next() {
                                draft.add(name, reading, file.map(|seen| seen.stamp));
                            }
                        }
                        (Slot::Known(_), None) => {}
                    }
                }
                // Only time is lost when it cannot be written.
                _ = draft.save(&cache.directory, &directory.path, key);
            }
        }

        let records = slots.iter().filter_map(|slot| if let Slot::Known(record) = slot { Some(*record) } else { None });
        let records = records.collect();
        let fresh = names.into_iter().zip(read).filter_map(|(file_name, read)| {
            let (reading, _) = read?;
            Some(Item { file_name, reading })
        });
        let fresh = fresh.collect();
        Ok((fresh, known(index, records)))
    }

    /// The names of the files that may be tools, in the very directory of which the stamp was taken. It is listed once.
    #[cfg(target_os = "linux")]
    fn list(handle: &OwnedFd, style: DirectoryStyle) -> io::Result<Vec<OsString>> {
        let mut room = Vec::with_capacity(32 << 10);
        let mut entries = rustix::fs::RawDir::new(handle, room.spare_capacity_mut());
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if style.admits(name) {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }

    /// The names of the files that may be tools, in the very directory of which the stamp was taken.
    #[cfg(not(target_os = "linux"))]
    fn list(handle: &OwnedFd, style: DirectoryStyle) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(handle)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if style.admits(name) {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }

    fn slot(index: &Index, record: usize, current: &[bool]) -> Slot {
        if current[record] {
            // An index holds fewer than 4 G records: its head would be refused long before.
            Slot::Known(record as u32)
        } else {
            Slot::Fresh(index.name(record).to_owned())
        }
    }

    /// Finds the record of each name. Names mostly come in the order of the last time.
    fn match_up(index: &Index, names: Vec<OsString>, current: &[bool]) -> Vec<Slot> {
        let mut by_name: Option<HashMap<&OsStr, usize>> = None;
        let mut expected = 0;
        let mut slots = Vec::with_capacity(names.len());
        for name in names {
            let record = if expected < index.len() && index.name(expected) == name {
                Some(expected)
            } else {
                let by_name = by_name
                    .get_or_insert_with(|| (0..index.len()).map(|record| (index.name(record), record)).collect());
                by_name.get(name.as_os_str()).copied()
            };
            match record {
                Some(record) => {
                    expected = record + 1;
                    slots.push(slot(index, record, current));
                }
                None => slots.push(Slot::Fresh(name)),
            }
        }
        slots
    }
}

#[cfg(all(test, unix))]
mod tests;
