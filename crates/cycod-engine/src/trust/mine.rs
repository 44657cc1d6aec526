//! Projects of the user's own, in which what they write themselves runs by hand without a question.
//!
//! Whether a file is the user's own work is asked of git: it is not committed, or the commit that changed it last was made in
//! this very clone, under the user's own address. Anybody can write an address into a commit; that it was made here stands in
//! the log of this clone, which nobody else writes.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cycod_diagnostic::Refusal;
use cycod_process::{Ending, Program, Session, Spec, Stop, Stream, find_program};
use cycod_store::{Pin, PinKey};
use serde_json::json;

use super::{TrustSubject, now, real, repository::Project, scope_text, unreadable};
use crate::Engine;

/// The kind of the pins that mark projects.
const PROJECT: &str = "project";

/// How many files are asked about before the person is.
const MOST_FILES: usize = 64;

/// How long git may take for one answer.
const TIME: Duration = Duration::from_secs(10);

/// How entries in the log of a clone begin whose commits were made there.
const MADE_HERE: [&str; 12] = [
    "commit:",
    "commit (initial):",
    "commit (amend):",
    "commit (merge):",
    "cherry-pick:",
    "revert:",
    "rebase (pick):",
    "rebase (reword):",
    "rebase (squash):",
    "rebase (fixup):",
    "rebase (continue):",
    "pull --rebase (pick):",
];

impl Engine {
    /// Marks this project as the user's own, or takes the mark away; says whether that is new.
    ///
    /// # Errors
    /// When the pins cannot be written.
    pub fn mark_mine(&self, is_mine: bool) -> Result<bool, Refusal> {
        let key = self.project_key();
        let here = Project::at(Path::new(&key.scope));
        let changed = self.update_pins(|pins| match is_mine {
            true => pins.insert(key, Pin::new(json!({}), now())).is_none(),
            false => {
                let before = pins.len();
                let is_here =
                    |other: &PinKey| *other == key || here.is_some() && Project::at(Path::new(&other.scope)) == here;
                pins.retain(|other, _| other.kind != PROJECT || !is_here(other));
                pins.len() < before
            }
        });
        changed.map_err(|error| unreadable(&error))
    }

    /// Whether the user has marked this project as their own.
    pub fn is_mine(&self) -> bool {
        let Ok(pins) = self.pins().all() else { return false };
        let own = self.project_key();
        if pins.contains_key(&own) {
            return true;
        }
        let mut marked = pins.keys().filter(|key| key.kind == PROJECT).peekable();
        // Every working tree of a repository has the same project.
        marked.peek().is_some()
            && Project::at(Path::new(&own.scope))
                .is_some_and(|here| marked.any(|key| Project::at(Path::new(&key.scope)).as_ref() == Some(&here)))
    }

    /// Whether everything about a tool that is not as it was trusted is the user's own work. What cannot be told is not.
    pub fn is_own_work(&self, subject: &TrustSubject) -> bool {
        let Some(files) = subject.doubtful_files(&real(&self.host().workspace)) else { return false };
        if files.len() > MOST_FILES {
            return false;
        }
        let root = real(&self.host().workspace);
        let is_versioned = root.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok());
        if !is_versioned {
            // Nobody else's work comes into a directory without a history.
            return true;
        }
        let Some(git) = Git::open(self, root) else { return false };
        let mut made_here: Option<BTreeSet<String>> = None;
        // What lies elsewhere did not come with the project.
        files.iter().filter(|file| file.starts_with(&git.root)).all(|file| {
            let Some(state) =
                git.ask(&["status", "--porcelain", "-z", "--ignored", "--untracked-files=all", "--"], file)
            else {
                return false;
            };
            if !state.is_empty() {
                return true;
            }
            let Some(last) = git.ask(&["log", "-1", "--format=%H %ae", "--"], file) else { return false };
            let Some((commit, address)) = last.trim().split_once(' ') else { return false };
            let made_here = made_here.get_or_insert_with(|| git.made_here().unwrap_or_default());
            !address.is_empty() && Some(address) == git.address().as_deref() && made_here.contains(commit)
        })
    }

    fn project_key(&self) -> PinKey {
        PinKey::new(PROJECT, &scope_text(&real(&self.host().workspace)), "mine")
    }
}

/// The program git, for one project.
struct Git {
    program: PathBuf,
    root: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl Git {
    fn open(engine: &Engine, root: PathBuf) -> Option<Self> {
        let host = engine.host();
        let path = host.environment.get(OsStr::new("PATH"))?;
        // A project may not bring the git that is asked about it.
        let directories: Vec<PathBuf> = std::env::split_paths(path)
            .filter(|directory| directory.is_absolute() && !real(directory).starts_with(&root))
            .collect();
        let path = std::env::join_paths(directories).ok()?;
        let program = find_program(OsStr::new("git"), &path, &root).ok()?;
        let own = [("HOME", host.home.as_os_str()), ("PATH", path.as_os_str()), ("LC_ALL", OsStr::new("C"))];
        let mut environment: Vec<(OsString, OsString)> =
            own.into_iter().map(|(name, value)| (name.into(), value.to_owned())).collect();
        // Looking changes nothing, not even an index.
        environment.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
        Some(Self { program, root, environment })
    }

    /// What git answers; nothing when it fails.
    fn ask(&self, words: &[&str], file: &Path) -> Option<String> {
        let mut args: Vec<OsString> = vec!["-C".into(), self.root.clone().into()];
        // Nothing that the repository configures is started.
        for setting in ["core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showSignature=false"] {
            args.extend(["-c".into(), setting.into()]);
        }
        args.extend(words.iter().map(OsString::from));
        if !file.as_os_str().is_empty() {
            args.push(file.as_os_str().to_owned());
        }
        let mut spec = Spec::new(Program {
            path: self.program.clone(),
            arg0: None,
            args,
            env: self.environment.clone(),
            cwd: self.root.clone(),
        });
        spec.deadline = Some(Instant::now() + TIME);
        let mut answer = Vec::new();
        let ended = Session::new()
            .ok()?
            .run(&spec, &Stop::new().ok()?, &mut |stream, bytes| {
                if stream == Stream::Stdout {
                    answer.extend_from_slice(bytes);
                }
            })
            .ok()?;
        matches!(ended.ending, Ending::Exited(0)).then(|| String::from_utf8_lossy(&answer).into_owned())
    }

    /// The user's own address.
    fn address(&self) -> Option<String> {
        Some(self.ask(&["config", "user.email"], Path::new(""))?.trim().to_owned())
    }

    /// The commits that were made in this clone.
    fn made_here(&self) -> Option<BTreeSet<String>> {
        // The logs of branches know of commits that were made in other working trees.
        let log = self.ask(&["reflog", "show", "--all", "--format=%H %gs"], Path::new(""))?;
        let made = log.lines().filter_map(|line| line.split_once(' '));
        let made = made.filter(|(_, what)| MADE_HERE.iter().any(|begin| what.starts_with(begin)));
        Some(made.map(|(commit, _)| commit.to_owned()).collect())
    }
}
