//! What a tool promises of its output, held against what it really said.

use std::borrow::Cow;

use cycod_definition::{Produces, Tool};
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_plan::Plan;
use serde_json::{Map, Value as Json};

use crate::{RunReport, StepReport, ToolOutcome, failure::exit_code, mask::masked, report::last_run};

/// The names of content blocks and the words in them that are the protocol's: nobody's secrets, whatever they are.
const OF_BLOCKS: [&str; 20] = [
    "type",
    "text",
    "image",
    "audio",
    "resource",
    "link",
    "resource_link",
    "media-type",
    "mimeType",
    "data",
    "blob",
    "file",
    "uri",
    "name",
    "title",
    "description",
    "annotations",
    "audience",
    "priority",
    "lastModified",
];

/// Whether a tool promises that its output is one JSON value.
pub(crate) fn is_made_by(tool: &Tool) -> bool {
    matches!(tool.produces, Produces::Json | Produces::Blocks)
}

/// The refusal that says that the output of a tool is not what it promises.
pub fn broken_promise(tool: &Tool, why: &str, attempt: &str) -> Refusal {
    let why = format!("the output of `{}` is not what it promises: {why}", tool.name);
    Refusal::new(Code::WrongOutput, why).attempt(attempt)
}

/// Holds a run that succeeded to what its tool promises of JSON.
pub(crate) fn held_to_promise(plan: &Plan, mut report: RunReport) -> RunReport {
    let tool = plan.tool();
    let Some(last) = last_run(report.steps.iter()).filter(|_| report.success && is_made_by(tool)) else {
        return report;
    };
    let masks = plan.masks().with(report.steps.iter().flat_map(|step| &step.secrets));
    let value = value(tool, &report, last, &masks).map_err(|refusal| masked(&masks, refusal));
    if !report.truncated {
        // Whichever step said it: what stands in its own report may have been shown as a text already.
        report.output = shown(&masks, last.raw_output.clone(), true);
    }
    RunReport { value: Some(value), ..report }
}

/// The same for the tool that a step called: what it gives goes on to other steps as it was said, and a broken promise is a
/// failure of the step. Output of which the caller holds only a part, because no step reads it, is not checked.
pub(crate) fn failed_unless_held(plan: &Plan, mut report: RunReport, is_held_whole: bool) -> RunReport {
    let tool = plan.tool();
    let Some(last) = last_run(report.steps.iter()).filter(|_| report.success && is_made_by(tool)) else {
        return report;
    };
    if report.truncated && !is_held_whole {
        return report;
    }
    let masks = plan.masks().with(report.steps.iter().flat_map(|step| &step.secrets));
    if let Err(refusal) = value(tool, &report, last, &masks) {
        report.success = false;
        report.exit_code = exit_code(&refusal);
        report.refusal = Some(masked(&masks, refusal));
    }
    report
}

fn value(tool: &Tool, report: &RunReport, last: &StepReport, masks: &Masks) -> Result<Json, Refusal> {
    if report.truncated {
        let why = "it is longer than the step's `buffer-limit`";
        return Err(broken_promise(tool, why, "raise `output.buffer-limit`"));
    }
    // What is no process may say it in a value, too.
    let (said, shown) = match &last.raw_value {
        Some(value) => (Cow::Borrowed(value), masks.json(value.clone())),
        None => {
            let said: Json = serde_json::from_slice(&last.raw_output).map_err(|error| {
                let attempt = "print one JSON value on standard output, and everything else on standard error";
                broken_promise(tool, &format!("it is not JSON: {error}"), attempt)
            })?;
            // As it was written: a number may have lost digits.
            let shown = masks.json_text(&last.raw_output);
            let shown = shown.and_then(|shown| serde_json::from_slice(&shown).ok());
            let shown = shown.unwrap_or_else(|| masks.json(said.clone()));
            (Cow::Owned(said), shown)
        }
    };
    if tool.produces == Produces::Blocks {
        return Ok(with_words(&said, shown));
    }
    hold_to(tool, &said)?;
    Ok(shown)
}

fn hold_to(tool: &Tool, value: &Json) -> Result<(), Refusal> {
    const FIX: &str = "fix the tool, or its `returns`";
    let Some(schema) = &tool.returns else { return Ok(()) };
    let violations = schema
        .violations(value)
        .map_err(|problem| broken_promise(tool, &format!("its `returns` cannot be applied: {problem}"), FIX))?;
    let Some(first) = violations.first() else { return Ok(()) };
    let more = match violations.len() {
        1 => String::new(),
        count => format!(", and {} more", count - 1),
    };
    let refusal = broken_promise(tool, &format!("{}{more}", first.message), FIX);
    Err(match &*first.instance_pointer {
        "" => refusal,
        place => refusal.place(place),
    })
}

/// Content blocks without secrets, in which the words of the protocol are as they were said.
fn with_words(said: &Json, shown: Json) -> Json {
    match (said, shown) {
        (Json::Array(said), Json::Array(shown)) => {
            said.iter().zip(shown).map(|(said, shown)| with_words(said, shown)).collect()
        }
        (Json::Object(said), Json::Object(shown)) => {
            let field = |((name, said), (masked, shown)): ((&String, &Json), (String, Json))| {
                let is_word = |word: &str| OF_BLOCKS.contains(&word);
                let shown = match said {
                    Json::String(word) if name == "type" && is_word(word) => said.clone(),
                    _ => with_words(said, shown),
                };
                (if is_word(name) { name.clone() } else { masked }, shown)
            };
            Json::Object(said.iter().zip(shown).map(field).collect::<Map<_, _>>())
        }
        (_, shown) => shown,
    }
}

/// What was said all at once, without secrets. JSON stays JSON: where it is promised, and where it is meant.
pub(crate) fn shown(masks: &Masks, said: Vec<u8>, is_promised: bool) -> Vec<u8> {
    match masks.apply_bytes(&said) {
        Cow::Borrowed(_) if !is_promised => said,
        text => match masks.json_text(&said).filter(|_| is_promised || is_object_or_array(&said)) {
            Some(json) => json.into_owned(),
            None => text.into_owned(),
        },
    }
}

/// The same for the answer of what is no process.
pub(crate) fn without_secrets(masks: &Masks, answer: ToolOutcome, is_promised: bool) -> ToolOutcome {
    let mut blocks = answer.blocks;
    for block in blocks.iter_mut().filter_map(Json::as_array_mut).flatten() {
        for pointer in ["/text", "/resource/text"] {
            if let Some(Json::String(text)) = block.pointer_mut(pointer) {
                let said = std::mem::take(text).into_bytes();
                *text = String::from_utf8_lossy(&shown(masks, said, false)).into_owned();
            }
        }
    }
    ToolOutcome {
        output: shown(masks, answer.output, is_promised),
        error: shown(masks, answer.error, false),
        blocks: blocks.map(|blocks| with_words(&blocks, masks.json(blocks.clone()))),
        structured: answer.structured.map(|value| masks.json(value)),
        meta: answer.meta.map(|value| masks.json(value)),
        is_error: answer.is_error,
    }
}

fn is_object_or_array(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
}
