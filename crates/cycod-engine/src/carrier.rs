//! Runs that another machine carries out: what it reports, as JSON and back.
//!
//! Everything else is as for a run of this machine: it is planned, decided, recorded and shown here.

use std::{convert::Infallible, fmt, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_plan::Plan;
use cycod_policy::Approved;
use cycod_run::{Driver, Durable, Event, RunReport, Sink, Status, StepPath, StepReport, ToolOutcome};
use serde_json::{Value as Json, json};

use crate::{
    journal,
    refusal_json::{refusal_json, refusal_of},
};

/// Carries approved plans out on other machines.
pub trait Carrier: fmt::Debug + Send + Sync {
    /// Carries a plan out, until it ends or the stop of the driver ends it. What happens goes to `sink`. With `durable`, another
    /// process may go on with that.
    fn carry(
        &self,
        approved: Approved<Plan>,
        driver: &Driver<'_>,
        sink: &mut dyn Sink,
        durable: Option<Durable<'_>>,
    ) -> RunReport;

    /// What another process has to know to make this carrier again; nothing where no other one goes on with a run.
    fn labels(&self) -> Option<Vec<String>> {
        None
    }
}

/// Writes an event, as a line of a journal with what a step wrote in it; nothing for one that says nothing.
pub fn event_json(event: &Event<'_>) -> Option<Json> {
    if let Event::Output { step, stream, bytes, live } = event {
        let bytes = STANDARD.encode(bytes);
        return Some(json!({"e": "out", "step": step.as_str(), "s": *stream as u8 + 1, "bytes": bytes, "live": live}));
    }
    let (kind, step, mut line) = journal::line(event)?;
    line["e"] = kind.into();
    if let Some(step) = step {
        line["step"] = step.as_str().into();
    }
    Some(line)
}

/// Reads an event; nothing for one that this version doesn't know.
pub fn event_of_json(line: &Json) -> Option<Event<'static>> {
    let Ok(event) = journal::event_of(line, |line| Ok::<_, Infallible>(bytes(&line["bytes"])));
    event
}

/// Writes what came of a run, without what only the machine needs on which it ran.
pub fn report_json(report: &RunReport) -> Json {
    let value = report.value.as_ref().map(|value| match value {
        Ok(value) => json!({"ok": value}),
        Err(refusal) => json!({"broken": refusal_json(refusal)}),
    });
    json!({
        "success": report.success,
        "exit": report.exit_code,
        "output": STANDARD.encode(&report.output),
        "error": STANDARD.encode(&report.error),
        "transcript": STANDARD.encode(&report.transcript),
        "answer": report.answer.as_deref().map(outcome_json),
        "value": value,
        "timed_out": report.timed_out,
        "stopped": report.cancelled,
        "truncated": report.truncated,
        "us": micros(report.duration),
        "steps": report.steps.iter().map(step_json).collect::<Vec<_>>(),
        "refusal": report.refusal.as_ref().map(refusal_json),
        "warnings": report.warnings,
    })
}

/// Reads what came of a run; nothing for what is no report.
pub fn report_of_json(json: &Json) -> Option<RunReport> {
    let warnings = json["warnings"].as_array()?.iter().filter_map(|warning| Some(warning.as_str()?.to_owned()));
    let value = match &json["value"] {
        Json::Null => None,
        value if value.get("ok").is_some() => Some(Ok(value["ok"].clone())),
        value => Some(Err(refusal_of(&value["broken"])?)),
    };
    Some(RunReport {
        success: json["success"].as_bool()?,
        output: bytes(&json["output"]),
        error: bytes(&json["error"]),
        transcript: bytes(&json["transcript"]),
        answer: outcome_of(&json["answer"]),
        value,
        timed_out: json["timed_out"] == true,
        cancelled: json["stopped"] == true,
        truncated: json["truncated"] == true,
        duration: duration(&json["us"]),
        steps: json["steps"].as_array()?.iter().map(step_of).collect::<Option<_>>()?,
        refusal: refusal_of(&json["refusal"]),
        warnings: warnings.collect(),
        ..RunReport::without_run(exit(&json["exit"])?)
    })
}

fn step_json(step: &StepReport) -> Json {
    json!({
        "name": step.name,
        "status": step.status.name(),
        "exit": step.exit_code,
        "output": STANDARD.encode(&step.output),
        "error": STANDARD.encode(&step.error),
        "us": micros(step.duration),
        "began": micros(step.began),
        "attempts": step.attempts,
        "used_fallback": step.used_fallback,
        "cached_from": step.cached_from,
        "truncated": step.truncated,
        "commands": step.commands,
        "refusal": step.refusal.as_ref().map(refusal_json),
        "answer": step.answer.as_deref().map(outcome_json),
        "steps": step.steps.iter().map(step_json).collect::<Vec<_>>(),
    })
}

