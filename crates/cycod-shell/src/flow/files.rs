//! The files that a script writes, and whose values may be in them.
//!
//! Two names may be of one file when what is known of them behind their last `/` agrees: `cd`, links and variables decide what a
//! directory is, so directories are not compared. A name of which nothing is known may be that of any file, but for two kinds: what
//! `mktemp` makes is new, and what a variable of the environment names is not named otherwise.

use std::collections::{BTreeSet, HashMap};

use super::structure::FileKind;
use super::value::{ANY, Atom, Tag, Text, literal, written_out};
use crate::programs::file_names;

/// Holes by the command that may have written them.
type Values = HashMap<u64, BTreeSet<usize>>;

/// Commands whose files do not count.
#[derive(Clone, Copy, Default)]
pub(super) struct Except<'a> {
    /// This one, and what names in its code stand for.
    pub(super) command: Option<u64>,
    /// The commands whose code is walked, as they are told for names in their code.
    pub(super) around: &'a [u64],
    /// Names of which only the end is known: what looks for a file by itself looks for none of these.
    pub(super) ends: bool,
    /// Instead of both commands, of what was left earlier: the stages that count.
    pub(super) before: Option<&'a dyn Fn(usize) -> bool>,
}

impl Except<'_> {
    fn has(self, command: u64) -> bool {
        if let Some(before) = self.before {
            return !usize::try_from(command).is_ok_and(before);
        }
        self.command.is_some_and(|own| command == own || command == by_its_code(own)) || self.around.contains(&command)
    }
}

/// What tells the files that names in the code of a command stand for from those that it names otherwise.
pub(super) fn by_its_code(command: u64) -> u64 {
    !command
}

/// The command that stands for all whose target is certain.
pub(super) const ANY_COMMAND: u64 = 0;

/// Holes by the name of the file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Files {
    /// Files whose last name is known, by that name.
    named: HashMap<String, Values>,
    /// Files of any other name, with what is known of that.
    others: HashMap<Text, (Name, Values)>,
    /// Files in directories, by the name of each.
    below: HashMap<String, Values>,
    /// Some files of which nothing is known: only what may be any file is one of them.
    unnamed: Values,
}

/// Files that other commands have left in the directory, by the number of the stage that wrote them.
#[derive(Clone, Copy)]
pub(super) struct Earlier<'a> {
    pub(super) files: &'a Files,
    /// Whether a stage may have run before this one.
    pub(super) before: &'a dyn Fn(usize) -> bool,
}

impl Earlier<'_> {
    pub(super) fn holes(self, ask: impl Fn(&Files, Except<'_>) -> Vec<usize>) -> Vec<usize> {
        ask(self.files, Except { before: Some(self.before), ..Except::default() })
    }
}

/// Files that a script certainly writes, and those that were left by what ran before it.
#[derive(Default)]
pub(super) struct Written<'a> {
    pub(super) own: Files,
    pub(super) earlier: Option<Earlier<'a>>,
}

impl Written<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.earlier.is_none_or(|earlier| earlier.files.is_empty())
    }

    pub(super) fn len(&self) -> usize {
        self.own.len() + self.earlier.map_or(0, |earlier| earlier.files.len())
    }

    /// Notes values that are written to a file; tells whether that is new.
    pub(super) fn add(&mut self, file: &Text, holes: &[usize]) -> bool {
        self.own.add(file, ANY_COMMAND, holes)
    }

    fn ask(&self, ask: impl Fn(&Files, Except<'_>) -> Vec<usize>) -> Vec<usize> {
        let mut holes = ask(&self.own, Except::default());
        holes.extend(self.earlier.into_iter().flat_map(|earlier| earlier.holes(&ask)));
        holes
    }

    pub(super) fn holes(&self, text: &Text) -> Vec<usize> {
        self.ask(|files, except| files.holes(text, except))
    }

    pub(super) fn holes_of_file(&self, file: &Text) -> Vec<usize> {
        self.ask(|files, except| files.holes_of_file(file, except))
    }

    pub(super) fn holes_below(&self, directory: &Text, counts: impl Fn(&str) -> bool) -> Vec<usize> {
        self.ask(|files, except| files.holes_below(directory, except, &counts))
    }
}

/// Files that commands may have written. A command is told from others by its words, which change while variables are found: what
/// the last pass saw counts, and what this one has seen so far.
#[derive(Default)]
pub(super) struct Touched<'a> {
    before: Files,
    now: Files,
    pub(super) earlier: Option<Earlier<'a>>,
}

