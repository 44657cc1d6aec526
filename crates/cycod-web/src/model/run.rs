//! One run: what it was asked, when its steps ran, and what it wrote.

use std::{
    collections::VecDeque,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cycod_app::views::{LOCAL, Rerun, local, moment, outcome, took};
use cycod_engine::{
    Engine, Status, StepPath,
    catalog::{Entry, ScopeFilter},
    graph::Graph,
    journal::{StepTimes, Timeline},
};
use cycod_store::{History, Outputs, Retention, Run, RunReader, State, StoreError};
use serde_json::Value;

use super::{Paged, ROWS, caller};
use crate::form::Form;

/// How much of an output is shown at once.
pub(crate) const WINDOW: usize = 48 * 1024;
/// A graph with more steps is not drawn: it could not be read.
const MOST_DRAWN: usize = 150;

/// How many failed steps are named above a list that has several pages.
const FAILED_NAMED: usize = 5;

/// A run.
pub(crate) struct RunPage {
    pub(crate) head: RunHead,
    pub(crate) steps: Steps,
    pub(crate) level: String,
    pub(crate) rule: String,
    pub(crate) directory: String,
    pub(crate) reach: Vec<String>,
    pub(crate) arguments: Vec<(String, String)>,
    pub(crate) warnings: Vec<String>,
    /// The files that it kept, with their sizes.
    pub(crate) artifacts: Vec<(String, u64)>,
    pub(crate) refusal: Option<[String; 3]>,
    pub(crate) command: String,
    pub(crate) output: Output,
    pub(crate) graph: Option<String>,
    /// How many events of its journal this page shows.
    pub(crate) seen: usize,
}

/// What a run is, and how it stands.
pub(crate) struct RunHead {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) state: State,
    pub(crate) outcome: String,
    pub(crate) who: String,
    /// When it began, for programs, and for people.
    pub(crate) moment: String,
    pub(crate) when: String,
    pub(crate) took: Option<Duration>,
    /// Whether the tool of this name is still there.
    pub(crate) can_rerun: bool,
}

/// A page of the timeline.
pub(crate) struct Steps {
    pub(crate) run: String,
    pub(crate) is_running: bool,
    pub(crate) rows: Paged<StepRow>,
    /// The first failed steps, and how many failed in all.
    pub(crate) failed: Vec<String>,
    pub(crate) failures: usize,
    /// How long all of it took, or has taken until now.
    pub(crate) total: Duration,
    /// The step whose details are shown; all of them without one.
    pub(crate) selected: Option<StepRow>,
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

/// The part of a run that a page shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The step whose command and output are shown; the output of all steps without one.
    pub(crate) step: Option<String>,
    /// Which page of the timeline, from 1; without one, the page with what matters most.
    pub(crate) page: Option<usize>,
}

impl Part {
    /// The part that a query wants.
    pub(crate) fn of(query: &Form) -> Self {
        Self { step: query.filled("step").map(str::to_owned), page: query.number("steps") }
    }
}

impl RunPage {
    /// A run as its row and what was read of its journal say.
    ///
    /// # Errors
    /// When what it wrote cannot be read.
    pub(crate) fn of(engine: &Engine, run: &Run, journal: &mut Journal, part: &Part) -> Result<Self, StoreError> {
        let call = &run.call;
        let end = end_of(run);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
        let steps = Steps::of(run, journal, part);
        let command = command(run, journal);
        let output = match journal.output()? {
            Some(output) => output,
            None => output_of(engine, end)?,
        };
        let refusal = [&call["refusal"], &end["refusal"]].into_iter().find(|refusal| refusal.is_object());
        let entry = entry(engine, run);
        let drawn = entry.as_ref().filter(|_| (2..=MOST_DRAWN).contains(&steps.rows.all));
        let graph = drawn.and_then(|entry| entry.load().ok()).map(|opened| Graph::of(&opened.tool));
        Ok(Self {
            head: RunHead::new(run, entry.is_some()),
            steps,
            level: text(&call["level"]),
            rule: text(&call["rule"]),
            directory: text(&call["directory"]),
            reach: texts(&call["reach"]),
            arguments: arguments(run),
            warnings: texts(&end["warnings"]),
            artifacts: artifacts(end),
            refusal: refusal.map(|refusal| ["code", "why", "try"].map(|name| text(&refusal[name]))),
            command,
            output,
            graph: graph.map(|graph| graph.svg_in_page()),
            seen: journal.events,
        })
    }
}

impl RunHead {
    pub(crate) fn of(engine: &Engine, run: &Run) -> Self {
        Self::new(run, entry(engine, run).is_some())
    }

    fn new(run: &Run, can_rerun: bool) -> Self {
        Self {
            id: run.id.clone(),
            tool: run.tool.clone(),
            state: run.state,
            outcome: outcome(run),
            who: caller(run),
            moment: moment(run.at),
            when: local(run.at, LOCAL),
            took: took(run),
            can_rerun,
        }
    }
}

