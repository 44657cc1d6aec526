use cycod_definition::Tool;
use cycod_diagnostic::Refusal;
use cycod_run::{RunReport, Status, StepReport};
use serde_json::{Map, Value, json};

use crate::{answer::failure_of, artifacts::artifacts_json, refusal_json};

/// Writes a report as the one result that every surface gives.
///
/// Output that is not Unicode is shown with replacement characters.
pub fn result_json(report: &RunReport) -> Value {
    let mut result = json!({
        "success": report.success,
        "exit_code": report.exit_code,
        "output": text(&report.output),
        "error": text(&report.error),
        "timed_out": report.timed_out,
        "truncated": report.truncated,
        "duration_ms": milliseconds(report.duration),
        "steps": report.steps.iter().map(step).collect::<Vec<_>>(),
    });
    if let Some(fields) = result.as_object_mut() {
        if report.cancelled {
            fields.insert("cancelled".into(), true.into());
        }
        if !report.artifacts.is_empty() {
            fields.insert("artifacts".into(), artifacts_json(&report.artifacts));
        }
        if !report.warnings.is_empty() {
            fields.insert("warnings".into(), json!(report.warnings));
        }
        add_refusal(fields, report.refusal.as_ref());
    }
    result
}

/// As [`result_json`], for the report of a call of `tool`: one of ours that says in its value how it failed says so when it has
/// none, too.
pub fn result_json_of(tool: &Tool, report: &RunReport) -> Value {
    let mut result = result_json(report);
    let has_value = report.refusal.is_none() && report.answer.is_some();
    if let Some(value) = (!report.success && !has_value).then(|| failure_of(tool, report)).flatten() {
        result["output"] = format!("{value:#}\n").into();
    }
    result
}

fn step(report: &StepReport) -> Value {
    let mut result = json!({
        "name": report.name,
        "status": report.status.name(),
        "exit_code": report.exit_code,
        "output": text(&report.output),
        "error": text(&report.error),
        "duration_ms": milliseconds(report.duration),
        "attempts": report.attempts,
        "used_fallback": report.used_fallback,
        "skipped": report.status == Status::Skipped,
    });
    if let Some(fields) = result.as_object_mut() {
        if let Some(run) = &report.cached_from {
            fields.insert("cached".into(), true.into());
            fields.insert("cached_from".into(), run.as_str().into());
        }
        add_refusal(fields, report.refusal.as_ref());
        if !report.steps.is_empty() {
            fields.insert("steps".into(), report.steps.iter().map(step).collect());
        }
    }
    result
}

fn add_refusal(fields: &mut Map<String, Value>, refusal: Option<&Refusal>) {
    if let Some(refusal) = refusal {
        fields.insert("refusal".into(), refusal_json(refusal));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
