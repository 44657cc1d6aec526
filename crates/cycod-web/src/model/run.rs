//! One run: what it was asked, when its steps ran, and what it wrote.

use std::{
    collections::VecDeque,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cycod_app::views::{Rerun, moment, outcome, took, who};
use cycod_engine::{
    Engine, Status,
    catalog::{Entry, ScopeFilter},
    graph::Graph,
    journal::{StepTimes, timeline},
};
use cycod_store::{History, Outputs, Retention, Run, RunReader, State, StoreError};
use serde_json::Value;

/// How much of an output is shown at once.
pub(crate) const WINDOW: usize = 48 * 1024;
/// A graph with more steps is not drawn: it could not be read.
const MOST_DRAWN: usize = 150;

/// A run.
pub(crate) struct RunPage {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) state: State,
    pub(crate) outcome: String,
    pub(crate) who: String,
    pub(crate) moment: String,
    pub(crate) took: Option<Duration>,
    pub(crate) level: String,
    pub(crate) rule: String,
    pub(crate) directory: String,
    pub(crate) reach: Vec<String>,
    pub(crate) arguments: Vec<(String, String)>,
    pub(crate) warnings: Vec<String>,
    /// The files that it kept, with their sizes.
    pub(crate) artifacts: Vec<(String, u64)>,
    pub(crate) refusal: Option<[String; 3]>,
    pub(crate) steps: Vec<StepRow>,
    /// How long all of it took, or has taken until now.
    pub(crate) total: Duration,
    /// The step whose details are shown; all of them without one.
    pub(crate) selected: Option<StepRow>,
    pub(crate) command: String,
    pub(crate) output: Output,
    pub(crate) graph: Option<String>,
    /// Whether the tool of this name is still there.
    pub(crate) can_rerun: bool,
    /// How many events of its journal this page shows.
    pub(crate) seen: usize,
}

/// A step in the timeline.
#[derive(Clone)]
pub(crate) struct StepRow {
    pub(crate) name: String,
    pub(crate) status: Option<Status>,
    pub(crate) began: Option<Duration>,
    pub(crate) length: Duration,
    pub(crate) attempts: u32,
    pub(crate) used_fallback: bool,
    pub(crate) is_cached: bool,
    pub(crate) exit_code: i32,
}

/// What is shown of what a run wrote.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) text: String,
    /// How many bytes come before what is shown.
    pub(crate) before: u64,
    /// How many there are in all.
    pub(crate) bytes: u64,
    /// Why it is not shown.
    pub(crate) missing: Option<String>,
}

impl StepRow {
    pub(crate) fn of(step: &StepTimes) -> Self {
        Self {
            name: step.step.as_str().to_owned(),
            status: step.status,
            began: step.began,
            length: step.length,
            attempts: step.attempts,
            used_fallback: step.used_fallback,
            is_cached: step.cached_from.is_some(),
            exit_code: step.exit_code,
        }
    }
}

impl RunPage {
    /// A run as it is now, with the details of one of its steps.
    ///
    /// # Errors
    /// When its journal cannot be read.
    pub(crate) fn of(engine: &Engine, history: &History, run: &Run, step: Option<&str>) -> Result<Self, StoreError> {
        let (call, none) = (&run.call, Value::Null);
        let end = run.end.as_ref().map_or(&none, |(_, end)| end);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
        let journal = Journal::read(history, &run.id, step)?;
        let mut steps: Vec<StepRow> = journal.steps.iter().map(StepRow::of).collect();
        if steps.is_empty() {
            steps = ended_steps(end);
        }
        let selected = step.and_then(|name| steps.iter().find(|row| row.name == name)).cloned();
        let command = match (&journal.command, &selected) {
            (Some(command), _) => command.clone(),
            (None, _) => match &texts(&call["commands"])[..] {
                [command] => command.clone(),
                _ => String::new(),
            },
        };
        let output = match journal.output {
            Some(output) => output,
            None => output_of(engine, end)?,
        };
        let refusal = [&call["refusal"], &end["refusal"]].into_iter().find(|refusal| refusal.is_object());
        let mut total = took(run).unwrap_or(journal.total).max(journal.total);
        if run.state == State::Running {
            // Nothing is written while a step only takes its time.
            total = total.max(since(run.at));
            for step in steps.iter_mut().filter(|step| step.status.is_none()) {
                step.length = step.began.map_or(Duration::ZERO, |began| total.saturating_sub(began));
            }
        }
        let entry = engine.entry(&run.tool, ScopeFilter::Any).ok().filter(Entry::is_active);
        let drawn = entry.as_ref().filter(|_| (2..=MOST_DRAWN).contains(&steps.len()));
        let graph = drawn.and_then(|entry| entry.load().ok()).map(|opened| Graph::of(&opened.tool));
        Ok(Self {
            id: run.id.clone(),
            tool: run.tool.clone(),
            state: run.state,
            outcome: outcome(run),
            who: who(run),
            moment: moment(run.at),
            took: took(run),
            level: text(&call["level"]),
            rule: text(&call["rule"]),
            directory: text(&call["directory"]),
            reach: texts(&call["reach"]),
            arguments: arguments(run),
            warnings: texts(&end["warnings"]),
            artifacts: artifacts(end),
            refusal: refusal.map(|refusal| ["code", "why", "try"].map(|name| text(&refusal[name]))),
            steps,
            total,
            selected,
            command,
            output,
            graph: graph.map(|graph| graph.svg_in_page()),
            can_rerun: entry.is_some(),
            seen: journal.events,
        })
    }
}

