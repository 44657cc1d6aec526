//! Rules, what they say about a call, and what a change of them would have changed.

use cycod_app::views::{RuleView, WhyView};
use cycod_engine::{Surface, Surfaces, Verdict};
use maud::{Markup, html};

use super::{
    parts::{command, count, empty, pages, prose, text, verdict},
    policy_test_address, run_address, tool,
};
use crate::model::{Draft, Outcome, Paged, PolicyPage, PolicyTest, is_removable};

/// The most names of tools that the page offers.
const CHOICES: usize = 500;

pub(super) fn page(page: &PolicyPage) -> Markup {
    let rules = Paged::of(&page.rules, page.page, |rule| rule);
    html! {
        header.head {
            h1 { "Rules" }
            p.facts-line { "The rule that decides comes first. Where no rule decides, you may run anything; a model may read, and needs approval for the rest." }
        }
        @for [place, message] in &page.flaws {
            div.problem role="alert" {
                p { strong { "Nothing runs until this is fixed." } " " code { (text(place)) } ": " (prose(message)) }
                p { "See: " code { "cycod policy check" } }
            }
        }
        div #list {
            @if page.rules.is_empty() {
                (empty("No rules here.", html! { "Write one: " code { "cycod policy add deny 'git-push(BRANCH=main)'" } }))
            } @else {
                table.rows {
                    thead { tr { th scope="col" { "Rule" } th scope="col" { "For" } th scope="col" { "From" } th scope="col" { "Why" } } }
                    tbody { @for rule in &rules.rows { (row(rule)) } }
                }
                (pages(&rules, |page| format!("/policy?page={page}")))
            }
        }
        div.columns.gap {
            section.card aria-labelledby="draft-title" {
                h2 #draft-title { "What would be different" }
                (draft(page))
                @if let Some(outcome) = &page.outcome { div #outcome { (self::outcome(outcome)) } }
            }
            section.card aria-labelledby="test-title" {
                h2 #test-title { "Test a call" }
                form action="/policy/test" {
                    div.field {
                        label for="test-tool" { "Tool" }
                        p.hint #test-hint { "Next, you fill in its arguments and see what the rules say." }
                        input #test-tool name="tool" list="tools" autocomplete="off" spellcheck="false" required aria-describedby="test-hint";
                    }
                    div.buttons { button { "Choose" } }
                }
            }
        }
        datalist #tools { @for name in page.tools.iter().take(CHOICES) { option value=(name) {} } }
    }
}

fn row(rule: &RuleView) -> Markup {
    let what = match &rule.pattern {
        Some(pattern) => pattern.clone(),
        None => format!("{}: {}", rule.kind.unwrap_or_default(), rule.entries.as_deref().unwrap_or_default().join(" ")),
    };
    html! {
        tr {
            th scope="row" {
                (verdict(rule.rule)) " " code { (text(&what)) }
                @if let Some(why) = rule.ignored_because { p.about { span.chip.warn { "ignored" } " " (prose(why)) } }
            }
            td data-label="for" { (rule.whose()) }
            td data-label="from" { code { (text(&rule.place)) } span.muted { " " (rule.layer) } }
            td { @if let Some(why) = &rule.why { (prose(why)) } }
        }
    }
}

/// The form for a change of the rules.
fn draft(page: &PolicyPage) -> Markup {
    let Draft { verdict, pattern, whose, instead, problem, doubts } = &page.draft;
    let is_wrong = problem.is_some();
    html! {
        form action="/policy" {
            fieldset.field {
                legend { "New rule" }
                div.choices {
                    @for (name, _) in Verdict::NAMES { label { input type="radio" name="verdict" value=(name) checked[*verdict == name]; " " (name) } }
                }
            }
            div.field {
                label for="pattern" { "Which calls" }
                p.hint #pattern-hint { "A level, a tool, or a tool with conditions: " code { "write" } ", " code { "git-*" } ", " code { "git-push(BRANCH=main)" } "." }
                @if let Some([why, help]) = problem { p.problem { (prose(why)) br; (prose(help)) } }
                @for doubt in doubts { p.hint { span.chip.warn { "doubt" } " " (prose(doubt)) } }
                input #pattern name="pattern" value=(pattern) autocomplete="off" spellcheck="false" aria-describedby="pattern-hint" aria-invalid=[is_wrong.then_some("true")];
            }
            div.field {
                label for="for" { "Whose calls" }
                select #for name="for" {
                    option value="" { "Everyone's" }
                    @for (name, _) in Surfaces::NAMES { option value=(name) selected[whose == name] { (whose_calls(name)) } }
                }
            }
            @if page.rules.iter().any(is_removable) {
                div.field {
                    label for="instead" { "In place of" }
                    p.hint #instead-hint { "To see what happens without a rule, choose it and leave the calls empty." }
                    select #instead name="instead" aria-describedby="instead-hint" {
                        option value="" { "No rule: add to those that are there" }
                        @for rule in page.rules.iter().filter(|rule| is_removable(rule)) {
                            option value=(rule.place) selected[*instead == rule.place] { (text(&rule.in_words())) " (" (text(&rule.place)) ")" }
                        }
                    }
                }
            }
            div.buttons { button.primary { "Compare" } span.muted { "with the last 1,000 calls. Nothing is changed." } }
        }
    }
}

