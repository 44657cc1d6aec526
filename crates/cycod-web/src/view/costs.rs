//! What tools cost models, and how to make them fit a budget.

use maud::{Markup, html};

use super::{
    parts::{command, count, empty, pages, prose, text},
    tool_address,
};
use crate::{
    form::Form,
    model::{BudgetPlan, BudgetStep, CostRow, Costs},
};

pub(super) fn page(costs: &Costs, query: &Form) -> Markup {
    html! {
        header.head {
            h1 { "Costs" }
            p.facts-line { "Models pay " strong { (count(costs.total)) } " tokens for " (count(costs.rows.all)) " tools, " (text(&costs.price)) "." }
        }
        form.filters action="/costs" {
            label.pair { span { "Dialect" }
                select name="dialect" {
                    option value="" { "As stored" }
                    @for name in &costs.dialects { option value=(name) selected[query.filled("dialect") == Some(name)] { (name) } }
                }
            }
            label.pair { span { "Budget" }
                input type="text" inputmode="numeric" name="max" value=(query.text("max").unwrap_or_default()) placeholder="tokens" size="8"
                    autocomplete="off" aria-invalid=[costs.problem.as_ref().map(|_| "true")] aria-describedby=[costs.problem.as_ref().map(|_| "budget-problem")];
            }
            button.primary { "Plan" }
            @if let Some(problem) = &costs.problem { p.problem #budget-problem { (text(problem)) } }
        }
        @if let Some(plan) = &costs.plan { (budget(plan)) }
        div #list {
            @if costs.rows.all == 0 {
                (empty("Models are offered no tools.", html! { "Turn some on: " code { "cycod tools list" } }))
            } @else {
                table.rows {
                    thead { tr { th scope="col" { "Tool" } th.number scope="col" { "Tokens" } th.wide scope="col" { span.hidden { "Compared with the most expensive" } } th scope="col" { "Source" } } }
                    tbody { @for one in &costs.rows.rows { (row(one)) } }
                }
                (pages(&costs.rows, |page| query.address("/costs", &[("page", Some(&page.to_string()))])))
            }
        }
    }
}

fn row(row: &CostRow) -> Markup {
    html! {
        tr {
            th scope="row" { a.row href=(tool_address(&row.name)) { (text(&row.name)) } }
            td.number data-label="tokens" { (count(row.tokens)) }
            td.wide { (bar(row.share, None)) }
            td { (row.source) }
        }
    }
}

/// A bar of so many thousandths, with a mark where the limit is.
fn bar(share: usize, limit: Option<usize>) -> Markup {
    html! {
        svg.bar viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true" {
            rect.grid x="0" y="5" width="1000" height="2" {}
            rect class=(if limit.is_some_and(|limit| share > limit) { "bad" } else { "run still" }) x="0" y="2" width=(share.min(1000)) height="8" rx="2" {}
            @if let Some(limit) = limit { rect.mark x=(limit.min(994)) y="0" width="6" height="12" {} }
        }
    }
}

fn budget(plan: &BudgetPlan) -> Markup {
    let most = plan.before.max(plan.max).max(1);
    let share = |tokens: usize| tokens.saturating_mul(1000) / most;
    html! {
        section.card #outcome aria-labelledby="plan-title" {
            h2 #plan-title { "A plan for " (count(plan.max)) " tokens" }
            p.pad role="status" {
                @if plan.before <= plan.max { strong { "The tools fit." } " There is nothing to do." }
                @else if plan.missing > 0 { strong { (count(plan.missing)) " tokens too many" } " remain, because these tools have to stay." }
                @else { strong { "From " (count(plan.before)) " to " (count(plan.after)) " tokens." } " Nothing is changed yet." }
            }
            dl.facts.bars {
                dt { "before" } dd { (bar(share(plan.before), Some(share(plan.max)))) span.number { (count(plan.before)) } }
                dt { "after" } dd { (bar(share(plan.after), Some(share(plan.max)))) span.number { (count(plan.after)) } }
            }
            @if !plan.steps.is_empty() {
                ol.plan { @for one in &plan.steps { (step(one)) } }
                @if plan.all_steps > plan.steps.len() { p.pad.muted { (plan.all_steps - plan.steps.len()) " more: " code { "cycod tools budget --max " (plan.max) } } }
            }
            @if !plan.commands.is_empty() {
                p.step-name { "To turn off what the plan turns off:" }
                (command(&plan.commands.join("\n")))
            }
        }
    }
}

fn step(step: &BudgetStep) -> Markup {
    html! {
        li {
            span.chip { (step.what) }
            div {
                @for (at, name) in step.tools.iter().enumerate() { @if at > 0 { ", " } a href=(tool_address(name)) { (text(name)) } }
                @for how in &step.how { p.about { (prose(how)) } }
            }
            span.number { (count(step.before)) @if step.after > 0 { " → " (count(step.after)) } }
        }
    }
}
