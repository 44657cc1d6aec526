//! `cycod-hub import`: reads a branch of a repository that others write, with the real git.
//!
//! Git gets a directory of our own in the place of the repository's, and of the repository only its objects. So it reads no
//! configuration of the repository, and has no hooks, filters, attributes, replacements or remotes of it. Nothing is checked
//! out: files are read as they are in the commit, and each is refused that a release can't have.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use cycod_hub::{HubError, HubRefusal, ImportedCommit};
use cycod_process::{Conversation, Ending, ProcessLimits, Program, find_program};
use cycod_team::{DraftFile, LARGEST_FILE, MOST_BYTES, MOST_FILES, PARTS, ProposalSource, is_released_path};

/// How long git may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most bytes of the list of files, and of what a commit says.
const LARGEST_LIST: u64 = 8 << 20;
const LARGEST_LOG: u64 = 1 << 20;

/// The most memory that git takes for one thing.
const LARGEST_OBJECT: &str = "256m";

/// The most authors that are named, and the longest name.
const AUTHORS: usize = 20;
const LONGEST: usize = 200;

fn invalid(message: impl Into<String>) -> HubError {
    HubError::new(HubRefusal::Invalid, message)
}

fn failed(what: &str, error: impl std::fmt::Display) -> HubError {
    HubError::new(HubRefusal::Failed, format!("{what}: {error}"))
}

/// A repository, as far as it is read.
pub(crate) struct Repository {
    program: PathBuf,
    /// The directory of our own.
    own: PathBuf,
    objects: PathBuf,
    git: PathBuf,
}

/// An entry of the list of files.
struct Entry {
    object: String,
    path: String,
    size: u64,
    executable: bool,
}

impl Repository {
    /// Opens a clone, or a repository without a working tree. `data` is where the directory of our own can be.
    #[expect(clippy::disallowed_methods, reason = "one of two places where this program reads its environment")]
    pub(crate) fn open(directory: &Path, data: &Path) -> Result<Self, HubError> {
        let shown = directory.display();
        let directory = std::path::absolute(directory).map_err(|error| failed("the repository", error))?;
        let inner = directory.join(".git");
        let git = if inner.is_dir() { inner } else { directory.clone() };
        let objects = git.join("objects");
        if !objects.is_dir() || !git.join("HEAD").is_file() {
            return Err(invalid(format!(
                "`{shown}` is no repository: give a clone, or one that `git clone --bare` made"
            )));
        }
        if objects.join("info/alternates").exists() || objects.join("info/http-alternates").exists() {
            return Err(invalid(format!("`{shown}` borrows the objects of another repository: clone it without that")));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = find_program("git".as_ref(), &path, &directory)
            .map_err(|error| failed("cycod-hub reads repositories with git", error))?;
        let own = std::path::absolute(data).map_err(|error| failed("the directory of the hub", error))?;
        Ok(Self { program, own: own.join("import.git"), objects, git })
    }

    /// What the last commit of a branch has below a directory.
    pub(crate) fn read(&self, branch: &str, path: &str, last: Option<&str>) -> Result<ImportedCommit, HubError> {
        if !path.split('/').all(|name| !matches!(name, "" | "." | "..")) {
            return Err(invalid(format!("`{path}` is no path within a repository")));
        }
        let commit = self.commit(branch)?;
        self.prepare(commit.len())?;
        let tree = format!("{commit}:{path}");
        // A submodule could be a commit that is here.
        let kind = self.output(&["cat-file", "-t", &tree], b"", 64).unwrap_or_default();
        if kind != b"tree\n" {
            return Err(invalid(format!("the branch `{branch}` has no directory `{path}`")));
        }
        let list = self.output(&["ls-tree", "-r", "-z", "-l", "--full-tree", &tree], b"", LARGEST_LIST);
        let entries = entries(&list?)?;
        let files = self.files(&entries)?;
        let (source, why) = self.log(&commit, path, last)?;
        Ok(ImportedCommit { source, why, files })
    }

    /// The last commit of a branch. Its file is read without git, so that nothing else of the repository is.
    fn commit(&self, branch: &str) -> Result<String, HubError> {
        let is_name = |name: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
            !name.is_empty() && !name.starts_with(['.', '-']) && name.chars().all(is_plain) && !name.contains("..")
        };
        if !branch.split('/').all(is_name) {
            return Err(invalid(format!("`{}` is no name of a branch", branch.escape_default())));
        }
        let name = format!("refs/heads/{branch}");
        let read = |path: PathBuf| -> io::Result<String> {
            let mut text = String::new();
            File::open(path)?.take(LARGEST_LIST).read_to_string(&mut text)?;
            Ok(text)
        };
        let loose = read(self.git.join(&name)).ok();
        let packed = || {
            let packed = read(self.git.join("packed-refs")).unwrap_or_default();
            let line = packed.lines().find(|line| line.split_once(' ').is_some_and(|(_, of)| of == name));
            line.and_then(|line| line.split_once(' ')).map(|(commit, _)| commit.to_owned())
        };
        let found = loose.or_else(packed).map(|text| text.trim().to_owned());
        let is_id = |text: &String| matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        found.filter(is_id).ok_or_else(|| invalid(format!("the repository has no branch `{branch}` that can be read")))
    }