/// How long ago a moment was, which is in milliseconds from 1970.
fn since(at: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_millis(at))
}

/// What the journal of a run says.
#[derive(Default)]
struct Journal {
    steps: Vec<StepTimes>,
    total: Duration,
    command: Option<String>,
    /// The end of what was written; nothing for a run without a journal.
    output: Option<Output>,
    events: usize,
}

impl Journal {
    fn read(history: &History, run: &str, step: Option<&str>) -> Result<Self, StoreError> {
        let Some(mut reader) = RunReader::open(&history.journals(), run)? else { return Ok(Self::default()) };
        let (mut events, mut read) = (Vec::new(), 0);
        let (mut outs, mut held, mut bytes) = (VecDeque::new(), 0, 0_u64);
        let mut command = None;
        loop {
            let lines = reader.more()?;
            if lines.is_empty() {
                break;
            }
            read += lines.len();
            for line in lines {
                let is_meant = step.is_none_or(|step| line["step"] == step);
                match line["e"].as_str() {
                    Some("out") if is_meant => {
                        let length = line["n"].as_u64().unwrap_or_default();
                        bytes += length;
                        held += length;
                        outs.push_back(line);
                        while let Some(first) = outs.front().and_then(|line: &Value| line["n"].as_u64())
                            && held - first >= WINDOW as u64
                        {
                            held -= first;
                            outs.pop_front();
                        }
                    }
                    Some("out" | "progress" | "log") => {}
                    kind => {
                        if kind == Some("start") && step.is_some() && is_meant {
                            command = line["command"].as_str().map(str::to_owned);
                        }
                        events.push(line);
                    }
                }
            }
        }
        let mut text = Vec::new();
        for line in &outs {
            text.extend(reader.output(line)?);
        }
        let gone = bytes > 0 && text.is_empty();
        let cut = text.len().saturating_sub(WINDOW);
        let shown = String::from_utf8_lossy(&text[cut..]).into_owned();
        let output = Output {
            before: bytes.saturating_sub((text.len() - cut) as u64),
            text: shown,
            bytes,
            missing: gone.then(|| "What it wrote is no longer stored.".to_owned()),
        };
        let (steps, total) = timeline(&events);
        Ok(Self { steps, total, command, output: Some(output), events: read })
    }
}

/// The steps of a run without a journal: its end has all of them.
fn ended_steps(end: &Value) -> Vec<StepRow> {
    let steps = end["steps"].as_array().into_iter().flatten();
    steps
        .map(|step| StepRow {
            name: step["name"].as_str().unwrap_or_default().to_owned(),
            status: step["status"].as_str().and_then(Status::named),
            began: Some(Duration::ZERO),
            length: Duration::from_micros(step["duration_us"].as_u64().unwrap_or_default()),
            attempts: step["attempts"].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(1),
            used_fallback: step["used_fallback"].as_bool().unwrap_or_default(),
            is_cached: step["cached_from"].is_string(),
            exit_code: step["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or_default(),
        })
        .collect()
}

/// The end of what a run wrote, from its row in the history.
///
/// # Errors
/// When the output cannot be read.
fn output_of(engine: &Engine, end: &Value) -> Result<Output, StoreError> {
    let all = end["outputs"].as_object();
    let Some((_, output)) = all.and_then(|all| all.get_key_value("transcript").or_else(|| all.iter().next())) else {
        return Ok(Output::default());
    };
    let bytes = output["bytes"].as_u64().unwrap_or_default();
    if let Some(text) = output["text"].as_str() {
        return Ok(Output { text: text.to_owned(), bytes, ..Output::default() });
    }
    let missing = |why: &str| Output { bytes, missing: Some(why.to_owned()), ..Output::default() };
    let Some(id) = output["id"].as_str().and_then(|id| id.parse().ok()) else {
        return Ok(missing(output["lost"].as_str().unwrap_or("This is no text.")));
    };
    let outputs = Outputs::open(&engine.outputs_directory(), Retention::default())?;
    let Some(kept) = outputs.get(&id)? else { return Ok(missing("What it wrote is no longer stored.")) };
    let before = kept.bytes().saturating_sub(WINDOW as u64);
    let mut block = vec![0; WINDOW];
    let length = kept.read_at(before, &mut block)?;
    let text = String::from_utf8_lossy(&block[..length]).into_owned();
    Ok(Output { text, before, bytes: kept.bytes(), missing: None })
}

/// The files that the run kept.
fn artifacts(end: &Value) -> Vec<(String, u64)> {
    let one =
        |kept: &Value| (kept["path"].as_str().unwrap_or_default().to_owned(), kept["bytes"].as_u64().unwrap_or(0));
    end["artifacts"].as_array().into_iter().flatten().map(one).collect()
}

/// The arguments; those that the history does not hold with the reason.
fn arguments(run: &Run) -> Vec<(String, String)> {
    let rerun = Rerun::of(run);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let given = rerun.arguments.iter().map(|(name, value)| (name.clone(), text(value)));
    let withheld =
        rerun.withheld.iter().map(|withheld| (withheld.name.to_owned(), format!("not stored: {}", withheld.why)));
    given.chain(withheld).collect()
}
