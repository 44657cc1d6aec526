//! The programs that a worker offers, with their versions. Only the worker's user says which: no request makes it start one.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use cycod_engine::definition::{Host, program_label, version_in};
use cycod_process::{Conversation, Ending, ProcessLimits, Program, find_program};

use crate::command_error::CommandError;

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much of what it says is read.
const MOST_SAID: u64 = 4096;

/// The programs that a worker offers.
pub(super) struct OfferedPrograms<'a> {
    host: &'a Host,
    /// By name, with the version that the user states.
    named: BTreeMap<String, Option<String>>,
    /// What was found of each, and the version that it said. It is asked again when the file is another one.
    known: RefCell<BTreeMap<String, (Found, Option<String>)>>,
}

/// A file as it was when its program was asked.
#[derive(PartialEq, Eq)]
struct Found {
    path: PathBuf,
    size: u64,
    changed: Option<SystemTime>,
}

impl<'a> OfferedPrograms<'a> {
    /// Those of options such as `git` and `go=1.22`.
    ///
    /// # Errors
    /// When one can't be a program, or isn't on the search path.
    pub(super) fn named(options: &[String], host: &'a Host) -> Result<Self, CommandError> {
        let mut named = BTreeMap::new();
        for option in options {
            let (name, version) =
                option.split_once('=').map_or((&**option, None), |(name, version)| (name, Some(version)));
            if program_label(name, version).is_none() {
                return Err(CommandError::usage(format!("`{option}` can't be offered as a program"))
                    .hint("write its name, or the name and the version: --tool git, --tool go=1.22"));
            }
            if named.insert(name.to_owned(), version.map(str::to_owned)).is_some() {
                return Err(CommandError::usage(format!("`--tool {name}` is there twice")));
            }
        }
        let programs = Self { host, named, known: RefCell::default() };
        match programs.named.keys().find(|name| programs.found(name).is_none()) {
            Some(name) => Err(CommandError::failure(format!("`{name}` isn't on the search path"))),
            None => Ok(programs),
        }
    }

    /// The labels of those that are there now.
    pub(super) fn labels(&self) -> Vec<String> {
        let label = |(name, stated): (&String, &Option<String>)| {
            let found = self.found(name)?;
            let version = stated.clone().or_else(|| self.version(name, found));
            program_label(name, version.as_deref())
        };
        self.named.iter().filter_map(label).collect()
    }

    /// Those whose version no one knows.
    pub(super) fn without_version(&self) -> Vec<&str> {
        let known = self.known.borrow();
        let is_unknown = |name: &&String| known.get(*name).is_some_and(|(_, version)| version.is_none());
        self.named.keys().filter(is_unknown).map(String::as_str).collect()
    }

    /// Where a program is, on the search path of the worker and nowhere else.
    fn found(&self, name: &str) -> Option<Found> {
        let path = self.host.environment.get(OsStr::new("PATH"))?;
        // An empty or relative directory of the path would be below the directory in which the worker was started.
        let absolute = std::env::join_paths(std::env::split_paths(path).filter(|path| path.is_absolute())).ok()?;
        let path = find_program(OsStr::new(name), &absolute, Path::new("/")).ok()?;
        let about = fs::metadata(&path).ok()?;
        Some(Found { size: about.len(), changed: about.modified().ok(), path })
    }

    fn version(&self, name: &str, found: Found) -> Option<String> {
        let mut known = self.known.borrow_mut();
        if let Some((before, version)) = known.get(name)
            && *before == found
        {
            return version.clone();
        }
        let version = said(&found.path, self.host).as_deref().and_then(version_in);
        known.insert(name.to_owned(), (found, version.clone()));
        version
    }
}

/// What a program writes when it is asked for its version; nothing if it fails, or doesn't end within some seconds.
fn said(program: &Path, host: &Host) -> Option<String> {
    let mut asked = Program::new(program, &host.temp);
    asked.env = host.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    asked.args = vec!["--version".into()];
    let (mut conversation, streams) = Conversation::start(asked, ProcessLimits::default()).ok()?;
    thread::scope(|scope| {
        let mut stdout = streams.stdout;
        let reading = scope.spawn(move || {
            let mut said = Vec::new();
            stdout.by_ref().take(MOST_SAID).read_to_end(&mut said).ok().map(|_| said)
        });
        let ending = conversation.wait(PATIENCE);
        if ending.is_none() {
            _ = conversation.end(Duration::ZERO);
        }
        let said = reading.join().ok().flatten()?;
        (ending == Some(Ending::Exited(0))).then(|| String::from_utf8_lossy(&said).into_owned())
    })
}
