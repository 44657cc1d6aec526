//! One run.

use std::time::Duration;

use cycod_store::State;
use maud::{Markup, PreEscaped, html};

use super::{
    parts::{bytes, command, count, length, pages, refused, state, step_look, text},
    run_address, tool_address,
};
use crate::{
    form::in_path,
    model::{Output, RunHead, RunPage, StepRow, Steps},
};

/// How wide the timeline is, in units of its own.
const WIDTH: f64 = 1000.0;

pub(super) fn page(run: &RunPage, is_read_only: bool) -> Markup {
    html! {
        div #run { (main_of(run, is_read_only)) }
    }
}

/// Everything about a run.
pub(crate) fn main_of(run: &RunPage, is_read_only: bool) -> Markup {
    html! {
        (head(&run.head, is_read_only))
        div.columns {
            section.card aria-labelledby="steps-title" { h2 #steps-title { "Steps" } (steps(&run.steps)) }
            section.card aria-labelledby="step-title" {
                (details(&run.steps, &run.command))
                (output(&run.output))
            }
        }
        (about(run))
        @if let Some(graph) = &run.graph {
            // Our own drawing, which escapes what is not.
            section.card aria-label="Graph" { h2 { "Graph" } div.scroll tabindex="0" role="region" aria-label="Graph of the steps" { (PreEscaped(graph)) } }
        }
    }
}

/// The parts that change while a run is under way: their places and what is there now.
pub(crate) fn parts_of(run: &RunHead, all: &Steps, command: &str, is_read_only: bool) -> [(&'static str, Markup); 3] {
    [("head", head(run, is_read_only)), ("steps", steps(all)), ("details", details(all, command))]
}

fn head(run: &RunHead, is_read_only: bool) -> Markup {
    html! {
        header #head .head {
            div.title {
                h1 { (text(&run.tool)) }
                (state(run.state, &run.outcome))
            }
            @if !is_read_only {
                div.actions {
                    @if run.state == State::Running {
                        form method="post" action={ (run_address(&run.id)) "/cancel" } { button #cancel { "Cancel" } }
                    }
                    @if run.can_rerun {
                        a.button href={ (tool_address(&run.tool)) "?from=" (in_path(&run.id)) } { "Run again" }
                    }
                }
            }
            p.facts-line {
                "called by " (text(&run.who)) " · " time datetime=(run.moment) { (run.when) }
                " · run " code { (run.id) }
                @if let Some(took) = run.took { " · " (length(took)) }
            }
        }
    }
}

fn steps(steps: &Steps) -> Markup {
    html! {
        div #steps {
            @if steps.rows.all == 0 {
                p.muted.pad { @if steps.is_running { "It has not started a step yet." } @else { "It ran no step." } }
            }
            @if steps.rows.pages() > 1 && steps.failures > 0 {
                p.pad {
                    span.sign.bad aria-hidden="true" { "■ " }
                    @if steps.failures == 1 { "1 step failed: " } @else { (count(steps.failures)) " steps failed: " }
                    @for (at, name) in steps.failed.iter().enumerate() {
                        @if at > 0 { ", " }
                        a href=(step_address(steps, name)) { (text(name)) }
                    }
                    @if steps.failures > steps.failed.len() { ", …" }
                }
            }
            ol.steps start=(steps.rows.before() + 1) {
                @for step in &steps.rows.rows { (step_row(steps, step)) }
            }
            (pages(&steps.rows, |page| page_address(steps, page)))
        }
    }
}

/// The address of a page of the steps, on which the selected one stays so.
fn page_address(steps: &Steps, page: usize) -> String {
    let run = run_address(&steps.run);
    match &steps.selected {
        Some(step) => format!("{run}?step={}&steps={page}", in_path(&step.name)),
        None => format!("{run}?steps={page}"),
    }
}

fn step_address(steps: &Steps, name: &str) -> String {
    format!("{}?step={}", run_address(&steps.run), in_path(name))
}

fn step_row(steps: &Steps, step: &StepRow) -> Markup {
    let (class, sign, word) = step_look(step.status);
    let is_selected = steps.selected.as_ref().is_some_and(|selected| selected.name == step.name);
    let total = steps.total.max(Duration::from_millis(1)).as_secs_f64();
    let at = |length: Duration| (length.as_secs_f64() / total * WIDTH).clamp(0.0, WIDTH);
    let address = step_address(steps, &step.name);
    html! {
        li {
            a.row.step id={ "step-" (in_path(&step.name)) } href=(address) aria-current=[is_selected.then_some("true")] {
                span class={ "sign " (class) } aria-hidden="true" { (sign) }
                span.name { (text(&step.name)) @if step.used_fallback { span.muted { " (fallback)" } } @if step.is_cached { span.muted { " (cached)" } } }
                svg.bar viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true" {
                    @if let Some(began) = step.began {
                        rect class=(class) x=(format!("{:.1}", at(began))) y="2" height="8" rx="3" width=(format!("{:.1}", at(step.length).max(6.0))) {}
                    }
                }
                span.time { @if step.began.is_some() { (length(step.length)) } @else { "–" } }
                span.hidden { ", " (word) @if step.attempts > 1 { ", " (step.attempts) " attempts" } }
            }
        }
    }
}

fn details(steps: &Steps, shown: &str) -> Markup {
    html! {
        div #details {
            h2 #step-title { @if let Some(step) = &steps.selected { (text(&step.name)) } @else { "Output" } }
            @if !shown.is_empty() { (command(shown)) }
            @if let Some(step) = &steps.selected {
                dl.facts {
                    dt { "status" } dd { (step_look(step.status).2) @if step.status.is_some() { ", exit code " (step.exit_code) } }
                    dt { "attempts" } dd { (step.attempts) }
                }
                p.pad { a href=(run_address(&steps.run)) { "Show the output of all steps" } }
            }
        }
    }
}

fn output(output: &Output) -> Markup {
    html! {
        p #skipped .muted.pad hidden[output.before == 0] {
            "The last of " (bytes(output.bytes)) "; " code { "cycod runs show --output" } " prints all of it."
        }
        div #log .log role="region" aria-label="Lines of output" tabindex="0" {
            @if let Some(missing) = &output.missing { p.muted { (text(missing)) } }
            @else if output.text.is_empty() { p.muted #silent { "It has written nothing." } }
            (log_lines(&output.text))
        }
    }
}

/// Output as lines, each an element of its own.
pub(crate) fn log_lines(output: &str) -> Markup {
    html! { @for line in output.lines() { div { (text(line)) } } }
}

fn about(run: &RunPage) -> Markup {
    html! {
        section.card aria-labelledby="about-title" {
            h2 #about-title { "Call" }
            @if let Some([code, why, attempt]) = &run.refusal { (refused(code, why, Some(attempt))) }
            dl.facts {
                @for (name, value) in &run.arguments { dt { code { (text(name)) } } dd { pre { (text(value)) } } }
                dt { "level" } dd { (run.level) }
                dt { "allowed by" } dd { (text(&run.rule)) }
                @if !run.directory.is_empty() { dt { "directory" } dd { code { (text(&run.directory)) } } }
                @for line in &run.reach { dt { "reach" } dd { (text(line)) } }
                @for warning in &run.warnings { dt { "warning" } dd { (text(warning)) } }
                @for (path, size) in &run.artifacts { dt { "artifact" } dd { code { (text(path)) } " (" (bytes(*size)) ")" } }
            }
            @if !run.artifacts.is_empty() {
                p.muted.pad { code { "cycod runs artifacts " (run.head.id) } " prints and copies the artifacts." }
            }
        }
    }
}
