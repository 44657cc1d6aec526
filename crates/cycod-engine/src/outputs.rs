//! Runs whose outputs are kept: all of an output where it can be found again, as much of it as a model reads at once, and
//! the ways to look into the rest.

use std::{
    ffi::OsString,
    fmt::Write as _,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use cycod_definition::{Body, JsonSchema, Produces};
use cycod_diagnostic::{Code, Refusal, readable};
use cycod_plan::Plan;
use cycod_policy::Approved;
use cycod_process::{Program, Session, Spec, Stop, Stream};
use cycod_run::{Event, RunReport, Sink};
use cycod_schema::Function;
use cycod_settings::config::Settings;
use cycod_store::{Kept, Maker, OutputId, Outputs, Position, Retention, RunId, Search, Spool, StoreError, jq};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::{
    Block, Control, Engine, ToolAnswer, Wrote,
    fitting::{Keeper, fitted},
};

/// How long an output is kept.
const AGE: Duration = Duration::from_secs(24 * 3600);

/// The most of an output that stays in memory.
const IN_MEMORY: usize = 64 * 1024;

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

/// The outputs of this user, and of whoever a server let in; the directory is opened when the first is kept. Each belongs to
/// the one for whom it was made, and to nobody else there is such an output.
#[derive(Debug)]
pub struct Shelf {
    directory: PathBuf,
    retention: Retention,
    outputs: OnceLock<Outputs>,
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
        Self { directory, retention, outputs: OnceLock::new(), worker }
    }

    fn outputs(&self) -> Result<&Outputs, StoreError> {
        if let Some(outputs) = self.outputs.get() {
            return Ok(outputs);
        }
        let opened = Outputs::open(&self.directory, self.retention)?;
        Ok(self.outputs.get_or_init(|| opened))
    }

    fn spool(&self, id: OutputId, maker: Maker) -> Result<Spool, StoreError> {
        Ok(self.outputs()?.spool(id, maker, IN_MEMORY))
    }

    /// Keeps a text under a name of a run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, run: &str, name: &str, maker: Maker, text: &[u8]) -> Result<Kept, StoreError> {
        let mut spool = self.spool(OutputId::new(run.parse()?, name)?, maker)?;
        spool.write(text)?;
        spool.finish()
    }

    /// The output of an owner at an address, or with the rest of one as its name.
    ///
    /// # Errors
    /// When the owner has none there, or none any more.
    pub fn get(&self, address: &str, owner: &str) -> Result<Kept, Refusal> {
        let gone = || {
            Refusal::new(Code::UnknownOutput, format!("there is no output `{address}`; outputs are stored for a day"))
                .attempt("run the tool again")
        };
        let id: OutputId = address.parse().map_err(|_| gone())?;
        let outputs = self.outputs().map_err(|error| refused(&error))?;
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
            let _ = write!(text, "[from line {} of {}; continue at {next}]", slice.line, kept.lines());
        }
        Ok(text)
    }

    /// Asks a jq program, which runs in a process of its own that can do nothing else.
    fn jq(&self, kept: &mut Kept, program: &str, from: u64, cap: usize) -> Result<String, Refusal> {
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
            let _ = write!(text, "\n[there is more; continue with offset={next}]");
        }
        Ok(text)
    }
}

/// A trouble of the store, as a refusal.
pub fn refused(error: &StoreError) -> Refusal {
    Refusal::new(Code::OutputUnavailable, error.to_string())
}

/// How a run ended whose outputs are kept.
#[derive(Debug)]
pub struct Ended {
    /// What is known of the run; of its outputs only as much as was needed.
    pub report: RunReport,
    /// What the tool gives back, in the kinds of content that hosts know; not for text, which is in `output`.
    pub answer: Option<ToolAnswer>,
    /// Standard output of a single command, or the transcript of a workflow.
    pub output: Option<Output>,
    /// Standard error of a single command.
    pub error: Option<Output>,
    /// The name of the run and who made it, for what is kept later.
    run: (String, Maker),
    /// What the tool declares that it gives back.
    returns: Option<JsonSchema>,
}

/// What a stream brought.
#[derive(Debug)]
pub enum Output {
    /// All of it, where outputs are kept.
    Kept(Kept),
    /// What the report holds of it, because it could not be kept.
    Held {
        /// What the report holds.
        bytes: Vec<u8>,
        /// Whether that is all of it.
        is_whole: bool,
        /// Why it could not be kept.
        why: String,
    },
}

