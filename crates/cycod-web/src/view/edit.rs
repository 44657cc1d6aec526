//! The editor of a tool's file: the text, and next to it what is found in it.

use maud::{Markup, PreEscaped, html};

use super::{
    edit_address,
    parts::{count, difference, length, prose, text},
    tool_address,
};
use crate::model::{EditPage, Found, Problem, TestRow};

/// How many more numbers than lines the margin has, for lines that are typed.
const SPARE: usize = 200;

pub(super) fn page(page: &EditPage, ticket: &str, is_read_only: bool) -> Markup {
    let address = edit_address(&page.name);
    html! {
        header.head {
            div.title { h1 { "Edit " (text(&page.name)) } @if page.is_saved { span.chip.ok role="status" { span.sign aria-hidden="true" { "●" } "saved" } } }
            p.facts-line { code { (text(&page.path)) } " · " a href=(tool_address(&page.name)) { "The tool" } }
        }
        @if let Some((why, lines)) = &page.conflict {
            section.card aria-labelledby="conflict-title" {
                h2 #conflict-title { "Not saved" }
                div.problem role="alert" {
                    p { strong { (prose(why)) } }
                    p { "Your text is below, and nothing was overwritten. Saving it now replaces what is in the file:" }
                }
                (difference(lines))
            }
        }
        div.columns {
            section.card aria-labelledby="text-title" {
                h2 #text-title { "The file" }
                form #call method="post" action=(address) data-preview=[(!is_read_only).then(|| format!("{address}/check"))] {
                    input type="hidden" name="opened" value=(page.opened);
                    input type="hidden" name="card" value=(ticket);
                    div.editor {
                        pre.margin aria-hidden="true" { @for line in 1..=page.text.lines().count() + SPARE { (line) "\n" } }
                        // Browsers leave out a line end that comes first.
                        textarea name="text" wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off" aria-labelledby="text-title"
                            readonly[is_read_only] { "\n" (page.text) }
                    }
                    @if !is_read_only {
                        div.buttons {
                            button.primary { "Save " kbd { "Ctrl ⏎" } }
                            button formaction={ (address) "/check" } { "Check" }
                        }
                    }
                }
            }
            div {
                section.card aria-labelledby="found-title" {
                    h2 #found-title { "What is found" }
                    div #preview aria-live="off" { (found(&page.found, &address)) }
                }
                (tests(page, &address, is_read_only))
            }
        }
    }
}

/// What is found in the text.
pub(crate) fn found(found: &Found, address: &str) -> Markup {
    html! {
        @if found.problems.is_empty() { p.pad { span.sign.ok aria-hidden="true" { "●" } " No problems." } }
        @for problem in &found.problems { (one(problem, address)) }
        @if found.all > found.problems.len() { p.pad.muted { (count(found.all - found.problems.len())) " more problems" } }
        dl.facts {
            dt { "tokens" }
            dd {
                @match (found.before, found.after) {
                    (Some(before), Some(after)) if before != after => { (count(before)) " in the file, " strong { (count(after)) } " with this text" }
                    (_, Some(after)) => { (count(after)) }
                    (Some(before), None) => { (count(before)) " in the file" }
                    (None, None) => "–",
                }
            }
        }
        @if let Some(graph) = &found.graph {
            div.scroll tabindex="0" role="region" aria-label="Graph of the steps" { (PreEscaped(graph)) }
        }
    }
}

fn one(problem: &Problem, address: &str) -> Markup {
    let (class, sign) = match problem.severity {
        "error" => ("bad", "■"),
        "warning" => ("warn", "▲"),
        _ => ("run", "○"),
    };
    html! {
        div.finding {
            p {
                span class={ "chip " (class) } { span.sign aria-hidden="true" { (sign) } (problem.severity) }
                @if let Some((line, _)) = &problem.line { " line " (line) }
                " " code.muted { (problem.code) }
            }
            p { (prose(&problem.message)) }
            @if let Some((_, [before, within, after])) = &problem.line {
                pre.command { (text(before)) mark { (text(within)) } (text(after)) }
            }
            @for help in &problem.help { p.muted { (prose(help)) } }
            @if let Some((title, name)) = &problem.fix {
                button form="call" formaction={ (address) "/fix" } name="fix" value=(name) { span { "Fix: " (prose(title)) } }
            }
        }
    }
}

/// The tests of the tool that is in the file, each with what starts it.
fn tests(page: &EditPage, address: &str, is_read_only: bool) -> Markup {
    html! {
        section.card #tests aria-labelledby="tests-title" {
            h2 #tests-title { "Tests of the saved file" }
            @if page.tests.is_empty() {
                p.pad.muted { "It has none. Write some under " code { "tests:" } ": " code { "cycod help tools" } }
            } @else {
                form method="post" action={ (address) "/test#tests" } {
                    ul.tests { @for test in &page.tests { (test_row(test, is_read_only)) } }
                    @if !is_read_only && page.tests.len() > 1 { div.buttons { button { "▶ Run all" } } }
                }
            }
        }
    }
}

fn test_row(test: &TestRow, is_read_only: bool) -> Markup {
    html! {
        li {
            @if !is_read_only { button name="test" value=(test.name) aria-label={ "Run " (text(&test.name)) } { "▶" } }
            div {
                p {
                    code { (text(&test.name)) }
                    @if let Some(outcome) = &test.outcome {
                        " " span class={ "chip " (outcome.class) } { span.sign aria-hidden="true" { (outcome.sign) } (outcome.words) }
                        " " span.muted { (length(outcome.took)) }
                    }
                }
                @if let Some(description) = &test.description { p.about { (text(description)) } }
                @if let Some(outcome) = &test.outcome { @for why in &outcome.why { p.problem { (prose(why)) } } }
            }
        }
    }
}
