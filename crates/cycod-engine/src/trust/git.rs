//! Asks git about the project, without starting anything that the repository configures.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cycod_definition::Host;
use cycod_process::{Ending, Program, Session, Spec, Stop, Stream, find_program};

use super::real;

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

/// The program git, for one project.
pub(super) struct Git {
    program: PathBuf,
    pub(super) root: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl Git {
    pub(super) fn open(host: &Host, root: PathBuf) -> Option<Self> {
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

    /// The files below the root that are under version control, by their paths from there.
    pub(super) fn tracked(&self) -> Option<BTreeSet<String>> {
        let list = self.ask(&["ls-files", "-z"], Path::new(""))?;
        Some(list.split_terminator('\0').map(str::to_owned).collect())
    }

    /// The files below the root that git knows, or would take, by their paths from there.
    pub(super) fn known(&self) -> Option<BTreeSet<PathBuf>> {
        let list = self.answer(&["ls-files", "-co", "--exclude-standard", "-z"], Path::new(""))?;
        let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Some(names.map(|name| PathBuf::from(of_bytes(name))).collect())
    }

    /// What git answers; nothing when it fails.
    pub(super) fn ask(&self, words: &[&str], file: &Path) -> Option<String> {
        self.answer(words, file).map(|answer| String::from_utf8_lossy(&answer).into_owned())
    }

    fn answer(&self, words: &[&str], file: &Path) -> Option<Vec<u8>> {
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
        matches!(ended.ending, Ending::Exited(0)).then_some(answer)
    }

    /// The user's own address.
    pub(super) fn address(&self) -> Option<String> {
        Some(self.ask(&["config", "user.email"], Path::new(""))?.trim().to_owned())
    }

    /// The commits that were made in this clone.
    pub(super) fn made_here(&self) -> Option<BTreeSet<String>> {
        // The logs of branches know of commits that were made in other working trees.
        let log = self.ask(&["reflog", "show", "--all", "--format=%H %gs"], Path::new(""))?;
        let made = log.lines().filter_map(|line| line.split_once(' '));
        let made = made.filter(|(_, what)| MADE_HERE.iter().any(|begin| what.starts_with(begin)));
        Some(made.map(|(commit, _)| commit.to_owned()).collect())
    }
}

#[cfg(unix)]
fn of_bytes(name: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(name.to_vec())
}

#[cfg(not(unix))]
fn of_bytes(name: &[u8]) -> OsString {
    String::from_utf8_lossy(name).into_owned().into()
}