/// A piece of what a run says to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What is said.
    pub text: String,
    /// Where all of it is, when this is not all.
    pub rest: Option<Rest>,
}

/// The way to an output that was not handed over whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Where it is.
    pub id: OutputId,
    /// How long it is.
    pub bytes: u64,
    /// What it is, when that can be told.
    pub media_type: Option<&'static str>,
}

impl Engine {
    /// Runs an approved plan to its end, and keeps what it writes.
    pub fn run_kept(&self, approved: Approved<Plan>, control: Control, shelf: &Shelf, sink: &mut dyn Sink) -> Ended {
        let run = approved.subject().run_id.clone();
        let effective = Arc::clone(&approved.subject().call.tool);
        let maker = Maker::new(self.caller(&control).owner(), approved.subject().tool().name.as_str());
        let is_single = !approved.subject().is_workflow && matches!(effective.body, Body::Command(_));
        let is_text = effective.produces == Produces::Text;
        // The bytes of a single command go straight to where outputs are kept. The report holds as much as can be handed
        // over should that fail.
        let mut spools = (is_single && is_text).then(|| spools(shelf, &run, maker));
        let keep = matches!(spools, Some(Ok(_))).then_some(IN_MEMORY as u64);
        let mut broken = None;
        let mut take = |event: &Event<'_>| {
            if let (Event::Output { stream, bytes, .. }, Some(Ok([output, error]))) = (event, &mut spools) {
                let spool = if *stream == Stream::Stdout { output } else { error };
                if let Err(error) = spool.write(bytes) {
                    // It says why once, and from then on only that it failed.
                    broken.get_or_insert(error);
                }
            }
        };
        let mut taking = Taking { take: &mut take, sink };
        let (mut report, recording) = self.run_recorded(approved, &Control { keep, ..control }, &mut taking);
        let [mut output, mut error] = match spools {
            Some(Ok(spools)) => {
                let mut held = [&report.output, &report.error].into_iter();
                spools.map(|spool| {
                    let held = held.next().map_or(&[][..], Vec::as_slice);
                    let kept = spool.finish().map_err(|error| broken.as_ref().unwrap_or(&error).to_string());
                    Some(Output::of(kept, held, held.len() < IN_MEMORY))
                })
            }
            Some(Err(error)) => {
                [&report.output, &report.error].map(|held| Some(Output::of(Err(error.to_string()), held, true)))
            }
            None if is_text => {
                let kept = shelf.keep(&run, "transcript", maker, &report.transcript).map_err(|error| error.to_string());
                [Some(Output::of(kept, &report.transcript, true)), None]
            }
            None => [None, None],
        };
        for one in [&output, &error] {
            match one {
                Some(Output::Held { why, .. }) => {
                    report.warnings.push(format!("an output could not be stored: {why}"));
                }
                Some(Output::Kept(kept)) if kept.dropped() > 0 => {
                    let (name, dropped) = (kept.id().name(), kept.dropped());
                    let why = format!("{dropped} bytes in the middle of {name} were not stored: it is too large");
                    report.warnings.push(why);
                }
                _ => {}
            }
        }
        if let Some(recording) = recording {
            let held = if is_text { Vec::new() } else { std::mem::take(&mut report.output) };
            let name = if is_single { "stdout" } else { "transcript" };
            let wrote = [(name, &mut output), ("stderr", &mut error)];
            let wrote = wrote.into_iter().filter_map(|(name, output)| Some((name, output.as_mut()?.wrote())));
            recording.end(&mut report, wrote.chain((!is_text).then_some(("stdout", Wrote::Bytes(&held)))).collect());
            if !is_text {
                report.output = held;
            }
        }
        let has_blocks = report.answer.as_ref().is_some_and(|outcome| outcome.blocks.is_some());
        let answer = (!is_text || has_blocks).then(|| ToolAnswer::of(&effective, &report));
        Ended { report, answer, output, error, run: (run, maker), returns: effective.returns.clone() }
    }
}

fn spools(shelf: &Shelf, run: &str, maker: Maker) -> Result<[Spool; 2], StoreError> {
    let run: RunId = run.parse()?;
    let spool = |name| shelf.spool(OutputId::new(run, name)?, maker);
    Ok([spool("stdout")?, spool("stderr")?])
}

