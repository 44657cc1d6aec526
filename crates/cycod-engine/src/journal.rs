//! What the journal of a run is told, and what can be read out of it: the events of the run, each as one line.
//!
//! | `e` | of a step | holds |
//! |---|---|---|
//! | `start` | yes | `try` from 1, `command` |
//! | `out` | yes | `s` 1 or 2 for the stream, `at` and `n`: where the bytes are in the output |
//! | `progress` | yes | `done`, `total`, `message` |
//! | `log` | yes | `level`, `message` |
//! | `retry` | yes | `exit`, `pause` in microseconds |
//! | `fallback` | yes | |
//! | `cached` | yes | `run`: the run whose result it is; it did not run |
//! | `end` | yes | `status`, `exit`, `us`: how long its last attempt took |
//! | `warning` | | `text` |
//! | `resumed` | | `at`: when an interrupted run went on, in milliseconds since 1970 |
//! | `done` | | `status`, `exit`, `sha256` of all lines before |
//!
//! `t` is the time of an event in microseconds since the run began. Times never go back.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    path::Path,
    time::Duration,
};

use cycod_mask::Masks;
use cycod_plan::{Plan, PlannedAction};
use cycod_process::Stream;
use cycod_run::{Event, QUIET, RunReport, Sink, Status, StepPath, StepReport};
use cycod_store::{JournalEvent, RunJournal, RunReader, StoreError};
use serde_json::{Value as Json, json};

use crate::Caller;

/// A run of one step that is over by then, and wrote no more than that, is told whole by its row in the history.
const SHORT: Duration = QUIET;
const LITTLE: usize = 8 * 1024;

/// How much is shown of what a step wrote before it was interrupted.
const LAST_BYTES: usize = 2 * 1024;

/// Passes on the events of a run and writes each into its journal.
pub(crate) struct Journaled<'a> {
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) journal: RunJournal,
    /// Whether the end of a step must outlast a power failure, as what the run is continued from does.
    pub(crate) is_durable: bool,
}

impl Sink for Journaled<'_> {
    fn event(&mut self, event: &Event<'_>) {
        write(&self.journal, event);
        match event {
            // What could not be written is said at the end.
            Event::StepEnded { .. } if self.is_durable => _ = self.journal.sync(),
            // After a crash, somebody may have to decide about it.
            Event::StepStarted { .. } if self.is_durable => self.journal.flush(),
            _ => {}
        }
        self.sink.event(event);
    }
}

/// Whether whatever runs says so when it is quiet, and the journal can be written then.
pub(crate) fn is_flushed(plan: &Plan) -> bool {
    plan.steps.iter().all(|step| matches!(step.action, PlannedAction::Command(_)))
}

/// The first line: what runs. `masks` are those of the call.
pub(crate) fn head(plan: &Plan, caller: &Caller, masks: &Masks) -> Json {
    let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    json!({
        "flow": cycod_flow::VERSION,
        "tool": masks.apply(plan.tool().name.as_str()),
        "at": u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
        "surface": caller.surface,
        "steps": plan.steps.iter().map(|step| &step.name).collect::<Vec<_>>(),
    })
}

fn write(journal: &RunJournal, event: &Event<'_>) {
    match event {
        Event::Output { step, stream, bytes, .. } => journal.output(step.as_str(), *stream as u8 + 1, bytes),
        Event::Quiet => journal.flush(),
        event => {
            if matches!(event, Event::Retrying { .. }) {
                // Nothing runs that could be quiet.
                journal.flush_later();
            }
            if let Some((kind, step, fields)) = line(event) {
                journal.add(kind, step.map(StepPath::as_str), fields);
            }
        }
    }
}

/// An event as it is in a line: its kind, its step and its fields. What a step wrote is beside the lines.
pub(crate) fn line<'e>(event: &'e Event<'_>) -> Option<(&'static str, Option<&'e StepPath>, Json)> {
    let micros = |duration: &Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    Some(match event {
        Event::StepStarted { step, attempt, command } => {
            ("start", Some(step), json!({"try": attempt, "command": command}))
        }
        Event::Progress { step, done, total, message } => {
            ("progress", Some(step), json!({"done": done, "total": total, "message": message}))
        }
        Event::Log { step, level, message } => ("log", Some(step), json!({"level": level, "message": message})),
        Event::Retrying { step, exit_code, pause } => {
            ("retry", Some(step), json!({"exit": exit_code, "pause": micros(pause)}))
        }
        Event::FallingBack { step } => ("fallback", Some(step), json!({})),
        Event::Cached { step, run } => ("cached", Some(step), json!({"run": run})),
        Event::StepEnded { step, status, exit_code, duration } => {
            ("end", Some(step), json!({"status": status.name(), "exit": exit_code, "us": micros(duration)}))
        }
        Event::Warning(text) => ("warning", None, json!({"text": text})),
        Event::Output { .. } | Event::Quiet => return None,
    })
}

