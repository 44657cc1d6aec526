//! Which skills lie in a directory, and what their files say.

use std::{fs, io::Read as _, path::Path, thread};

use cycod_import::skill_head;

use super::{
    image::{Mark, Record, Texts},
    places::Place,
};

/// What a skill is called, in a directory of its own.
const FILE: &str = "SKILL.md";

/// How much of a file is looked at.
const LOOKED_AT: u64 = 256 << 10;

/// The most skills and directories of one directory.
const MOST_SKILLS: usize = 100_000;
const MOST_DIRECTORIES: usize = 50_000;

/// How much of a description and of headings is kept, in bytes.
const DESCRIPTION: usize = 2 << 10;
const HEADINGS: usize = 2 << 10;

/// How many files make it worth while to read them on several threads.
const WORTH_A_THREAD: usize = 200;

/// The category of a skill that says none.
const NO_CATEGORY: &str = "general";

/// What is below a directory.
#[derive(Debug, Default)]
pub(crate) struct Below {
    /// Directories that hold no skill themselves, which a new one would show in, with the path from the root.
    pub(crate) directories: Vec<(String, Option<Mark>)>,
    /// Directories that hold one.
    pub(crate) skills: Vec<String>,
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