/// Takes the bytes of a run and lets somebody else follow it.
struct Taking<'a> {
    take: &'a mut dyn FnMut(&Event<'_>),
    sink: &'a mut dyn Sink,
}

impl Sink for Taking<'_> {
    fn event(&mut self, event: &Event<'_>) {
        (self.take)(event);
        self.sink.event(event);
    }
}

impl Ended {
    /// The answer of a tool that gives more than text, cut to `cap` tokens; what is too large is kept on the shelf. Nothing for
    /// text.
    pub fn take_answer(&mut self, cap: usize, shelf: &Shelf) -> Option<ToolAnswer> {
        let answer = self.answer.take()?.readable();
        let (run, maker) = (&self.run.0, self.run.1);
        Some(fitted(answer, cap, self.returns.as_ref(), &mut Keeper { shelf, run, maker, kept: 0 }))
    }

    /// What it says to a model, in at most `cap` tokens of output.
    pub fn into_answer(mut self, cap: usize, shelf: &Shelf) -> ToolAnswer {
        if let Some(answer) = self.take_answer(cap, shelf) {
            return answer;
        }
        let blocks = self.shown(cap).into_iter().map(|shown| Block::text(shown.text)).collect();
        let answer = ToolAnswer { blocks, is_error: !self.report.success, ..ToolAnswer::default() };
        if self.report.success { answer } else { answer.with_ending(&self.report) }
    }

    /// What a run whose output is text says to a model, in at most `cap` tokens of output.
    pub fn shown(&mut self, cap: usize) -> Vec<Shown> {
        let mut shown = Vec::new();
        // A command that succeeds and says nothing may still have something to tell on the other stream.
        let [output, error] = [self.output.as_mut(), self.error.as_mut()];
        let is_silent = output.as_ref().is_none_or(|output| output.is_empty());
        shown.extend(output.and_then(|output| output.shown(cap)));
        if !self.report.success || is_silent {
            shown.extend(error.and_then(|error| error.shown(cap / 2)));
        }
        shown
    }
}

impl Output {
    /// What was kept, or else what the report holds.
    fn of(kept: Result<Kept, String>, held: &[u8], is_whole: bool) -> Self {
        kept.map_or_else(|why| Self::Held { bytes: held.to_vec(), is_whole, why }, Self::Kept)
    }

    /// The same for the history.
    fn wrote(&mut self) -> Wrote<'_> {
        match self {
            Self::Kept(kept) => Wrote::Kept(kept),
            Self::Held { bytes, .. } => Wrote::Bytes(bytes),
        }
    }

    /// Whether the stream brought nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Kept(kept) => kept.bytes() == 0,
            Self::Held { bytes, .. } => bytes.is_empty(),
        }
    }

    /// All of it, or as much as is handed over with the way to the rest; nothing when the stream brought nothing.
    fn shown(&mut self, cap: usize) -> Option<Shown> {
        let Shown { text, rest } = self.excerpt(cap)?;
        Some(Shown { text: readable(&text).into_owned(), rest })
    }

    fn excerpt(&mut self, cap: usize) -> Option<Shown> {
        if self.is_empty() {
            return None;
        }
        let kept = match self {
            Self::Kept(kept) => kept,
            Self::Held { bytes, is_whole, why } => {
                return Some(Shown { text: held(bytes, *is_whole, why, cap), rest: None });
            }
        };
        Some(match kept.excerpt(cap) {
            Ok(excerpt) => {
                let rest = excerpt.left_out.map(|_| Rest {
                    id: kept.id().clone(),
                    bytes: kept.bytes(),
                    media_type: kept.media_type().ok(),
                });
                Shown { text: excerpt.text, rest }
            }
            Err(error) => Shown { text: format!("[the output is lost: {error}]"), rest: None },
        })
    }
}

/// The beginning of an output that could not be kept, with what became of the rest.
fn held(bytes: &[u8], is_whole: bool, why: &str, cap: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let end = text.char_indices().nth(cap.saturating_mul(4)).map_or(text.len(), |(at, _)| at);
    if is_whole && end == text.len() {
        return text.into_owned();
    }
    format!("{}\n[… the rest is lost, because it could not be stored: {why}]", &text[..end])
}
