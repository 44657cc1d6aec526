//! The programs of a workspace that tools start: what a tool runs is not only what its own file says.
//!
//! They are found in two ways. The commands are read as their shells read them, and what they start is followed, through the
//! shell scripts among it as well: those files count whatever they look like, and what cannot be told is said (`pins`). And every
//! word that names a file counts when the file is a program: it may be executed, begins with `#!`, has the ending of a language
//! or the name of a build file, or stands where an interpreter looks for its program, as in `bash notes.txt`. Data does not
//! count: a tool that reads a file is not another tool when the file has new lines.
//!
//! Programs outside of the workspace do not count.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, FileType},
    io::Read as _,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{Host, ReadAs};
use cycod_file::Look;
use cycod_store::Digest;
use serde_json::Value as Json;

/// How many words are looked at; the longest known tool has some hundred.
const MOST_WORDS: usize = 10_000;

/// How many directories are looked in.
pub(super) const MOST_DIRECTORIES: usize = 32;

/// How many files count.
const MOST_FILES: usize = 1000;

/// The largest file whose content counts; of a larger one it is the size.
const LARGEST: u64 = 64 << 20;

/// How much is read of all files.
const MOST_BYTES: u64 = 256 << 20;

/// The largest script in which names are looked for.
const LARGEST_SCRIPT: usize = 256 << 10;

/// Endings of files that programs are written in.
const ENDINGS: &str = " sh bash zsh ksh fish ps1 psm1 bat cmd py pyw js mjs cjs jsx ts mts cts tsx rb pl pm php lua tcl r awk \
    sed jq sql mk cmake gradle groovy kts ex exs clj el vim nu c cc cpp cxx h hpp go rs java kt scala swift zig cs fs hs ml \
    nix tf wasm jar class exe dll so dylib ";

/// Names of files that programs which build read, in lower case.
const BUILD_FILES: &str = " makefile gnumakefile dockerfile containerfile justfile rakefile gemfile vagrantfile procfile build.gradle pom.xml ";

/// Programs whose first argument, or the one after such an option, is a program.
const INTERPRETERS: &str = " . source exec eval bash sh dash zsh ksh fish pwsh powershell cmd python python3 pypy node deno \
    bun tsx ruby perl php lua tclsh rscript awk gawk sed jq make gmake just ninja env nohup time sudo doas xargs npx ";

/// Keys that are told to readers and change nothing.
const PROSE: &str =
    " description title group version metadata changelog deprecated tags function-calling detailed-help examples ";

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Each by its path from the workspace, with its digest or what else tells it from another.
    pub(super) files: BTreeMap<String, String>,
    /// Why not everything was looked at.
    pub(super) too_many: Option<String>,
    /// What is started that is not among the files, for people.
    pub(super) unpinned: Vec<String>,
    /// Files of the workspace that commands name as what they start, and that are not there.
    pub(super) absent: BTreeSet<String>,
    /// What commands start by a path that leads out of the workspace.
    pub(super) outside: BTreeSet<PathBuf>,
}

/// Where programs are looked for.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) workspace: &'a Path,
    pub(super) working_directory: &'a Path,
    pub(super) home: &'a Path,
    pub(super) host: &'a Host,
}

/// A name of a file in a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    text: String,
    /// Whether an interpreter looks for its program here.
    is_read_as_program: bool,
}

