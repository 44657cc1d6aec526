//! Walking a tree of files as `.gitignore` has it, in parallel, without waiting for anything that a tree may hold.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use cycod_run::Guarded;
use ignore::{DirEntry, WalkBuilder, WalkState, overrides::Override, overrides::OverrideBuilder};

use crate::{failure::Failure, until::Until};

/// How long it takes at most until a stop is heeded.
const TICK: Duration = Duration::from_millis(50);

/// How many ticks pass between two reports of progress.
const TICKS_PER_REPORT: u32 = 40;

/// The largest file of rules that is read.
const MOST_RULES: u64 = 1 << 20;

/// How many unreadable places are named.
const MOST_NAMED: usize = 5;

/// Where to walk, and what to leave out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree<'a> {
    /// A directory or a file: an absolute path without links.
    pub(crate) root: &'a Path,
    /// Globs; only files that match one are visited. None means all.
    pub(crate) include: &'a [String],
    /// Globs of files and directories to leave out.
    pub(crate) exclude: &'a [String],
    /// Whether hidden and ignored files are visited, too. What is in `.git` never is.
    pub(crate) all: bool,
    /// Whether hidden files are visited though ignored ones are not.
    pub(crate) hidden: bool,
    /// How many levels below the root; all of them when not given.
    pub(crate) depth: Option<usize>,
    /// What is never looked at, because it opens something.
    pub(crate) guarded: &'a Arc<Guarded>,
}

/// What could not be looked at.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    pub(crate) count: u64,
    /// The first few that were met, with the reason.
    pub(crate) named: Vec<String>,
}

/// Collects from many threads what could not be looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Misses(Arc<Mutex<Unread>>);

impl Misses {
    /// Remembers one.
    pub(crate) fn add(&self, what: impl fmt::Display) {
        let mut unread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unread.count += 1;
        if unread.named.len() < MOST_NAMED {
            unread.named.push(what.to_string());
        }
    }

    /// All of them; their order does not depend on the threads' as long as all are named.
    pub(crate) fn take(&self) -> Unread {
        let mut unread = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        unread.named.sort();
        unread
    }
}

/// How a walk goes: what its visitors and its watcher share.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Whether visitors are to give up what they do.
    pub(crate) halt: AtomicBool,
    /// How many files were visited.
    pub(crate) visited: AtomicU64,
    /// What could not be looked at.
    pub(crate) misses: Misses,
}

