//! One tool, its form, and what a call of it would do.

use cycod_engine::Verdict;
use maud::{Markup, html};

use super::{
    approvals, edit_address,
    parts::{command, level, note, refusal, text},
    policy_test_address, tool_address, trust_address,
};
use crate::model::{Field, FieldKind, Preview, ToolPage};

pub(super) fn page(tool: &ToolPage, is_read_only: bool) -> Markup {
    let address = tool_address(&tool.name);
    html! {
        header.head {
            div.title {
                h1 { (text(tool.title.as_deref().unwrap_or(&tool.name))) }
                (level(tool.level))
                @for one in &tool.notes { (note(one)) }
            }
            p { (text(&tool.description)) }
            p.facts-line {
                code { (text(&tool.path)) } " · " (text(&tool.source))
                @if let Some(tokens) = tool.tokens { " · " (tokens) " tokens" }
                @if tool.is_editable { " · " a href=(edit_address(&tool.name)) { "Edit" } }
                " · " a href=(policy_test_address(&tool.name)) { "Rules" }
                @if tool.needs_trust { " · " a href=(trust_address(&tool.name)) { "Trust it" } }
            }
        }
        @if let Some(broken) = &tool.broken {
            div.problem role="alert" { p { (text(broken)) } p { "See: " code { "cycod validate " (text(&tool.name)) } @if tool.is_editable { ", or " a href=(edit_address(&tool.name)) { "edit it" } "." } } }
        } @else {
            div.columns {
                section.card aria-labelledby="arguments-title" {
                    h2 #arguments-title { "Arguments" }
                    form #call method="post" action={ (address) "/run" } data-preview={ (address) "/preview" } novalidate {
                        @for [why, help] in &tool.problems { (problem("", why, help)) }
                        @if tool.fields.is_empty() { p.muted.pad { "It takes no arguments." } }
                        @for one in &tool.fields { (field(one)) }
                        div.buttons {
                            @if !is_read_only && tool.ask.is_none() {
                                button.primary name="run" value="1" { "Run " kbd { "Ctrl ⏎" } }
                            }
                            button formaction={ (address) "/preview" } { "Plan only" }
                        }
                        @if let Some(ask) = &tool.ask {
                            input type="hidden" name="run" value="1";
                            input type="hidden" name="card" value=(ask.ticket);
                            input type="hidden" name="call" value=(ask.card.request.call);
                            (approvals::question(&ask.card, html! {
                                div.buttons { button.primary name="answer" value="once" { "Run it" } a.button href=(address) { "Don't run it" } }
                            }))
                        }
                    }
                }
                section.card aria-labelledby="preview-title" {
                    h2 #preview-title { "What would run" }
                    div #preview aria-live="off" { (preview(tool)) }
                }
            }
        }
    }
}

/// What the call of the form would do.
pub(crate) fn preview(tool: &ToolPage) -> Markup {
    html! {
        @if let Some(why) = &tool.refusal { (refusal(why)) }
        @if let Some(preview) = &tool.preview { (steps(preview)) }
        @else if tool.refusal.is_none() {
            @let wrong: Vec<_> = tool.fields.iter().filter(|field| !field.problems.is_empty()).collect();
            @if wrong.is_empty() && tool.problems.is_empty() {
                p.muted.pad { "Fill in the form, or choose " em { "Plan only" } "." }
            }
            @for field in wrong { @for [why, help] in &field.problems { (problem(&field.name, why, help)) } }
            @for [why, help] in &tool.problems { (problem("", why, help)) }
        }
    }
}

fn steps(preview: &Preview) -> Markup {
    html! {
        @for step in &preview.steps {
            div class={ "planned depth-" (step.depth.min(4)) } {
                @if preview.steps.len() > 1 {
                    p.step-name { code { (text(&step.name)) }
                        @if !step.after.is_empty() { span.muted { " after " (text(&step.after.join(", "))) } }
                        @if let Some(condition) = &step.condition { span.muted { " if " code { (text(condition)) } } }
                        @if step.on_failure { span.muted { " on failure" } }
                    }
                }
                @match &step.command { Ok(line) => (command(line)), Err(why) => (refusal(why)) }
            }
        }
        @for line in &preview.cleanup { p.step-name { "at the end" } (command(line)) }
        dl.facts {
            @for warning in &preview.warnings { dt { "warning" } dd { (text(warning)) } }
            @for line in &preview.reach { dt { "reach" } dd { (text(line)) } }
            dt { "directory" } dd { code { (text(&preview.directory)) } }
            dt { "level" } dd { (preview.level) }
            @for verdict in &preview.verdicts {
                dt { (verdict.who) }
                dd {
                    @match verdict.verdict { Verdict::Allow => "may run it", Verdict::Ask => "must be approved", Verdict::Deny => "may not run it" }
                    ": " (text(&verdict.rule))
                }
            }
        }
    }
}