impl Programs {
    /// Finds the programs that documents name and the manifests that they rest on, and how to search on.
    pub(super) fn named<'a>(
        documents: impl Iterator<Item = &'a Json>,
        manifests: &BTreeSet<&str>,
        places: Places<'_>,
        real: Arc<Look>,
    ) -> Option<(Self, Search)> {
        let mut programs = Self::default();
        let workspace = real.of(places.workspace)?;
        let mut words = Words::default();
        for document in documents {
            texts(document, true, &mut |text| words.add(&text.replace("{WORKSPACE}", &workspace.to_string_lossy())));
        }
        let bases = BTreeSet::from([workspace.clone()]);
        let mut search = Search { bases, workspace, real, kinds: BTreeMap::new(), left: MOST_BYTES };
        search.base(places.working_directory);
        words.seen.iter().for_each(|word| search.base(Path::new(&word.text)));
        let scripts = programs.add(&mut search, &words);
        for (directory, text) in scripts {
            let mut words = Words::default();
            words.add(&text);
            programs.add_beside(&mut search, &words, &directory);
        }
        for manifest in manifests {
            let file = search.workspace.join(manifest);
            drop(programs.pin(&mut search, manifest, &file, ReadAs::Code));
        }
        Some((programs, search))
    }

    /// Adds the programs that a text names, which lies in a directory.
    pub(super) fn add_named(&mut self, search: &mut Search, text: &str, directory: &Path) {
        let mut words = Words::default();
        words.add(text);
        self.add_beside(search, &words, directory);
    }

    fn add_beside(&mut self, search: &mut Search, words: &Words, directory: &Path) {
        // A script finds what lies beside it by its own path, which stands before the name.
        let is_new = search.bases.insert(directory.to_owned());
        drop(self.add(search, words));
        if is_new {
            search.bases.remove(directory);
        }
    }

    /// Adds a file that runs, and returns its text when it is a script of a shell.
    pub(super) fn pin(&mut self, search: &mut Search, inside: &str, file: &Path, read_as: ReadAs) -> Option<String> {
        if !self.files.contains_key(inside) && (self.files.len() >= MOST_FILES || search.left == 0) {
            self.too_many = Some("the tool starts more files than can be watched".to_owned());
            return None;
        }
        let (state, script) = search.state(file, Some(read_as))?;
        self.files.insert(inside.to_owned(), state);
        script
    }

    pub(super) fn not_pinned(&mut self, what: String) {
        if !self.unpinned.contains(&what) {
            self.unpinned.push(what);
        }
    }

    /// Adds the programs among the words, and returns the shell scripts among them with their directories.
    fn add(&mut self, search: &mut Search, words: &Words) -> Vec<(PathBuf, String)> {
        let mut scripts = Vec::new();
        let mut limit = |is_over: bool, what: &str| {
            if is_over {
                self.too_many = Some(format!("the tool names more {what} than can be watched"));
            }
        };
        limit(words.seen.len() >= MOST_WORDS, "words");
        limit(search.bases.len() > MOST_DIRECTORIES, "directories");
        for word in &words.seen {
            for base in search.bases.iter().take(MOST_DIRECTORIES).cloned().collect::<Vec<_>>() {
                let Some((path, file)) = search.find(&base, &word.text) else { continue };
                if self.files.contains_key(&path) {
                    continue;
                }
                let read_as = word.is_read_as_program.then_some(ReadAs::Code);
                let Some((state, script)) = search.state(&file, read_as) else { continue };
                if self.files.len() >= MOST_FILES || search.left == 0 {
                    self.too_many = Some("the tool names more files than can be watched".to_owned());
                    return scripts;
                }
                self.files.insert(path, state);
                scripts.extend(script.map(|text| (file.parent().unwrap_or(&base).to_owned(), text)));
            }
        }
        scripts
    }
}

/// What is at a path, with links followed.
fn kind(path: &Path) -> Option<FileType> {
    fs::metadata(path).ok().map(|metadata| metadata.file_type())
}

/// Where files are looked for.
pub(super) struct Search {
    pub(super) workspace: PathBuf,
    pub(super) bases: BTreeSet<PathBuf>,
    real: Arc<Look>,
    /// What is where the words lead to from the workspace.
    kinds: BTreeMap<PathBuf, Option<FileType>>,
    /// How many bytes may still be read.
    left: u64,
}

impl Search {
    /// Looks in a directory of the workspace, too.
    pub(super) fn base(&mut self, name: &Path) {
        let path = self.workspace.join(name);
        if path == self.workspace {
            return;
        }
        // Most words name nothing, which is told sooner than where they lead.
        let is_name = matches!(*name.components().collect::<Vec<_>>(), [Component::Normal(_)]);
        let kind = if is_name && !self.real.may_be_there(&path) { None } else { kind(&path) };
        self.kinds.insert(path.clone(), kind);
        if kind.is_some_and(|kind| kind.is_dir())
            && let Some(path) = self.real.of(&path)
            && path.starts_with(&self.workspace)
        {
            self.bases.insert(path);
        }
    }

    /// The file of the workspace that a name leads to, with its path from there.
    fn find(&self, base: &Path, name: &str) -> Option<(String, PathBuf)> {
        // After `$PWD` or `$(dirname "$0")` only the rest of the path is left.
        let names = [Some(name), name.strip_prefix('/')];
        names.into_iter().flatten().find_map(|name| {
            let path = plain(&base.join(name))?;
            let inside = path.strip_prefix(&self.workspace).ok().filter(|inside| !inside.as_os_str().is_empty())?;
            let kind = self.kinds.get(&path).copied().unwrap_or_else(|| kind(&path));
            let is_file = kind.is_some_and(|kind| kind.is_file());
            is_file.then(|| (inside.to_string_lossy().replace('\\', "/"), path.clone()))
        })
    }

