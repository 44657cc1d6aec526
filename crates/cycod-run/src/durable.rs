//! What a run that can be continued after a crash writes down, and reads when it is.
//!
//! A run is told by the events of its flow that come from outside: attempts that began and ended, limits and pauses that
//! were over, cleanups. The flow answers the same events with the same commands, so a driver that carries out what it then asks
//! for goes on where the run was. Everything else follows from the plan and is not written.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cycod_diagnostic::Refusal;
use cycod_flow::{Attempt, AttemptOutcome as Ending, FlowTask, LostAnswer, ScopeId, StepId};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{Status, StepPath, StepReport, ToolOutcome};

/// Where a run is written down so that it can be continued. What it is given holds secrets.
pub trait Ledger: fmt::Debug {
    /// Adds an entry; with `must_last`, it outlasts a power failure when this returns.
    ///
    /// # Errors
    /// A refusal when it cannot be written. The run then starts nothing more.
    fn add(&mut self, entry: &[u8], must_last: bool) -> Result<(), Refusal>;
}

/// What makes a run durable.
pub struct Durable<'a> {
    /// Where it is written down.
    pub ledger: &'a mut dyn Ledger,
    /// What was written before the crash; empty for a run that begins.
    pub past: Vec<Vec<u8>>,
    /// Asks a person what follows for a step that the crash interrupted; nothing when nobody answers.
    pub lost: &'a dyn Fn(&StepPath) -> Option<LostAnswer>,
}

/// A step that a crash interrupted, about which a person decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptedStep {
    task: FlowTask,
    /// Whether the flow knows that it is lost.
    is_told: bool,
    /// The step.
    pub step: StepPath,
}

impl InterruptedStep {
    /// Finds those of a run that nothing runs any more, in the order of its steps, by what was written.
    pub fn among(past: &[Vec<u8>]) -> Vec<Self> {
        let (mut begun, mut told) = (BTreeMap::new(), BTreeSet::new());
        for entry in past.iter().filter_map(|bytes| Entry::read(bytes)) {
            match entry {
                Entry::Started(task, Some(asks)) => drop(begun.insert(task, asks)),
                Entry::Ended(task, ..) | Entry::Called(task) | Entry::Answered(task, _) => drop(begun.remove(&task)),
                Entry::Lost(task) => drop(told.insert(task)),
                _ => {}
            }
        }
        let lost = begun.into_iter();
        lost.map(|(task, step)| Self { task, is_told: told.contains(&task), step: StepPath::named(&step) }).collect()
    }

    /// What is to be written so that the run goes on with this answer.
    pub fn answered(&self, answer: LostAnswer) -> Vec<Vec<u8>> {
        let lost = (!self.is_told).then_some(Entry::Lost(self.task));
        lost.into_iter().chain([Entry::Answered(self.task, answer)]).map(|entry| entry.to_bytes()).collect()
    }

    /// Which start of which attempt it is: no other of the run has the same.
    pub fn number(&self) -> String {
        let TaskRow(scope, step, attempt, losses) = (&self.task).into();
        format!("[{scope},{step},{attempt},{losses}]")
    }
}

/// What a machine reported of a step that ended, by what is known of it; nothing for anything else.
pub fn reported_step(entry: &[u8]) -> Option<StepReport> {
    match Entry::read(entry)? {
        Entry::Ended(_, _, report) => Some(*report),
        _ => None,
    }
}

/// One thing that is written down.
#[derive(Debug)]
pub(crate) enum Entry {
    /// An attempt begins; with the name of the step where a person decides what follows when it is lost.
    Started(FlowTask, Option<String>),
    /// An attempt ended, with everything that is known of its step.
    Ended(FlowTask, Ending, Box<StepReport>),
    /// An attempt calls a tool.
    Called(FlowTask),
    /// A pause is over.
    Due(StepId),
    /// The time of a tool is over.
    OutOfTime(ScopeId),
    /// The run was cancelled.
    Cancelled,
    /// The tool that a step called is cleaned up.
    CleanedUp(ScopeId, Vec<String>),
    /// A crash interrupted an attempt.
    Lost(FlowTask),
    /// Somebody said what follows.
    Answered(FlowTask, LostAnswer),
}

