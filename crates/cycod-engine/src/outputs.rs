//! Outputs that are kept, and the ways to look into them.

use std::{
    ffi::OsString,
    fmt::Write as _,
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use cycod_diagnostic::{Code, Refusal, readable};
use cycod_process::{Program, Session, Spec, Stop, Stream};
use cycod_schema::Function;
use cycod_settings::config::Settings;
use cycod_store::{Maker, OutputId, OutputPosition, Outputs, Retention, Search, Spool, StoreError, StoredOutput, jq};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

pub use crate::artifacts::artifact_retention;
use crate::artifacts::is_artifact;
pub use crate::ended::{Rest, RunEnd, RunOutput, ShownOutput};
pub use crate::fitting::fitted_content;

/// How long an output is kept.
const AGE: Duration = Duration::from_secs(24 * 3600);

/// The most of an output that stays in memory.
pub(crate) const IN_MEMORY: usize = 64 * 1024;

/// The most that one look may cost.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many matches a search shows when nobody says.
const MATCHES: usize = 50;

/// How long outputs are kept, and how much of one and of all together, when these are the settings.
pub fn retention(settings: &Settings) -> Retention {
    let usual = Retention::default();
    Retention {
        max_age: AGE,
        max_bytes: settings.all_outputs().unwrap_or(usual.max_bytes),
        max_one: settings.largest_output().unwrap_or(usual.max_one),
    }
}

/// The outputs of this user, and of users that a server let in; the directory is opened when the first is kept. Each belongs to
/// the one for whom it was made, and to nobody else there is such an output.
#[derive(Debug)]
pub struct Shelf {
    directory: PathBuf,
    retention: Retention,
    outputs: OnceLock<Outputs>,
    /// The files that runs kept, in the directory next to that of the outputs.
    artifacts: OnceLock<Outputs>,
    /// The program with its first arguments that asks jq programs.
    worker: Vec<OsString>,
}

/// What part of an output somebody wants to see.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct View {
    /// The first line, from 1.
    pub line: Option<u64>,
    /// The first byte, from 0.
    pub offset: Option<u64>,
    /// How many lines, or bytes with `offset`.
    pub count: Option<u64>,
    /// A regular expression to look for.
    pub search: Option<String>,
    /// How many lines to show around each match.
    pub context: Option<usize>,
    /// A filter for JSON.
    pub jq: Option<String>,
}

/// The name of the tool that looks into an output.
pub const LOOK: &str = "run_output";

/// The tool that looks into an output, as models are told of it.
pub fn look_function() -> Function {
    Function {
        name: LOOK.to_owned(),
        description: "Look into an output that was too large to hand over: lines, bytes, a search, or a jq filter"
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "output": {"type": "string", "description": "Its address, cycod://runs/…"},
                "line": {"type": "integer", "minimum": 1, "description": "First line"},
                "offset": {"type": "integer", "minimum": 0, "description": "First byte"},
                "count": {"type": "integer", "minimum": 1, "description": "How many lines, bytes or matches"},
                "search": {"type": "string", "description": "Regular expression"},
                "context": {"type": "integer", "minimum": 0, "description": "Lines around a match"},
                "jq": {"type": "string", "description": "Filter for JSON"},
            },
            "required": ["output"],
        }),
    }
}

/// Reads which output to look into, and how.
///
/// # Errors
/// What is wrong with the arguments.
pub fn read_look(mut arguments: Map<String, Json>) -> Result<(String, View), Refusal> {
    fn read<T: serde::de::DeserializeOwned>(arguments: Json) -> Result<T, Refusal> {
        serde_json::from_value(arguments).map_err(|error| Refusal::new(Code::InvalidArgument, error.to_string()))
    }
    // Not as one value: of a flattened one, names that nobody knows are ignored.
    let output = read(arguments.remove("output").unwrap_or_default())?;
    Ok((output, read(Json::Object(arguments))?))
}

impl Shelf {
    /// The outputs in a directory; `worker` is the program, with its first arguments, that calls [`cycod_store::jq::work`]
    /// with the rest of its arguments. Without one no jq program is asked.
    pub fn new(directory: PathBuf, retention: Retention, worker: Vec<OsString>) -> Self {
        Self { directory, retention, outputs: OnceLock::new(), artifacts: OnceLock::new(), worker }
    }

    fn outputs(&self) -> Result<&Outputs, StoreError> {
        if let Some(outputs) = self.outputs.get() {
            return Ok(outputs);
        }
        let opened = Outputs::open(&self.directory, self.retention)?;
        Ok(self.outputs.get_or_init(|| opened))
    }

    fn artifacts(&self) -> Result<&Outputs, StoreError> {
        if let Some(artifacts) = self.artifacts.get() {
            return Ok(artifacts);
        }
        let opened = Outputs::open(&self.directory.with_file_name("artifacts"), artifact_retention(self.retention))?;
        Ok(self.artifacts.get_or_init(|| opened))
    }

    /// Begins to keep an output.
    pub(crate) fn spool(&self, id: OutputId, maker: Maker) -> Result<Spool, StoreError> {
        Ok(self.outputs()?.spool(id, maker, IN_MEMORY))
    }

