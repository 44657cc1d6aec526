//! Skills: directories with instructions for models, below `skills` next to the tools of a scope.
//!
//! What a skill says is followed by a model. So one of a project is trusted like a tool is: by content, every file of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use cycod_catalog::Scope;
use cycod_definition::yaml_json;
use cycod_diagnostic::{Refusal, SourceFile};
use cycod_file::Seen;
use cycod_run::Guarded;
use cycod_store::{Digest, Pin, PinKey};
use serde_json::{Map, Value as Json, json};

use super::{
    now,
    skill_file::{FileLooks, SkillFile},
    unreadable,
};
use crate::Engine;

/// The kind of the pins.
const SKILL: &str = "skill";

/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";

/// How deep a skill may lie below `skills`, and a file below its skill.
const DEEP: usize = 4;
const DEEP_INSIDE: usize = 16;

/// The most skills of a directory.
const MOST: usize = 500;

/// What every host takes of one skill.
const MOST_FILES: usize = 512;
const MOST_BYTES: u64 = 16 << 20;

/// The longest name.
const LONGEST_NAME: usize = 64;

/// A skill of a scope.
#[derive(Clone, Debug)]
pub struct ScopedSkill {
    /// Where it is below `skills`, `/` between names; the last is its own.
    pub path: String,
    /// Its directory.
    pub directory: PathBuf,
    /// What its front matter says.
    pub head: Map<String, Json>,
    /// Its files by their paths from its directory.
    pub files: BTreeMap<String, SkillFile>,
    /// Whether it is trusted.
    pub is_trusted: bool,
}

impl ScopedSkill {
    /// The digest of everything in it.
    fn digest(&self) -> Digest {
        let lines: Vec<String> = self.files.iter().map(|(path, file)| format!("{}  {path}\n", file.digest)).collect();
        Digest::of(lines.concat().as_bytes())
    }

    /// Reads one of its files; nothing when it is not the one that was looked at.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(known) = self.files.get(path) else { return Ok(None) };
        let bytes = fs::read(self.directory.join(path))?;
        Ok((Digest::of(&bytes) == known.digest).then_some(bytes))
    }
}

/// A directory that is meant to be a skill, and cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenSkill {
    /// Where it is below `skills`.
    pub path: String,
    /// Why.
    pub why: String,
}

/// The skills of every scope.
#[derive(Debug, Default)]
pub struct Skills {
    /// Those that could be offered.
    pub found: Vec<ScopedSkill>,
    /// The others.
    pub broken: Vec<BrokenSkill>,
}

impl Engine {
    /// The skills of every scope, those of the project first. Of two with the same path, the first counts.
    ///
    /// # Errors
    /// When what is trusted cannot be told.
    pub fn skills(&self) -> Result<Skills, Refusal> {
        self.moments.begin();
        let mut skills = Skills::default();
        let known = Arc::clone(&self.skill_files.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut looks = FileLooks::new();
        let (mut directories, mut paths) = (BTreeSet::new(), BTreeSet::new());
        let guarded = Guarded::new(self.host());
        let scopes = self.catalog().scopes();
        let own = [Scope::Local, Scope::User].map(|scope| (scopes.written(scope), scope));
        let others = scopes.with_rules().map(|directory| (directory.path.clone(), directory.scope));
        for (tools, scope) in own.into_iter().chain(others) {
            let Some(directory) = tools.parent().map(|parent| parent.join("skills")) else { continue };
            let Ok(root) = directory.canonicalize() else { continue };
            if !directories.insert(root.clone()) {
                continue;
            }
            let mut below = Vec::new();
            find(&root, String::new(), DEEP, &mut below);
            if below.len() > MOST {
                let why = format!("{} has more than {MOST} skills", directory.display());
                skills.broken.push(BrokenSkill { path: String::new(), why });
                continue;
            }
            for (path, directory) in below {
                if !paths.insert(path.clone()) {
                    continue;
                }
                // The user put into their own directory what is in it, next to what cycod keeps there.
                let guarded = (scope == Scope::Local).then_some(&guarded);
                let files = Reader::read(&directory, guarded, &known, &mut looks);
                match files.and_then(|files| Ok((head(&path, &directory)?, files))) {
                    Ok((head, files)) => {
                        let mut skill = ScopedSkill { path, directory, head, files, is_trusted: true };
                        skill.is_trusted = scope != Scope::Local || self.is_skill_trusted(&skill)?;
                        skills.found.push(skill);
                    }
                    Err(why) => skills.broken.push(BrokenSkill { path, why }),
                }
            }
        }
        *self.skill_files.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(looks);
        Ok(skills)
    }

    fn is_skill_trusted(&self, skill: &ScopedSkill) -> Result<bool, Refusal> {
        let trusted = self.trusted()?;
        let digest = skill.digest().to_string();
        let is_pinned = trusted.pins.keys().any(|key| key.kind == SKILL && key.name == digest);
        Ok(is_pinned || trusted.has_directory(&skill.directory))
    }

    /// Trusts a skill as it was looked at.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn trust_skill(&self, skill: &ScopedSkill) -> Result<(), Refusal> {
        let key = PinKey::new(SKILL, &skill.path, &skill.digest().to_string());
        let files = skill.files.iter().map(|(path, file)| (path.clone(), file.digest.to_string().into()));
        let pin = Pin::new(json!({ "files": files.collect::<Map<String, Json>>() }), now());
        self.update_pins(|pins| drop(pins.insert(key, pin))).map_err(|error| unreadable(&error))
    }