impl Entry {
    /// A head of JSON behind its length, and the bytes of outputs behind that.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut blobs = Vec::new();
        let head = match self {
            Self::Started(task, asks) => Head::Started { task: task.into(), asks: asks.clone() },
            Self::Ended(task, ending, report) => Head::Ended {
                task: task.into(),
                ending: ENDINGS.iter().position(|known| known == ending).unwrap_or(usize::MAX),
                report: Box::new(ReportRow::of(report, &mut blobs)),
            },
            Self::Called(task) => Head::Called { task: task.into() },
            Self::Due(step) => Head::Due { step: (step.scope.0, step.index) },
            Self::OutOfTime(scope) => Head::OutOfTime { scope: scope.0 },
            Self::Cancelled => Head::Stopped,
            Self::CleanedUp(scope, warnings) => Head::Cleaned { scope: scope.0, warnings: warnings.clone() },
            Self::Lost(task) => Head::Lost { task: task.into() },
            Self::Answered(task, answer) => Head::Answered {
                task: task.into(),
                answer: ANSWERS.iter().position(|known| known == answer).unwrap_or(usize::MAX),
            },
        };
        // None of the types can fail to be written.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let mut bytes = u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        bytes.extend_from_slice(&head);
        bytes.append(&mut blobs);
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) wrote; nothing for anything else.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (head, mut blobs) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(match serde_json::from_slice(head).ok()? {
            Head::Started { task, asks } => Self::Started(task.into(), asks),
            Head::Ended { task, ending, report } => {
                Self::Ended(task.into(), *ENDINGS.get(ending)?, Box::new(report.read(&mut blobs)?))
            }
            Head::Called { task } => Self::Called(task.into()),
            Head::Due { step: (scope, index) } => Self::Due(StepId { scope: ScopeId(scope), index }),
            Head::OutOfTime { scope } => Self::OutOfTime(ScopeId(scope)),
            Head::Stopped => Self::Cancelled,
            Head::Cleaned { scope, warnings } => Self::CleanedUp(ScopeId(scope), warnings),
            Head::Lost { task } => Self::Lost(task.into()),
            Head::Answered { task, answer } => Self::Answered(task.into(), *ANSWERS.get(answer)?),
        })
    }
}

const ENDINGS: [Ending; 4] = [Ending::Succeeded, Ending::Failed, Ending::Refused, Ending::Forbidden];
const ANSWERS: [LostAnswer; 3] = [LostAnswer::Again, LostAnswer::Done, LostAnswer::Stop];

/// The head of an entry. What is written once is read by later versions: fields may be added, never changed.
#[derive(Serialize, Deserialize)]
#[serde(tag = "e", rename_all = "kebab-case")]
enum Head {
    Started {
        task: TaskRow,
        #[serde(skip_serializing_if = "Option::is_none")]
        asks: Option<String>,
    },
    Ended {
        task: TaskRow,
        ending: usize,
        report: Box<ReportRow>,
    },
    Called {
        task: TaskRow,
    },
    Due {
        step: (usize, usize),
    },
    OutOfTime {
        scope: usize,
    },
    Stopped,
    Cleaned {
        scope: usize,
        warnings: Vec<String>,
    },
    Lost {
        task: TaskRow,
    },
    Answered {
        task: TaskRow,
        answer: usize,
    },
}

/// Scope, step, attempt and losses; the fallback is the attempt 0.
#[derive(Serialize, Deserialize)]
struct TaskRow(usize, usize, u32, u32);

impl From<&FlowTask> for TaskRow {
    fn from(task: &FlowTask) -> Self {
        let attempt = if let Attempt::Number(number) = task.attempt { number } else { 0 };
        Self(task.step.scope.0, task.step.index, attempt, task.losses)
    }
}