fn step_of(json: &Json) -> Option<StepReport> {
    let status = Status::named(json["status"].as_str()?)?;
    let commands = json["commands"].as_array()?.iter().filter_map(|command| Some(command.as_str()?.to_owned()));
    let mut step = StepReport::new(json["name"].as_str()?, status);
    step.exit_code = exit(&json["exit"])?;
    step.output = bytes(&json["output"]);
    step.error = bytes(&json["error"]);
    step.duration = duration(&json["us"]);
    step.began = duration(&json["began"]);
    step.attempts = u32::try_from(json["attempts"].as_u64()?).ok()?;
    step.used_fallback = json["used_fallback"] == true;
    step.cached_from = json["cached_from"].as_str().map(str::to_owned);
    step.truncated = json["truncated"] == true;
    step.commands = commands.collect();
    step.refusal = refusal_of(&json["refusal"]);
    step.answer = outcome_of(&json["answer"]);
    step.steps = json["steps"].as_array()?.iter().map(step_of).collect::<Option<_>>()?;
    Some(step)
}

fn outcome_json(outcome: &ToolOutcome) -> Json {
    json!({
        "output": STANDARD.encode(&outcome.output),
        "error": STANDARD.encode(&outcome.error),
        "blocks": outcome.blocks,
        "structured": outcome.structured,
        "meta": outcome.meta,
        "is_error": outcome.is_error,
    })
}

fn outcome_of(json: &Json) -> Option<Box<ToolOutcome>> {
    let value = |name: &str| Some(json[name].clone()).filter(|value| !value.is_null());
    json.is_object().then(|| {
        Box::new(ToolOutcome {
            output: bytes(&json["output"]),
            error: bytes(&json["error"]),
            blocks: value("blocks"),
            structured: value("structured"),
            meta: value("meta"),
            is_error: json["is_error"] == true,
        })
    })
}

/// Writes the steps of a run whose end another machine did not live to report, as ended.
pub fn end_open_steps(open: impl IntoIterator<Item = StepPath>, sink: &mut dyn Sink) {
    for step in open {
        sink.event(&Event::StepEnded { step, status: Status::Failed, exit_code: 1, duration: Duration::ZERO });
    }
}

fn bytes(json: &Json) -> Vec<u8> {
    json.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default()
}

fn exit(json: &Json) -> Option<i32> {
    json.as_i64().and_then(|code| i32::try_from(code).ok())
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn duration(json: &Json) -> Duration {
    Duration::from_micros(json.as_u64().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use cycod_diagnostic::{Code, Refusal};
    use cycod_process::Stream;

    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let mut step = StepReport::new("build", Status::Failed);
        (step.exit_code, step.attempts, step.output) = (3, 2, b"\xff\0".to_vec());
        step.steps = vec![StepReport::new("inner", Status::NotRun)];
        step.refusal = Some(Refusal::new(Code::Cancelled, "why").rule("a rule").place("here").attempt("another"));
        let report = RunReport {
            output: b"\xfe".to_vec(),
            steps: vec![step],
            value: Some(Ok(json!({"a": [1]}))),
            answer: Some(Box::new(ToolOutcome { structured: Some(json!(1)), ..ToolOutcome::default() })),
            warnings: vec!["careful".to_owned()],
            duration: Duration::from_micros(7),
            ..RunReport::without_run(3)
        };
        let written = report_json(&report);
        let read = report_of_json(&written).expect("a report");
        assert_eq!(format!("{read:?}"), format!("{report:?}"));
        assert!(report_of_json(&json!({"success": true})).is_none());
    }

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let step = StepPath::root("build");
        let events = [
            Event::StepStarted { step: step.clone(), attempt: 2, command: "make".to_owned() },
            Event::Output { step: step.clone(), stream: Stream::Stderr, bytes: Cow::Borrowed(b"\xff"), live: true },
            Event::Log { step: step.clone(), level: "info".to_owned(), message: "m".to_owned() },
            Event::Progress { step: step.clone(), done: 0.5, total: Some(1.0), message: None },
            Event::Retrying { step: step.clone(), exit_code: 1, pause: Duration::from_micros(5) },
            Event::FallingBack { step: step.clone() },
            Event::StepEnded { step, status: Status::Ok, exit_code: 0, duration: Duration::from_micros(9) },
            Event::Warning("careful".to_owned()),
        ];
        for event in events {
            let read = event_of_json(&event_json(&event).expect("it says something")).expect("an event");
            assert_eq!(format!("{read:?}"), format!("{event:?}"));
        }
        assert!(event_json(&Event::Quiet).is_none() && event_of_json(&json!({"e": "new"})).is_none());
    }
}
