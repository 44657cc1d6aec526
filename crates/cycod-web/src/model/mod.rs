//! What pages show, as plain values: made from the engine, the history and the queue, and from nothing else.

mod approvals;
mod costs;
pub(crate) mod edit;
mod policy;
mod run;
mod runs;
mod servers;
mod tool;
mod tools;
mod trust;

use cycod_app::views::who;
use cycod_engine::{Engine, Surface};
use cycod_store::{Run, StoreError, approvals::RequestId};

pub(crate) use self::{
    approvals::{Approvals, Card, request_of},
    costs::{BudgetPlan, BudgetStep, CostRow, Costs},
    edit::{EditPage, Found, Problem, TestRow},
    policy::{Draft, Outcome, PolicyPage, PolicyTest, is_removable},
    run::{Journal, Output, Part, RunHead, RunPage, StepRow, Steps, command},
    runs::{RunRow, Runs},
    servers::{ConsentCard, ProposalCard, ServerPage, ServerRow, ServersPage, configured, usable},
    tool::{Ask, Field, FieldKind, Preview, ToolPage},
    tools::{ToolRow, Tools, row as tool_row},
    trust::{TrustCard, TrustList, TrustPage, TrustRow, subjects as trust_subjects},
};
use crate::guard::now;

/// How many rows a page of a list has.
pub(crate) const ROWS: usize = 100;
/// How many questions a page asks at once; the others come when these are answered.
pub(crate) const CARDS: usize = 20;

/// A page of a list.
pub(crate) struct Paged<T> {
    pub(crate) rows: Vec<T>,
    /// Which page this is, from 1.
    pub(crate) page: usize,
    /// How many rows all pages have.
    pub(crate) all: usize,
}

impl<T> Paged<T> {
    /// The page of a number, or else the first or the last. Only its rows are made.
    pub(crate) fn of<'a, S>(all: &'a [S], page: Option<usize>, row: impl FnMut(&'a S) -> T) -> Self {
        let page = page.unwrap_or(1).clamp(1, all.len().div_ceil(ROWS).max(1));
        let rows = all.iter().skip((page - 1) * ROWS).take(ROWS).map(row).collect();
        Self { rows, page, all: all.len() }
    }

    /// How many rows come before the first of this page.
    pub(crate) fn before(&self) -> usize {
        (self.page - 1) * ROWS
    }

    /// How many pages there are.
    pub(crate) fn pages(&self) -> usize {
        self.all.div_ceil(ROWS)
    }
}

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

/// Who called a tool, for the user whose page this is.
pub(crate) fn caller(run: &Run) -> String {
    if run.surface == Surface::Person.name() { "you".to_owned() } else { who(run) }
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

/// The names of all tools, in order.
pub(crate) fn tool_names(engine: &Engine) -> Vec<String> {
    let entries = engine.catalog().every_entry();
    let mut names: Vec<String> =
        entries.iter().filter(|entry| entry.is_active()).map(|entry| entry.name.clone()).collect();
    names.sort_unstable();
    names
}
