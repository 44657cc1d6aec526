//! The list of runs.

use cycod_store::State;
use maud::{Markup, html};

use super::{
    parts::{empty, length, state, text},
    run_address,
};
use crate::{
    form::Form,
    model::{RunRow, Runs},
};

pub(super) fn page(runs: &Runs, query: &Form) -> Markup {
    html! {
        header.head { h1 { "Runs" } }
        form.filters role="search" action="/runs" {
            label { span.hidden { "Tool" }
                input #find type="search" name="tool" placeholder="Name of a tool" value=(query.text("tool").unwrap_or_default()) autocomplete="off";
            }
            label { span.hidden { "Status" }
                select name="status" {
                    option value="" { "Any status" }
                    @for (name, _) in State::NAMES { option value=(name) selected[query.filled("status") == Some(name)] { (name) } }
                }
            }
            label.check { input type="checkbox" name="all" value="1" checked[runs.is_everywhere]; " all projects" }
            button { "Find" }
        }
        (list(runs, query))
    }
}

/// The rows, which a stream replaces when there are new ones.
pub(crate) fn list(runs: &Runs, query: &Form) -> Markup {
    let is_narrowed = ["tool", "status", "before"].iter().any(|name| query.filled(name).is_some());
    html! {
        div #list {
            @if runs.rows.is_empty() && is_narrowed {
                (empty("No run is like this.", html! { a href="/runs" { "Show all runs" } }))
            } @else if runs.rows.is_empty() {
                (empty("No runs yet in this project.", html! { "Run a tool here, in a terminal, or from an agent: every run appears at once." }))
            } @else {
                table.rows {
                    thead { tr { th scope="col" { "Tool" } th scope="col" { "Outcome" } th scope="col" { "Who" } th scope="col" { "When" } th.number scope="col" { "Time" } } }
                    tbody { @for row in &runs.rows { (one(row)) } }
                }
                @if runs.has_more && let Some(last) = runs.rows.last() {
                    nav.pages aria-label="Pages" { a rel="next" href=(query.address("/runs", &[("before", Some(&last.id)), ("page", None), ("seen", None)])) { "Older runs" } }
                }
            }
        }
    }
}

fn one(row: &RunRow) -> Markup {
    html! {
        tr id={ "run-" (row.id) } {
            th scope="row" { a.row href=(run_address(&row.id)) { (text(&row.tool)) } }
            td { (state(row.state, &row.outcome)) }
            td { (text(&row.who)) }
            td { time datetime=(row.moment) title=(row.moment) { (row.when) } }
            td.number { @if let Some(took) = row.took { (length(took)) } @else { "–" } }
        }
    }
}
