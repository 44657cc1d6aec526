//! Keeping the files that a tool declares as the artifacts of its runs.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    time::Instant,
};

use cycod_diagnostic::{Code, Refusal};
use cycod_mask::{Masks, StreamMask};
use cycod_plan::{Plan, PlannedArtifact};

use crate::{
    Artifact, ArtifactShelf,
    artifact::MOST_ARTIFACTS,
    finder::{Finder, FoundFile},
    results::Results,
    walk::is_plain,
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

/// Keeps the artifacts of a plan that has run, and of those of its steps that have; without a shelf, only looks whether they
/// could be kept.
pub(crate) fn collect(plan: &Plan, results: &Results, shelf: Option<&dyn ArtifactShelf>, until: Instant) -> Collected {
    let masks = &results.masks(plan);
    let mut collector = Collector { finder: Finder::of(plan, "artifact", until), masks, shelf, names: BTreeMap::new() };
    let mut collected = Collected::default();
    let has_run = |name: &str| {
        let mut steps = results.steps.iter().flatten();
        steps.any(|step| step.name == name && step.has_run())
    };
    let early = plan.artifacts.iter().filter(|artifact| artifact.step.as_deref().is_none_or(has_run)).cloned();
    let mut wanted: Vec<PlannedArtifact> = early.collect();
    for step in plan.steps.iter().filter(|step| has_run(&step.name)) {
        match plan.late_artifacts(step, results, masks) {
            Ok(late) => wanted.extend(late),
            Err(refusal) => _ = collected.problem.get_or_insert(refusal),
        }
    }
    for artifact in &wanted {
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
    finder: Finder,
    masks: &'a Masks,
    shelf: Option<&'a dyn ArtifactShelf>,
    /// The files that were kept, by their names.
    names: BTreeMap<String, PathBuf>,
}

impl Collector<'_> {
    fn keep(&mut self, artifact: &PlannedArtifact, kept: &mut Vec<Artifact>) -> Result<(), Refusal> {
        let root = self.finder.root(artifact.root).cloned().ok_or_else(|| missing(artifact))?;
        let named = self.finder.named(artifact, &root)?;
        if named.is_empty() {
            return Err(missing(artifact));
        }
        for path in named {
            self.keep_file(&root, &path, artifact.step.as_deref(), kept)?;
        }
        Ok(())
    }

    fn keep_file(
        &mut self,
        root: &Path,
        path: &Path,
        step: Option<&str>,
        kept: &mut Vec<Artifact>,
    ) -> Result<(), Refusal> {
        let name = self.masks.apply(&path.to_string_lossy()).into_owned();
        let FoundFile { real, file, .. } = self.finder.open(root, path, &name)?;
        match self.names.get(&name) {
            Some(other) if *other == real => return Ok(()),
            Some(_) => return Err(self.finder.refused(&name, "has the same name as another artifact")),
            None => {}
        }
        if self.names.len() == MOST_ARTIFACTS {
            let why = format!("the run has more than {MOST_ARTIFACTS} artifacts");
            return Err(
                Refusal::new(Code::ArtifactsTooLarge, why).attempt("put the files into an archive, and keep that")
            );
        }
        if let Some(shelf) = self.shelf {
            kept.push(shelf.keep(&name, step, &mut Masked::new(file, self.masks))?);
        }
        self.names.insert(name, real);
        Ok(())
    }
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