    /// Writes the directory of our own, in which git finds nothing but the kind of digests.
    fn prepare(&self, digits: usize) -> Result<(), HubError> {
        let write = || -> io::Result<()> {
            match fs::remove_dir_all(&self.own) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            fs::create_dir_all(self.own.join("refs"))?;
            fs::create_dir_all(self.own.join("objects"))?;
            fs::write(self.own.join("HEAD"), "ref: refs/heads/none\n")?;
            let kind = if digits == 64 { "[extensions]\n\tobjectformat = sha256\n" } else { "" };
            let config = format!("[core]\n\trepositoryformatversion = {}\n\tbare = true\n{kind}", digits / 64);
            fs::write(self.own.join("config"), config)
        };
        write().map_err(|error| failed("the directory for git", error))
    }

    /// The bytes of the files that a release can have.
    fn files(&self, entries: &[Entry]) -> Result<BTreeMap<String, DraftFile>, HubError> {
        let asked: String = entries.iter().map(|entry| format!("{}\n", entry.object)).collect();
        let whole: u64 = entries.iter().map(|entry| entry.size).sum();
        let most = whole.saturating_add(entries.len() as u64 * 256);
        let answer = self.output(&["cat-file", "--batch"], asked.as_bytes(), most)?;
        let mut rest = answer.as_slice();
        let mut files = BTreeMap::new();
        for Entry { object, path, size, executable } in entries {
            let head = format!("{object} blob {size}\n");
            let size = usize::try_from(*size).unwrap_or(usize::MAX);
            let bytes = rest.strip_prefix(head.as_bytes()).and_then(|rest| rest.split_at_checked(size));
            let Some((bytes, [b'\n', after @ ..])) = bytes else {
                return Err(invalid(format!("git doesn't give the bytes of `{path}`: the repository is damaged")));
            };
            files.insert(path.clone(), DraftFile { bytes: bytes.to_vec(), executable: *executable });
            rest = after;
        }
        Ok(files)
    }

    /// Who wrote the commit and those since the last import, and what it is for.
    fn log(&self, commit: &str, path: &str, last: Option<&str>) -> Result<(ProposalSource, String), HubError> {
        let since = |last: Option<&str>| {
            let not = last.map(|last| format!("^{last}"));
            let most = if not.is_some() { "--max-count=200" } else { "--max-count=1" };
            let mut words =
                vec!["log", "-z", "--no-mailmap", "--encoding=UTF-8", most, "--format=%an <%ae>%n%s", commit];
            words.extend(not.as_deref());
            words.extend(["--", path]);
            self.output(&words, b"", LARGEST_LOG)
        };
        // The commit of the last import may be gone after someone wrote the history again.
        let log = match last {
            Some(last) => since(Some(last)).or_else(|_| since(None))?,
            None => since(None)?,
        };
        let log = String::from_utf8_lossy(&log).into_owned();
        let (mut authors, mut why) = (BTreeSet::new(), None);
        for record in log.split('\0').filter(|record| !record.is_empty()) {
            let (author, subject) = record.split_once('\n').unwrap_or((record, ""));
            authors.insert(plain(author));
            why.get_or_insert_with(|| plain(subject));
        }
        let authors = authors.into_iter().take(AUTHORS).collect();
        let why = why.filter(|why| !why.is_empty()).unwrap_or_else(|| format!("commit {}", &commit[..12]));
        Ok((ProposalSource { commit: commit.to_owned(), authors }, why))
    }

