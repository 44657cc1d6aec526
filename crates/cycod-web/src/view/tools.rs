//! The list of tools.

use maud::{Markup, html};

use super::{
    parts::{count, empty, level, note, pages, state, text},
    run_address, tool_address,
};
use crate::{
    form::Form,
    model::{ToolRow, Tools},
};

pub(super) fn page(tools: &Tools, query: &Form) -> Markup {
    let is_narrowed = ["q", "source", "level", "group"].iter().any(|name| query.filled(name).is_some());
    html! {
        header.head {
            h1 { "Tools" }
            p.facts-line {
                @if is_narrowed { (tools.rows.all) " of " }
                (tools.all) " tools"
                " · models pay " (count(tools.tokens)) " tokens for those that they are offered"
            }
        }
        (filters(tools, query))
        div #list {
            @if tools.all == 0 {
                (empty("No tools here yet.", html! { "Write the first one: " code { "cycod init" } }))
            } @else if tools.rows.all == 0 {
                (empty("No tool is like this.", html! { a href="/" { "Show all tools" } }))
            } @else {
                (table(&tools.rows.rows))
                (pages(&tools.rows, |page| query.address("/", &[("page", Some(&page.to_string()))])))
            }
        }
    }
}

fn filters(tools: &Tools, query: &Form) -> Markup {
    let select = |name: &str, label: &str, values: Vec<&str>| {
        html! {
            label { span.hidden { (label) }
                select name=(name) {
                    option value="" { "Any " (label) }
                    @for value in values {
                        option value=(value) selected[query.filled(name) == Some(value)] { (text(value)) }
                    }
                }
            }
        }
    };
    html! {
        form.filters role="search" action="/" {
            label { span.hidden { "Find" }
                input #find type="search" name="q" placeholder="Find a tool" value=(query.text("q").unwrap_or_default()) autocomplete="off";
            }
            (select("source", "source", tools.sources.clone()))
            (select("level", "level", vec!["read", "write", "run"]))
            @if !tools.groups.is_empty() { (select("group", "group", tools.groups.iter().map(String::as_str).collect())) }
            button { "Find" }
        }
    }
}

/// Tools as a table.
pub(super) fn table(rows: &[ToolRow]) -> Markup {
    html! {
        table.rows {
            thead { tr { th scope="col" { "Tool" } th scope="col" { "Level" } th scope="col" { "Source" } th.number scope="col" { "Tokens" } th scope="col" { "Last run" } } }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" {
                            a.row href=(tool_address(&row.name)) { (text(&row.name)) }
                            @for one in &row.notes { " " (note(one)) }
                            p.about { (text(row.description.lines().next().unwrap_or_default())) }
                        }
                        td { (level(row.level)) }
                        td { (row.source) }
                        td.number data-label="tokens" { @if let Some(tokens) = row.tokens { (count(tokens)) } @else { "–" } }
                        td { @if let Some(last) = &row.last { a href=(run_address(&last.run)) { (state(last.state, &last.outcome)) } " " span.muted { (last.when) } } }
                    }
                }
            }
        }
    }
}