impl From<TaskRow> for FlowTask {
    fn from(TaskRow(scope, index, attempt, losses): TaskRow) -> Self {
        let attempt = if attempt == 0 { Attempt::Fallback } else { Attempt::Number(attempt) };
        Self { step: StepId { scope: ScopeId(scope), index }, attempt, losses }
    }
}

/// Seconds and nanoseconds.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Span(u64, u32);

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(duration.as_secs(), duration.subsec_nanos())
    }
}

impl From<SystemTime> for Span {
    fn from(time: SystemTime) -> Self {
        time.duration_since(UNIX_EPOCH).unwrap_or_default().into()
    }
}

impl Span {
    fn duration(self) -> Duration {
        Duration::new(self.0, self.1.min(999_999_999))
    }

    fn time(self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(self.duration())
    }
}

/// A report, of whose outputs only the lengths are in the head.
#[derive(Serialize, Deserialize)]
struct ReportRow {
    name: String,
    status: String,
    exit_code: i32,
    bytes: [usize; 4],
    duration: Span,
    attempts: u32,
    used_fallback: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cached_from: Option<String>,
    truncated: bool,
    commands: Vec<String>,
    began: Span,
    start_time: Option<Span>,
    end_time: Option<Span>,
    refusal: Option<RefusalRow>,
    answer: Option<AnswerRow>,
    value: Option<Json>,
    secrets: Vec<String>,
    warnings: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct RefusalRow {
    code: String,
    rule: Option<String>,
    place: Option<String>,
    why: String,
    attempt: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct AnswerRow {
    bytes: [usize; 2],
    blocks: Option<Json>,
    structured: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    meta: Option<Json>,
    is_error: bool,
}

impl ReportRow {
    fn of(report: &StepReport, blobs: &mut Vec<u8>) -> Self {
        let mut bytes = |bytes: &[u8]| {
            blobs.extend_from_slice(bytes);
            bytes.len()
        };
        Self {
            name: report.name.clone(),
            status: report.status.name().to_owned(),
            exit_code: report.exit_code,
            bytes: [&report.output, &report.error, &report.raw_output, &report.raw_error].map(|all| bytes(all)),
            duration: report.duration.into(),
            attempts: report.attempts,
            used_fallback: report.used_fallback,
            cached_from: report.cached_from.clone(),
            truncated: report.truncated,
            commands: report.commands.clone(),
            began: report.began.into(),
            start_time: report.start_time.map(Span::from),
            end_time: report.end_time.map(Span::from),
            refusal: report.refusal.as_ref().map(RefusalRow::of),
            answer: report.answer.as_ref().map(|answer| AnswerRow {
                bytes: [bytes(&answer.output), bytes(&answer.error)],
                blocks: answer.blocks.clone(),
                structured: answer.structured.clone(),
                meta: answer.meta.clone(),
                is_error: answer.is_error,
            }),
            value: report.raw_value.clone(),
            secrets: report.secrets.clone(),
            warnings: report.warnings.clone(),
        }
    }

    fn read(self, blobs: &mut &[u8]) -> Option<StepReport> {
        let mut bytes = |length: usize| -> Option<Vec<u8>> {
            let (taken, rest) = blobs.split_at_checked(length)?;
            *blobs = rest;
            Some(taken.to_vec())
        };
        let [output, error, raw_output, raw_error] = self.bytes;
        let (output, error) = (bytes(output)?, bytes(error)?);
        let (raw_output, raw_error) = (bytes(raw_output)?, bytes(raw_error)?);
        let answer = match self.answer {
            None => None,
            Some(answer) => Some(Box::new(ToolOutcome {
                output: bytes(answer.bytes[0])?,
                error: bytes(answer.bytes[1])?,
                blocks: answer.blocks,
                structured: answer.structured,
                meta: answer.meta,
                is_error: answer.is_error,
            })),
        };
        let refusal = match self.refusal {
            None => None,
            Some(refusal) => Some(refusal.read()?),
        };
        Some(StepReport {
            exit_code: self.exit_code,
            output,
            error,
            duration: self.duration.duration(),
            attempts: self.attempts,
            used_fallback: self.used_fallback,
            cached_from: self.cached_from,
            truncated: self.truncated,
            commands: self.commands,
            began: self.began.duration(),
            start_time: self.start_time.and_then(Span::time),
            end_time: self.end_time.and_then(Span::time),
            refusal,
            answer,
            raw_output,
            raw_error,
            raw_value: self.value,
            secrets: self.secrets,
            warnings: self.warnings,
            ..StepReport::new(&self.name, Status::named(&self.status)?)
        })
    }
}

impl RefusalRow {
    fn of(refusal: &Refusal) -> Self {
        let Refusal { code, rule, place, why, attempt } = refusal.clone();
        Self { code: code.name().to_owned(), rule, place, why, attempt }
    }

    fn read(self) -> Option<Refusal> {
        let Self { code, rule, place, why, attempt } = self;
        Some(Refusal { code: code.parse().ok()?, rule, place, why, attempt })
    }
}

#[cfg(test)]
mod tests {
    use cycod_diagnostic::Code;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn task() -> impl Strategy<Value = FlowTask> {
        (0_usize..9, 0_usize..9, prop::option::of(1_u32..9), 0_u32..3).prop_map(|(scope, index, attempt, losses)| {
            FlowTask {
                step: StepId { scope: ScopeId(scope), index },
                attempt: attempt.map_or(Attempt::Fallback, Attempt::Number),
                losses,
            }
        })
    }

    fn entry() -> impl Strategy<Value = Entry> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..20);
        let report = (bytes(), bytes(), ".{0,9}", any::<i32>(), prop::option::of(bytes()), any::<u32>());
        let report = report.prop_map(|(output, error, text, exit_code, answer, number)| StepReport {
            exit_code,
            raw_output: [&output[..], b"raw"].concat(),
            output,
            raw_error: error.clone(),
            error,
            attempts: number,
            duration: Duration::from_nanos(number.into()),
            refusal: answer.as_ref().map(|_| Refusal::new(Code::TimedOut, &text).place(&text)),
            answer: answer.map(|output| {
                let structured = Some(json!({"a": [1.5, null]}));
                Box::new(ToolOutcome { output, structured, is_error: true, ..ToolOutcome::default() })
            }),
            start_time: Some(UNIX_EPOCH + Duration::from_nanos(number.into())),
            raw_value: Some(json!([text])),
            secrets: vec![text.clone()],
            warnings: vec![text.clone(), String::new()],
            ..StepReport::new(&text, Status::Failed)
        });
        prop_oneof![
            (task(), prop::option::of(".{0,9}")).prop_map(|(task, asks)| Entry::Started(task, asks)),
            (task(), prop::sample::select(ENDINGS.to_vec()), report).prop_map(|(task, ending, report)| Entry::Ended(
                task,
                ending,
                Box::new(report)
            )),
            task().prop_map(Entry::Called),
            (0_usize..9, 0_usize..9).prop_map(|(scope, index)| Entry::Due(StepId { scope: ScopeId(scope), index })),
            (0_usize..9).prop_map(|scope| Entry::OutOfTime(ScopeId(scope))),
            (0_u8..1).prop_map(|_| Entry::Cancelled),
            (0_usize..9, prop::collection::vec(".{0,9}", 0..3))
                .prop_map(|(scope, all)| { Entry::CleanedUp(ScopeId(scope), all) }),
            task().prop_map(Entry::Lost),
            (task(), prop::sample::select(ANSWERS.to_vec())).prop_map(|(task, answer)| Entry::Answered(task, answer)),
        ]
    }

