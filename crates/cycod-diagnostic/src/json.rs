use serde_json::Value;

use crate::Report;

/// Returns the diagnostics of a report as a JSON array, in source order.
pub fn to_json(report: &Report) -> Value {
    report.diagnostics.iter().map(|d| Value::from(d.message.as_str())).collect()
}