fn whose_calls(name: &str) -> &'static str {
    match name {
        "person" => "Yours",
        "mcp" => "Those of models over MCP",
        "agent" => "Those of the agent",
        _ => "Those of all models",
    }
}

fn outcome(outcome: &Outcome) -> Markup {
    let view = &outcome.view;
    let changed: usize = view.changed.iter().map(|changed| changed.calls).sum();
    let calls = |calls: usize| if calls == 1 { "1 call".to_owned() } else { format!("{} calls", count(calls)) };
    html! {
        p.pad role="status" {
            @if view.calls == 0 { strong { "No calls yet in this project." } " Run a tool, and it appears here." }
            @else if changed == 0 { strong { "Nothing would have been different" } " in the last " (calls(view.calls)) "." }
            @else { strong { (count(changed)) " of the last " (calls(view.calls)) } " would have been decided differently." }
            @if view.untold > 0 { " For " (calls(view.untold)) " there is no answer, because they can't be made any more." }
        }
        @if !view.changed.is_empty() {
            div.scroll.flush tabindex="0" role="region" aria-label="Calls that would be decided differently" {
                table.rows {
                    thead { tr { th scope="col" { "Tool" } th.number scope="col" { "Calls" } th scope="col" { "Now" } th scope="col" { "Then" } th scope="col" { "Newest" } } }
                    tbody {
                        @for one in &view.changed {
                            tr {
                                th scope="row" { code { (text(&one.tool)) } p.about { (whose_calls(one.surface)) } }
                                td.number data-label="calls" { (count(one.calls)) }
                                td data-label="now" title=(text(&one.now.rule)) { (verdict(one.now.verdict)) }
                                td data-label="then" title=(text(&one.then.rule)) { (verdict(one.then.verdict)) }
                                td { a href=(run_address(&one.run)) { "Run" } }
                            }
                        }
                    }
                }
            }
        }
        @if !outcome.commands.is_empty() {
            p.step-name { "To make this change:" }
            (command(&outcome.commands.join("\n")))
        }
    }
}

/// The page on which a call is tested.
pub(super) fn test_page(test: &PolicyTest, is_read_only: bool) -> Markup {
    let page = &test.tool;
    let address = policy_test_address(&page.name);
    html! {
        header.head {
            div.title { h1 { "What the rules say about " (text(&page.name)) } }
            p.facts-line { a href="/policy" { "All rules" } " · nothing runs here" }
        }
        div.columns {
            section.card aria-labelledby="arguments-title" {
                h2 #arguments-title { "Arguments" }
                form #call method="post" action=(address) data-preview=[(!is_read_only).then_some(&address)] novalidate {
                    @if page.fields.is_empty() { p.muted.pad { "It takes no arguments." } }
                    @for one in &page.fields { (tool::field(one)) }
                    @if is_read_only { p.muted.pad { "This page only shows: it was started with --read-only." } }
                    @else { div.buttons { button.primary { "Test " kbd { "Ctrl ⏎" } } } }
                }
            }
            section.card aria-labelledby="answers-title" {
                h2 #answers-title { "Who may make this call" }
                div #preview aria-live="off" { (answers(test)) }
            }
        }
    }
}

/// What the rules say about the call.
pub(crate) fn answers(test: &PolicyTest) -> Markup {
    html! {
        @if let Some(note) = &test.note { p.pad.muted { (text(note)) } }
        @for [why, help] in test.tool.fields.iter().flat_map(|field| &field.problems).chain(&test.tool.problems) {
            p.problem { (prose(why)) @if !help.is_empty() { br; (text(help)) } }
        }
        @for why in &test.answers { (answer(why)) }
    }
}

fn answer(why: &WhyView) -> Markup {
    let who = match why.surface {
        name if name == Surface::Person.name() => "You",
        name if name == Surface::Mcp.name() => "A model over MCP",
        _ => "The agent",
    };
    html! {
        section.answer {
            h3 { (who) " " (verdict(why.decision.verdict)) }
            p { (prose(&why.decision.rule)) }
            @if !why.overruled.is_empty() {
                p.muted { "It outweighs:" }
                ul { @for other in &why.overruled { li { (verdict(other.verdict)) " " (prose(&other.rule)) } } }
            }
            @if !why.to_change_it.is_empty() {
                p.muted { "To change it:" }
                @for line in &why.to_change_it { pre.command { code { (text(line)) } } }
            }
        }
    }
}
