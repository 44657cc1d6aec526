//! Runs that go on by themselves, which outlive the server: what is known of them is in the history.

use cycod_engine::{Asker, Engine, Surface};
pub(crate) use cycod_store::State;
use cycod_store::{Run, RunId};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value as Json, json};

use crate::client::owner;

/// The run of this name, if it was started in the background as this principal. To anybody else it is not there.
pub(crate) fn find(engine: &Engine, name: &str, principal: &str) -> Option<Run> {
    let id: RunId = name.parse().ok()?;
    let mut found = engine.history()?.find(&id.to_string()).ok()?;
    let asker = Asker { principal: owner(principal).to_owned(), ..Asker::from(Surface::Mcp) };
    let whose = engine.caller_of(&asker);
    found.retain(|run| {
        run.call["through"]["background"] == true
            && run.surface == whose.surface
            && run.call["principal"] == whose.principal.as_str()
    });
    found.pop()
}

/// Asks a run to end; it ends soon after.
pub(crate) fn cancel(engine: &Engine, run: &Run) {
    // Who does not hear it has ended.
    _ = run.id.parse().map(|id| engine.controls().cancel(id));
}

/// What is known of a run: its answer once it has ended, else how to go on.
pub(crate) fn about(run: &Run) -> CallToolResult {
    let mut status = json!({"run": run.id, "tool": run.tool, "status": word(run.state)});
    if run.state == State::Running {
        status["next"] = "run_wait".into();
    }
    let outputs = run.end.as_ref().map_or(&Json::Null, |(_, end)| &end["outputs"]);
    let answer = outputs["stdout"]["text"].as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
    if let Some(all) = outputs["transcript"]["id"].as_str().or(outputs["stdout"]["id"].as_str()) {
        status["output"] = all.into();
    }
    if let Some(answer) = answer {
        status["answer"] = answer;
    }
    let blocks = vec![ContentBlock::text(status.to_string())];
    let mut result = match run.state {
        State::Running | State::Ok => CallToolResult::success(blocks),
        _ => CallToolResult::error(blocks),
    };
    result.structured_content = Some(status);
    result
}

fn word(state: State) -> &'static str {
    match state {
        State::Running => "working",
        State::Ok => "completed",
        State::Cancelled => "cancelled",
        State::Interrupted => "interrupted",
        State::Refused | State::Failed | State::TimedOut => "failed",
    }
}
