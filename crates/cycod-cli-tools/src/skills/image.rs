//! Skills and the index of their words as one piece of bytes, which is built once, kept in a file, and asked as it is.
//!
//! ```text
//! head │ skills │ directories │ words, sorted │ where each word stands │ texts
//! ```
//!
//! Numbers are little-endian. What does not lie in the bytes reads as nothing, so that no file, whatever it holds, does more than
//! find nothing.

use std::{collections::HashMap, fs::File, path::Path};

use super::words::each_word;

const MAGIC: &[u8; 16] = b"cycod-skills-01\n";
const HEAD: usize = 96;
const SKILL: usize = 88;
const DIRECTORY: usize = 56;
const WORD: usize = 16;
const POSTING: usize = 8;

const IS_SETTLED: u32 = 1;
const IS_BROKEN: u32 = 2;

/// How much a word counts by where it stands: in the name, the category, the description, the tags and headings.
const NAME: u32 = 6;
const CATEGORY: u32 = 3;
const DESCRIPTION: u32 = 2;
const HEADINGS: u32 = 1;

/// The state of a file or directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) modified: i64,
    pub(crate) changed: i64,
}

impl Mark {
    /// The state of an open file; nothing where states cannot be told apart.
    pub(crate) fn of(file: &File) -> Option<Self> {
        #[cfg(unix)]
        return cycod_file::Stamp::of(file).map(Self::from);
        #[cfg(not(unix))]
        return {
            let _ = file;
            None
        };
    }
}

/// A skill as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// From the root, with its name.
    pub(crate) path: String,
    pub(crate) mark: Option<Mark>,
    /// Whether every change since must show in the mark.
    pub(crate) is_settled: bool,
    /// What it says, or why it is none.
    pub(crate) texts: Result<Texts, String>,
}

/// What a skill says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) name: String,
    pub(crate) category: String,
    pub(crate) description: String,
    /// Tags and headings.
    pub(crate) headings: String,
}

/// A skill of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skill<'a> {
    pub(crate) path: &'a str,
    pub(crate) name: &'a str,
    pub(crate) category: &'a str,
    pub(crate) description: &'a str,
}

/// A word of an image, by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word(u32);

/// The piece of bytes.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    skills: u32,
    directories: u32,
    words: u32,
    postings: u32,
}

