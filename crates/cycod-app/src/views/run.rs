//! What was run and decided.

use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cycod_engine::{
    Engine, Given, Status,
    definition::Tool,
    journal::{StepTimes, Timeline},
};
use cycod_store::{History, Run, RunReader, State, StoreError};
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;
use serde_json::{Map, Value};

/// Everything about a call.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RunView<'a> {
    pub id: &'a str,
    pub at: String,
    pub tool: &'a str,
    pub surface: &'a str,
    pub status: &'static str,
    /// What the history knows of the call, when it `ended`, and what it knows of the end.
    #[serde(flatten)]
    pub more: Map<String, Value>,
    /// When each step ran, of a run that is shown by itself and has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<StepView>>,
    /// What it waits for in a list: the IDs of requests and of steps about which the user decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
}

/// When a step ran.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct StepView {
    pub step: String,
    pub status: &'static str,
    pub began_us: Option<u64>,
    pub duration_us: u64,
    pub attempts: u32,
    pub used_fallback: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_from: Option<String>,
}

impl<'a> RunView<'a> {
    /// What the history knows.
    pub fn of(run: &'a Run) -> Self {
        let mut more = run.call.as_object().cloned().unwrap_or_default();
        if let Some((at, end)) = &run.end {
            more.insert("ended".to_owned(), moment(*at).into());
            more.extend(end.as_object().cloned().unwrap_or_default());
        }
        let (id, at, tool, surface, status) = (&run.id, moment(run.at), &run.tool, &run.surface, run.state.name());
        Self { id, at, tool, surface, status, more, timeline: None, waits_for: Vec::new() }
    }

    /// With when its steps ran, if it has several.
    #[must_use]
    pub fn with_timeline(self, steps: &[StepTimes]) -> Self {
        Self { timeline: (steps.len() > 1).then(|| steps.iter().map(StepView::of).collect()), ..self }
    }
}

impl StepView {
    fn of(step: &StepTimes) -> Self {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self {
            step: step.step.as_str().to_owned(),
            status: step.status.map_or("running", Status::name),
            began_us: step.began.map(micros),
            duration_us: micros(step.length),
            attempts: step.attempts,
            used_fallback: step.used_fallback,
            cached_from: step.cached_from.clone(),
        }
    }
}

/// When the steps of a run ran, and how long it took; nothing for one without a journal.
///
/// # Errors
/// When the journal cannot be read.
pub fn step_times(history: &History, run: &Run) -> Result<(Vec<StepTimes>, Duration), StoreError> {
    let Some(mut reader) = RunReader::open(&history.journals(), &run.id)? else {
        return Ok((Vec::new(), Duration::ZERO));
    };
    let mut timeline = Timeline::default();
    while reader.each(|event| timeline.add(event))? > 0 {}
    let last = timeline.last();
    Ok((timeline.into_steps(), last))
}

/// A moment in JSON: RFC 3339, in UTC.
pub fn moment(at: u64) -> String {
    let moment = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    moment.map_or_else(|| at.to_string(), |moment| format!("{moment:.3}"))
}

/// A moment by the clock of this machine, as lists have it: `2026-11-26 21:37:21`.
pub const LOCAL: &str = "%Y-%m-%d %H:%M:%S";

/// A moment by the clock of this machine; `at` is in milliseconds from 1970, `pattern` is one of `strftime`.
pub fn local(at: u64, pattern: &str) -> String {
    let moment = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    let moment = moment.map(|moment| moment.to_zoned(TimeZone::system()).strftime(pattern).to_string());
    moment.unwrap_or_else(|| at.to_string())
}

/// How long ago something was, in a few words; `at` is in milliseconds from 1970.
pub fn ago(at: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = now.saturating_sub(Duration::from_millis(at)).as_secs();
    match seconds {
        0..100 => format!("{seconds} s ago"),
        100..6_000 => format!("{} min ago", seconds / 60),
        6_000..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// Who asked, in a few words.
pub fn who(run: &Run) -> String {
    match run.call["host"].as_str() {
        Some(host) => format!("{} ({host})", run.surface),
        None => run.surface.clone(),
    }
}

/// How it ended, in a few words.
pub fn outcome(run: &Run) -> String {
    let end = run.end.as_ref().map(|(_, end)| end);
    match run.state {
        State::Refused => format!("refused: {}", run.call["refusal"]["code"].as_str().unwrap_or_default()),
        State::Failed => match end.and_then(|end| end["exit_code"].as_i64()) {
            Some(code) => format!("exit {code}"),
            None => "failed".to_owned(),
        },
        state => state.name().to_owned(),
    }
}

/// How long it took, if it has ended.
pub fn took(run: &Run) -> Option<Duration> {
    let (_, end) = run.end.as_ref()?;
    Some(Duration::from_micros(end["duration_us"].as_u64()?))
}

/// What it takes to run a tool again as it ran.
#[derive(Debug, Serialize)]
pub struct Rerun<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Where it was called: a path among the arguments means what it meant.
    pub directory: Option<&'a Path>,
    /// The arguments that the history holds.
    pub arguments: Map<String, Value>,
    /// Those that somebody has to give again.
    pub withheld: Vec<Withheld<'a>>,
    #[serde(skip)]
    fingerprint: Option<&'a str>,
}

/// An argument that the history does not hold.
#[derive(Debug, Serialize)]
pub struct Withheld<'a> {
    /// The parameter.
    pub name: &'a str,
    /// Why not.
    pub why: &'a str,
}

impl<'a> Rerun<'a> {
    /// Of a run.
    pub fn of(run: &'a Run) -> Self {
        let withheld = run.call["withheld"].as_object().into_iter().flatten();
        Self {
            tool: &run.tool,
            directory: run.call["from"].as_str().map(Path::new),
            arguments: run.call["arguments"].as_object().cloned().unwrap_or_default(),
            withheld: withheld
                .map(|(name, why)| Withheld { name, why: why["why"].as_str().unwrap_or("not kept") })
                .collect(),
            fingerprint: run.call["fingerprint"].as_str(),
        }
    }

    /// The arguments, with those that are `given` in the place of those it had.
    ///
    /// # Errors
    /// What has to be given and is not.
    pub fn with(&self, given: Vec<(String, Given)>) -> Result<Vec<(String, Given)>, Vec<&Withheld<'a>>> {
        let is_given = |name: &str| given.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let missing: Vec<&Withheld<'a>> = self.withheld.iter().filter(|withheld| !is_given(withheld.name)).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        let kept = self.arguments.iter().filter(|(name, _)| !is_given(name));
        let kept: Vec<_> = kept.map(|(name, value)| (name.clone(), Given::Value(value.clone().into()))).collect();
        Ok(kept.into_iter().chain(given).collect())
    }

    /// Whether the tool is not what it was when it ran.
    pub fn is_changed(&self, engine: &Engine, tool: &Tool) -> bool {
        self.fingerprint.is_some_and(|then| engine.fingerprint_of(tool).as_deref() != Some(then))
    }
}
