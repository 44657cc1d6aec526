//! What was read of a directory the last time, so that a skill is read once and not at every search.
//!
//! It is never stale, for the reasons that the index of tools gives: a file or directory counts as unchanged only when its device,
//! inode, size and both times are what they were, it had been left alone for a while when it was read, and its file system
//! keeps change times that no program can set. Each directory that was listed and each file that was read is asked; what has
//! changed is read anew, and the rest is taken over. A file that is no whole image of this program counts as none, and failing
//! to write one costs time only.

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, File},
    os::{
        fd::AsFd,
        unix::{ffi::OsStrExt as _, fs::DirBuilderExt as _},
    },
    path::{Path, PathBuf},
};

use cycod_engine::catalog::hash;
use cycod_file::{Durability, FileAccess, SETTLING, Stamp, keeps_change_times, now};
use rustix::fs::{AtFlags, statat};

use super::{
    image::{Image, Mark, Record},
    places::Place,
    reading::{read_all, walk},
};

/// A file that is larger is not ours.
const LARGEST: u64 = 1 << 30;

impl From<Stamp> for Mark {
    fn from(stamp: Stamp) -> Self {
        let Stamp { device, inode, size, modified, changed } = stamp;
        Self { device, inode, size, modified, changed }
    }
}

impl Mark {
    /// Whether every change after `reading_began` must show.
    fn is_settled(&self, reading_began: i64) -> bool {
        let settling = i64::try_from(SETTLING.as_nanos()).unwrap_or(i64::MAX);
        self.changed <= reading_began.saturating_sub(settling)
    }
}

/// The skills of a directory as they are now.
pub(crate) fn open(place: &Place, cache: &Path) -> Image {
    let Ok(root) = File::open(&place.root) else { return Image::new(&place.root, &[], &[], 0) };
    let is_honest = keeps_change_times(root.as_fd());
    let path = path_of(place, cache);
    let kept = if is_honest { load(&path, place) } else { None };
    let kept = match kept {
        Some(kept) if is_current(&kept, &root) => return kept,
        kept => kept,
    };
    let began = now();
    let device = Mark::of(&root).map(|mark| mark.device);
    let below = walk(place, &|directory| File::open(directory).ok().as_ref().and_then(Mark::of));
    let known = kept.as_ref().map(|kept| Known::new(kept, &root));
    let mut records = read_all(&place.root, &below.skills, &|skill| known.as_ref()?.record(skill));
    // On another device change times may not be honest.
    let is_settled = |mark: &Option<Mark>| {
        mark.is_some_and(|mark| is_honest && Some(mark.device) == device && mark.is_settled(began))
    };
    records.iter_mut().for_each(|record| record.is_settled = is_settled(&record.mark));
    let directories: Vec<_> = below
        .directories
        .into_iter()
        .map(|(path, mark)| {
            let settled = is_settled(&mark);
            (path, mark, settled)
        })
        .collect();
    let mut image = Image::new(&place.root, &records, &directories, began);
    if is_honest {
        image.seal();
        store(&path, &image.bytes);
    }
    image
}

fn path_of(place: &Place, cache: &Path) -> PathBuf {
    cache.join(format!("{:016x}.index", hash(place.root.as_os_str().as_bytes())))
}

fn load(path: &Path, place: &Place) -> Option<Image> {
    if fs::metadata(path).ok()?.len() > LARGEST {
        return None;
    }
    let image = Image::from_bytes(fs::read(path).ok()?)?;
    // A clock that went back says nothing about what changed since.
    (image.root() == place.root.to_string_lossy() && image.written() <= now()).then_some(image)
}

/// Whether nothing has changed since an image was made.
fn is_current(image: &Image, root: &File) -> bool {
    let holds = |path: &str, (mark, is_settled): (Mark, bool)| is_settled && now_at(root, path) == Some(mark);
    image
        .directories()
        .all(|(path, mark, is_settled)| holds(if path.is_empty() { "." } else { path }, (mark, is_settled)))
        && (0..image.len()).all(|skill| holds(image.skill(skill).path, image.skill_mark(skill)))
}

fn now_at(root: &File, path: &str) -> Option<Mark> {
    statat(root, path, AtFlags::empty()).ok().map(|stat| Mark::from(Stamp::from(&stat)))
}

/// Skills that need not be read again.
struct Known<'a> {
    image: &'a Image,
    numbers: HashMap<&'a str, u32>,
    root: &'a File,
}

impl<'a> Known<'a> {
    fn new(image: &'a Image, root: &'a File) -> Self {
        let numbers = (0..image.len()).map(|skill| (image.skill(skill).path, skill)).collect();
        Self { image, numbers, root }
    }

    fn record(&self, skill: &str) -> Option<Record> {
        let number = *self.numbers.get(&*format!("{skill}/SKILL.md"))?;
        let (mark, is_settled) = self.image.skill_mark(number);
        (is_settled && now_at(self.root, self.image.skill(number).path) == Some(mark))
            .then(|| self.image.record(number))
    }
}

/// Writes the file; without it, the next search takes longer.
fn store(path: &Path, bytes: &[u8]) {
    let Some(above) = path.parent() else { return };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(above);
    drop(made.and_then(|()| cycod_file::replace(path, bytes, FileAccess::Usual, Durability::Process)));
}
