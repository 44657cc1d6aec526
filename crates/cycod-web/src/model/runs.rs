//! The list of runs.

use std::path::Path;

use cycod_app::views::{ago, moment, outcome, took};
use cycod_store::{Filter, History, Run, State, StoreError};

use super::{ROWS, caller};
use crate::form::Form;

/// A page of the list.
pub(crate) struct Runs {
    pub(crate) rows: Vec<RunRow>,
    /// Whether there are older ones.
    pub(crate) has_more: bool,
    /// Whether those of other projects are in it.
    pub(crate) is_everywhere: bool,
}

/// A run in the list.
pub(crate) struct RunRow {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) state: State,
    pub(crate) outcome: String,
    pub(crate) who: String,
    pub(crate) when: String,
    pub(crate) moment: String,
    pub(crate) took: Option<std::time::Duration>,
}

impl Runs {
    /// The newest that a query wants, or those before the one that it names.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub(crate) fn of(history: &History, workspace: &Path, query: &Form) -> Result<Self, StoreError> {
        let is_everywhere = query.filled("all").is_some();
        let before = query.filled("before").unwrap_or_default();
        let filter = Filter {
            tool: query.filled("tool").map(str::to_owned),
            state: query.filled("status").and_then(State::named),
            ..Filter::default()
        };
        let mut rows = Vec::new();
        history.each_run(&filter, &mut |run| {
            let is_before = before.is_empty() || run.id.as_str() < before;
            if is_before && (is_everywhere || is_of_project(&run, workspace)) {
                rows.push(RunRow::of(&run));
            }
            rows.len() <= ROWS
        })?;
        let has_more = rows.len() > ROWS;
        rows.truncate(ROWS);
        Ok(Self { rows, has_more, is_everywhere })
    }
}

impl RunRow {
    pub(crate) fn of(run: &Run) -> Self {
        Self {
            id: run.id.clone(),
            tool: run.tool.clone(),
            state: run.state,
            outcome: outcome(run),
            who: caller(run),
            when: ago(run.at),
            moment: moment(run.at),
            took: took(run),
        }
    }
}

/// Whether a call was made in the project; one whose place is not known may have been.
fn is_of_project(run: &Run, workspace: &Path) -> bool {
    run.call["from"].as_str().is_none_or(|from| Path::new(from).starts_with(workspace))
}