impl Image {
    /// Builds the image of a directory's skills; `written` is the moment at which they began to be read.
    pub(crate) fn new(
        root: &Path,
        records: &[Record],
        directories: &[(String, Option<Mark>, bool)],
        written: i64,
    ) -> Self {
        let mut texts = Strings::default();
        let mut skills = Vec::with_capacity(records.len() * SKILL);
        let mut found: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
        let mut total = 0_u64;
        for (at, record) in records.iter().enumerate() {
            let at = at as u32;
            let mut length = 0_u32;
            let mut count = |text: &str, weight: u32| {
                each_word(text, |word| {
                    length = length.saturating_add(weight);
                    // Skills come in their order, so that the last place is this one's if any is.
                    let places = match found.get_mut(word) {
                        Some(places) => places,
                        None => found.entry(word.to_owned()).or_default(),
                    };
                    match places.last_mut().filter(|(skill, _)| *skill == at) {
                        Some((_, times)) => *times += weight,
                        None => places.push((at, weight)),
                    }
                });
            };
            let mut flags = if record.is_settled && record.mark.is_some() { IS_SETTLED } else { 0 };
            let fields = match &record.texts {
                Ok(said) => {
                    count(&said.name, NAME);
                    count(&said.category, CATEGORY);
                    count(&said.description, DESCRIPTION);
                    count(&said.headings, HEADINGS);
                    [&*said.name, &said.category, &said.description, &said.headings]
                }
                Err(reason) => {
                    flags |= IS_BROKEN;
                    ["", "", reason, ""]
                }
            };
            total += u64::from(length);
            put_mark(&mut skills, record.mark.unwrap_or_default());
            put(&mut skills, &[flags, length]);
            for text in std::iter::once(&*record.path).chain(fields) {
                put(&mut skills, &texts.add(text));
            }
        }
        let mut listed = Vec::new();
        for (path, mark, is_settled) in directories {
            put_mark(&mut listed, mark.unwrap_or_default());
            put(&mut listed, &[if *is_settled && mark.is_some() { IS_SETTLED } else { 0 }, 0]);
            put(&mut listed, &texts.add(path));
        }
        let mut found: Vec<(String, Vec<(u32, u32)>)> = found.into_iter().collect();
        found.sort_unstable();
        let (mut words, mut postings) = (Vec::new(), Vec::new());
        for (word, places) in &found {
            put(&mut words, &texts.add(word));
            put(&mut words, &[(postings.len() / POSTING) as u32, places.len() as u32]);
            places.iter().for_each(|(skill, times)| put(&mut postings, &[*skill, *times]));
        }
        let root = texts.add(&root.to_string_lossy());
        let mut bytes =
            Vec::with_capacity(HEAD + skills.len() + listed.len() + words.len() + postings.len() + texts.bytes.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&fingerprint().to_le_bytes());
        // The sum is put in when the image is written into a file.
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&written.to_le_bytes());
        bytes.extend_from_slice(&total.to_le_bytes());
        let counts =
            [records.len(), directories.len(), found.len(), postings.len() / POSTING].map(|count| count as u32);
        put(&mut bytes, &counts);
        put(&mut bytes, &root);
        bytes.resize(HEAD, 0);
        [skills, listed, words, postings, texts.bytes].iter().for_each(|section| bytes.extend_from_slice(section));
        let [skills, directories, words, postings] = counts;
        Self { bytes, skills, directories, words, postings }
    }

    /// Takes the bytes of a file, when they are an image of this program.
    #[cfg(unix)]
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        if bytes.len() < HEAD || !bytes.starts_with(MAGIC) {
            return None;
        }
        let mut image = Self { bytes, skills: 0, directories: 0, words: 0, postings: 0 };
        if image.u64_at(16) != fingerprint() || image.u64_at(24) != image.sum() {
            return None;
        }
        [image.skills, image.directories, image.words, image.postings] = [48, 52, 56, 60].map(|at| image.u32_at(at));
        (image.texts_at() <= image.bytes.len()).then_some(image)
    }

    /// Puts the sum in, by which damage shows.
    #[cfg(unix)]
    pub(crate) fn seal(&mut self) {
        let sum = self.sum().to_le_bytes();
        self.bytes[24..32].copy_from_slice(&sum);
    }

    #[cfg(unix)]
    fn sum(&self) -> u64 {
        cycod_engine::catalog::hash(&self.bytes[32..])
    }

    /// When its skills began to be read.
    #[cfg(unix)]
    pub(crate) fn written(&self) -> i64 {
        self.u64_at(32).cast_signed()
    }

    /// The directory that it is of.
    #[cfg(unix)]
    pub(crate) fn root(&self) -> &str {
        self.text(64)
    }

    /// How many files there are, broken ones included.
    pub(crate) fn len(&self) -> u32 {
        self.skills
    }

    /// How many words all skills have together, by weight.
    pub(crate) fn total_length(&self) -> f64 {
        self.u64_at(40) as f64
    }

    pub(crate) fn is_broken(&self, skill: u32) -> bool {
        self.u32_at(Self::skill_at(skill) + 40) & IS_BROKEN != 0
    }

    /// How many words a skill has, by weight.
    pub(crate) fn length(&self, skill: u32) -> u32 {
        self.u32_at(Self::skill_at(skill) + 44)
    }

    /// The skill of a number; of a broken one, the description is the reason.
    pub(crate) fn skill(&self, skill: u32) -> Skill<'_> {
        let at = Self::skill_at(skill) + 48;
        Skill {
            path: self.text(at),
            name: self.text(at + 8),
            category: self.text(at + 16),
            description: self.text(at + 24),
        }
    }

    /// The state of a skill's file, and whether every change since must show in it.
    pub(crate) fn skill_mark(&self, skill: u32) -> (Mark, bool) {
        self.mark(Self::skill_at(skill))
    }

    /// The record of a skill, as it was read.
    #[cfg(unix)]
    pub(crate) fn record(&self, skill: u32) -> Record {
        let Skill { path, name, category, description } = self.skill(skill);
        let headings = self.text(Self::skill_at(skill) + 80);
        let texts = Texts {
            name: name.to_owned(),
            category: category.to_owned(),
            description: description.to_owned(),
            headings: headings.to_owned(),
        };
        let (mark, is_settled) = self.skill_mark(skill);
        let texts = if self.is_broken(skill) { Err(texts.description) } else { Ok(texts) };
        Record { path: path.to_owned(), mark: Some(mark), is_settled, texts }
    }

    /// The directories that were listed, each with its state then.
    #[cfg(unix)]
    pub(crate) fn directories(&self) -> impl Iterator<Item = (&str, Mark, bool)> {
        (0..self.directories as usize).map(|directory| {
            let at = HEAD + self.skills as usize * SKILL + directory * DIRECTORY;
            let (mark, is_settled) = self.mark(at);
            (self.text(at + 48), mark, is_settled)
        })
    }

    /// The words that begin with `start`, the word itself first if it is there.
    pub(crate) fn beginning_with<'a>(&'a self, start: &'a str) -> impl Iterator<Item = (Word, &'a str)> {
        let (mut low, mut high) = (0, self.words);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.word(middle) < start { low = middle + 1 } else { high = middle }
        }
        let words = (low..self.words).map(|word| (Word(word), self.word(word)));
        words.take_while(move |(_, word)| word.starts_with(start))
    }

    /// Where a word stands: in which skills, and how much it counts there.
    pub(crate) fn postings(&self, word: Word) -> impl Iterator<Item = (u32, u32)> {
        let at = self.words_at() + word.0 as usize * WORD;
        let (start, count) = (self.u32_at(at + 8), self.u32_at(at + 12));
        let places = start..start.saturating_add(count).min(self.postings);
        let base = self.words_at() + self.words as usize * WORD;
        let place = move |place: u32| {
            let at = base + place as usize * POSTING;
            (self.u32_at(at), self.u32_at(at + 4))
        };
        places.map(place).filter(|(skill, _)| *skill < self.skills)
    }

    fn word(&self, word: u32) -> &str {
        self.text(self.words_at() + word as usize * WORD)
    }

    fn skill_at(skill: u32) -> usize {
        HEAD + skill as usize * SKILL
    }

    fn words_at(&self) -> usize {
        HEAD + self.skills as usize * SKILL + self.directories as usize * DIRECTORY
    }

    fn texts_at(&self) -> usize {
        self.words_at() + self.words as usize * WORD + self.postings as usize * POSTING
    }

    fn mark(&self, at: usize) -> (Mark, bool) {
        let mark = Mark {
            device: self.u64_at(at),
            inode: self.u64_at(at + 8),
            size: self.u64_at(at + 16),
            modified: self.u64_at(at + 24).cast_signed(),
            changed: self.u64_at(at + 32).cast_signed(),
        };
        (mark, self.u32_at(at + 40) & IS_SETTLED != 0)
    }

    /// The text whose place and length stand at `at`.
    fn text(&self, at: usize) -> &str {
        let start = self.texts_at() + self.u32_at(at) as usize;
        let bytes = self.bytes.get(start..start + self.u32_at(at + 4) as usize).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    fn u32_at(&self, at: usize) -> u32 {
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn u64_at(&self, at: usize) -> u64 {
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

/// Texts, each once for each time it is added.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
}

impl Strings {
    fn add(&mut self, text: &str) -> [u32; 2] {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text.as_bytes());
        [at, text.len() as u32]
    }
}

fn put(into: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|number| into.extend_from_slice(&number.to_le_bytes()));
}

fn put_mark(into: &mut Vec<u8>, mark: Mark) {
    let numbers = [mark.device, mark.inode, mark.size, mark.modified.cast_unsigned(), mark.changed.cast_unsigned()];
    numbers.iter().for_each(|number| into.extend_from_slice(&number.to_le_bytes()));
}

/// Which program wrote it: another may find other words.
fn fingerprint() -> u64 {
    let version = env!("CARGO_PKG_VERSION").bytes();
    version.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