    #[test]
    fn a_step_is_lost_until_it_ended_or_somebody_answered() {
        let task =
            |index| FlowTask { step: StepId { scope: ScopeId(0), index }, attempt: Attempt::Number(1), losses: 0 };
        let started = |index: usize| Entry::Started(task(index), Some(format!("step {index}")));
        let report = || Box::new(StepReport::new("s", Status::Ok));
        let mut past: Vec<_> = [
            started(0),
            Entry::Ended(task(0), Ending::Succeeded, report()),
            started(1),
            Entry::Called(task(1)),
            Entry::Started(task(2), None),
            started(4),
            started(3),
            Entry::Lost(task(4)),
        ]
        .iter()
        .map(Entry::to_bytes)
        .collect();
        let lost = InterruptedStep::among(&past);
        assert_eq!(lost.iter().map(|lost| lost.step.as_str()).collect::<Vec<_>>(), ["step 3", "step 4"]);
        past.extend(lost[0].answered(LostAnswer::Again));
        assert_eq!(InterruptedStep::among(&past), lost[1..]);
        let answered = lost[1].answered(LostAnswer::Done);
        assert_eq!(answered.len(), 1, "that it is lost is written already");
        past.extend(answered);
        assert_eq!(InterruptedStep::among(&past), []);
    }

