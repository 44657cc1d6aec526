//! What a run that can be continued after a crash writes down, and reads when it is.
//!
//! A run is told by the events of its flow that come from outside: attempts that began and ended, limits and pauses that
//! were over, cleanups. The flow answers the same events with the same commands, so whoever carries out what it then asks
//! for goes on where the run was. Everything else follows from the plan and is not written.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use cycod_diagnostic::Refusal;
use cycod_flow::{Answer, Attempt, Outcome as Ending, ScopeId, StepId, Task};
use serde_json::{Value as Json, json};

use crate::{Outcome, Status, StepPath, StepReport};

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
    pub lost: &'a dyn Fn(&StepPath) -> Option<Answer>,
}

/// A step that a crash interrupted, about which a person decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostStep {
    task: Task,
    /// Whether the flow knows that it is lost.
    is_told: bool,
    /// The step.
    pub step: StepPath,
}

impl LostStep {
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
    pub fn answered(&self, answer: Answer) -> Vec<Vec<u8>> {
        let lost = (!self.is_told).then_some(Entry::Lost(self.task));
        lost.into_iter().chain([Entry::Answered(self.task, answer)]).map(|entry| entry.to_bytes()).collect()
    }

    /// Which start of which attempt it is: no other of the run has the same.
    pub fn number(&self) -> String {
        task_json(self.task).to_string()
    }
}

/// One thing that is written down.
#[derive(Debug)]
pub(crate) enum Entry {
    /// An attempt begins; with the name of the step where a person decides what follows when it is lost.
    Started(Task, Option<String>),
    /// An attempt ended, with everything that is known of its step.
    Ended(Task, Ending, Box<StepReport>),
    /// An attempt calls a tool.
    Called(Task),
    /// A pause is over.
    Due(StepId),
    /// The time of a tool is over.
    OutOfTime(ScopeId),
    /// The run was cancelled.
    Cancelled,
    /// The tool that a step called is cleaned up.
    CleanedUp(ScopeId, Vec<String>),
    /// A crash interrupted an attempt.
    Lost(Task),
    /// Somebody said what follows.
    Answered(Task, Answer),
}

impl Entry {
    /// A head of JSON behind its length, and the bytes of outputs behind that.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut blobs = Vec::new();
        let head = match self {
            Self::Started(task, None) => json!({"e": "started", "task": task_json(*task)}),
            Self::Started(task, Some(asks)) => json!({"e": "started", "task": task_json(*task), "asks": asks}),
            Self::Ended(task, ending, report) => json!({
                "e": "ended",
                "task": task_json(*task),
                "ending": ENDINGS.iter().position(|known| known == ending),
                "report": report_json(report, &mut blobs),
            }),
            Self::Called(task) => json!({"e": "called", "task": task_json(*task)}),
            Self::Due(step) => json!({"e": "due", "step": [step.scope.0, step.index]}),
            Self::OutOfTime(scope) => json!({"e": "out-of-time", "scope": scope.0}),
            Self::Cancelled => json!({"e": "stopped"}),
            Self::CleanedUp(scope, warnings) => json!({"e": "cleaned", "scope": scope.0, "warnings": warnings}),
            Self::Lost(task) => json!({"e": "lost", "task": task_json(*task)}),
            Self::Answered(task, answer) => json!({
                "e": "answered",
                "task": task_json(*task),
                "answer": ANSWERS.iter().position(|known| known == answer),
            }),
        };
        let head = head.to_string();
        let mut bytes = u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        bytes.extend_from_slice(head.as_bytes());
        bytes.append(&mut blobs);
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) wrote; nothing for anything else.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (head, mut blobs) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let head: Json = serde_json::from_slice(head).ok()?;
        let task = || read_task(&head["task"]);
        let scope = || Some(ScopeId(index(&head["scope"])?));
        Some(match head["e"].as_str()? {
            "started" => Self::Started(task()?, head["asks"].as_str().map(str::to_owned)),
            "ended" => {
                let ending = *ENDINGS.get(index(&head["ending"])?)?;
                Self::Ended(task()?, ending, Box::new(read_report(&head["report"], &mut blobs)?))
            }
            "called" => Self::Called(task()?),
            "due" => {
                let step = &head["step"];
                Self::Due(StepId { scope: ScopeId(index(&step[0])?), index: index(&step[1])? })
            }
            "out-of-time" => Self::OutOfTime(scope()?),
            "stopped" => Self::Cancelled,
            "cleaned" => Self::CleanedUp(scope()?, texts(&head["warnings"])?),
            "lost" => Self::Lost(task()?),
            "answered" => Self::Answered(task()?, *ANSWERS.get(index(&head["answer"])?)?),
            _ => return None,
        })
    }
}

const ENDINGS: [Ending; 4] = [Ending::Succeeded, Ending::Failed, Ending::Refused, Ending::Forbidden];
const ANSWERS: [Answer; 3] = [Answer::Again, Answer::Done, Answer::Stop];

fn index(value: &Json) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// The fallback has the number 0.
fn task_json(task: Task) -> Json {
    let attempt = if let Attempt::Number(number) = task.attempt { number } else { 0 };
    json!([task.step.scope.0, task.step.index, attempt, task.losses])
}

fn read_task(value: &Json) -> Option<Task> {
    let number = |place: usize| u32::try_from(value[place].as_u64()?).ok();
    Some(Task {
        step: StepId { scope: ScopeId(index(&value[0])?), index: index(&value[1])? },
        attempt: match number(2)? {
            0 => Attempt::Fallback,
            number => Attempt::Number(number),
        },
        losses: number(3)?,
    })
}