impl Steps {
    /// The page of the timeline that is wanted: the one of a number, else the one of the selected step, of the step that
    /// runs, or of the first step that failed.
    pub(crate) fn of(run: &Run, journal: &Journal, part: &Part) -> Self {
        let ended;
        let mut all = journal.timeline.steps();
        if all.is_empty() {
            ended = ended_steps(end_of(run));
            all = &ended;
        }
        let is_running = run.state == State::Running;
        let last = journal.timeline.last();
        let mut total = took(run).unwrap_or(last).max(last);
        // Nothing is written while a step only takes its time. A step without an end in a run that is over took until its
        // last event.
        let now = if is_running { since(run.at).max(total) } else { last };
        total = total.max(now);
        let row = |step: &StepTimes| StepRow::of(step, now);

        let selected = part.step.as_deref().and_then(|name| all.iter().position(|step| step.step.as_str() == name));
        let failures: Vec<usize> = (0..all.len()).filter(|at| all[*at].has_failed()).collect();
        let running = || is_running.then(|| all.iter().position(|step| step.status.is_none()).unwrap_or(all.len()));
        let meant = selected.or_else(running).or(failures.first().copied()).unwrap_or(0);
        Self {
            run: run.id.clone(),
            is_running,
            rows: Paged::of(all, part.page.or(Some(meant / ROWS + 1)), row),
            failed: failures.iter().take(FAILED_NAMED).map(|at| all[*at].step.as_str().to_owned()).collect(),
            failures: failures.len(),
            total,
            selected: selected.map(|at| row(&all[at])),
        }
    }
}

impl StepRow {
    /// A step; one that runs has taken until `now`, which is from the start of the run.
    fn of(step: &StepTimes, now: Duration) -> Self {
        Self {
            name: step.step.as_str().to_owned(),
            status: step.status,
            began: step.began,
            length: if step.status.is_none() { step.took(now) } else { step.length },
            attempts: step.attempts,
            used_fallback: step.used_fallback,
            is_cached: step.cached_from.is_some(),
            exit_code: step.exit_code,
        }
    }
}

/// What the selected step runs, or the only step; nothing if there are several.
pub(crate) fn command(run: &Run, journal: &Journal) -> String {
    match (&journal.command, run.call["commands"].as_array().map(Vec::as_slice)) {
        (Some(command), _) => command.clone(),
        (None, Some([command])) => command.as_str().unwrap_or_default().to_owned(),
        (None, _) => String::new(),
    }
}

/// What the end of a run says; nothing before it.
fn end_of(run: &Run) -> &Value {
    run.end.as_ref().map_or(&Value::Null, |(_, end)| end)
}

/// The tool of that name, if it is there.
fn entry(engine: &Engine, run: &Run) -> Option<Entry> {
    engine.entry(&run.tool, ScopeFilter::Any).ok().filter(Entry::is_active)
}

/// How long ago a moment was, which is in milliseconds from 1970.
fn since(at: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_millis(at))
}

/// The journal of a run, read on from where it was left. It holds what a page shows of it, whatever its length.
pub(crate) struct Journal {
    /// Nothing for a run without a journal, or without one yet.
    reader: Option<RunReader>,
    step: Option<String>,
    timeline: Timeline,
    command: Option<String>,
    /// Where the end of what the steps wrote is: no more than a window.
    window: Written,
    /// How many bytes they wrote in all.
    bytes: u64,
    /// How many events were read.
    events: usize,
}

/// What came into a journal.
#[derive(Default)]
pub(crate) struct Since {
    /// How many events.
    pub(crate) events: usize,
    /// Whether any of them is about more than output.
    pub(crate) is_of_steps: bool,
    /// What was written.
    pub(crate) written: Written,
}

