//! What pages show, as plain values: made from the engine, the history and the queue, and from nothing else.

mod approvals;
mod run;
mod runs;
mod tool;
mod tools;

use cycod_engine::{Engine, Surface};
use cycod_store::{StoreError, approvals::RequestId};

pub(crate) use self::{
    approvals::{Approvals, Card, request_of},
    run::{Output, RunPage, StepRow},
    runs::{RunRow, Runs},
    tool::{Ask, Field, FieldKind, Preview, ToolPage},
    tools::{ToolRow, Tools},
};
use crate::guard::now;

/// How many rows a page of a list has.
pub(crate) const ROWS: usize = 100;

/// How many requests wait for an answer.
pub(crate) fn waiting(engine: &Engine) -> usize {
    let pending = engine.approvals().pending(now()).unwrap_or_default();
    pending.iter().filter(|one| one.answer.is_none()).count()
}

/// The names of requests that wait, for a page that is told when they change.
pub(crate) fn waiting_ids(engine: &Engine) -> Result<Vec<RequestId>, StoreError> {
    let pending = engine.approvals().pending(now())?;
    Ok(pending.into_iter().filter(|one| one.answer.is_none()).map(|one| one.id).collect())
}

/// Who asks, in a sentence.
pub(crate) fn asker(surface: Surface) -> &'static str {
    match surface {
        Surface::Person => "You",
        Surface::Mcp => "A model over MCP",
        Surface::Agent => "The agent",
    }
}

/// An error of the store with what caused it.
pub(crate) fn cause(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
