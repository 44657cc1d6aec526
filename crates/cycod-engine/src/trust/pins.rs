//! Finds the files that commands start, and follows the shell scripts among them.
//!
//! What is found is kept by content. What is started and cannot be found, or cannot be read as a shell reads it, is said.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{FilePart, Loader, ReadAs, Started, Starts, starts_of_script};
use cycod_file::Look;
use serde_json::Value as Json;

use super::programs::{MOST_DIRECTORIES, Places, Programs, Search, plain};

/// How many scripts are followed.
const MOST_SCRIPTS: usize = 200;

/// How many files one pattern, or one directory, may stand for.
const MOST_IN_PLACE: usize = 500;

/// Stands for what is known only when a command runs.
const UNKNOWN: char = '\u{1}';

/// Files that stand for their directory when an interpreter is given that.
const OF_DIRECTORY: [&str; 8] =
    ["package.json", "index.js", "index.mjs", "index.cjs", "index.ts", "__main__.py", "__init__.py", "main.py"];

/// Finds the programs that documents name, those that their commands start, and the manifests that they rest on.
pub(super) fn programs_of<'a>(
    documents: impl Iterator<Item = &'a Json>,
    starts: Starts,
    manifests: &BTreeSet<&str>,
    places: Places<'_>,
    real: Arc<Look>,
) -> Programs {
    let Some((mut programs, mut search)) = Programs::named(documents, manifests, places, real) else {
        return Programs::default();
    };
    Pinning::new(&mut programs, &mut search, places.home).follow(starts);
    programs
}

/// One search for what commands start.
struct Pinning<'a> {
    programs: &'a mut Programs,
    search: &'a mut Search,
    home: &'a Path,
    /// What is still to be looked at, with the script that it stands in.
    waiting: VecDeque<(Starts, Option<PathBuf>)>,
    followed: BTreeSet<PathBuf>,
    tasks: BTreeSet<(PathBuf, String)>,
    /// Files that run and that no shell reads, which may start others.
    unread: BTreeSet<String>,
}

impl<'a> Pinning<'a> {
    fn new(programs: &'a mut Programs, search: &'a mut Search, home: &'a Path) -> Self {
        Self {
            programs,
            search,
            home,
            waiting: VecDeque::new(),
            followed: BTreeSet::new(),
            tasks: BTreeSet::new(),
            unread: BTreeSet::new(),
        }
    }

    /// Adds all that commands start, and what that starts.
    fn follow(mut self, starts: Starts) {
        self.waiting.push_back((starts, None));
        while let Some((starts, script)) = self.waiting.pop_front() {
            self.directories(&starts, script.as_deref());
            for started in &starts.files {
                let is_there = self.started(started, script.as_deref());
                let is_path = matches!(started.read_as, ReadAs::Program | ReadAs::Shell | ReadAs::Code);
                if !is_there && is_path {
                    self.absent(started, script.as_deref());
                }
            }
            for directory in &starts.search {
                for name in &starts.names {
                    let mut path = directory.clone();
                    path.push(FilePart::Text(format!("/{name}")));
                    let _ = self.started(&Started { path, read_as: ReadAs::Program }, script.as_deref());
                }
            }
            starts.loaders.iter().for_each(|loader| self.loader(loader));
            starts.unpinned.into_iter().for_each(|what| self.programs.not_pinned(what));
        }
        if !self.unread.is_empty() {
            let names: Vec<String> = self.unread.iter().map(|name| format!("`{name}`")).collect();
            let (shown, more) = names.split_at(names.len().min(8));
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            self.programs.not_pinned(format!("what {}{more} may start or load", shown.join(", ")));
        }
    }

    /// Looks in the directories that commands work in, too.
    fn directories(&mut self, starts: &Starts, script: Option<&Path>) {
        for directory in &starts.directories {
            for path in self.spelled(directory, script) {
                let bases: Vec<PathBuf> = self.search.bases.iter().cloned().collect();
                for base in bases {
                    if self.search.bases.len() < MOST_DIRECTORIES {
                        self.search.base(&base.join(&path));
                    } else {
                        self.programs.not_pinned("what is started in more directories than can be watched".to_owned());
                    }
                }
            }
        }
    }