fn report_json(report: &StepReport, blobs: &mut Vec<u8>) -> Json {
    let mut bytes = |bytes: &[u8]| {
        blobs.extend_from_slice(bytes);
        bytes.len()
    };
    let lengths = [&report.output, &report.error, &report.raw_output, &report.raw_error].map(|all| bytes(all));
    let answer = report.answer.as_ref().map(|answer| {
        json!({
            "bytes": [bytes(&answer.output), bytes(&answer.error)],
            "blocks": answer.blocks,
            "structured": answer.structured,
            "is_error": answer.is_error,
        })
    });
    json!({
        "name": report.name,
        "status": report.status.name(),
        "exit_code": report.exit_code,
        "bytes": lengths,
        "duration": duration_json(report.duration),
        "attempts": report.attempts,
        "used_fallback": report.used_fallback,
        "truncated": report.truncated,
        "commands": report.commands,
        "began": duration_json(report.began),
        "start_time": report.start_time.map(time_json),
        "end_time": report.end_time.map(time_json),
        "refusal": report.refusal.as_ref().map(refusal_json),
        "answer": answer,
        "value": report.raw_value,
        "secrets": report.secrets,
        "warnings": report.warnings,
    })
}

fn read_report(head: &Json, blobs: &mut &[u8]) -> Option<StepReport> {
    let mut bytes = |length: &Json| -> Option<Vec<u8>> {
        let (taken, rest) = blobs.split_at_checked(index(length)?)?;
        *blobs = rest;
        Some(taken.to_vec())
    };
    let lengths = &head["bytes"];
    let (output, error) = (bytes(&lengths[0])?, bytes(&lengths[1])?);
    let (raw_output, raw_error) = (bytes(&lengths[2])?, bytes(&lengths[3])?);
    let some = |value: &Json| (!value.is_null()).then(|| value.clone());
    let answer = match &head["answer"] {
        Json::Null => None,
        answer => Some(Box::new(Outcome {
            output: bytes(&answer["bytes"][0])?,
            error: bytes(&answer["bytes"][1])?,
            blocks: some(&answer["blocks"]),
            structured: some(&answer["structured"]),
            is_error: answer["is_error"].as_bool()?,
        })),
    };
    let refusal = match &head["refusal"] {
        Json::Null => None,
        refusal => Some(read_refusal(refusal)?),
    };
    Some(StepReport {
        exit_code: i32::try_from(head["exit_code"].as_i64()?).ok()?,
        output,
        error,
        duration: read_duration(&head["duration"])?,
        attempts: u32::try_from(head["attempts"].as_u64()?).ok()?,
        used_fallback: head["used_fallback"].as_bool()?,
        truncated: head["truncated"].as_bool()?,
        commands: texts(&head["commands"])?,
        began: read_duration(&head["began"])?,
        start_time: read_time(&head["start_time"]),
        end_time: read_time(&head["end_time"]),
        refusal,
        answer,
        raw_output,
        raw_error,
        raw_value: some(&head["value"]),
        secrets: texts(&head["secrets"])?,
        warnings: texts(&head["warnings"])?,
        ..StepReport::new(head["name"].as_str()?, Status::named(head["status"].as_str()?)?)
    })
}

fn refusal_json(refusal: &Refusal) -> Json {
    let Refusal { code, rule, place, why, attempt } = refusal;
    json!({"code": code.name(), "rule": rule, "place": place, "why": why, "attempt": attempt})
}

fn read_refusal(value: &Json) -> Option<Refusal> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let code = value["code"].as_str()?.parse().ok()?;
    Some(Refusal { code, rule: text("rule"), place: text("place"), why: text("why")?, attempt: text("attempt") })
}

fn texts(value: &Json) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

fn duration_json(duration: Duration) -> Json {
    json!([duration.as_secs(), duration.subsec_nanos()])
}

fn read_duration(value: &Json) -> Option<Duration> {
    Some(Duration::new(value[0].as_u64()?, u32::try_from(value[1].as_u64()?).ok()?.min(999_999_999)))
}

fn time_json(time: SystemTime) -> Json {
    duration_json(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn read_time(value: &Json) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(read_duration(value)?)
}

#[cfg(test)]
mod tests {
    use cycod_diagnostic::Code;
    use proptest::prelude::*;

    use super::*;

    fn task() -> impl Strategy<Value = Task> {
        (0_usize..9, 0_usize..9, prop::option::of(1_u32..9), 0_u32..3).prop_map(|(scope, index, attempt, losses)| {
            Task {
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
                Box::new(Outcome { output, structured, is_error: true, ..Outcome::default() })
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
        let task = |index| Task {
            step: StepId { scope: ScopeId(0), index },
            attempt: Attempt::Number(1),
            losses: 0,
        };
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
        let lost = LostStep::among(&past);
        assert_eq!(lost.iter().map(|lost| lost.step.as_str()).collect::<Vec<_>>(), ["step 3", "step 4"]);
        past.extend(lost[0].answered(Answer::Again));
        assert_eq!(LostStep::among(&past), lost[1..]);
        let answered = lost[1].answered(Answer::Done);
        assert_eq!(answered.len(), 1, "that it is lost is written already");
        past.extend(answered);
        assert_eq!(LostStep::among(&past), []);
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