    /// Trusts no skill of this project any longer, in whatever form; returns the paths of those that were trusted.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn distrust_skills(&self) -> Result<Vec<String>, Refusal> {
        let here: BTreeSet<String> = self.skills()?.found.into_iter().map(|skill| skill.path).collect();
        let gone = self.update_pins(|pins| {
            let before: BTreeSet<String> = pins
                .keys()
                .filter(|key| key.kind == SKILL && here.contains(&key.scope))
                .map(|key| key.scope.clone())
                .collect();
            pins.retain(|key, _| key.kind != SKILL || !here.contains(&key.scope));
            before
        });
        gone.map(|gone| gone.into_iter().collect()).map_err(|error| unreadable(&error))
    }
}

/// Finds the directories with a skill, each with its path.
fn find(directory: &Path, path: String, depth: usize, found: &mut Vec<(String, PathBuf)>) {
    if found.len() > MOST {
        return;
    }
    if directory.join(SKILL_FILE).is_file() && !path.is_empty() {
        return found.push((path, directory.to_owned()));
    }
    if depth == 0 {
        return;
    }
    for (name, inner) in entries(directory) {
        if inner.is_dir() {
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            find(&inner, path, depth - 1, found);
        }
    }
}

/// What is in a directory and not hidden, by name.
fn entries(directory: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut entries: Vec<(String, PathBuf)> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(name, _)| !name.starts_with('.'))
        .collect();
    entries.sort();
    entries
}

/// The front matter of a skill.
type Head = Map<String, Json>;

/// One look at the files of a skill.
struct Reader<'a> {
    directory: &'a Path,
    guarded: Option<&'a Guarded>,
    /// What the files were in the last look, and what they are in this one.
    known: &'a FileLooks,
    looks: &'a mut FileLooks,
    files: BTreeMap<String, SkillFile>,
    /// How many bytes there may still be.
    left: u64,
}

impl<'a> Reader<'a> {
    /// Looks at the files of a skill.
    fn read(
        directory: &'a Path,
        guarded: Option<&'a Guarded>,
        known: &'a FileLooks,
        looks: &'a mut FileLooks,
    ) -> Result<BTreeMap<String, SkillFile>, String> {
        let mut reader = Reader { directory, guarded, known, looks, files: BTreeMap::new(), left: MOST_BYTES };
        reader.add(directory, "", DEEP_INSIDE)?;
        Ok(reader.files)
    }