impl<'a> Touched<'a> {
    pub(super) fn behind(earlier: Option<Earlier<'a>>) -> Self {
        Self { earlier, ..Self::default() }
    }

    /// What all passes have come to.
    pub(super) fn into_files(self) -> Files {
        self.before
    }

    /// Ends a pass over the script; tells whether it saw something else than the one before.
    pub(super) fn end_pass(&mut self) -> bool {
        let is_other = self.before != self.now;
        self.before = std::mem::take(&mut self.now);
        is_other
    }

    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.now.is_empty() && self.earlier.is_none_or(|earlier| earlier.files.is_empty())
    }

    pub(super) fn len(&self) -> usize {
        self.before.len() + self.now.len() + self.earlier.map_or(0, |earlier| earlier.files.len())
    }

    pub(super) fn add(&mut self, file: &Text, command: u64, holes: &[usize]) {
        self.now.add(file, command, holes);
    }

    pub(super) fn add_unnamed(&mut self, command: u64, holes: &[usize]) {
        if !holes.is_empty() {
            grow(self.now.unnamed.entry(command).or_default(), holes);
        }
    }

    fn ask(&self, except: Except<'_>, ask: impl Fn(&Files, Except<'_>) -> Vec<usize>) -> Vec<usize> {
        let mut holes = ask(&self.before, except);
        holes.extend(ask(&self.now, except));
        let ends = except.ends;
        let ask_earlier = |files: &Files, except: Except<'_>| ask(files, Except { ends, ..except });
        holes.extend(self.earlier.into_iter().flat_map(|earlier| earlier.holes(ask_earlier)));
        holes
    }

    pub(super) fn holes(&self, text: &Text, except: Except<'_>) -> Vec<usize> {
        self.ask(except, |files, except| files.holes(text, except))
    }

    pub(super) fn holes_of_file(&self, file: &Text, except: Except<'_>) -> Vec<usize> {
        self.ask(except, |files, except| files.holes_of_file(file, except))
    }

    pub(super) fn holes_below(
        &self,
        directory: &Text,
        except: Except<'_>,
        counts: impl Fn(&str) -> bool,
    ) -> Vec<usize> {
        self.ask(except, |files, except| files.holes_below(directory, except, &counts))
    }
}

/// What is known of the name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// All of it.
    Whole(String),
    /// What it begins and ends with.
    Part(String, String),
    /// It equals nothing but itself.
    Own,
}

impl Files {
    /// Adds what a stage left; tells whether any of it is new.
    pub(super) fn leave(&mut self, stage: usize, other: Files, counts: &dyn Fn(usize) -> bool) -> bool {
        let stage = stage as u64;
        let holes_of = |values: &Values| -> Vec<usize> {
            values.values().flatten().copied().filter(|hole| counts(*hole)).collect()
        };
        let mut is_new = false;
        for (all, new) in [(&mut self.named, other.named), (&mut self.below, other.below)] {
            for (name, values) in new {
                let holes = holes_of(&values);
                if !holes.is_empty() {
                    is_new |= grow(all.entry(name).or_default().entry(stage).or_default(), &holes);
                }
            }
        }
        for (file, (name, values)) in other.others {
            let holes = holes_of(&values);
            if !holes.is_empty() {
                let known = &mut self.others.entry(file).or_insert_with(|| (name, Values::default())).1;
                is_new |= grow(known.entry(stage).or_default(), &holes);
            }
        }
        let unnamed = holes_of(&other.unnamed);
        if !unnamed.is_empty() {
            is_new |= grow(self.unnamed.entry(stage).or_default(), &unnamed);
        }
        is_new
    }

    /// Every value in the files of the stages that count.
    pub(super) fn all(&self, before: &dyn Fn(usize) -> bool, holes: &mut BTreeSet<usize>) {
        let except = Except { before: Some(before), ..Except::default() };
        self.named.values().for_each(|values| take(Some(values), except, holes));
        self.others.values().for_each(|(_, values)| take(Some(values), except, holes));
        take(Some(&self.unnamed), except, holes);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.others.is_empty() && self.unnamed.is_empty()
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.named.len() + self.others.len()
    }