impl Tree<'_> {
    /// Visits every file that is neither ignored nor left out, and every directory when `directories` asks for them, on
    /// several threads; each gets a visitor from `visitors`.
    ///
    /// Links are visited, never followed.
    pub(crate) fn walk<'v, V>(
        &self,
        until: Until<'_>,
        follow: &mut dyn FnMut(&str),
        progress: &'v Progress,
        directories: bool,
        visitors: impl Fn() -> V + Sync,
    ) -> Result<(), Failure>
    where
        V: FnMut(DirEntry) + Send + 'v,
    {
        let include = globs(self.root, self.include, "include", false)?;
        let walker = self.builder(&progress.misses)?.build_parallel();
        let (include, visitors) = (&include, &visitors);
        thread::scope(|scope| {
            let (working, done) = channel::<()>();
            scope.spawn(move || {
                walker.run(|| {
                    let mut visit = visitors();
                    Box::new(move |entry| {
                        if progress.halt.load(Ordering::Relaxed) {
                            return WalkState::Quit;
                        }
                        match entry {
                            Ok(entry) => {
                                let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                                let is_root = entry.depth() == 0;
                                let is_wanted = if is_directory {
                                    directories && !is_root
                                } else {
                                    is_root || include.is_empty() || include.matched(entry.path(), false).is_whitelist()
                                };
                                if is_wanted {
                                    progress.visited.fetch_add(1, Ordering::Relaxed);
                                    visit(entry);
                                }
                            }
                            Err(error) => progress.misses.add(error),
                        }
                        WalkState::Continue
                    })
                });
                drop(working);
            });
            let (mut ended, mut ticks) = (Ok(()), 0_u32);
            while done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if ended.is_ok() {
                    ended = until.check();
                    progress.halt.store(ended.is_err(), Ordering::Relaxed);
                }
                ticks += 1;
                if ticks.is_multiple_of(TICKS_PER_REPORT) {
                    follow(&format!("{} files so far", progress.visited.load(Ordering::Relaxed)));
                }
            }
            ended
        })
    }

    fn builder(&self, misses: &Misses) -> Result<WalkBuilder, Failure> {
        let mut builder = WalkBuilder::new(self.root);
        let excluded: Vec<String> = self.exclude.iter().map(|glob| format!("!{glob}")).collect();
        builder.overrides(globs(self.root, &excluded, "exclude", false)?);
        builder.max_depth(self.depth).follow_links(false);
        // What the user ignores everywhere is found through the environment, which is not read here.
        builder.standard_filters(!self.all).git_global(false).git_exclude(false);
        builder.hidden(!self.all && !self.hidden);
        let repository = self.root.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
        builder.current_dir(repository.unwrap_or(self.root));
        if repository.is_none() {
            // Rules are heeded also where git is not used, but none from directories that have nothing to do with it.
            builder.require_git(false).parents(false);
        }
        if !self.all {
            if let Some(bad) = bad_rules(self.root) {
                misses.add(bad);
                builder.standard_filters(false).hidden(!self.hidden);
            } else if repository.is_some()
                && let Some(bad) = self.root.ancestors().skip(1).find_map(bad_rules)
            {
                misses.add(bad);
                builder.parents(false);
            }
            let excluded = repository.map(|repository| repository.join(".git/info/exclude"));
            if let Some(rules) = excluded.filter(|rules| has_rules(rules)) {
                builder.add_ignore(rules);
            }
        }
        let (misses, all, guarded) = (misses.clone(), self.all, Arc::clone(self.guarded));
        builder.filter_entry(move |entry| {
            if entry.file_name() == ".git" || guarded.opens(entry.path()).is_some() {
                return false;
            }
            // The walk reads the rules of a directory when it enters it, and would wait for ever for a pipe.
            let bad = (!all && entry.file_type().is_some_and(|kind| kind.is_dir())).then(|| bad_rules(entry.path()));
            if let Some(Some(bad)) = &bad {
                misses.add(bad);
            }
            !matches!(bad, Some(Some(_)))
        });
        Ok(builder)
    }
}

/// Compiles globs written as in `.gitignore`: one without `/` matches names at any depth.
pub(crate) fn globs(
    root: &Path,
    globs: &[impl AsRef<str>],
    parameter: &str,
    ignore_case: bool,
) -> Result<Override, Failure> {
    let broken = |error| Failure::new(format!("`{parameter}` cannot be used: {error}"));
    let mut builder = OverrideBuilder::new(root);
    builder.case_insensitive(ignore_case).map_err(broken)?;
    for glob in globs.iter().map(AsRef::as_ref) {
        if parameter != "exclude" && glob.starts_with('!') {
            return Err(Failure::new(format!(
                "`{parameter}` has `{glob}`, which leaves files out: put `{}` into `exclude`",
                &glob[1..]
            )));
        }
        if let Err(error) = builder.add(glob) {
            let glob = glob.strip_prefix('!').unwrap_or(glob);
            return Err(Failure::new(format!("`{glob}` in `{parameter}` is not a glob: {error}")));
        }
    }
    builder.build().map_err(broken)
}

/// Whether rules can be read from there.
fn has_rules(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MOST_RULES)
}

/// The first of a directory's files of rules that cannot be read, and why.
fn bad_rules(directory: &Path) -> Option<String> {
    let rules = [".gitignore", ".ignore"].map(|name| directory.join(name));
    // What cannot be looked at will be told of when the directory is read.
    let bad = |path: &PathBuf| match fs::metadata(path).ok()? {
        metadata if !metadata.is_file() => Some("it is not a file"),
        metadata if metadata.len() > MOST_RULES => Some("it is too large for a file of rules"),
        _ => None,
    };
    rules.iter().find_map(|path| bad(path).map(|why| format!("{}: {why}", path.display())))
}
