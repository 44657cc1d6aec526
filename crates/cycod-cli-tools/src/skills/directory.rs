//! One directory of skills, as it is now.

use std::path::{Path, PathBuf};

#[cfg(not(unix))]
use super::reading::{read_all, walk};
use super::{
    image::{Image, Word},
    places::Place,
};

/// How much a longer word with the same beginning counts, and one that is a slip away.
const BEGINNING: f64 = 0.7;
const SLIP: f64 = 0.5;

/// The shortest word whose continuations are looked for, and how many are.
const SHORTEST_BEGINNING: usize = 3;
const MOST_CONTINUATIONS: usize = 200;

/// The skills of one directory.
#[derive(Debug)]
pub(crate) struct SkillDirectory {
    pub(crate) root: PathBuf,
    pub(crate) image: Image,
}

impl SkillDirectory {
    /// Looks what is in a directory: what was read before and has not changed since is not read again.
    pub(crate) fn open(place: Place, cache: &Path) -> Self {
        #[cfg(unix)]
        let image = super::kept::open(&place, cache);
        #[cfg(not(unix))]
        let image = {
            let _ = cache;
            let below = walk(&place, &|_| None);
            let records = read_all(&place.root, &below.skills, &|_| None);
            Image::new(&place.root, &records, &[], 0)
        };
        Self { root: place.root, image }
    }

    /// How many skills there are.
    pub(crate) fn count(&self) -> usize {
        (0..self.image.len()).filter(|skill| !self.image.is_broken(*skill)).count()
    }

    /// The files that are no skills, each with the reason.
    pub(crate) fn broken(&self) -> impl Iterator<Item = (&str, &str)> {
        let broken = (0..self.image.len()).filter(|skill| self.image.is_broken(*skill));
        broken.map(|skill| self.image.skill(skill)).map(|skill| (skill.path, skill.description))
    }

    /// The category of each skill.
    pub(crate) fn categories(&self) -> impl Iterator<Item = &str> {
        let whole = (0..self.image.len()).filter(|skill| !self.image.is_broken(*skill));
        whole.map(|skill| self.image.skill(skill).category)
    }

    /// What tells a file from every other, where that can be told.
    pub(crate) fn identity(&self, skill: u32) -> Option<(u64, u64)> {
        let (mark, _) = self.image.skill_mark(skill);
        (mark.inode != 0).then_some((mark.device, mark.inode))
    }

    /// The word itself, and longer ones that begin with it, each with how much it counts.
    pub(crate) fn beginning(&self, word: &str) -> Vec<(Word, f64)> {
        let weighed =
            self.image.beginning_with(word).map(|(found, text)| (found, if text == word { 1.0 } else { BEGINNING }));
        let may_be_longer = word.chars().count() >= SHORTEST_BEGINNING;
        weighed.take(MOST_CONTINUATIONS).filter(|(_, weight)| may_be_longer || *weight == 1.0).collect()
    }

    /// The words that a slip or two make of a word, the first character being right.
    pub(crate) fn slips(&self, word: &str) -> Vec<(Word, f64)> {
        let length = word.chars().count();
        let most = match length {
            ..4 => return Vec::new(),
            4..8 => 1,
            _ => 2,
        };
        let first = word.chars().next().map(String::from).unwrap_or_default();
        let near = self.image.beginning_with(&first).filter(|(_, text)| {
            text.chars().count().abs_diff(length) <= most && strsim::osa_distance(word, text) <= most
        });
        near.map(|(found, _)| (found, SLIP)).collect()
    }
}