    /// Adds the files below a directory, whose path begins with `before`.
    fn add(&mut self, directory: &Path, before: &str, depth: usize) -> Result<(), String> {
        for (name, inner) in entries(directory) {
            let path = format!("{before}{name}");
            let failed = |error: io::Error| format!("`{path}`: {error}");
            let real = inner.canonicalize().map_err(failed)?;
            if !real.starts_with(self.directory) {
                return Err(format!("`{path}` is a link that leads out of it"));
            }
            if real.is_dir() {
                // A link could lead to a directory that it is in.
                let deeper = depth.checked_sub(1);
                let deeper = deeper.ok_or_else(|| format!("`{path}` is deeper than {DEEP_INSIDE} directories"))?;
                self.add(&inner, &format!("{path}/"), deeper)?;
                continue;
            }
            if let Some(why) = self.guarded.and_then(|guarded| guarded.opens(&real)) {
                return Err(format!("`{path}`: {why}"));
            }
            let size = real.metadata().map_err(failed)?.len();
            let left = self.left.checked_sub(size);
            self.left = left.ok_or_else(|| format!("it has more than {} MiB", MOST_BYTES >> 20))?;
            if self.files.len() >= MOST_FILES {
                return Err(format!("it has more than {MOST_FILES} files"));
            }
            let look = match self.known.get(&real).filter(|(seen, _)| seen.is_current()) {
                Some(look) => look.clone(),
                None => {
                    let seen = Seen::at(real.clone());
                    let bytes = fs::read(&real).map_err(failed)?;
                    (seen, SkillFile { digest: Digest::of(&bytes), size: bytes.len() as u64 })
                }
            };
            self.files.insert(path, look.1.clone());
            self.looks.insert(real, look);
        }
        Ok(())
    }
}

/// Reads what the skill at a path says of itself.
fn head(path: &str, directory: &Path) -> Result<Head, String> {
    let text = fs::read_to_string(directory.join(SKILL_FILE)).map_err(|error| format!("`{SKILL_FILE}`: {error}"))?;
    let head = front_matter(&text).ok_or("its front matter is no mapping in YAML between two lines `---`")?;
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if name.len() > LONGEST_NAME || !name.split('-').all(is_part) {
        return Err("the name of its directory isn't lowercase letters and digits with `-` between them".to_owned());
    }
    match (head.get("name"), head.get("description")) {
        (Some(Json::String(own)), Some(Json::String(_))) if own == name => Ok(head),
        (Some(Json::String(own)), Some(Json::String(_))) => {
            Err(format!("its `name` is `{own}`, and its directory isn't"))
        }
        _ => Err("its front matter has no `name` or no `description`".to_owned()),
    }
}

/// The front matter of a document.
fn front_matter(text: &str) -> Option<Head> {
    let text = text.strip_prefix("---")?;
    let text = text.strip_prefix('\r').unwrap_or(text).strip_prefix('\n')?;
    let (text, after) = text.split_once("\n---")?;
    if !after.is_empty() && !after.starts_with(['\n', '\r']) {
        return None;
    }
    match yaml_json(&SourceFile::new(SKILL_FILE, text)) {
        Some(Json::Object(head)) => Some(head),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use cycod_file::Stamp;

    use super::*;

    #[test]
    fn a_file_is_read_again_only_when_it_changed() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().canonicalize().unwrap();
        let file = directory.join(SKILL_FILE);
        fs::write(&file, "one").unwrap();
        // What was known of it is wrong, so that a second reading would show.
        let wrong = SkillFile { digest: Digest::of(b"as known"), size: 3 };
        let seen = Seen::restored(file.clone(), Stamp::at(&file));
        let known = FileLooks::from([(file.clone(), (seen, wrong.clone()))]);
        let mut looks = FileLooks::new();
        assert_eq!(Reader::read(&directory, None, &known, &mut looks).unwrap()[SKILL_FILE], wrong);
        assert_eq!(looks[&file].1, wrong);

        // Of the same size and with the same time of writing.
        let written = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(place.path().join("other"), "two").unwrap();
        fs::File::options().write(true).open(place.path().join("other")).unwrap().set_modified(written).unwrap();
        fs::rename(place.path().join("other"), &file).unwrap();
        let read = Reader::read(&directory, None, &known, &mut FileLooks::new()).unwrap();
        assert_eq!(read[SKILL_FILE].digest, Digest::of(b"two"));
    }
}
