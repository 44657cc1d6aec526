use std::{sync::Arc, time::SystemTime};

use cycod_call::{StepValue, Steps, timestamp};
use cycod_definition::Value;
use cycod_mask::Masks;
use cycod_plan::Plan;
use cycod_syntax::template::StepAttribute;

use crate::{Status, StepReport};

/// The results of the steps that have ended, as templates and conditions see them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    /// By the step's index.
    pub(crate) steps: Vec<Option<Arc<StepReport>>>,
    /// What the items of a step see: the steps around it, and each its own item.
    of_items: Option<Arc<OfItems>>,
    /// Whose item it is, by index.
    item: usize,
}

/// What the items of a step have in common.
#[derive(Debug)]
struct OfItems {
    around: Results,
    items: Vec<Value>,
}

impl Results {
    /// Those of a tool of which no step has ended.
    pub(crate) fn new(count: usize) -> Self {
        Self { steps: vec![None; count], ..Self::default() }
    }

    /// Those of the items of a step, of which none has ended; `around` are those of the step's tool.
    pub(crate) fn of_items(around: Self, items: Vec<Value>) -> Self {
        let count = items.len();
        Self { of_items: Some(Arc::new(OfItems { around, items })), ..Self::new(count) }
    }

    /// What the step with this index sees.
    pub(crate) fn seen_by(&self, index: usize) -> Self {
        match &self.of_items {
            Some(of_items) => Self { of_items: Some(Arc::clone(of_items)), item: index, steps: Vec::new() },
            None => self.clone(),
        }
    }

    /// What finds the secrets of a call and of the steps that have ended.
    pub(crate) fn masks(&self, plan: &Plan) -> Masks {
        plan.masks().with(self.secrets())
    }
}

impl Steps for Results {
    fn value(&self, step: &str, attribute: StepAttribute) -> StepValue {
        if let Some(of_items) = &self.of_items {
            return of_items.around.value(step, attribute);
        }
        let ended = self.steps.iter().flatten().find(|report| report.name == step);
        match ended {
            Some(report) if report.status != Status::NotRun => attribute_of(report, attribute),
            _ => StepValue::Missing,
        }
    }

    fn item(&self) -> StepValue {
        let item = self.of_items.as_ref().and_then(|of_items| of_items.items.get(self.item));
        item.map_or(StepValue::Missing, |item| StepValue::Known(item.clone()))
    }

    fn secrets(&self) -> Vec<String> {
        let around = self.of_items.iter().flat_map(|of_items| of_items.around.secrets());
        around.chain(self.steps.iter().flatten().flat_map(|report| report.secrets.iter().cloned())).collect()
    }
}

fn attribute_of(report: &StepReport, attribute: StepAttribute) -> StepValue {
    let instant = |time: Option<SystemTime>| Value::Text(time.map(timestamp).unwrap_or_default());
    StepValue::Known(match attribute {
        StepAttribute::Output => return said(&report.raw_output),
        StepAttribute::Error => return said(&report.raw_error),
        StepAttribute::ExitCode => Value::Number(report.exit_code.to_string()),
        StepAttribute::Duration => Value::Number(report.duration.as_millis().to_string()),
        StepAttribute::StartTime => instant(report.start_time),
        StepAttribute::EndTime => instant(report.end_time),
        StepAttribute::Skipped => Value::Bool(report.status == Status::Skipped),
        StepAttribute::Attempts => Value::Number(report.attempts.to_string()),
        StepAttribute::TimedOut => Value::Bool(report.status == Status::TimedOut),
        StepAttribute::Status => Value::Text(report.status.name().to_owned()),
    })
}

/// What was said, without the newlines at its end, and nothing else: as `$(…)` gives it. On Windows `\r\n` is a newline, too.
fn said(mut bytes: &[u8]) -> StepValue {
    while let Some(line) = bytes.strip_suffix(b"\n") {
        bytes = if cfg!(windows) { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
    }
    match String::from_utf8(bytes.to_vec()) {
        Ok(text) => StepValue::Known(Value::Text(text)),
        Err(error) => StepValue::Bytes(error.into_bytes()),
    }
}
