//! Outputs that were too large to hand over, and the ways to look into them.

use std::{
    ffi::OsString,
    fmt::Write as _,
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use cycod_engine::{Payload, diagnostic::Refusal};
use cycod_process::{Program, Session, Spec, Stop, Stream};
use cycod_store::{Kept, OutputId, Outputs, Position, Retention, Search, Spool, StoreError, jq};
use rmcp::model::ResourceContents;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::{reply, uri::decoded};

/// How long an output is kept, and how much of them in all.
const RETENTION: Retention = Retention { max_age: Duration::from_secs(24 * 3600), max_bytes: 16 << 30 };

/// The most of an output that stays in memory.
pub(crate) const IN_MEMORY: usize = 64 * 1024;

/// The most that one look may cost.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many matches a search shows when nobody says.
const MATCHES: usize = 50;

/// The outputs of this user; the directory is opened when the first is kept.
#[derive(Debug)]
pub(crate) struct Shelf {
    directory: PathBuf,
    outputs: OnceLock<Outputs>,
    /// The program with its first arguments that asks jq programs.
    worker: Vec<OsString>,
}

/// What part of an output somebody wants to see.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct View {
    /// The first line, from 1.
    pub(crate) line: Option<u64>,
    /// The first byte, from 0.
    pub(crate) offset: Option<u64>,
    /// How many lines, or bytes with `offset`.
    pub(crate) count: Option<u64>,
    /// A regular expression to look for.
    pub(crate) search: Option<String>,
    /// How many lines to show around each match.
    pub(crate) context: Option<usize>,
    /// A filter for JSON.
    pub(crate) jq: Option<String>,
}

impl Shelf {
    pub(crate) fn new(directory: PathBuf, worker: Vec<OsString>) -> Self {
        Self { directory, outputs: OnceLock::new(), worker }
    }

    fn outputs(&self) -> Result<&Outputs, StoreError> {
        if let Some(outputs) = self.outputs.get() {
            return Ok(outputs);
        }
        let opened = Outputs::open(&self.directory, RETENTION)?;
        Ok(self.outputs.get_or_init(|| opened))
    }

    /// Begins an output.
    pub(crate) fn spool(&self, id: OutputId) -> Result<Spool, StoreError> {
        Ok(self.outputs()?.spool(id, IN_MEMORY))
    }

    /// The output at an address, or with the rest of one as its name.
    pub(crate) fn get(&self, address: &str) -> Result<Kept, Refusal> {
        let gone = || {
            Refusal::new("unknown-output", format!("there is no output `{address}`; outputs are kept for a day"))
                .attempt("run the tool again")
        };
        let id: OutputId = address.parse().map_err(|_| gone())?;
        let outputs = self.outputs().map_err(|error| refused(&error))?;
        outputs.get(&id).map_err(|error| refused(&error))?.ok_or_else(gone)
    }

    /// Shows a part of an output, in at most `cap` tokens, with how to go on.
    pub(crate) fn look(&self, address: &str, view: &View, cap: usize) -> Result<String, Refusal> {
        let mut kept = self.get(address)?;
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
            (Some(line), _) => Position::Line(line.max(1)),
            (None, Some(offset)) => Position::Byte(offset),
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
            let _ = write!(text, "[from line {} of {}; go on at {next}]", slice.line, kept.lines());
        }
        Ok(text)
    }

    /// Asks a jq program, which runs in a process of its own that can do nothing else.
    fn jq(&self, kept: &mut Kept, program: &str, from: u64, cap: usize) -> Result<String, Refusal> {
        let job = kept.jq(program, from, cap).map_err(|error| refused(&error))?;
        let not_started = |why: String| Refusal::new("not-started", format!("jq cannot be asked: {why}"));
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
        let answer = jq::Answer::read(&stdout).map_err(|error| refused(&error))?;
        let mut text = answer.text;
        if let Some(error) = answer.error {
            let _ = write!(text, "\n[the program failed: {error}]");
        }
        if let Some(next) = answer.next {
            let _ = write!(text, "\n[there is more; go on with offset={next}]");
        }
        Ok(text)
    }
}

/// A trouble of the store, as a refusal.
pub(crate) fn refused(error: &StoreError) -> Refusal {
    Refusal::new("output-unavailable", error.to_string())
}

/// Reads an output as a resource: all of it when it is small, else a part of it; the part may be in the address, as in
/// `cycod://runs/ID/stdout?line=100&count=50`.
pub(crate) fn read(shelf: &Shelf, uri: &str, cap: usize) -> Result<ResourceContents, Refusal> {
    let wrong = |why: String| Refusal::new("invalid-argument", why);
    let Some((address, query)) = uri.split_once('?') else {
        let mut kept = shelf.get(uri)?;
        let media_type = kept.media_type().map_err(|error| refused(&error))?.to_owned();
        let bytes = reply::whole(&mut kept).map_err(wrong)?;
        let payload = match String::from_utf8(bytes) {
            Ok(text) => Payload::Text(text),
            Err(error) => Payload::Bytes(error.into_bytes()),
        };
        return Ok(reply::contents(uri.to_owned(), Some(media_type), payload));
    };
    let mut view = serde_json::Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(&value.replace('+', " ")).ok_or_else(|| wrong(format!("`{pair}` cannot be decoded")))?;
        let is_number = matches!(name, "line" | "offset" | "count" | "context");
        let value = match value.parse::<u64>() {
            Ok(number) if is_number => number.into(),
            _ => Json::String(value),
        };
        view.insert(name.to_owned(), value);
    }
    let view = serde_json::from_value(Json::Object(view)).map_err(|error| wrong(error.to_string()))?;
    let text = shelf.look(address, &view, cap)?;
    Ok(reply::contents(uri.to_owned(), Some("text/plain".to_owned()), Payload::Text(text)))
}
