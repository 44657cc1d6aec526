//! Calls that go on without their caller.

use std::sync::Arc;

use cycod_engine::diagnostic::Refusal;
use cycod_thread::detach_task;
use rmcp::{ErrorData, model::CallToolResult};

use crate::{
    call::{Call, Caller, Goal, Outcome, drive},
    handles::{Handle, State},
    reply,
};

/// Lets a call go on by itself. A task can be asked questions on the way; a run was asked all of them before.
pub(crate) fn spawn(call: Call, is_task: bool) -> Result<Arc<Handle>, Refusal> {
    let handles = &call.shared.handles;
    let handle = handles.open(&call.beginning.run_id, call.tool.name.as_str(), &call.principal)?;
    let followed = Unended(Arc::clone(&handle));
    let cap = call.shared.options.reply_tokens;
    let tool = Arc::clone(&call.tool);
    detach_task(async move {
        let caller = if is_task { Caller::Task(&followed.0) } else { Caller::Run(&followed.0) };
        let state = match drive(call, &caller, Goal::End).await {
            Outcome::Ended(ended) => match ended.report.refusal.as_ref().and_then(broken) {
                Some(error) => State::Failed(error),
                None => State::Completed(reply::result(*ended, cap)),
            },
            Outcome::Refused(refusal) => match broken(&refusal) {
                Some(error) => State::Failed(error),
                None => State::Completed(reply::refused_by(&tool, refusal)),
            },
            Outcome::Protocol(error) => State::Failed(error),
            Outcome::Ready(_) | Outcome::InputRequired(_) => State::Completed(CallToolResult::default()),
        };
        followed.0.set(state);
    });
    Ok(handle)
}

/// A task that has failed unless it ended in another way: it may break off where nobody looks after it.
struct Unended(Arc<Handle>);

impl Drop for Unended {
    fn drop(&mut self) {
        self.0.set(State::Failed(ErrorData::internal_error("the run failed: this is a bug in cycod", None)));
    }
}

/// The error of the protocol that a refusal is to the caller of a task, where it is one.
fn broken(refusal: &Refusal) -> Option<ErrorData> {
    refusal.code.failure_of_task().map(|number| reply::error(refusal, number))
}
