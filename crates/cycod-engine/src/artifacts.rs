//! Where the files go that a run keeps.

use std::{
    io::{self, Read},
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use cycod_diagnostic::{Code, Refusal};
use cycod_run::{Artifact, ArtifactShelf, MOST_ARTIFACT_BYTES};
use cycod_store::{Maker, OutputId, Outputs, Retention, RunId, StoreError, StoredOutput};
use serde_json::{Value as Json, json};

use crate::{Block, Content};

/// What the names of all copies begin with.
const NAME: &str = "artifact-";

/// How much is read at once.
const BLOCK: usize = 64 * 1024;

/// How long copies of artifacts are stored, where outputs are stored so: until the history forgets their run.
pub fn artifact_retention(all: Retention) -> Retention {
    Retention {
        max_age: Duration::MAX,
        max_bytes: all.max_bytes.max(MOST_ARTIFACT_BYTES),
        max_one: MOST_ARTIFACT_BYTES,
    }
}

/// Whether this is the name of the copy of an artifact.
pub(crate) fn is_artifact(id: &OutputId) -> bool {
    id.name().starts_with(NAME)
}

/// The artifacts of one run.
#[derive(Debug)]
pub(crate) struct RunArtifacts {
    directory: PathBuf,
    retention: Retention,
    maker: Maker,
    run: String,
    state: Mutex<Kept>,
}

/// What was kept so far.
#[derive(Debug, Default)]
struct Kept {
    outputs: Option<Outputs>,
    count: usize,
    bytes: u64,
}

impl RunArtifacts {
    /// Of a run that has begun.
    pub(crate) fn new(directory: PathBuf, retention: Retention, maker: Maker, run: String) -> Self {
        Self { directory, retention: artifact_retention(retention), maker, run, state: Mutex::default() }
    }

    fn open(&self, run: RunId) -> Result<Outputs, StoreError> {
        let outputs = Outputs::open(&self.directory, self.retention)?;
        // An interrupted run that goes on makes all of its copies again.
        outputs.remove_run(run);
        Ok(outputs)
    }

    fn copy(&self, kept: &mut Kept, path: &str, file: &mut dyn Read) -> Result<StoredOutput, Refusal> {
        let failed = |error: StoreError| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            Refusal::new(Code::OutputUnavailable, format!("the artifact `{path}` can't be stored: {error}{cause}"))
        };
        let run: RunId = self.run.parse().map_err(failed)?;
        let outputs = match kept.outputs.take() {
            Some(outputs) => outputs,
            None => self.open(run).map_err(failed)?,
        };
        let outputs = kept.outputs.insert(outputs);
        let id = OutputId::new(run, &format!("{NAME}{}", kept.count + 1)).map_err(failed)?;
        let mut spool = outputs.spool(id, self.maker, 0);
        let mut block = vec![0; BLOCK];
        loop {
            let length = match file.read(&mut block) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let why = format!("the artifact `{path}` can't be read: {error}");
                    return Err(Refusal::new(Code::ArtifactRefused, why).place(path));
                }
            };
            if kept.bytes + spool.bytes() + length as u64 > MOST_ARTIFACT_BYTES {
                let most = MOST_ARTIFACT_BYTES >> 20;
                let why = format!("the artifacts of the run have more than {most} MiB together, with `{path}`");
                return Err(Refusal::new(Code::ArtifactsTooLarge, why)
                    .place(path)
                    .attempt("keep less, or compress it"));
            }
            spool.write(&block[..length]).map_err(failed)?;
        }
        let mut stored = spool.finish().map_err(failed)?;
        stored.store().map_err(failed)?;
        kept.count += 1;
        kept.bytes += stored.bytes();
        Ok(stored)
    }
}

impl ArtifactShelf for RunArtifacts {
    fn keep(&self, path: &str, step: Option<&str>, file: &mut dyn Read) -> Result<Artifact, Refusal> {
        let mut kept = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = self.copy(&mut kept, path, file)?;
        Ok(Artifact {
            path: path.to_owned(),
            bytes: stored.bytes(),
            sha256: stored.sha256().to_string(),
            uri: stored.id().uri(),
            step: step.map(str::to_owned),
            media_type: stored.media_type().ok(),
        })
    }
}

/// Artifacts as results and the history have them.
pub(crate) fn artifacts_json(artifacts: &[Artifact]) -> Json {
    let one = |artifact: &Artifact| {
        let mut json = json!({
            "path": artifact.path,
            "bytes": artifact.bytes,
            "sha256": artifact.sha256,
            "uri": artifact.uri,
        });
        if let Some(step) = &artifact.step {
            json["step"] = step.as_str().into();
        }
        json
    };
    artifacts.iter().map(one).collect()
}

/// Artifacts as links, for the caller of the tool.
pub(crate) fn links(artifacts: &[Artifact]) -> Vec<Block> {
    let link = |artifact: &Artifact| {
        Block::from(Content::Link {
            uri: artifact.uri.clone(),
            name: artifact.path.clone(),
            title: None,
            description: Some(format!("A file that the run kept, {} bytes; read the resource", artifact.bytes)),
            media_type: artifact.media_type.map(str::to_owned),
        })
    };
    artifacts.iter().map(link).collect()
}