    /// Notes values that a command may write to a file; tells whether that is new.
    pub(super) fn add(&mut self, file: &Text, command: u64, holes: &[usize]) -> bool {
        // Devices keep nothing, nor does what another command reads at once.
        let is_process = matches!(file.as_slice(), [Atom::Output(none)] if none.is_empty());
        if is_device(file) || is_process || holes.is_empty() {
            return false;
        }
        let known = match Name::of(file) {
            Name::Whole(name) if name.is_empty() => return false,
            Name::Whole(name) => self.named.entry(name).or_default(),
            name => &mut self.others.entry(file.clone()).or_insert_with(|| (name, Values::default())).1,
        };
        let mut is_new = grow(known.entry(command).or_default(), holes);
        for directory in directories(file) {
            is_new |= grow(self.below.entry(directory).or_default().entry(command).or_default(), holes);
        }
        is_new
    }

    /// Values in the files that a text is the name of, as far as it is one; of other commands than this one.
    pub(super) fn holes(&self, text: &Text, except: Except<'_>) -> Vec<usize> {
        if self.named.is_empty() && self.others.is_empty() {
            return Vec::new();
        }
        self.of_text(text, &Name::of(text), except).into_iter().collect()
    }

    fn of_text(&self, text: &Text, name: &Name, except: Except<'_>) -> BTreeSet<usize> {
        let mut holes = BTreeSet::new();
        take(self.others.get(text).map(|(_, values)| values), except, &mut holes);
        match name {
            Name::Whole(name) => self.of_name(name, except, false, &mut holes),
            Name::Part(before, after) if !(before.is_empty() && after.is_empty()) => {
                self.of_part(before, after, except, &mut holes);
            }
            // As a text, it may be anything.
            Name::Part(..) | Name::Own => {}
        }
        holes
    }

    /// Values in the files that run, or are read, when this is the name of one.
    pub(super) fn holes_of_file(&self, file: &Text, except: Except<'_>) -> Vec<usize> {
        if self.is_empty() {
            return Vec::new();
        }
        let name = Name::of(file);
        let mut holes = self.of_text(file, &name, except);
        // What a value names is refused by itself.
        let is_value = file.iter().any(Atom::is_of_value);
        match name {
            Name::Whole(name) => self.of_name(&name, except, true, &mut holes),
            Name::Part(before, after) if before.is_empty() && after.is_empty() && !is_value => {
                self.of_part("", "", except, &mut holes);
                take(Some(&self.unnamed), except, &mut holes);
            }
            Name::Part(..) | Name::Own => {}
        }
        holes.into_iter().collect()
    }

    /// Values in the files below, when this is the name of a directory.
    pub(super) fn holes_below(
        &self,
        directory: &Text,
        except: Except<'_>,
        counts: impl Fn(&str) -> bool,
    ) -> Vec<usize> {
        if self.named.is_empty() && self.others.is_empty() {
            return Vec::new();
        }
        let mut holes = BTreeSet::new();
        match Name::of(directory) {
            Name::Whole(name) if matches!(name.as_str(), "." | "..") => {
                for (_, values) in self.named.iter().filter(|(name, _)| counts(name)) {
                    take(Some(values), except, &mut holes);
                }
                let others = self.others.values().filter(|(name, _)| !(except.ends && name.is_end()));
                others.for_each(|(_, values)| take(Some(values), except, &mut holes));
            }
            Name::Whole(name) => take(self.below.get(&name), except, &mut holes),
            Name::Own => {
                for name in directory.iter().filter_map(own_name) {
                    take(self.below.get(&name), except, &mut holes);
                }
            }
            Name::Part(..) => {}
        }
        holes.into_iter().collect()
    }

    fn of_name(&self, name: &str, except: Except<'_>, is_file: bool, holes: &mut BTreeSet<usize>) {
        take(self.named.get(name), except, holes);
        for (other, (of_other, values)) in &self.others {
            // A value that names the whole file may name any; that is what such a template is for.
            let is_value = other.last().is_some_and(|last| !last.holes().is_empty());
            let may_be = match of_other {
                Name::Part(before, after) if before.is_empty() && after.is_empty() => is_file && !is_value,
                end if except.ends && end.is_end() => false,
                Name::Part(before, after) => name.starts_with(before) && name.ends_with(after),
                Name::Whole(_) | Name::Own => false,
            };
            if may_be {
                take(Some(values), except, holes);
            }
        }
    }

