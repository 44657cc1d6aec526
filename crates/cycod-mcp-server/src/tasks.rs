//! Calls that go on without their caller.

use std::sync::Arc;

use cycod_engine::{definition::Tool, diagnostic::Refusal};
use cycod_thread::detach_task;
use rmcp::{ErrorData, model::CallToolResult};

use crate::{
    call::{Call, Goal, Outcome, drive},
    caller::Caller,
    handles::{Handle, State},
    reply, wire,
};

/// What goes on without its caller.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A task of a client of this era. It can be asked questions on the way.
    Task { is_modern: bool },
    /// A run. It was asked all questions before.
    Run,
}

/// Lets a call go on by itself.
pub(crate) fn spawn(call: Call, kind: Kind) -> Result<Arc<Handle>, Refusal> {
    let handles = &call.shared.handles;
    let handle = handles.open(&call.beginning.run_id, call.tool.name.as_str(), &call.principal)?;
    let followed = Unended(Arc::clone(&handle));
    let (cap, shared) = (call.stock.offer.reply_tokens, Arc::clone(&call.shared));
    let tool = Arc::clone(&call.tool);
    let stock = Arc::clone(&call.stock);
    let completed = move |result: CallToolResult, tool: &Arc<Tool>| {
        State::Completed(match kind {
            Kind::Task { is_modern } => wire::for_era(result, stock.returned_by(tool).as_ref(), is_modern),
            Kind::Run => result,
        })
    };
    detach_task(async move {
        let caller = match kind {
            Kind::Task { .. } => Caller::Task(&followed.0),
            Kind::Run => Caller::Run(&followed.0),
        };
        let state = match drive(call, &caller, Goal::End).await {
            Outcome::Ended(ended) => match ended.report.refusal.as_ref().and_then(broken) {
                Some(error) => State::Failed(error),
                None => completed(reply::result(*ended, cap, &shared.outputs), &tool),
            },
            Outcome::Refused(refusal) => match broken(&refusal) {
                Some(error) => State::Failed(error),
                None => completed(reply::refused_by(&tool, refusal), &tool),
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
