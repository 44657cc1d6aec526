//! Keeping the files that a tool declares as the artifacts of its runs.
//!
//! Only what lies in the directory where the tool works, or in the run's directory for temporary files, is kept, and of that
//! only what the tool itself may read. The links in a path are followed and judged before the file is opened, and a link that
//! is put there afterwards is refused by the system.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    time::Instant,
};

use cycod_diagnostic::{Code, Refusal};
use cycod_file::open_plain;
use cycod_mask::{Masks, StreamMask};
use cycod_plan::{ArtifactRoot, Plan, PlannedArtifact};

use crate::{
    Artifact, ArtifactShelf,
    artifact::MOST_ARTIFACTS,
    confine::Readable,
    guarded::Guarded,
    walk::{Walk, WalkError, is_plain, spelled_out},
};

/// How much is read at once.
const BLOCK: usize = 64 * 1024;

/// What came of the artifacts of a run.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) kept: Vec<Artifact>,
    /// The first reason why one could not be kept.
    pub(crate) problem: Option<Refusal>,
}

/// Keeps the artifacts of a plan that has run; without a shelf, only looks whether they could be kept.
pub(crate) fn collect(plan: &Plan, masks: &Masks, shelf: Option<&dyn ArtifactShelf>, until: Instant) -> Collected {
    let guarded = Guarded::of(plan);
    let real = |path: &Path| path.canonicalize().ok();
    let roots = [real(&plan.temp_directory), real(&plan.working_directory)];
    let readable = Readable::of(plan);
    let mut collector = Collector { readable, masks, shelf, until, guarded, roots, names: BTreeMap::new() };
    let mut collected = Collected::default();
    for artifact in &plan.artifacts {
        if let Err(refusal) = collector.keep(artifact, &mut collected.kept) {
            let is_full = refusal.code == Code::ArtifactsTooLarge;
            collected.problem.get_or_insert(refusal);
            if is_full {
                break;
            }
        }
    }
    collected
}

struct Collector<'a> {
    masks: &'a Masks,
    shelf: Option<&'a dyn ArtifactShelf>,
    until: Instant,
    guarded: Guarded,
    readable: Readable,
    /// The directories for temporary files and for work, links followed.
    roots: [Option<PathBuf>; 2],
    /// The files that were kept, by their names.
    names: BTreeMap<String, PathBuf>,
}

impl Collector<'_> {
    fn keep(&mut self, artifact: &PlannedArtifact, kept: &mut Vec<Artifact>) -> Result<(), Refusal> {
        let [temp, directory] = &self.roots;
        let root = match artifact.root {
            ArtifactRoot::Temp => temp,
            ArtifactRoot::WorkingDirectory => directory,
        };
        let root = root.clone().ok_or_else(|| missing(artifact))?;
        let named = self.named(artifact, &root)?;
        if named.is_empty() {
            return Err(missing(artifact));
        }
        for path in named {
            self.keep_file(&root, &path, kept)?;
        }
        Ok(())
    }

    /// The paths below `root` that an artifact names.
    fn named(&self, artifact: &PlannedArtifact, root: &Path) -> Result<Vec<PathBuf>, Refusal> {
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
                Refusal::new(Code::ArtifactPath, format!("the artifact `{}` is not a pattern: {why}", artifact.shown))
            }
            WalkError::TooMany | WalkError::Over => {
                let why = format!("looking for the artifact `{}` took too long", artifact.shown);
                Refusal::new(Code::ArtifactsTooLarge, why).attempt("name a directory with fewer files")
            }
        })?;
        found.retain(|path| !root.join(path).is_dir());
        Ok(found)
    }

    fn keep_file(&mut self, root: &Path, path: &Path, kept: &mut Vec<Artifact>) -> Result<(), Refusal> {
        let name = self.masks.apply(&path.to_string_lossy()).into_owned();
        let unreadable = |error: io::Error| refused(&name, &format!("can't be read: {error}"));
        let real = root.join(path).canonicalize().map_err(unreadable)?;
        self.judge(&real, &name)?;
        match self.names.get(&name) {
            Some(other) if *other == real => return Ok(()),
            Some(_) => return Err(refused(&name, "has the same name as another artifact")),
            None => {}
        }
        if !real.symlink_metadata().map_err(unreadable)?.is_file() {
            return Err(refused(&name, "is not a file"));
        }
        let file = open_plain(&real).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(refused(&name, "is not a file"));
        }
        if let Some(why) = self.guarded.opens_by_itself(&real, &metadata) {
            return Err(refused(&name, why));
        }
        if self.names.len() == MOST_ARTIFACTS {
            let why = format!("the run has more than {MOST_ARTIFACTS} artifacts");
            return Err(
                Refusal::new(Code::ArtifactsTooLarge, why).attempt("put the files into an archive, and keep that")
            );
        }
        if let Some(shelf) = self.shelf {
            kept.push(shelf.keep(&name, &mut Masked::new(file, self.masks))?);
        }
        self.names.insert(name, real);
        Ok(())
    }

    /// Refuses what is outside, what the tool itself may not read, and what holds keys.
    fn judge(&self, real: &Path, name: &str) -> Result<(), Refusal> {
        if !self.roots.iter().flatten().any(|root| real.starts_with(root)) {
            return Err(refused(name, "leads out of the tool's working and temporary directories"));
        }
        if !self.readable.includes(real) {
            return Err(refused(name, "is not a file that the tool itself may read"));
        }
        self.guarded.opens(real).map_or(Ok(()), |why| Err(refused(name, why)))
    }
}

fn refused(name: &str, why: &str) -> Refusal {
    let why = match why.strip_prefix("it ") {
        Some(rest) => format!("`{name}` can't be an artifact: it {rest}"),
        None => format!("the artifact `{name}` {why}"),
    };
    Refusal::new(Code::ArtifactRefused, why).place(name)
}

fn missing(artifact: &PlannedArtifact) -> Refusal {
    let name = &artifact.shown;
    let why = match artifact.pattern.split('/').all(is_plain) {
        true => format!("the artifact `{name}` is missing: the run has not made such a file"),
        false => format!("the artifact `{name}` is missing: no file matches"),
    };
    Refusal::new(Code::ArtifactMissing, why)
        .place(name.as_str())
        .attempt("make the file, or remove it from `artifacts`")
}

/// A file without the secrets in it, as it is read.
struct Masked {
    file: File,
    mask: StreamMask,
    block: Vec<u8>,
    /// What was read and is not handed on yet, from this place on.
    ready: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl Masked {
    fn new(file: File, masks: &Masks) -> Self {
        Self { file, mask: masks.stream(), block: vec![0; BLOCK], ready: Vec::new(), at: 0, is_over: false }
    }
}

impl Read for Masked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() && !self.is_over {
            let length = self.file.read(&mut self.block)?;
            self.is_over = length == 0;
            self.ready = match self.is_over {
                true => self.mask.finish(),
                false => Cow::into_owned(self.mask.push(&self.block[..length])),
            };
            self.at = 0;
        }
        let length = into.len().min(self.ready.len() - self.at);
        into[..length].copy_from_slice(&self.ready[self.at..][..length]);
        self.at += length;
        Ok(length)
    }
}