    /// Every way in which a path may be written, with a mark for what is not known. Each part may be several directories, and the
    /// ways are as many as these numbers multiplied.
    fn spelled(&mut self, path: &[FilePart], script: Option<&Path>) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let bases = || self.search.bases.iter().map(|base| text(base)).collect::<Vec<_>>();
        let mut all = vec![String::new()];
        for (at, part) in path.iter().enumerate() {
            let beside = script.and_then(Path::parent);
            let heads = match part {
                FilePart::Text(more) => vec![more.clone()],
                FilePart::Workspace => vec![text(&self.search.workspace)],
                FilePart::Home => vec![text(self.home)],
                FilePart::WorkingDirectory => bases(),
                FilePart::Script => script.map(text).into_iter().collect(),
                FilePart::ScriptDirectory => beside.map_or_else(bases, |beside| vec![text(beside)]),
                // A directory that is not known may be any of those that are.
                FilePart::Unknown(_) if at == 0 && path.len() > 1 => bases(),
                FilePart::Unknown(_) => vec![UNKNOWN.to_string()],
            };
            if all.len().saturating_mul(heads.len()) > MOST_IN_PLACE {
                self.programs.not_pinned("a path that may lead to more places than can be watched".to_owned());
                return Vec::new();
            }
            all = all.iter().flat_map(|before| heads.iter().map(move |more| format!("{before}{more}"))).collect();
        }
        all
    }

    /// Notes a file that is to be started and is not there, and one that lies outside of the workspace.
    fn absent(&mut self, started: &Started, script: Option<&Path>) {
        for name in self.spelled(&started.path, script) {
            let is_exact = name.contains('/') && !name.contains(['*', '?', '[', '{', UNKNOWN]);
            let path = match name.strip_prefix("~/") {
                Some(inside) => self.home.join(inside),
                None => self.search.workspace.join(&name),
            };
            let Some(path) = plain(&path).filter(|_| is_exact) else { continue };
            match path.strip_prefix(&self.search.workspace) {
                Ok(inside) => _ = self.programs.absent.insert(inside.to_string_lossy().replace('\\', "/")),
                Err(_) => _ = self.programs.outside.insert(path),
            }
        }
    }

    /// Adds a file that is started, or all that it may be; says whether the workspace has one.
    fn started(&mut self, started: &Started, script: Option<&Path>) -> bool {
        let mut is_there = false;
        let shown: String = started
            .path
            .iter()
            .map(|part| match part {
                FilePart::Text(text) => text.clone(),
                FilePart::Unknown(what) => what.clone(),
                FilePart::Script => "$0".to_owned(),
                FilePart::ScriptDirectory => "$(dirname $0)".to_owned(),
                FilePart::WorkingDirectory => "$PWD".to_owned(),
                FilePart::Workspace => "{WORKSPACE}".to_owned(),
                FilePart::Home => "~".to_owned(),
            })
            .collect();
        if started.path.iter().any(|part| matches!(part, FilePart::Unknown(_))) {
            self.programs.not_pinned(format!("the program `{shown}`, whose name is known only when it runs"));
        }
        let names = match started.read_as {
            ReadAs::Module => modules(&shown),
            _ => self.spelled(&started.path, script),
        };
        // A bare name is nothing that stands in a directory, unless an interpreter is told to read it.
        for name in names {
            if name.chars().all(|c| c == UNKNOWN) {
                continue;
            }
            for base in self.search.bases.clone() {
                for file in self.files(&base, &name) {
                    is_there |= file.exists();
                    self.file(&file, started.read_as);
                }
            }
        }
        is_there
    }

    /// The files of the workspace that a name may mean.
    fn files(&mut self, base: &Path, name: &str) -> Vec<PathBuf> {
        let Some(path) = plain(&base.join(name)) else { return Vec::new() };
        if !path.starts_with(&self.search.workspace) {
            return Vec::new();
        }
        if path.exists() || !name.contains(['*', '?', '[', '{', UNKNOWN]) {
            return vec![path];
        }
        let mut found = vec![PathBuf::new()];
        for component in path.components() {
            let pattern = component.as_os_str().to_string_lossy().into_owned();
            if !pattern.contains(['*', '?', '[', '{', UNKNOWN]) {
                found.iter_mut().for_each(|path| path.push(component));
                continue;
            }
            // What may stand between is more than a pattern says.
            let (head, tail) = ends(&pattern);
            found = found
                .iter()
                .flat_map(|directory| fs::read_dir(directory).into_iter().flatten().flatten())
                .filter(|entry| {
                    let name = entry.file_name();
                    let name = name.to_string_lossy();
                    name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
                })
                .map(|entry| entry.path())
                .take(MOST_IN_PLACE + 1)
                .collect();
            if found.len() > MOST_IN_PLACE {
                self.programs.not_pinned(format!("the files `{}`, which are too many", name.replace(UNKNOWN, "…")));
                found.truncate(MOST_IN_PLACE);
            }
        }
        found.sort();
        found
    }

    /// Adds a file, or the files of a directory, and looks at what it starts.
    fn file(&mut self, path: &Path, read_as: ReadAs) {
        if path.is_dir() {
            return self.directory(path, read_as);
        }
        let Ok(inside) = path.strip_prefix(&self.search.workspace) else { return };
        if !path.is_file() {
            return;
        }
        let inside = inside.to_string_lossy().replace('\\', "/");
        let Some(script) = self.programs.pin(self.search, &inside, path, read_as) else {
            self.unread.insert(inside);
            return;
        };
        if !self.followed.insert(path.to_owned()) {
            return;
        }
        if self.followed.len() > MOST_SCRIPTS {
            return self.programs.not_pinned("what more scripts start than can be followed".to_owned());
        }
        self.waiting.push_back((starts_of_script(&script), Some(path.to_owned())));
    }

    /// A directory that an interpreter is given is a package, or all of its files.
    fn directory(&mut self, path: &Path, read_as: ReadAs) {
        if read_as != ReadAs::Code {
            return;
        }
        let of_package: Vec<PathBuf> =
            OF_DIRECTORY.iter().map(|name| path.join(name)).filter(|file| file.is_file()).collect();
        if !of_package.is_empty() {
            let main = fs::read_to_string(path.join("package.json")).ok();
            let main = main.and_then(|text| serde_json::from_str::<Json>(&text).ok());
            let main = main.and_then(|package| package["main"].as_str().map(|main| path.join(main)));
            of_package.iter().for_each(|file| self.file(file, ReadAs::Code));
            if let Some(main) = main.as_deref().and_then(plain) {
                for name in ["", ".js", "/index.js"] {
                    let file = PathBuf::from(format!("{}{name}", main.display()));
                    if file.is_file() && file.starts_with(&self.search.workspace) {
                        self.file(&file, ReadAs::Code);
                    }
                }
            }
            return;
        }
        let mut files: Vec<PathBuf> = fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        if files.len() > MOST_IN_PLACE {
            self.programs.not_pinned(format!("the files of `{}`, which are too many", path.display()));
        }
        files.iter().take(MOST_IN_PLACE).for_each(|file| self.file(file, ReadAs::Program));
    }

    /// Adds what a program reads by itself to learn what to run.
    fn loader(&mut self, loader: &Loader) {
        let mut found = BTreeMap::new();
        let mut is_followed = false;
        for base in self.search.bases.clone() {
            let above = base.ancestors().take_while(|above| above.starts_with(&self.search.workspace));
            for directory in above {
                for name in &loader.files {
                    let path = directory.join(name);
                    if path.is_file() {
                        found.insert(path, *name);
                    }
                }
            }
        }
        let mut names = BTreeSet::new();
        for (path, name) in &found {
            let Ok(inside) = path.strip_prefix(&self.search.workspace) else { continue };
            let inside = inside.to_string_lossy().replace('\\', "/");
            drop(self.programs.pin(self.search, &inside, path, ReadAs::Code));
            names.insert(inside);
            let directory = path.parent().unwrap_or(path);
            let Some(text) = fs::read_to_string(path).ok().filter(|text| text.len() <= 256 << 10) else { continue };
            self.programs.add_named(self.search, &text, directory);
            is_followed |= *name == "package.json" && self.package(&text, directory, &loader.words);
        }
        let program = &loader.program;
        if names.is_empty() {
            self.programs.not_pinned(format!("what `{program}` starts or loads"));
        } else if !is_followed {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            self.programs.not_pinned(format!("what `{program}` starts or loads beyond {}", names.join(", ")));
        }
    }

    /// Follows the scripts of a package that words name; says whether there are any.
    fn package(&mut self, text: &str, directory: &Path, words: &[String]) -> bool {
        let Ok(package) = serde_json::from_str::<Json>(text) else { return false };
        let Some(scripts) = package["scripts"].as_object() else { return false };
        let tasks: Vec<&str> = words
            .iter()
            .map(|word| match word.as_str() {
                "t" | "tst" => "test",
                word => word,
            })
            .filter(|word| scripts.contains_key(*word))
            .collect();
        for task in &tasks {
            for name in [format!("pre{task}"), (*task).to_owned(), format!("post{task}")] {
                let Some(script) = scripts.get(&name).and_then(Json::as_str) else { continue };
                if !self.tasks.insert((directory.to_owned(), name)) {
                    continue;
                }
                let mut starts = starts_of_script(script);
                // What is installed beside the package goes before the programs of the machine.
                starts.search.push(vec![FilePart::Text(format!("{}/node_modules/.bin", directory.display()))]);
                self.search.base(directory);
                self.waiting.push_back((starts, None));
            }
        }
        !tasks.is_empty()
    }
}

/// The files that a module may be, by its name.
fn modules(name: &str) -> Vec<String> {
    let path = name.replace('.', "/");
    let mut files = vec![format!("{path}.py"), format!("{path}/__main__.py"), format!("{path}/__init__.py")];
    // The packages around it are loaded before it.
    let mut package = path.as_str();
    while let Some((above, _)) = package.rsplit_once('/') {
        files.push(format!("{above}/__init__.py"));
        package = above;
    }
    files
}

/// What a pattern begins and ends with, as it is written.
fn ends(pattern: &str) -> (&str, &str) {
    let is_special = |c: char| "*?[]{},".contains(c) || c == UNKNOWN;
    let head = pattern.find(is_special).map_or(pattern, |at| &pattern[..at]);
    let tail = pattern.rfind(is_special).map_or("", |at| &pattern[at + 1..]);
    (head, tail)
}