    fn of_part(&self, before: &str, after: &str, except: Except<'_>, holes: &mut BTreeSet<usize>) {
        for (name, values) in &self.named {
            if name.starts_with(before) && name.ends_with(after) {
                take(Some(values), except, holes);
            }
        }
        for (of_other, values) in self.others.values() {
            let may_be = match of_other {
                Name::Part(first, last) => {
                    let begins = first.starts_with(before) || before.starts_with(first);
                    begins && (last.ends_with(after) || after.ends_with(last))
                }
                Name::Whole(_) => false,
                Name::Own => before.is_empty() && after.is_empty(),
            };
            if may_be {
                take(Some(values), except, holes);
            }
        }
    }
}

impl Name {
    /// Whether only what it ends with is known.
    fn is_end(&self) -> bool {
        matches!(self, Self::Part(before, after) if before.is_empty() && !after.is_empty())
    }

    /// The name behind the last `/`.
    fn of(path: &Text) -> Self {
        // A text with blanks is no pattern, but code in which such characters stand.
        let has_blanks = path.iter().any(|atom| matches!(atom, Atom::Text(text) if text.contains(char::is_whitespace)));
        let mut whole = String::new();
        let mut part: Option<(String, String)> = None;
        let mut unknown = Vec::new();
        for (index, atom) in path.iter().enumerate() {
            let Atom::Text(text) = atom else {
                unknown.push(atom);
                part = Some(part.map_or_else(|| (whole.clone(), String::new()), |(before, _)| (before, String::new())));
                continue;
            };
            let text = if index + 1 == path.len() && text.len() > 1 { text.trim_end_matches('/') } else { text };
            let name = match text.rsplit_once('/') {
                Some((_, name)) => {
                    (whole, part, unknown) = (String::new(), None, Vec::new());
                    name
                }
                None => text,
            };
            let is_test = path.len() == 1 && matches!(name, "[" | "[[");
            let pattern = if has_blanks || is_test { None } else { first_and_last(name) };
            match (&mut part, pattern) {
                (None, None) => whole.push_str(name),
                (None, Some((first, last))) => part = Some((format!("{whole}{first}"), last.to_owned())),
                (Some((_, after)), None) => after.push_str(name),
                (Some((_, after)), Some((_, last))) => last.clone_into(after),
            }
        }
        let is_own = |atom: &Atom| {
            matches!(
                atom,
                Atom::Unknown(
                    Tag::Variable(_) | Tag::Given(_) | Tag::New(_) | Tag::Process(_) | Tag::Missing | Tag::Absent
                )
            )
        };
        match part {
            None => Self::Whole(whole),
            Some((before, after)) => match unknown.as_slice() {
                [atom] if before.is_empty() && after.is_empty() && is_own(atom) => Self::Own,
                _ => Self::Part(before, after),
            },
        }
    }
}

/// What stands before the first and behind the last part of a pattern that may be any text.
pub(super) fn first_and_last(name: &str) -> Option<(&str, &str)> {
    let start = name.find(['*', '?', '[']).into_iter().chain(name.find("{}")).min()?;
    let end =
        name.rfind(['*', '?', ']']).map(|at| at + 1).into_iter().chain(name.rfind("{}").map(|at| at + 2)).max()?;
    Some((&name[..start], name.get(end.max(start)..).unwrap_or_default()))
}

/// Whether a path is one of a device, which keeps nothing.
fn is_device(path: &Text) -> bool {
    let beginning = super::beginning(path);
    beginning.starts_with("/dev/") && !beginning.starts_with("/dev/shm/")
}

/// What stands for a directory of which nothing but itself is known; no directory has such a name.
fn own_name(atom: &Atom) -> Option<String> {
    let Atom::Unknown(tag @ (Tag::Variable(_) | Tag::Given(_) | Tag::New(_) | Tag::Process(_))) = atom else {
        return None;
    };
    Some(format!("{tag:?}/"))
}

/// The file that a program makes of one that is compressed or encrypted.
pub(super) fn unpacked(file: &Text) -> Option<Text> {
    let (Atom::Text(end), before) = file.split_last()? else { return None };
    let end = file_names().packed.iter().find_map(|packed| end.strip_suffix(packed))?;
    Some(before.iter().cloned().chain([Atom::text(end)]).collect())
}

/// The name of a directory, where that is known, or it equals nothing but itself.
pub(super) fn directory_name(path: &Text) -> Option<String> {
    match path.last()? {
        Atom::Text(text) => {
            let is_part = |part: &&str| !matches!(*part, "" | "." | "..");
            let last = text.split('/').rfind(is_part)?;
            let is_whole = path.len() == 1 || text.trim_end_matches('/').contains('/');
            is_whole.then(|| last.to_owned())
        }
        atom => own_name(atom),
    }
}

