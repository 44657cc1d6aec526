//! Questions, and answers that stand.

use maud::{Markup, html};

use super::{
    parts::{command, difference_text, empty, level, more_cards, pages, text},
    tool_address,
};
use crate::model::{Approvals, Card};

pub(super) fn page(approvals: &Approvals, tickets: &[String], is_read_only: bool) -> Markup {
    html! {
        header.head { h1 { "Approvals" } }
        div #cards {
            @if approvals.cards.is_empty() {
                (empty("Nothing waits for you.", html! { "A call that needs your approval appears here at once." }))
            }
            @for (card, ticket) in approvals.cards.iter().zip(tickets) { (waiting(card, ticket, is_read_only)) }
            (more_cards(approvals.waiting))
        }
        @if approvals.standing.all > 0 {
            section.card aria-labelledby="standing-title" {
                h2 #standing-title { "Standing approvals" }
                table.rows {
                    thead { tr { th scope="col" { "Tool" } th scope="col" { "Arguments" } th scope="col" { "For" } th scope="col" { "Given" } th scope="col" { span.hidden { "Action" } } } }
                    tbody {
                        @for one in &approvals.standing.rows {
                            tr {
                                th scope="row" { a href=(tool_address(&one.tool)) { (text(&one.tool)) } }
                                td { @if let Some(arguments) = &one.arguments { code { (text(arguments)) } } @else { "any" } }
                                td { @if one.is_for_session { "a session" } @else { "until the tool changes" } }
                                td { (one.given) }
                                td { @if !is_read_only { form method="post" action={ "/standing/" (one.name) "/revoke" } { button { "Revoke" } } } }
                            }
                        }
                    }
                }
                (pages(&approvals.standing, |page| format!("/approvals?standing={page}")))
            }
        }
    }
}

fn waiting(card: &Card, ticket: &str, is_read_only: bool) -> Markup {
    let request = &card.request;
    let buttons = html! {
        @if !is_read_only {
            div.buttons {
                button.primary name="answer" value="once" data-key="y" { "Approve once" }
                @if request.is_lasting {
                    @if request.has_session { button name="answer" value="session" { "For this session" } }
                    button name="answer" value="always" { "Always with these arguments" }
                }
                label.reason { span { "Reason" } input name="reason" autocomplete="off" placeholder="for the requester, optional"; }
                button.danger name="answer" value="no" data-key="n" { "Deny" }
            }
        }
    };
    html! {
        form.ask-form id={ "ask-" (card.id) } method="post" action={ "/approvals/" (card.id) } {
            input type="hidden" name="card" value=(ticket);
            input type="hidden" name="call" value=(request.call);
            (question(card, buttons))
        }
    }
}

/// A request in full: nothing of it is left out, so that an answer is about all of it.
pub(super) fn question(card: &Card, buttons: Markup) -> Markup {
    let request = &card.request;
    let title = format!("ask-title-{}", card.id);
    html! {
        article.card.ask tabindex="0" aria-labelledby=(title) {
            h2 id=(title) {
                (text(&card.asker)) " wants to run " a href=(tool_address(&request.tool)) { (text(&request.tool)) } " "
                (level(request.level.name()))
                @if card.is_elevated { span.chip.bad { "elevated rights" } }
            }
            p.facts-line {
                "asked " (card.asked)
                @if card.is_awaited { " · a process waits for the answer" } @else { " · the next call with the same arguments takes the answer" }
                @if let Some(minutes) = card.minutes_left { " · " (minutes) " min left" }
            }
            @for line in &request.commands { (command(line)) }
            dl.facts {
                @if request.has_arguments() { dt { "arguments" } dd { pre { (text(&request.arguments)) } } }
                dt { "directory" } dd { code { (text(&request.working_directory)) } }
                @for line in &request.reach { dt { "reach" } dd { (text(line)) } }
                dt { "defined in" } dd { code { (text(&request.source)) } }
                dt { "rule" } dd { (text(&request.rule)) }
                @if let Some(why) = &request.justification { dt { "its author says" } dd { (text(why)) } }
                @for warning in &request.warnings { dt { "warning" } dd { (text(warning)) } }
                @if let Some(changes) = &request.changes { dt { "changed" } dd { (difference_text(changes)) } }
            }
            (buttons)
        }
    }
}
