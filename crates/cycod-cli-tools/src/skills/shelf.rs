//! One directory of skills, as it is now.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    thread,
};

use cycod_import::skill_head;

use super::{
    image::{Image, Mark, Record, Texts, Word},
    places::Place,
};

/// What a skill is called, in a directory of its own.
const FILE: &str = "SKILL.md";

/// How much of a file is looked at.
const LOOKED_AT: u64 = 256 << 10;

/// The most skills and directories of one shelf.
const MOST_SKILLS: usize = 100_000;
const MOST_DIRECTORIES: usize = 50_000;

/// How much of a description and of headings is kept, in bytes.
const DESCRIPTION: usize = 2 << 10;
const HEADINGS: usize = 2 << 10;

/// How many files make it worth while to read them on several threads.
const WORTH_A_THREAD: usize = 200;

/// How much a longer word with the same beginning counts, and one that is a slip away.
const BEGINNING: f64 = 0.7;
const SLIP: f64 = 0.5;

/// The shortest word whose continuations are looked for, and how many are.
const SHORTEST_BEGINNING: usize = 3;
const MOST_CONTINUATIONS: usize = 200;

/// The category of a skill that says none.
const NO_CATEGORY: &str = "general";

/// The skills of one directory.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) root: PathBuf,
    pub(crate) image: Image,
}

/// What is below a directory.
#[derive(Debug, Default)]
pub(crate) struct Below {
    /// Directories that hold no skill themselves, which a new one would show in, with the path from the root.
    pub(crate) directories: Vec<(String, Option<Mark>)>,
    /// Directories that hold one.
    pub(crate) skills: Vec<String>,
}

impl Shelf {
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

/// Finds the directories that hold skills; `mark` tells the state of a directory before it is listed.
pub(crate) fn walk(place: &Place, mark: &dyn Fn(&Path) -> Option<Mark>) -> Below {
    let mut below = Below::default();
    let mut pending = vec![(String::new(), 0)];
    while let Some((path, depth)) = pending.pop() {
        if below.directories.len() >= MOST_DIRECTORIES {
            break;
        }
        let directory = place.root.join(&path);
        let state = mark(&directory);
        let Ok(listing) = fs::read_dir(&directory) else { continue };
        below.directories.push((path.clone(), state));
        for entry in listing.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let may_be_directory = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
            if !may_be_directory || name.starts_with('.') || name == "node_modules" {
                continue;
            }
            let inner = if path.is_empty() { name } else { format!("{path}/{name}") };
            if place.root.join(&inner).join(FILE).is_file() {
                let is_meant = !place.is_mixed || inner.split('/').any(|part| part == "skills");
                if is_meant && below.skills.len() < MOST_SKILLS {
                    below.skills.push(inner);
                    continue;
                }
            }
            if depth + 1 < place.depth && place.root.join(&inner).is_dir() {
                pending.push((inner, depth + 1));
            }
        }
    }
    // The same order, whatever the order of the directory is.
    below.skills.sort_unstable();
    below.directories.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    below
}

/// Reads skills, on several threads where that is worth it. `known` gives what need not be read.
pub(crate) fn read_all(root: &Path, skills: &[String], known: &(dyn Fn(&str) -> Option<Record> + Sync)) -> Vec<Record> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(skills.len() / WORTH_A_THREAD + 1);
    let share = skills.len().div_ceil(workers).max(1);
    let one = |skill: &String| known(skill).unwrap_or_else(|| read(root, skill));
    thread::scope(|scope| {
        let parts: Vec<_> =
            skills.chunks(share).map(|part| scope.spawn(move || part.iter().map(one).collect::<Vec<_>>())).collect();
        let parts = parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        parts.flatten().collect()
    })
}

/// Reads one skill.
fn read(root: &Path, skill: &str) -> Record {
    let path = format!("{skill}/{FILE}");
    let whole = root.join(&path);
    let opened = fs::File::open(&whole).and_then(|file| {
        // Before it is read, so that whatever is written meanwhile shows the next time.
        let mark = Mark::of(&file);
        let mut bytes = Vec::new();
        file.take(LOOKED_AT).read_to_end(&mut bytes)?;
        Ok((mark, bytes))
    });
    let (mark, texts) = match opened {
        Ok((mark, bytes)) => (mark, texts(skill, &bytes)),
        Err(error) => (None, Err(error.to_string())),
    };
    Record { path, mark, is_settled: false, texts }
}

/// What a file says.
fn texts(skill: &str, bytes: &[u8]) -> Result<Texts, String> {
    // What was cut in the middle of a character is no mistake of the file.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if bytes.len() as u64 == LOOKED_AT && error.valid_up_to() + 4 > bytes.len() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return Err("it is not UTF-8".to_owned()),
    };
    let head = skill_head(FILE, text).map_err(|diagnostics| {
        diagnostics.first().map_or_else(|| "it cannot be read".to_owned(), |first| first.message.clone())
    })?;
    let directory = skill.rsplit('/').next().unwrap_or(skill);
    let mut description = head.description.unwrap_or_default();
    if description.trim().is_empty() {
        description = first_paragraph(head.body);
    }
    description.truncate(description.floor_char_boundary(DESCRIPTION));
    let mut headings = head.tags.join(" ");
    for line in head.body.lines().filter(|line| line.starts_with('#')) {
        if headings.len() + line.len() > HEADINGS {
            break;
        }
        headings.push('\n');
        headings.push_str(line.trim_start_matches('#').trim());
    }
    let above = skill.rsplit('/').nth(1).filter(|above| *above != "skills");
    let category = head.category.filter(|category| !category.trim().is_empty());
    Ok(Texts {
        name: head.name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| directory.to_owned()),
        category: category.unwrap_or_else(|| above.unwrap_or(NO_CATEGORY).to_owned()),
        description: description.trim().to_owned(),
        headings,
    })
}

/// The first lines that are no heading.
fn first_paragraph(body: &str) -> String {
    let lines = body.lines().map(str::trim).skip_while(|line| line.is_empty() || line.starts_with('#'));
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