    /// What tells a file from another, if it is a program or runs as one, and its text if it is a script of a shell.
    fn state(&mut self, path: &Path, read_as: Option<ReadAs>) -> Option<(String, Option<String>)> {
        let real = fs::canonicalize(path).ok()?;
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let mut file = fs::File::open(&real).ok()?;
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let mut bytes = vec![0; 2];
        let is_script = file.read_exact(&mut bytes).is_ok() && bytes == *b"#!";
        let is_program = read_as.is_some()
            || is_script
            || is_executable(&metadata)
            || has(ENDINGS, ending)
            || has(BUILD_FILES, &name)
            || has(BUILD_FILES, name.split('.').next().unwrap_or_default());
        if !is_program {
            return None;
        }
        if !real.starts_with(&self.workspace) {
            return Some((format!("a link to {}", real.display()), None));
        }
        if metadata.len() > LARGEST {
            return Some((format!("{} bytes", metadata.len()), None));
        }
        let bytes = fs::read(&real).ok()?;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        let is_shell = || {
            let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let is_text = || !bytes.iter().take(8_000).any(|&byte| byte == 0);
            has(" sh bash zsh ksh ", ending)
                || is_script && first.windows(2).any(|pair| pair == b"sh")
                || read_as == Some(ReadAs::Shell)
                // What a shell starts and the system does not know is a script.
                || read_as == Some(ReadAs::Program) && !is_script && is_text()
        };
        let script =
            (bytes.len() <= LARGEST_SCRIPT && is_shell()).then(|| String::from_utf8_lossy(&bytes).into_owned());
        Some((Digest::of(&bytes).to_string(), script))
    }
}

/// The path without `.` and `..`, as a shell that did not follow a link would write it.
pub(super) fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if !plain.pop() => return None,
            Component::ParentDir => {}
            other => plain.push(other),
        }
    }
    Some(plain)
}

#[cfg(unix)]
pub(super) fn is_executable(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// Whether a word is in a list of words with spaces around each.
fn has(list: &str, word: &str) -> bool {
    !word.is_empty() && list.contains(&format!(" {word} "))
}

/// Calls `found` with every text of a document that may say what is run.
fn texts(document: &Json, is_top: bool, found: &mut impl FnMut(&str)) {
    match document {
        Json::String(text) => found(text),
        Json::Array(items) => items.iter().for_each(|item| texts(item, false, found)),
        Json::Object(entries) => {
            for (key, value) in entries {
                match (key.as_str(), value) {
                    (key, _) if is_top && has(PROSE, key) => {}
                    ("parameters", Json::Object(parameters)) if is_top => parameters.values().for_each(|parameter| {
                        let entries = parameter.as_object().into_iter().flatten();
                        entries.filter(|(key, _)| !has(PROSE, key)).for_each(|(_, value)| texts(value, false, found));
                    }),
                    _ => texts(value, false, found),
                }
            }
        }
        _ => {}
    }
}

/// The words of texts that may be names of files.
#[derive(Debug, Default)]
struct Words {
    seen: BTreeSet<Word>,
}

impl Words {
    /// Takes a text apart in the ways in which a shell might, and as a whole.
    fn add(&mut self, text: &str) {
        // What a variable holds is not known; what follows it is, as in `$PWD/run.sh`.
        let in_variable = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut parts = text.split('$');
        let first = parts.next().unwrap_or_default();
        let text = parts.fold(first.to_owned(), |text, part| text + "\0" + part.trim_start_matches(in_variable));
        let between = |c: char| c.is_whitespace() || ";|&<>()`".contains(c);
        for command in text.split([';', '|', '&', '\n', '(', ')', '`', '{', '}']) {
            let mut is_read_as_program = false;
            for word in command.split(between).filter(|word| !word.is_empty()) {
                let bare: String = word.chars().filter(|c| !"'\"\\\0".contains(*c)).collect();
                let is_option = bare.starts_with('-');
                self.push(&bare, is_read_as_program);
                let program = bare.rsplit('/').next().unwrap_or_default();
                let is_interpreter =
                    has(INTERPRETERS, program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
                        || has(INTERPRETERS, program);
                is_read_as_program = is_interpreter || has(" -f --file ", &bare) || is_read_as_program && is_option;
            }
        }
        for word in text.split(|c: char| between(c) || "\0'\"=,:{}[]*?!#".contains(c)).chain(text.split(['\'', '"'])) {
            self.push(word, false);
        }
        self.push(&text, false);
    }

    fn push(&mut self, text: &str, is_read_as_program: bool) {
        let is_name = !matches!(text, "" | "." | ".." | "/") && text.len() <= 4096 && !text.contains('\0');
        if is_name && self.seen.len() < MOST_WORDS {
            self.seen.insert(Word { text: text.to_owned(), is_read_as_program });
        }
    }
}
