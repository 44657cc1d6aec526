//! Finding the files that the author of a tool names, and that we read in the tool's place.
//!
//! Only what lies in the directory where the tool works, or in the run's directory for temporary files, is found, and of that
//! only what the tool itself may read. The links in a path are followed and judged before the file is opened, and a link that
//! is put there afterwards is refused by the system.

use std::{
    fs::{File, Metadata},
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use cycod_diagnostic::{Code, Refusal};
use cycod_file::open_plain;
use cycod_plan::{ArtifactRoot, Plan, PlannedArtifact};

use crate::{
    confine::Readable,
    guarded::Guarded,
    walk::{Walk, WalkError, is_plain, spelled_out},
};

/// Finds the files of one plan.
pub(crate) struct Finder {
    pub(crate) guarded: Guarded,
    readable: Readable,
    until: Instant,
    /// What one of the files is called: an artifact, or an input.
    noun: &'static str,
    /// The directories for temporary files and for work, links followed.
    roots: [Option<PathBuf>; 2],
}

/// A file that was found and may be read.
pub(crate) struct FoundFile {
    /// Where it is, links followed.
    pub(crate) real: PathBuf,
    pub(crate) file: File,
    pub(crate) metadata: Metadata,
}

impl Finder {
    pub(crate) fn of(plan: &Plan, noun: &'static str, until: Instant) -> Self {
        let real = |path: &Path| path.canonicalize().ok();
        let roots = [real(&plan.temp_directory), real(&plan.working_directory)];
        Self { guarded: Guarded::of(plan), readable: Readable::of(plan), until, noun, roots }
    }

    /// The directory in which a pattern begins, links followed, if it is there.
    pub(crate) fn root(&self, root: ArtifactRoot) -> Option<&PathBuf> {
        let [temp, directory] = &self.roots;
        match root {
            ArtifactRoot::Temp => temp.as_ref(),
            ArtifactRoot::WorkingDirectory => directory.as_ref(),
        }
    }

    /// The paths below `root` that a pattern names.
    pub(crate) fn named(&self, artifact: &PlannedArtifact, root: &Path) -> Result<Vec<PathBuf>, Refusal> {
        let pattern = &artifact.pattern;
        if !pattern.split('/').all(is_plain) {
            return self.found(artifact, pattern, root);
        }
        let whole = root.join(pattern);
        match whole.symlink_metadata() {
            Err(_) => Ok(Vec::new()),
            Ok(_) if whole.is_dir() => self.found(artifact, &format!("{pattern}/**"), root),
            Ok(_) => Ok(vec![PathBuf::from(pattern)]),
        }
    }

    /// The files that a pattern finds. Directories count for what is in them only where the pattern goes there.
    fn found(&self, artifact: &PlannedArtifact, pattern: &str, root: &Path) -> Result<Vec<PathBuf>, Refusal> {
        let literal = spelled_out(pattern);
        let Ok(start) = root.join(&literal).canonicalize() else { return Ok(Vec::new()) };
        self.judge(&start, &literal.to_string_lossy())?;
        let walk = Walk { literal, pattern, leaves_hidden: true, most: usize::MAX };
        let passes = |path: &Path| self.guarded.opens(path).is_none();
        let is_over = || Instant::now() >= self.until;
        let mut found = walk.find(&start, &passes, &is_over).map_err(|error| match error {
            WalkError::Pattern(why) => {
                let why = format!("the {} `{}` is not a pattern: {why}", self.noun, artifact.shown);
                Refusal::new(Code::ArtifactPath, why)
            }
            WalkError::TooMany | WalkError::Over => {
                let why = format!("looking for the {} `{}` took too long", self.noun, artifact.shown);
                Refusal::new(Code::ArtifactsTooLarge, why).attempt("name a directory with fewer files")
            }
        })?;
        found.retain(|path| !root.join(path).is_dir());
        Ok(found)
    }

    /// Opens a file below `root`, which is called `name`.
    pub(crate) fn open(&self, root: &Path, path: &Path, name: &str) -> Result<FoundFile, Refusal> {
        let unreadable = |error: io::Error| self.refused(name, &format!("can't be read: {error}"));
        let real = root.join(path).canonicalize().map_err(unreadable)?;
        self.judge(&real, name)?;
        if !real.symlink_metadata().map_err(unreadable)?.is_file() {
            return Err(self.refused(name, "is not a file"));
        }
        let file = open_plain(&real).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(self.refused(name, "is not a file"));
        }
        match self.guarded.opens_by_itself(&real, &metadata) {
            Some(why) => Err(self.refused(name, why)),
            None => Ok(FoundFile { real, file, metadata }),
        }
    }

    /// Refuses what is outside, what the tool itself may not read, and what holds keys.
    fn judge(&self, real: &Path, name: &str) -> Result<(), Refusal> {
        if !self.roots.iter().flatten().any(|root| real.starts_with(root)) {
            return Err(self.refused(name, "leads out of the tool's working and temporary directories"));
        }
        if !self.readable.includes(real) {
            return Err(self.refused(name, "is not a file that the tool itself may read"));
        }
        self.guarded.opens(real).map_or(Ok(()), |why| Err(self.refused(name, why)))
    }

    /// Why a file is none of them.
    pub(crate) fn refused(&self, name: &str, why: &str) -> Refusal {
        let noun = self.noun;
        let article = if noun.starts_with('i') || noun.starts_with('a') || noun.starts_with('o') { "an" } else { "a" };
        let why = match why.strip_prefix("it ") {
            Some(rest) => format!("`{name}` can't be {article} {noun}: it {rest}"),
            None => format!("the {noun} `{name}` {why}"),
        };
        Refusal::new(Code::ArtifactRefused, why).place(name)
    }
}