/// Completes the journal; returns what the history has to know of it, if it is in a file.
pub(crate) fn finish(journal: RunJournal, status: &str, report: &mut RunReport) -> Option<Json> {
    let is_short = report.steps.len() < 2
        && report.duration < SHORT
        && report.steps.iter().all(|step| step.steps.is_empty() && step.output.len() + step.error.len() < LITTLE);
    add_missing(&journal, "", &report.steps);
    let finished = journal.finish(json!({"status": status, "exit": report.exit_code}), !is_short);
    if let Some(why) = finished.failure {
        report.warnings.push(format!("the journal of this run is not complete: {why}"));
        return None;
    }
    finished.is_written.then(|| json!({"sha256": finished.digest.to_string()}))
}

/// Adds the steps of a run that went on whose end nobody lived to write.
fn add_missing(journal: &RunJournal, above: &str, steps: &[StepReport]) {
    for step in steps.iter().filter(|step| step.has_run()) {
        let path = format!("{above}{}", step.name);
        let Some((has_begun, has_ended)) = journal.knows(&path) else { return };
        add_missing(journal, &format!("{path}/"), &step.steps);
        if !has_begun {
            let command = step.commands.first().map(String::as_str).unwrap_or_default();
            journal.add("start", Some(&path), json!({"try": step.attempts, "command": command}));
        }
        if !has_ended {
            let us = u64::try_from(step.duration.as_micros()).unwrap_or(u64::MAX);
            let fields = json!({"status": step.status.name(), "exit": step.exit_code, "us": us});
            journal.add("end", Some(&path), fields);
        }
    }
}

/// When one step of a run ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTimes {
    /// Its name, after those of the steps whose tools it ran in.
    pub step: StepPath,
    /// How it ended; nothing while it runs.
    pub status: Option<Status>,
    /// Its exit code.
    pub exit_code: i32,
    /// How often it was started, its fallback not counted.
    pub attempts: u32,
    /// Whether its fallback ran.
    pub used_fallback: bool,
    /// The run whose result it is, where it did not run.
    pub cached_from: Option<String>,
    /// When it began, from the start of the run; nothing when it never did.
    pub began: Option<Duration>,
    /// How long it took with its pauses, or has taken so far.
    pub length: Duration,
}

impl StepTimes {
    fn unbegun(step: StepPath) -> Self {
        Self {
            step,
            status: None,
            exit_code: 0,
            attempts: 0,
            used_fallback: false,
            cached_from: None,
            began: None,
            length: Duration::ZERO,
        }
    }

    /// Whether it ended badly.
    pub fn has_failed(&self) -> bool {
        matches!(self.status, Some(Status::Failed | Status::TimedOut))
    }

    /// How long it has taken at a moment of the run.
    pub fn took(&self, at: Duration) -> Duration {
        self.began.map_or(Duration::ZERO, |began| at.saturating_sub(began))
    }
}

/// When the steps of a run ran, folded from its events one after the other.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// In the order in which they began or were passed over. The length of a step that runs is up to its last event.
    steps: Vec<StepTimes>,
    places: HashMap<StepPath, usize>,
    last: Duration,
}

impl Timeline {
    /// Adds the event that comes next.
    pub fn add(&mut self, event: &JournalEvent<'_>) {
        let at = Duration::from_micros(event.time);
        self.last = self.last.max(at);
        // A step may write for long; when it did says nothing about it.
        if event.step.is_empty() || matches!(&*event.kind, "out" | "progress" | "log") {
            return;
        }
        let place = match self.places.get(&*event.step) {
            Some(place) => *place,
            None => {
                let step = StepPath::named(&event.step);
                self.steps.push(StepTimes::unbegun(step.clone()));
                self.places.insert(step, self.steps.len() - 1);
                self.steps.len() - 1
            }
        };
        let step = &mut self.steps[place];
        match &*event.kind {
            "start" => {
                step.began.get_or_insert(at);
                step.attempts = event.attempt.max(1);
            }
            "fallback" => step.used_fallback = true,
            "cached" => step.cached_from = Some(event.run.to_string()),
            "end" => {
                step.status = Status::named(&event.status);
                step.exit_code = event.exit;
            }
            _ => {}
        }
        step.length = step.took(at);
    }

