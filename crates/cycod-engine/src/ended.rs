//! Runs whose outputs are kept: all of an output where it can be found again, and as much of it as a model reads at once.

use std::sync::Arc;

use cycod_definition::{Body, JsonSchema, Produces, Tool};
use cycod_diagnostic::readable;
use cycod_plan::Plan;
use cycod_policy::Approved;
use cycod_process::Stream;
use cycod_run::{Event, RunReport, Sink};
use cycod_store::{Maker, OutputId, RunId, Spool, StoreError, StoredOutput};

use crate::{
    Block, Control, Engine, ToolAnswer, Wrote,
    artifacts::links,
    fitting::{Keeper, Shape, fitted},
    outputs::{IN_MEMORY, Shelf},
};

/// How a run ended whose outputs are kept.
#[derive(Debug)]
pub struct RunEnd {
    /// What is known of the run; of its outputs only as much as was needed.
    pub report: RunReport,
    /// What the tool gives back, in the kinds of content that hosts know; not for text, which is in `output`.
    pub answer: Option<ToolAnswer>,
    /// Standard output of a single command, or the transcript of a workflow.
    pub output: Option<RunOutput>,
    /// Standard error of a single command.
    pub error: Option<RunOutput>,
    /// The name of the run and who made it, for what is kept later.
    run: (String, Maker),
    /// What the tool declares that it gives back.
    returns: Option<JsonSchema>,
    /// What of its value matters most.
    rank: Vec<Vec<String>>,
    /// The most of its output that a model gets at once, in tokens, where its user said so.
    most: Option<usize>,
}

/// What a stream brought.
#[derive(Debug)]
pub enum RunOutput {
    /// All of it, where outputs are kept.
    Kept(StoredOutput),
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
pub struct ShownOutput {
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
    pub fn run_kept(&self, approved: Approved<Plan>, control: Control, shelf: &Shelf, sink: &mut dyn Sink) -> RunEnd {
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
                    Some(RunOutput::of(kept, held, held.len() < IN_MEMORY))
                })
            }
            Some(Err(error)) => {
                [&report.output, &report.error].map(|held| Some(RunOutput::of(Err(error.to_string()), held, true)))
            }
            None if is_text => {
                let kept = shelf.keep(&run, "transcript", maker, &report.transcript).map_err(|error| error.to_string());
                [Some(RunOutput::of(kept, &report.transcript, true)), None]
            }
            None => [None, None],
        };
        for one in [&output, &error] {
            match one {
                Some(RunOutput::Held { why, .. }) => {
                    report.warnings.push(format!("an output could not be stored: {why}"));
                }
                Some(RunOutput::Kept(kept)) if kept.dropped() > 0 => {
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
        RunEnd {
            report,
            answer,
            output,
            error,
            run: (run, maker),
            returns: effective.returns.clone(),
            rank: effective.rank.clone(),
            most: most(&effective),
        }
    }
}

/// The most of a tool's output that a model gets at once, in tokens, where its user said so.
fn most(tool: &Tool) -> Option<usize> {
    match &tool.body {
        Body::Remote(remote) => remote.output_tokens,
        _ => None,
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

impl RunEnd {
    /// The answer of a tool that gives more than text, cut to `cap` tokens; what is too large is kept on the shelf. Nothing for
    /// text.
    pub fn take_answer(&mut self, cap: usize, shelf: &Shelf) -> Option<ToolAnswer> {
        let answer = self.answer.take()?.readable();
        let (run, maker) = (&self.run.0, self.run.1);
        let cap = self.most.map_or(cap, |most| most.min(cap));
        let shape = Shape { returns: self.returns.as_ref(), rank: &self.rank };
        Some(fitted(answer, cap, &shape, &mut Keeper { shelf, run, maker, kept: 0 }))
    }

    /// What it says to a model, in at most `cap` tokens of output.
    pub fn into_answer(mut self, cap: usize, shelf: &Shelf) -> ToolAnswer {
        let artifacts = self.artifacts();
        let mut answer = match self.take_answer(cap, shelf) {
            Some(answer) => answer,
            None => {
                let blocks = self.shown(cap).into_iter().map(|shown| Block::text(shown.text)).collect();
                let answer = ToolAnswer { blocks, is_error: !self.report.success, ..ToolAnswer::default() };
                if self.report.success { answer } else { answer.with_ending(&self.report) }
            }
        };
        answer.blocks.extend(artifacts);
        answer
    }

    /// Links to the files that the run kept.
    pub fn artifacts(&self) -> Vec<Block> {
        links(&self.report.artifacts)
    }

    /// What a run whose output is text says to a model, in at most `cap` tokens of output.
    pub fn shown(&mut self, cap: usize) -> Vec<ShownOutput> {
        let mut shown = Vec::new();
        let cap = self.most.map_or(cap, |most| most.min(cap));
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

impl RunOutput {
    /// What was kept, or else what the report holds.
    fn of(kept: Result<StoredOutput, String>, held: &[u8], is_whole: bool) -> Self {
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
    fn shown(&mut self, cap: usize) -> Option<ShownOutput> {
        let ShownOutput { text, rest } = self.excerpt(cap)?;
        Some(ShownOutput { text: readable(&text).into_owned(), rest })
    }

    fn excerpt(&mut self, cap: usize) -> Option<ShownOutput> {
        if self.is_empty() {
            return None;
        }
        let kept = match self {
            Self::Kept(kept) => kept,
            Self::Held { bytes, is_whole, why } => {
                return Some(ShownOutput { text: held(bytes, *is_whole, why, cap), rest: None });
            }
        };
        Some(match kept.excerpt(cap) {
            Ok(excerpt) => {
                let rest = excerpt.left_out.map(|_| Rest {
                    id: kept.id().clone(),
                    bytes: kept.bytes(),
                    media_type: kept.media_type().ok(),
                });
                ShownOutput { text: excerpt.text, rest }
            }
            Err(error) => ShownOutput { text: format!("[the output is lost: {error}]"), rest: None },
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