/// The directories that a path names.
pub(super) fn directories(path: &Text) -> Vec<String> {
    let mut names = Vec::new();
    for (index, atom) in path.iter().enumerate() {
        let Atom::Text(text) = atom else {
            names.extend(own_name(atom).filter(|_| index + 1 < path.len()));
            continue;
        };
        let mut parts: Vec<&str> = text.split('/').collect();
        if index + 1 == path.len() {
            parts.pop();
        }
        names.extend(parts.into_iter().filter(|part| !matches!(*part, "" | "." | "..")).map(str::to_owned));
    }
    names
}

fn take(values: Option<&Values>, except: Except<'_>, holes: &mut BTreeSet<usize>) {
    let values = values.into_iter().flatten();
    holes.extend(values.filter(|(command, _)| !except.has(**command)).flat_map(|(_, holes)| holes));
}

/// Whether nothing is known of the name of a file.
pub(super) fn is_any(file: &Text) -> bool {
    matches!(Name::of(file), Name::Part(before, after) if before.is_empty() && after.is_empty())
}

/// Adds to a set; tells whether something is new.
pub(super) fn grow(known: &mut BTreeSet<usize>, holes: &[usize]) -> bool {
    let before = known.len();
    known.extend(holes);
    known.len() > before
}

/// The path of a file, as far as it is known. No program looks for a name that is made up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileName(String);

impl FileName {
    pub(super) fn of(file: &Text) -> Self {
        if file.iter().any(|atom| matches!(atom, Atom::Unknown(Tag::New(_) | Tag::Process(_)))) {
            return Self(String::new());
        }
        let is_of_user =
            |tag: &Tag| matches!(tag, Tag::Variable(name) | Tag::Given(name) if OF_USER.contains(&&**name));
        Self(written_out(file, |tag| if is_of_user(tag) { '~' } else { ANY }))
    }

    fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The name without what is behind its last dot.
    pub(super) fn stem(&self) -> &str {
        self.name().rsplit_once('.').map_or(self.name(), |(stem, _)| stem)
    }

    pub(super) fn ends_with(&self, end: &str) -> bool {
        self.name().ends_with(end)
    }

    fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Whether it is where programs keep settings: a hidden file, one below a hidden directory, or one of the user or the machine.
    pub(super) fn is_hidden(&self) -> bool {
        let is_hidden = |part: &str| part.len() > 1 && part.starts_with('.') && part != "..";
        self.0.starts_with("~/") || self.0.starts_with("/etc/") || self.0.split('/').any(is_hidden)
    }

    /// Whether it is no program's settings, and no code.
    pub(super) fn is_inert(&self) -> bool {
        let name = self.name();
        let ignores = name.starts_with('.') && (name.ends_with("ignore") || name.ends_with("keep"));
        let versions = name.starts_with('.') && name.ends_with("version") || name == ".nvmrc";
        let is_environment = name == ".env" || name.starts_with(".env.");
        file_names().inert.contains(&self.extension())
            || ignores
            || versions
            || is_environment
            || !name.contains('.') && !self.is_title() && !self.is_hidden()
    }

    /// Whether it is called as what a program builds or runs by: `Fastfile`, `PKGBUILD`, `SConstruct`, but not `VERSION` or `out`.
    pub(super) fn is_title(&self) -> bool {
        let name = self.name();
        let is_title =
            name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains(|c: char| c.is_ascii_lowercase());
        (is_title || name.ends_with("BUILD") || name == "WORKSPACE") && !name.contains('.')
    }

    /// Whether it is a document in a form of its own, which no program writes by putting texts together.
    pub(super) fn is_document(&self) -> bool {
        file_names().documents.contains(&self.extension())
    }

    /// Whether it is code of a language whose programs name each other's files.
    pub(super) fn is_code(&self) -> bool {
        file_names().code.contains(&self.extension())
    }
}

/// What a file is to the programs that read it.
pub(super) fn kind(file: &Text) -> FileKind {
    let names = file_names();
    if let [Atom::Unknown(Tag::Variable(name) | Tag::Given(name))] = file.as_slice() {
        return if names.of_jobs.contains(&&**name) { FileKind::Settings } else { FileKind::Text };
    }
    let file = FileName::of(file);
    let name = file.name();
    match file.extension() {
        extension if names.yaml.contains(&extension) => FileKind::Yaml,
        extension if names.commas.contains(&extension) => FileKind::Table(','),
        extension if names.tabs.contains(&extension) => FileKind::Table('\t'),
        extension if names.markup.contains(&extension) => FileKind::Markup,
        extension if names.settings.contains(&extension) || name.starts_with(".env.") => FileKind::Settings,
        _ if name.starts_with('.') && name.len() > 1 || file.is_hidden() && !file.is_inert() => FileKind::Settings,
        _ => FileKind::Text,
    }
}

