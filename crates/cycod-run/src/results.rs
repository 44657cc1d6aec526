use std::{sync::Arc, time::SystemTime};

use cycod_call::{StepValue, Steps, timestamp};
use cycod_definition::Value;
use cycod_mask::Masks;
use cycod_plan::Plan;
use cycod_syntax::template::StepAttribute;

use crate::{Status, StepReport};

/// The results of the steps that have ended, as templates and conditions see them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results(pub(crate) Vec<Option<Arc<StepReport>>>);

impl Results {
    /// What finds the secrets of a call and of the steps that have ended.
    pub(crate) fn masks(&self, plan: &Plan) -> Masks {
        plan.masks().with(self.secrets())
    }
}

impl Steps for Results {
    fn value(&self, step: &str, attribute: StepAttribute) -> StepValue {
        let ended = self.0.iter().flatten().find(|report| report.name == step);
        match ended {
            Some(report) if report.status != Status::NotRun => attribute_of(report, attribute),
            _ => StepValue::Missing,
        }
    }

    fn secrets(&self) -> Vec<String> {
        self.0.iter().flatten().flat_map(|report| report.secrets.iter().cloned()).collect()
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

/// What was said, without the newlines at its end, and nothing else: as `$(…)` gives it.
fn said(bytes: &[u8]) -> StepValue {
    let newlines = bytes.iter().rev().take_while(|byte| **byte == b'\n').count();
    match String::from_utf8(bytes[..bytes.len() - newlines].to_vec()) {
        Ok(text) => StepValue::Known(Value::Text(text)),
        Err(error) => StepValue::Bytes(error.into_bytes()),
    }
}