    /// The steps so far, in the order in which they began or were passed over.
    pub fn steps(&self) -> &[StepTimes] {
        &self.steps
    }

    /// The time of the last event, from the start of the run.
    pub fn last(&self) -> Duration {
        self.last
    }

    /// The steps when nothing more comes: one without an end ran until the last event.
    pub fn into_steps(mut self) -> Vec<StepTimes> {
        for step in self.steps.iter_mut().filter(|step| step.status.is_none()) {
            step.length = step.took(self.last);
        }
        self.steps
    }
}

/// How far a step got whose end nobody saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// What it ran; empty where that is not known.
    pub command: String,
    /// The end of what it wrote.
    pub output: Vec<u8>,
    /// How much it wrote in all.
    pub written: u64,
}

/// Reads how far a step of a run got, by its last start.
///
/// # Errors
/// When the journal cannot be read.
pub fn reached(journals: &Path, run: &str, step: &StepPath) -> Result<Reached, StoreError> {
    let (mut reached, mut wrote) = (Reached::default(), VecDeque::new());
    let Some(mut journal) = RunReader::open(journals, run)? else { return Ok(reached) };
    loop {
        let lines = journal.more()?;
        if lines.is_empty() {
            break;
        }
        for line in lines.into_iter().filter(|line| line["step"] == step.as_str()) {
            match line["e"].as_str() {
                Some("start") => {
                    let command = line["command"].as_str().unwrap_or_default().to_owned();
                    reached = Reached { command, ..Reached::default() };
                    wrote.clear();
                }
                Some("out") => {
                    reached.written += line["n"].as_u64().unwrap_or_default();
                    wrote.push_back(line);
                    // No event is empty.
                    wrote.drain(..wrote.len().saturating_sub(LAST_BYTES));
                }
                _ => {}
            }
        }
    }
    for line in wrote.iter().rev() {
        let mut bytes = journal.output(line)?;
        bytes.append(&mut reached.output);
        reached.output = bytes;
        if reached.output.len() >= LAST_BYTES {
            reached.output.drain(..reached.output.len() - LAST_BYTES);
            break;
        }
    }
    Ok(reached)
}

/// Reads one event of a run as it was told to who followed it; nothing for a line that says something else.
///
/// # Errors
/// When what a step wrote cannot be read.
pub fn event(journal: &mut RunReader, line: &Json) -> Result<Option<Event<'static>>, StoreError> {
    event_of(line, |line| journal.output(line))
}

/// Reads one event from its line; `output` finds what a step wrote.
pub(crate) fn event_of<E>(
    line: &Json,
    output: impl FnOnce(&Json) -> Result<Vec<u8>, E>,
) -> Result<Option<Event<'static>>, E> {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| line[name].as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or_default();
    let duration = |name: &str| Duration::from_micros(line[name].as_u64().unwrap_or_default());
    let kind = line["e"].as_str().unwrap_or_default();
    if kind == "warning" {
        return Ok(Some(Event::Warning(text("text"))));
    }
    let Some(step) = line["step"].as_str().map(StepPath::named) else { return Ok(None) };
    Ok(Some(match kind {
        "start" => {
            Event::StepStarted { step, attempt: u32::try_from(number("try")).unwrap_or(1), command: text("command") }
        }
        "out" => {
            let stream = if number("s") == 2 { Stream::Stderr } else { Stream::Stdout };
            Event::Output { step, stream, bytes: Cow::Owned(output(line)?), live: line["live"] == true }
        }
        "progress" => Event::Progress {
            step,
            done: line["done"].as_f64().unwrap_or_default(),
            total: line["total"].as_f64(),
            message: line["message"].as_str().map(str::to_owned),
        },
        "log" => Event::Log { step, level: text("level"), message: text("message") },
        "retry" => Event::Retrying { step, exit_code: number("exit"), pause: duration("pause") },
        "fallback" => Event::FallingBack { step },
        "cached" => Event::Cached { step, run: text("run") },
        "end" => match line["status"].as_str().and_then(Status::named) {
            Some(status) => Event::StepEnded { step, status, exit_code: number("exit"), duration: duration("us") },
            None => return Ok(None),
        },
        _ => return Ok(None),
    }))
}