/// The program that runs what stands in a file of this name, without being told to, and the language of that.
pub(super) fn runs_later(file: &Text) -> Option<(&'static str, &'static str)> {
    let path = FileName::of(file).0;
    let (above, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let is_in = |names: &[&str]| above.split('/').any(|part| names.contains(&part));
    if path == "/etc/crontab" || is_in(&["cron.d", "crontabs"]) {
        return Some(("cron", "crontab"));
    }
    if path == "/etc/sudoers" {
        return Some(("sudo", "config"));
    }
    let rules = |rules: &'static [&'static str]| rules.iter().filter_map(|rule| rule.split_once('='));
    let is_at = |of: &str| path.strip_suffix(of).is_some_and(|above| above.is_empty() || above.ends_with('/'));
    if let Some((_, program)) = rules(&file_names().of_programs).find(|(of, _)| is_at(of)) {
        return Some((program, "config"));
    }
    let below = rules(&file_names().below_rules).find(|(directory, _)| is_in(&[*directory]));
    let itself = || rules(&file_names().rules).find(|(of, _)| *of == name && path.starts_with('/'));
    if let Some((_, program)) = below.or_else(itself) {
        return Some((program, "config"));
    }
    let is_script = is_in(&file_names().below_shells)
        || above.ends_with(".git/hooks")
        || above.split('/').any(|part| part.starts_with("cron."))
        || matches!(path.as_str(), "/etc/profile" | "/etc/bash.bashrc");
    (is_script || file_names().of_shells.contains(&name)).then_some(("bash", "sh"))
}

/// Variables that hold directories with settings of the user.
const OF_USER: [&str; 3] = ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/// Whether a file of this name holds data for every program that looks for code in its directory.
pub(super) fn is_data(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| file_names().data.contains(&extension))
}

/// Whether a word looks like the name of a file, and not like an option or a number.
pub(super) fn is_name(word: &str) -> bool {
    !word.starts_with('-') && word.contains(|c: char| c.is_alphabetic() || c == '_')
}

/// The names of files that stand in the author's code.
pub(super) fn names_in(code: &Text) -> Vec<Text> {
    literal(code).map(names_in_text).unwrap_or_default()
}

/// No file has a path of more bytes.
const LONGEST_PATH: usize = 4096;

/// The names of the files to which commands of `sed` write, behind a `w` or `W`, up to the end of the line.
pub(super) fn names_in_edits(code: &str) -> Vec<Text> {
    let names = code.lines().flat_map(|line| line.match_indices(['w', 'W']).map(|(at, _)| line[at + 1..].trim()));
    names.filter(|name| (1..=LONGEST_PATH).contains(&name.len())).map(|name| vec![Atom::text(name)]).collect()
}

/// The same for code as written. Code makes names of parts as well: an end such as `.sh` is that of any name, and so is what stands
/// behind a value of the code in a text, as in `run-{n}.sh`, `run-%s.sh` and `$n.sh`.
pub(super) fn names_in_text(code: &str) -> Vec<Text> {
    let is_of_name = |c: char| c.is_alphanumeric() || "_-./~".contains(c);
    let mut names = Vec::new();
    let mut before = None;
    for piece in code.split_inclusive(|c| !is_of_name(c)) {
        let word = piece.trim_end_matches(|c| !is_of_name(c));
        if is_name(word) {
            names.push(vec![Atom::text(word)]);
        }
        let end = match before {
            Some('%') => word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').get(1..),
            Some('$') => Some(word.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')),
            Some('}') => Some(word),
            // A pattern is one of files that are there.
            Some('*') => None,
            _ => word.starts_with('.').then_some(word),
        };
        // Code of a shell, and the like: what is named by its end alone may be any such file.
        let is_program = |end: &&str| !end.contains('/') && FileName(format!("a{end}")).is_code();
        if let Some(end) = end.filter(is_program) {
            names.push(vec![Atom::Unknown(Tag::Somewhere), Atom::text(end)]);
        }
        before = piece.chars().next_back();
    }
    names
}