    /// What git answers, within limits of size and time.
    fn output(&self, words: &[&str], input: &[u8], most: u64) -> Result<Vec<u8>, HubError> {
        let mut program = Program::new(&self.program, &self.own)
            .env("GIT_DIR", &self.own)
            .env("GIT_OBJECT_DIRECTORY", &self.objects)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOC_LIMIT", LARGEST_OBJECT)
            .env("LC_ALL", "C.UTF-8");
        program.args = ["--no-pager", "--literal-pathspecs"].iter().chain(words).map(OsString::from).collect();
        let (mut conversation, streams) = Conversation::start(program, ProcessLimits::default())
            .map_err(|error| failed("git can't be started", error))?;
        let (mut stdin, stdout, stderr) = (streams.stdin, streams.stdout, streams.stderr);
        let (answer, said, ending) = thread::scope(|scope| {
            // It stops reading if it fails, which its end says.
            let writing = scope.spawn(move || drop(stdin.write_all(input)));
            let reading = scope.spawn(move || {
                let mut bytes = Vec::new();
                stdout.take(most.saturating_add(1)).read_to_end(&mut bytes).map(|_| bytes)
            });
            let saying = scope.spawn(move || {
                let mut said = Vec::new();
                drop(stderr.take(4096).read_to_end(&mut said));
                said
            });
            let ending = conversation.wait(PATIENCE);
            if ending.is_none() {
                _ = conversation.end(Duration::ZERO);
            }
            drop(writing.join());
            (reading.join(), saying.join().unwrap_or_default(), ending)
        });
        let answer = answer.unwrap_or_else(|_| Err(io::Error::other("it can't be read")));
        let answer = answer.map_err(|error| failed("git", error))?;
        if answer.len() as u64 > most {
            return Err(invalid(format!("git answers more than {most} bytes")));
        }
        let Some(ending) = ending else {
            return Err(failed("git", format!("it took longer than {} seconds", PATIENCE.as_secs())));
        };
        if ending != Ending::Exited(0) {
            let said = String::from_utf8_lossy(&said);
            return Err(failed("git", plain(said.lines().next().unwrap_or("it failed"))));
        }
        Ok(answer)
    }
}

/// A text of others without anything that acts on a terminal, and not too long.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{FFFD}' } else { c })
        .take(LONGEST)
        .collect::<String>()
        .trim()
        .to_owned()
}

/// The files of a list that a release can have. What it can't have in their place is refused.
fn entries(list: &[u8]) -> Result<Vec<Entry>, HubError> {
    let mut entries = Vec::new();
    for line in list.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let line = String::from_utf8_lossy(line);
        let Some((head, path)) = line.split_once('\t') else { return Err(invalid("git's list can't be read")) };
        let words: Vec<&str> = head.split_whitespace().collect();
        let [mode, _, object, size] = words[..] else { return Err(invalid("git's list can't be read")) };
        let tool = path.strip_prefix("tools/");
        let is_part = PARTS.iter().any(|(name, file)| *file == path && !matches!(*name, "tools" | "reviews"));
        // As in a directory of tools: editors and others keep files of their own there.
        let is_hidden = tool.is_some_and(|tool| tool.split('/').any(|name| name.starts_with('.') && name != ".."));
        if is_hidden || tool.is_none() && !is_part && path != "tools" {
            continue;
        }
        let refused = |why: &str| invalid(format!("`{}` {why}, so nothing was proposed", plain(path).escape_default()));
        let executable = match mode {
            "100644" | "100664" => false,
            "100755" => true,
            "120000" => return Err(refused("is a link, which a release can't have")),
            "160000" => return Err(refused("is a submodule, which a release can't have")),
            _ => return Err(refused("is no file")),
        };
        if tool.is_some_and(|tool| !is_released_path(tool)) || path == "tools" {
            return Err(refused("is not a path that a release can have"));
        }
        let size = size.parse().map_err(|_| refused("has no size"))?;
        if size > LARGEST_FILE {
            return Err(refused(&format!("is larger than {LARGEST_FILE} bytes")));
        }
        entries.push(Entry { object: object.to_owned(), path: path.to_owned(), size, executable });
        if entries.len() > MOST_FILES {
            return Err(invalid(format!("the branch has more than {MOST_FILES} files, so nothing was proposed")));
        }
    }
    if entries.iter().map(|entry| entry.size).sum::<u64>() > MOST_BYTES {
        return Err(invalid(format!("the files have more than {MOST_BYTES} bytes, so nothing was proposed")));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_as_many_files_and_bytes_as_a_release() {
        let refused = |count: usize, size: u64| {
            let line = |number| format!("100644 blob 1d0c {size}\ttools/{number}.txt\0");
            let list: String = (0..count).map(line).collect();
            entries(list.as_bytes()).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let largest = usize::try_from(MOST_BYTES / LARGEST_FILE).expect("a number");
        assert_eq!((refused(MOST_FILES, 1), refused(largest, LARGEST_FILE)), (String::new(), String::new()));
        assert!(refused(MOST_FILES + 1, 1).contains("more than 10000 files"), "{}", refused(MOST_FILES + 1, 1));
        assert!(refused(largest + 1, LARGEST_FILE).contains("bytes, so nothing was proposed"));
    }
}