    /// Keeps a text under a name of a run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, run: &str, name: &str, maker: Maker, text: &[u8]) -> Result<StoredOutput, StoreError> {
        let mut spool = self.spool(OutputId::new(run.parse()?, name)?, maker)?;
        spool.write(text)?;
        spool.finish()
    }

    /// The output of an owner at an address, or with the rest of one as its name.
    ///
    /// # Errors
    /// When the owner has none there, or none any more.
    pub fn get(&self, address: &str, owner: &str) -> Result<StoredOutput, Refusal> {
        let gone = || {
            Refusal::new(Code::UnknownOutput, format!("there is no output `{address}`; outputs are stored for a day, artifacts as long as the history knows their run"))
                .attempt("run the tool again")
        };
        let id: OutputId = address.parse().map_err(|_| gone())?;
        let outputs = if is_artifact(&id) { self.artifacts() } else { self.outputs() };
        let outputs = outputs.map_err(|error| refused(&error))?;
        outputs.get_for(&id, owner).map_err(|error| refused(&error))?.ok_or_else(gone)
    }

    /// Shows a part of an output of an owner, in at most `cap` tokens, with how to go on.
    ///
    /// # Errors
    /// When there is no such output, or the question cannot be answered.
    pub fn look(&self, address: &str, owner: &str, view: &View, cap: usize) -> Result<String, Refusal> {
        self.found(address, owner, view, cap).map(|text| readable(&text).into_owned())
    }

    fn found(&self, address: &str, owner: &str, view: &View, cap: usize) -> Result<String, Refusal> {
        let mut kept = self.get(address, owner)?;
        let failed = |error: StoreError| refused(&error);
        if let Some(filter) = &view.jq {
            return self.jq(&mut kept, filter, view.offset.unwrap_or(0), cap);
        }
        if let Some(pattern) = &view.search {
            let search = Search {
                pattern,
                from: view.offset.unwrap_or(0),
                max_matches: view.count.map_or(MATCHES, |count| usize::try_from(count).unwrap_or(usize::MAX)),
                context: view.context.unwrap_or(0),
                cap,
                time: PATIENCE,
            };
            return kept.search(&search).map(|found| found.to_string()).map_err(failed);
        }
        let from = match (view.line, view.offset) {
            (Some(line), _) => OutputPosition::Line(line.max(1)),
            (None, Some(offset)) => OutputPosition::Byte(offset),
            (None, None) => return kept.excerpt(cap).map(|excerpt| excerpt.text).map_err(failed),
        };
        let slice = kept.slice(from, view.count.unwrap_or(u64::MAX), cap).map_err(failed)?;
        let mut text = match String::from_utf8(slice.bytes) {
            Ok(text) if kept.is_text() => text,
            Ok(text) => format!("base64:{}", BASE64_STANDARD.encode(text)),
            Err(error) => format!("base64:{}", BASE64_STANDARD.encode(error.as_bytes())),
        };
        if let Some(next) = slice.next {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            let _ = write!(text, "[from line {} of {}; continue at {next}]", slice.line, kept.lines());
        }
        Ok(text)
    }

    /// Asks a jq program, which runs in a process of its own that can do nothing else.
    fn jq(&self, kept: &mut StoredOutput, program: &str, from: u64, cap: usize) -> Result<String, Refusal> {
        let job = kept.jq(program, from, cap).map_err(|error| refused(&error))?;
        let not_started = |why: String| Refusal::new(Code::NotStarted, format!("jq cannot be asked: {why}"));
        let (path, first) = self.worker.split_first().ok_or_else(|| not_started("no worker is set up".to_owned()))?;
        let mut spec = Spec::new(Program {
            path: path.into(),
            arg0: None,
            args: first.iter().chain(job.args()).cloned().collect(),
            env: Vec::new(),
            cwd: self.directory.clone(),
        });
        spec.deadline = Some(Instant::now() + jq::TIME);
        spec.grace = Duration::ZERO;
        if cfg!(windows) {
            // Elsewhere it limits itself.
            spec.limits.memory = Some(jq::MEMORY);
        }
        let mut stdout = Vec::new();
        let stop = Stop::new().map_err(|error| not_started(error.to_string()))?;
        let session = Session::new().map_err(|error| not_started(error.to_string()))?;
        session
            .run(&spec, &stop, &mut |stream, bytes| {
                if stream == Stream::Stdout {
                    stdout.extend_from_slice(bytes);
                }
            })
            .map_err(|error| not_started(error.to_string()))?;
        let answer = jq::JqAnswer::read(&stdout).map_err(|error| refused(&error))?;
        let mut text = answer.text;
        if let Some(error) = answer.error {
            let _ = write!(text, "\n[the program failed: {error}]");
        }
        if let Some(next) = answer.next {
            let _ = write!(text, "\n[there is more; continue with offset={next}]");
        }
        Ok(text)
    }
}

/// A trouble of the store, as a refusal.
pub fn refused(error: &StoreError) -> Refusal {
    Refusal::new(Code::OutputUnavailable, error.to_string())
}
