//! `cli_workflow_run`: a workflow by its name.
//!
//! The engine plans, decides and runs the workflow itself, so nothing is left to do here but to say which one is meant, and to
//! write down what came of it.

use std::time::Duration;

use cycod_definition::Value;
use cycod_diagnostic::{Code, Refusal};
use cycod_engine::ToolAnswer;
use cycod_run::{Ran, RanEnd, RunReport, Status, StepReport, ToolOutcome, WorkflowCall};
use serde_json::{Map, Value as Json, json};

use crate::{
    answer::{Answer, Failure},
    arguments::Call,
};

/// What the tool is called.
pub(crate) const NAME: &str = "cli_workflow_run";

/// Its limit, where nobody gives one.
const TIMEOUT: Duration = Duration::from_secs(300);

/// How many bytes of a workflow's text are handed over; the rest stays where outputs are kept.
const LONGEST: usize = 64 << 10;

const NOT_FOUND: &str = "WorkflowNotFoundError";
const TIMED_OUT: &str = "WorkflowTimeoutError";
const FAILED: &str = "WorkflowExecutionError";

/// Which workflow is meant.
pub(crate) fn meant(arguments: &[(String, Value)]) -> Option<WorkflowCall> {
    let argument = |name: &str| arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let Some(Value::Text(name)) = argument("workflow_name") else { return None };
    let arguments = match argument("params") {
        Some(Value::Object(fields)) => fields.clone(),
        _ => Vec::new(),
    };
    let seconds = match argument("timeout") {
        Some(Value::Number(text)) => text.parse::<f64>().ok(),
        _ => None,
    };
    Some(WorkflowCall {
        name: name.clone(),
        arguments,
        timeout: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        default_timeout: TIMEOUT,
        is_detached: matches!(argument("async_execution"), Some(Value::Bool(true))),
    })
}

/// Says why no workflow runs: this is only come to where there is none.
pub(crate) fn run(call: &Call<'_>, _: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let refusal = match call.call.unplanned {
        Some(refusal) => refusal.clone(),
        None => {
            let name = call.text("workflow_name").unwrap_or_default();
            Refusal::new(Code::ToolCycle, format!("`{NAME}` runs nothing for another tool"))
                .place(name)
                .attempt(format!("name the workflow itself: use-tool: {name}"))
        }
    };
    let kind = if refusal.code == Code::UnknownWorkflow { NOT_FOUND } else { FAILED };
    let failure = Failure::new(kind, format!("Workflow failed: {}", said(&refusal))).with("status", "failed");
    Err(fields(&refusal).into_iter().fold(failure, |failure, (name, field)| failure.with(&name, field)))
}

/// Writes down what came of a workflow.
pub(crate) fn answer(ran: &Ran<'_>) -> ToolOutcome {
    let value = match ran.end {
        RanEnd::Ended(report) => ended(ran, report),
        RanEnd::GoesOn { surface } => json!({
            "success": true,
            "workflow_id": ran.run,
            "status": "running",
            "result": {},
            "duration_seconds": 0.0,
            "steps_completed": 0,
            "next": match surface {
                "person" | "test" => format!("cycod runs wait {}", ran.run),
                _ => "run_wait".to_owned(),
            },
        }),
    };
    let output = format!("{value:#}\n");
    ToolOutcome {
        blocks: Some(json!([{ "type": "text", "text": output }])),
        output: output.into_bytes(),
        is_error: value["success"] != true,
        structured: Some(value),
        ..ToolOutcome::default()
    }
}

fn ended(ran: &Ran<'_>, report: &RunReport) -> Json {
    let given_back = ToolAnswer::of(ran.workflow, report);
    let refusal = report.refusal.as_ref().or(given_back.problem.as_ref());
    let is_success = report.success && !given_back.is_error;
    let (status, kind, what) = match report {
        _ if is_success => ("completed", "", ""),
        _ if report.cancelled => ("cancelled", FAILED, "was cancelled"),
        _ if report.timed_out => ("timed_out", TIMED_OUT, "timed out"),
        _ => ("failed", FAILED, "failed"),
    };
    let mut value = json!({
        "success": is_success,
        "workflow_id": ran.run,
        "status": status,
        "result": result(given_back.structured, report, ran.run),
        "duration_seconds": (report.duration.as_secs_f64() * 1000.0).round() / 1000.0,
        "steps_completed": report.steps.iter().filter(|step| step.status == Status::Ok).count(),
    });
    if is_success {
        return value;
    }
    let failed = report.steps.iter().find_map(failure);
    let why = match (refusal, &failed) {
        (Some(refusal), _) => said(refusal),
        (None, Some((path, step))) => {
            let error = String::from_utf8_lossy(&step.error);
            let told = step.answer.as_ref().and_then(|answer| answer.structured.as_ref()?["error"].as_str());
            let last = told.or_else(|| error.trim_end().lines().next_back()).unwrap_or_default();
            let last = if last.is_empty() { String::new() } else { format!(": {}", shortened(last, 1000).0) };
            format!("step `{path}` ended with exit code {}{last}", step.exit_code)
        }
        (None, None) => format!("it ended with exit code {}", report.exit_code),
    };
    value["error"] = format!("Workflow {what}: {why}").into();
    value["error_type"] = kind.into();
    if let Some((path, _)) = failed {
        value["failed_step"] = path.into();
    }
    refusal.map(fields).unwrap_or_default().into_iter().for_each(|(name, field)| value[name] = field);
    value
}

/// What the workflow gives back: its object, if it promises one, else its text.
fn result(structured: Option<Json>, report: &RunReport, run: &str) -> Json {
    match structured {
        Some(object @ Json::Object(_)) => object,
        Some(other) => json!({ "output": other }),
        None => {
            let text = String::from_utf8_lossy(&report.output);
            let (text, is_cut) = shortened(&text, LONGEST);
            match is_cut {
                false => json!({ "output": text }),
                true => json!({ "output": text, "truncated": true, "all": format!("cycod runs show {run} --output") }),
            }
        }
    }
}

/// The beginning and the end of a text that is longer than this, and whether it was.
fn shortened(text: &str, longest: usize) -> (String, bool) {
    if text.len() <= longest {
        return (text.to_owned(), false);
    }
    let (head, tail) = (text.floor_char_boundary(longest / 2), text.ceil_char_boundary(text.len() - longest / 2));
    (format!("{}\n[… {} bytes …]\n{}", &text[..head], tail - head, &text[tail..]), true)
}

/// The first step that failed, in the tools that it calls too, with its path.
fn failure(step: &StepReport) -> Option<(String, &StepReport)> {
    if !step.is_failure() {
        return None;
    }
    match step.steps.iter().find_map(failure) {
        Some((path, inner)) => Some((format!("{}/{path}", step.name), inner)),
        None => Some((step.name.clone(), step)),
    }
}

fn said(refusal: &Refusal) -> String {
    match &refusal.attempt {
        Some(attempt) => format!("{}; {attempt}", refusal.why),
        None => refusal.why.clone(),
    }
}

fn fields(refusal: &Refusal) -> Map<String, Json> {
    let attempt = refusal.attempt.as_ref().map(|attempt| ("try".to_owned(), json!(attempt)));
    [("code".to_owned(), json!(refusal.code.name()))].into_iter().chain(attempt).collect()
}