impl Journal {
    /// Opens the journal of a run, for a page that shows a step or all of them.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn open(history: &History, run: &str, step: Option<String>) -> Result<Self, StoreError> {
        Ok(Self {
            reader: RunReader::open(&history.journals(), run)?,
            step,
            timeline: Timeline::default(),
            command: None,
            window: Written::default(),
            bytes: 0,
            events: 0,
        })
    }

    /// Whether the run has one.
    pub(crate) fn is_there(&self) -> bool {
        self.reader.is_some()
    }

    /// How many events were read.
    pub(crate) fn events(&self) -> usize {
        self.events
    }

    /// Reads all that is there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read(&mut self) -> Result<(), StoreError> {
        while self.more(0)?.events > 0 {}
        Ok(())
    }

    /// Reads some of what came since; no event when that is all. What was written counts from the event of a number.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn more(&mut self, from: usize) -> Result<Since, StoreError> {
        let mut since = Since::default();
        let Some(reader) = &mut self.reader else { return Ok(since) };
        since.events = reader.each(|event| {
            self.timeline.add(event);
            let is_out = event.kind == "out";
            since.is_of_steps |= !is_out;
            let is_meant = self.step.as_ref().is_none_or(|step| *step == event.step);
            if is_out && is_meant {
                self.bytes = self.bytes.saturating_add(event.length);
                self.window.add(event.at, event.length);
                self.window.keep_last(WINDOW as u64);
                if self.events >= from {
                    since.written.add(event.at, event.length);
                }
            } else if event.kind == "start" && self.step.is_some() && is_meant {
                self.command = Some(event.command.to_string());
            }
            self.events += 1;
        })?;
        Ok(since)
    }

    /// Reads what was written.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn text(&mut self, written: &Written) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        let Some(reader) = &mut self.reader else { return Ok(bytes) };
        for (at, length) in &written.places {
            bytes.extend(reader.output_at(*at, *length)?);
        }
        Ok(bytes)
    }

    /// The end of what was written so far; nothing for a run without a journal.
    fn output(&mut self) -> Result<Option<Output>, StoreError> {
        if self.reader.is_none() {
            return Ok(None);
        }
        let window = self.window.clone();
        let text = self.text(&window)?;
        let gone = self.bytes > 0 && text.is_empty();
        Ok(Some(Output {
            before: self.bytes.saturating_sub(text.len() as u64),
            text: String::from_utf8_lossy(&text).into_owned(),
            bytes: self.bytes,
            missing: gone.then(|| "What it wrote is no longer stored.".to_owned()),
        }))
    }
}

/// Where steps wrote something, in the output of their run.
#[derive(Clone, Default)]
pub(crate) struct Written {
    /// Where each piece begins, and its length. What follows a piece at once belongs to it.
    places: VecDeque<(u64, u64)>,
    bytes: u64,
}

impl Written {
    fn add(&mut self, at: u64, length: u64) {
        // A journal that was changed may say anything.
        let length = length.min(u64::MAX - self.bytes).min(u64::MAX - at);
        self.bytes += length;
        match self.places.back_mut() {
            Some((before, long)) if before.saturating_add(*long) == at => *long += length,
            _ => self.places.push_back((at, length)),
        }
    }

    /// Forgets all but so many of the last bytes; returns how many it forgot.
    pub(crate) fn keep_last(&mut self, most: u64) -> u64 {
        let forgotten = self.bytes.saturating_sub(most);
        let mut rest = forgotten;
        while let Some((at, length)) = self.places.front_mut().filter(|_| rest > 0) {
            let cut = rest.min(*length);
            (*at, *length, rest) = (*at + cut, *length - cut, rest - cut);
            if *length == 0 {
                self.places.pop_front();
            }
        }
        self.bytes -= forgotten;
        forgotten
    }
}

/// The steps of a run without a journal: its end has all of them.
fn ended_steps(end: &Value) -> Vec<StepTimes> {
    let steps = end["steps"].as_array().into_iter().flatten();
    steps
        .map(|step| StepTimes {
            step: StepPath::named(step["name"].as_str().unwrap_or_default()),
            status: step["status"].as_str().and_then(Status::named),
            began: Some(Duration::ZERO),
            length: Duration::from_micros(step["duration_us"].as_u64().unwrap_or_default()),
            attempts: step["attempts"].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(1),
            used_fallback: step["used_fallback"].as_bool().unwrap_or_default(),
            cached_from: step["cached_from"].as_str().map(str::to_owned),
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

#[cfg(test)]
mod tests {
    use cycod_store::RunJournal;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_journal_is_read_once_and_held_as_a_window() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let history = History::at(directory.path());
        let run = "0123456789abcdef0123456789abcdef";
        let journal = RunJournal::begin(&history.journals(), run, json!({}));
        let mut read = Journal::open(&history, run, None).expect("it can be looked for");
        assert!(!read.is_there());
        let line = "x".repeat(4095) + "\n";
        let mut events = 0;
        for round in 1..=20 {
            let step = format!("s{round}");
            journal.add("start", Some(&step), json!({"try": 1, "command": "c"}));
            for _ in 0..10 {
                journal.output(&step, 1, line.as_bytes());
                journal.flush();
            }
            if !read.is_there() {
                read = Journal::open(&history, run, None).expect("it can be looked for");
            }
            let before = read.events();
            read.read().expect("it can be read");
            events += read.events() - before;
            assert!(read.window.bytes <= WINDOW as u64 && read.window.places.len() == 1);
            assert_eq!(read.timeline.steps().len(), round);
        }
        assert_eq!((events, read.events()), (read.events(), 1 + 20 * 11));
        let output = read.output().expect("it can be read").expect("there is one");
        assert_eq!((output.bytes, output.text.len()), (200 * 4096, WINDOW));
        assert_eq!(output.before, output.bytes - WINDOW as u64);
    }
}
