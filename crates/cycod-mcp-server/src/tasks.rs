//! Calls that go on without their caller.

use std::sync::Arc;

use cycod_engine::diagnostic::Refusal;
use rmcp::{ErrorData, model::CallToolResult};

use crate::{
    call::{Call, Caller, Goal, Outcome, drive},
    handles::{Handle, State},
    reply,
};

/// Codes of refusals that mean that the run could not be carried out at all, as against a tool that ran and failed.
const NOT_CARRIED_OUT: [&str; 3] = ["not-started", "program-missing", "temp-directory"];

/// Lets a call go on by itself. A task can be asked questions on the way; a run was asked all of them before.
pub(crate) fn spawn(call: Call, is_task: bool) -> Result<Arc<Handle>, Refusal> {
    let handles = &call.shared.handles;
    let handle = handles
        .open(&call.beginning.run_id, call.tool.name.as_str(), &call.principal)
        .map_err(|why| Refusal::new("too-many-runs", why))?;
    let followed = Arc::clone(&handle);
    let cap = call.shared.options.reply_tokens;
    let tool = Arc::clone(&call.tool);
    tokio::spawn(async move {
        let caller = if is_task { Caller::Task(&followed) } else { Caller::Run(&followed) };
        let state = match drive(call, &caller, Goal::End).await {
            Outcome::Ended(ended) => match ended.report.refusal.as_ref() {
                Some(refusal) if NOT_CARRIED_OUT.contains(&refusal.code) => State::Failed(broken(refusal)),
                _ => State::Completed(reply::result(*ended, cap)),
            },
            Outcome::Refused(refusal) => State::Completed(reply::refused_by(&tool, refusal)),
            Outcome::Protocol(error) => State::Failed(error),
            Outcome::Ready(_) | Outcome::InputRequired(_) => State::Completed(CallToolResult::default()),
        };
        followed.set(state);
    });
    Ok(handle)
}

fn broken(refusal: &Refusal) -> ErrorData {
    ErrorData::internal_error(refusal.why.clone(), Some(cycod_engine::refusal_json(refusal)))
}