    /// Entries as the first version wrote them, which a run that was interrupted then still has.
    #[test]
    fn what_an_earlier_version_wrote_is_read_and_written_the_same() {
        let report = r#"{"name":"s","status":"failed","exit_code":3,"bytes":[2,1,0,0],"duration":[1,5],"attempts":2,"used_fallback":false,"truncated":true,"commands":["false"],"began":[0,7],"start_time":[1700000000,0],"end_time":null,"refusal":{"code":"timed-out","rule":null,"place":"s","why":"late","attempt":null},"answer":{"bytes":[1,0],"blocks":null,"structured":{"b":1,"a":1.5},"is_error":true},"value":["x",null],"secrets":["k"],"warnings":[]}"#;
        let heads = [
            (r#"{"e":"started","task":[0,1,1,0]}"#.to_owned(), ""),
            (r#"{"e":"started","task":[0,1,0,2],"asks":"one/two"}"#.to_owned(), ""),
            (format!(r#"{{"e":"ended","task":[0,1,1,0],"ending":1,"report":{report}}}"#), "oueA"),
            (r#"{"e":"called","task":[2,1,1,0]}"#.to_owned(), ""),
            (r#"{"e":"due","step":[0,3]}"#.to_owned(), ""),
            (r#"{"e":"out-of-time","scope":1}"#.to_owned(), ""),
            (r#"{"e":"stopped"}"#.to_owned(), ""),
            (r#"{"e":"cleaned","scope":1,"warnings":["w"]}"#.to_owned(), ""),
            (r#"{"e":"lost","task":[0,1,1,0]}"#.to_owned(), ""),
            (r#"{"e":"answered","task":[0,1,1,0],"answer":2}"#.to_owned(), ""),
        ];
        for (head, blobs) in heads {
            let length = u32::try_from(head.len()).expect("it is short").to_le_bytes();
            let bytes = [&length[..], head.as_bytes(), blobs.as_bytes()].concat();
            let entry = Entry::read(&bytes).unwrap_or_else(|| panic!("it is read: {head}"));
            assert_eq!(String::from_utf8_lossy(&entry.to_bytes()), String::from_utf8_lossy(&bytes));
        }
    }

    proptest! {
        #[test]
        fn entries_come_back_as_they_were(entry in entry()) {
            let read = Entry::read(&entry.to_bytes());
            prop_assert_eq!(format!("{:?}", read), format!("{:?}", Some(entry)));
        }

        #[test]
        fn anything_else_is_no_entry(entry in entry(), at in 0.0..1.0_f64, bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Entry::read(&bytes);
            let whole = entry.to_bytes();
            prop_assert!(Entry::read(&whole[..(whole.len() as f64 * at) as usize]).is_none());
        }
    }
}
