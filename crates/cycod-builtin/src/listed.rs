use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use cycod_diagnostic::{Code, Refusal};
use cycod_run::ToolPlatform;
use ignore::DirEntry;

use crate::{
    failure::Failure,
    tree::{Progress, Tree},
    until::Until,
};

/// The files below a directory.
#[derive(Debug)]
pub struct Listed {
    /// The files, below that directory, sorted.
    pub files: Vec<PathBuf>,
    /// How many places could not be looked at.
    pub unread: u64,
}

/// Lists the files below a directory, or the one file, that [`ToolPlatform::may_read`] returned, as `.gitignore` has it: hidden
/// ones too, but none in hidden directories. Links are left out. `exclude` has globs of what else is.
///
/// # Errors
/// A refusal when the call was stopped.
pub fn files_below(
    platform: &ToolPlatform<'_>,
    root: &Path,
    exclude: &[&str],
    follow: &mut dyn FnMut(&str),
) -> Result<Listed, Refusal> {
    let exclude: Vec<String> = exclude.iter().chain(&[".*/"]).map(|&glob| glob.to_owned()).collect();
    let tree = Tree {
        root,
        include: &[],
        exclude: &exclude,
        all: false,
        hidden: true,
        depth: None,
        guarded: platform.guarded(),
    };
    let (progress, files) = (Progress::default(), Mutex::new(Vec::new()));
    let until = Until { stop: platform.stop(), deadline: platform.deadline() };
    let walked = tree.walk(until, follow, &progress, false, || {
        |entry: DirEntry| {
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                let below = entry.path().strip_prefix(root).unwrap_or(entry.path()).to_owned();
                files.lock().unwrap_or_else(PoisonError::into_inner).push(below);
            }
        }
    });
    match walked {
        Ok(()) => {}
        Err(Failure::Refused(refusal)) => return Err(refusal),
        Err(Failure::Failed(why)) => return Err(Refusal::new(Code::NotStarted, why)),
    }
    let mut files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
    files.sort();
    Ok(Listed { files, unread: progress.misses.take().count })
}