fn problem(name: &str, why: &str, help: &str) -> Markup {
    html! {
        p.problem { @if !name.is_empty() { code { (text(name)) } ": " } (text(why)) @if !help.is_empty() { br; (text(help)) } }
    }
}

/// A parameter as a part of a form.
pub(super) fn field(field: &Field) -> Markup {
    let name = format!("arg.{}", field.name);
    let id = format!("field-{}", field.name);
    let value = field.values.first().map(String::as_str).unwrap_or_default();
    let is_wrong = !field.problems.is_empty();
    let hint = format!("{id}-hint");
    let is_group = matches!(field.kind, FieldKind::Radio(_) | FieldKind::Rows);
    let inputs = match &field.kind {
        FieldKind::Radio(words) => html! {
            div.choices {
                @if !field.is_required {
                    label { input type="radio" name=(name) value="" checked[value.is_empty()]; " "
                        @if let Some(default) = &field.default { "default: " (text(default)) } @else { "not given" } }
                }
                @for word in words { label { input type="radio" name=(name) value=(word) checked[value == word]; " " (text(word)) } }
            }
        },
        FieldKind::Select(words) => html! {
            select id=(id) name=(name) aria-describedby=(hint) aria-invalid=[is_wrong.then_some("true")] {
                option value="" { @if let Some(default) = &field.default { "Default: " (text(default)) } @else { "Choose" } }
                @for word in words { option value=(word) selected[value == word] { (text(word)) } }
            }
        },
        FieldKind::Number { minimum, maximum, is_integer } => html! {
            input id=(id) name=(name) type="number" inputmode="decimal" value=(value) min=[minimum.as_deref()] max=[maximum.as_deref()]
                step=(if *is_integer { "1" } else { "any" }) placeholder=[field.default.as_deref()]
                aria-describedby=(hint) aria-invalid=[is_wrong.then_some("true")] aria-required=[field.is_required.then_some("true")];
        },
        FieldKind::Text if field.is_sensitive => html! {
            // What was typed in it is never sent back.
            input id=(id) name=(name) type="password" autocomplete="off" aria-describedby=(hint) aria-invalid=[is_wrong.then_some("true")];
        },
        FieldKind::Text => html! {
            textarea id=(id) name=(name) rows=(value.lines().count().clamp(1, 12)) spellcheck="false" placeholder=[field.default.as_deref()]
                aria-describedby=(hint) aria-invalid=[is_wrong.then_some("true")] aria-required=[field.is_required.then_some("true")] { (value) }
        },
        FieldKind::Json => html! {
            textarea id=(id) name=(name) rows="3" spellcheck="false" placeholder=(field.default.as_deref().unwrap_or("JSON"))
                aria-describedby=(hint) aria-invalid=[is_wrong.then_some("true")] { (value) }
        },
        FieldKind::Rows => html! {
            div.list-rows data-name=(name) {
                @for value in field.values.iter().map(String::as_str).filter(|value| !value.is_empty()).chain(["", ""]) {
                    input name=(name) value=(value) aria-label={ "An element of " (field.name) } spellcheck="false";
                }
                button.add type="button" hidden { "Add" }
            }
        },
    };
    let about = html! {
        p.hint id=(hint) {
            (text(&field.description))
            @if let Some(rules) = &field.rules { " · " (text(rules)) }
            @if field.is_sensitive { " · masked everywhere" }
        }
        @for [why, help] in &field.problems { (problem("", why, help)) }
    };
    html! {
        @if is_group {
            fieldset.field aria-describedby=(hint) { legend { (text(&field.name)) (star(field)) } (about) (inputs) }
        } @else {
            div.field { label for=(id) { (text(&field.name)) (star(field)) } (about) (inputs) }
        }
    }
}

fn star(field: &Field) -> Markup {
    html! { @if field.is_required { span.star title="required" { " *" } span.hidden { " (required)" } } }
}
