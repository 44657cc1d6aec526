//! The files that a script writes, and whose values may be in them.
//!
//! Two names may be of one file when what is known of them behind their last `/` agrees: `cd`, links and variables decide what a
//! directory is, so directories are not compared. A name of which nothing is known may be that of any file, but for two kinds: what
//! `mktemp` makes is new, and what a variable of the environment names is not named otherwise.

use std::collections::{BTreeSet, HashMap};

use super::structure::FileKind;
use super::value::{ANY, Atom, Tag, Text, literal, written_out};

/// Holes by the command that may have written them.
type Values = HashMap<u64, BTreeSet<usize>>;

/// Commands whose files do not count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Except<'a> {
    /// This one, and what names in its code stand for.
    pub(super) command: Option<u64>,
    /// The commands whose code is walked, as they are told for names in their code.
    pub(super) around: &'a [u64],
}

impl Except<'_> {
    fn has(self, command: u64) -> bool {
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
pub(super) struct Files {
    /// Files whose last name is known, by that name.
    named: HashMap<String, Values>,
    /// Files of any other name, with what is known of that.
    others: HashMap<Text, (Name, Values)>,
    /// Files in directories, by the name of each.
    below: HashMap<String, Values>,
    /// Some files of which nothing is known: only what may be any file is one of them.
    unnamed: Values,
}

/// Files that commands may have written. A command is told from others by its words, which change while variables are found: what
/// the last pass saw counts, and what this one has seen so far.
#[derive(Debug, Default)]
pub(super) struct Touched {
    before: Files,
    now: Files,
}

impl Touched {
    /// Ends a pass over the script; tells whether it saw something else than the one before.
    pub(super) fn end_pass(&mut self) -> bool {
        let is_other = self.before != self.now;
        self.before = std::mem::take(&mut self.now);
        is_other
    }

    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.now.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.before.len() + self.now.len()
    }

    pub(super) fn add(&mut self, file: &Text, command: u64, holes: &[usize]) {
        self.now.add(file, command, holes);
    }

    pub(super) fn add_unnamed(&mut self, command: u64, holes: &[usize]) {
        if !holes.is_empty() {
            grow(self.now.unnamed.entry(command).or_default(), holes);
        }
    }

    pub(super) fn holes(&self, text: &Text, except: Except<'_>) -> Vec<usize> {
        [self.before.holes(text, except), self.now.holes(text, except)].concat()
    }

    pub(super) fn holes_of_file(&self, file: &Text, except: Except<'_>) -> Vec<usize> {
        [self.before.holes_of_file(file, except), self.now.holes_of_file(file, except)].concat()
    }

    pub(super) fn holes_below(
        &self,
        directory: &Text,
        except: Except<'_>,
        counts: impl Fn(&str) -> bool,
    ) -> Vec<usize> {
        [self.before.holes_below(directory, except, &counts), self.now.holes_below(directory, except, &counts)].concat()
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
        let is_value = file.iter().any(|atom| matches!(atom, Atom::Value { .. } | Atom::Derived(_)));
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
                self.others.values().for_each(|(_, values)| take(Some(values), except, &mut holes));
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
            matches!(atom, Atom::Unknown(Tag::Variable(_) | Tag::Given(_) | Tag::New(_) | Tag::Missing | Tag::Absent))
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
fn first_and_last(name: &str) -> Option<(&str, &str)> {
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
    let Atom::Unknown(tag @ (Tag::Variable(_) | Tag::Given(_) | Tag::New(_))) = atom else { return None };
    Some(format!("{tag:?}/"))
}

/// The file that a program makes of one that is compressed or encrypted.
pub(super) fn unpacked(file: &Text) -> Option<Text> {
    const PACKED: [&str; 9] = [".asc", ".b64", ".bz2", ".gpg", ".gz", ".lz4", ".xz", ".Z", ".zst"];
    let (Atom::Text(end), before) = file.split_last()? else { return None };
    let end = PACKED.iter().find_map(|packed| end.strip_suffix(packed))?;
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
pub(super) struct FileName(String);

impl FileName {
    pub(super) fn of(file: &Text) -> Self {
        if file.iter().any(|atom| matches!(atom, Atom::Unknown(Tag::New(_)))) {
            return Self(String::new());
        }
        let is_of_user =
            |tag: &Tag| matches!(tag, Tag::Variable(name) | Tag::Given(name) if OF_USER.contains(&&**name));
        Self(written_out(file, |tag| if is_of_user(tag) { '~' } else { ANY }))
    }

    fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
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
        const EXTENSIONS: [&str; 23] = [
            "csv", "env", "gif", "gz", "htm", "html", "jpeg", "jpg", "log", "md", "out", "pdf", "png", "sql", "svg",
            "tar", "tfvars", "tgz", "tsv", "txt", "webp", "xz", "zip",
        ];
        let name = self.name();
        // Without an extension, programs look for names such as `Fastfile`, but not for `VERSION` or `out`.
        let is_title =
            name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains(|c: char| c.is_ascii_lowercase());
        let ignores = name.starts_with('.') && (name.ends_with("ignore") || name.ends_with("keep"));
        let versions = name.starts_with('.') && name.ends_with("version") || name == ".nvmrc";
        let is_environment = name == ".env" || name.starts_with(".env.");
        EXTENSIONS.contains(&self.extension())
            || ignores
            || versions
            || is_environment
            || !name.contains('.') && !is_title && !self.is_hidden()
    }

    /// Whether it is code of a language whose programs name each other's files.
    pub(super) fn is_code(&self) -> bool {
        const EXTENSIONS: [&str; 18] = [
            "R", "bash", "cjs", "go", "js", "jsx", "lua", "mjs", "php", "pl", "pm", "py", "rb", "rs", "sh", "ts",
            "tsx", "zsh",
        ];
        EXTENSIONS.contains(&self.extension())
    }
}

/// What a file is to the programs that read it.
pub(super) fn kind(file: &Text) -> FileKind {
    // What a service that runs the steps of a job reads behind each.
    const OF_JOBS: [&str; 3] = ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STATE"];
    const MARKUP: [&str; 14] = [
        "atom", "csproj", "htm", "html", "plist", "props", "rss", "svg", "targets", "xhtml", "xml", "xsd", "xsl",
        "xslt",
    ];
    const SETTINGS: [&str; 19] = [
        "cfg",
        "cnf",
        "conf",
        "desktop",
        "env",
        "hcl",
        "ini",
        "mount",
        "netdev",
        "network",
        "path",
        "properties",
        "repo",
        "service",
        "socket",
        "target",
        "tfvars",
        "timer",
        "toml",
    ];
    if let [Atom::Unknown(Tag::Variable(name) | Tag::Given(name))] = file.as_slice() {
        return if OF_JOBS.contains(&&**name) { FileKind::Settings } else { FileKind::Text };
    }
    let file = FileName::of(file);
    let name = file.name();
    match file.extension() {
        "yaml" | "yml" => FileKind::Yaml,
        "csv" => FileKind::Table(','),
        "tsv" => FileKind::Table('\t'),
        extension if MARKUP.contains(&extension) => FileKind::Markup,
        extension if SETTINGS.contains(&extension) || name.starts_with(".env.") => FileKind::Settings,
        _ if name.starts_with('.') && name.len() > 1 || file.is_hidden() && !file.is_inert() => FileKind::Settings,
        _ => FileKind::Text,
    }
}

/// The program that runs what stands in a file of this name, without being told to, and the language of that.
pub(super) fn runs_later(file: &Text) -> Option<(&'static str, &'static str)> {
    const OF_SHELLS: [&str; 17] = [
        ".bash_aliases",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".envrc",
        ".kshrc",
        ".profile",
        ".xinitrc",
        ".xprofile",
        ".xsession",
        ".zlogin",
        ".zlogout",
        ".zprofile",
        ".zshenv",
        ".zshrc",
        "rc.local",
    ];
    const DIRECTORIES: [&str; 4] = ["init.d", "profile.d", ".husky", "bashrc.d"];
    let path = FileName::of(file).0;
    let (above, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let is_in = |names: &[&str]| above.split('/').any(|part| names.contains(&part));
    if path == "/etc/crontab" || is_in(&["cron.d", "crontabs"]) {
        return Some(("cron", "crontab"));
    }
    let is_script = is_in(&DIRECTORIES)
        || above.ends_with(".git/hooks")
        || above.split('/').any(|part| part.starts_with("cron."))
        || matches!(path.as_str(), "/etc/profile" | "/etc/bash.bashrc");
    (is_script || OF_SHELLS.contains(&name)).then_some(("bash", "sh"))
}

/// Variables that hold directories with settings of the user.
const OF_USER: [&str; 3] = ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/// Whether a file of this name holds data for every program that looks for code in its directory.
pub(super) fn is_data(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("csv" | "env" | "html" | "json" | "log" | "md" | "tsv" | "txt" | "xml" | "yaml" | "yml"))
}

/// Whether a word looks like the name of a file, and not like an option or a number.
pub(super) fn is_name(word: &str) -> bool {
    !word.starts_with('-') && word.contains(|c: char| c.is_alphabetic() || c == '_')
}

/// The names of files that stand in the author's code.
pub(super) fn names_in(code: &Text) -> Vec<Text> {
    let Some(code) = literal(code) else { return Vec::new() };
    let is_of_name = |c: char| c.is_alphanumeric() || "_-./~".contains(c);
    let words = code.split(|c| !is_of_name(c)).filter(|word| is_name(word));
    words.map(|word| vec![Atom::text(word)]).collect()
}
