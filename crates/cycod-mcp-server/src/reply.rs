//! The end of a run in the words of the protocol.

use cycod_engine::{RunReport, diagnostic::Refusal, refusal_json};
use rmcp::model::{CallToolResult, ContentBlock};

/// The reply to a call that has run.
pub(crate) fn of(report: &RunReport) -> CallToolResult {
    let mut text = String::from_utf8_lossy(&report.output).into_owned();
    if report.success {
        return CallToolResult::success(vec![ContentBlock::text(text)]);
    }
    text.push_str(&String::from_utf8_lossy(&report.error));
    let mut blocks = vec![ContentBlock::text(text)];
    if let Some(refusal) = &report.refusal {
        blocks.push(explained(refusal));
    }
    CallToolResult::error(blocks)
}

/// The reply to a call that did not run.
pub(crate) fn refused(refusal: &Refusal) -> CallToolResult {
    CallToolResult::error(vec![explained(refusal)])
}

fn explained(refusal: &Refusal) -> ContentBlock {
    ContentBlock::text(serde_json::json!({ "refusal": refusal_json(refusal) }).to_string())
}
