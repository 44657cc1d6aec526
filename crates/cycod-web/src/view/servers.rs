//! MCP servers, what they offer, and what of them waits to be accepted.

use cycod_app::Visit;
use cycod_engine::diagnostic::Refusal;
use maud::{Markup, html};

use super::{
    parts::{command, count, empty, more_cards, pages, prose, refusal, text, values_difference},
    server_address, tools,
};
use crate::model::{ConsentCard, ProposalCard, ServerPage, ServerRow, ServersPage};

pub(super) fn list(page: &ServersPage) -> Markup {
    html! {
        header.head {
            h1 { "Servers" }
            p.facts-line { "MCP servers of other programs, whose tools are used here. They start with the first call." }
        }
        @for problem in &page.problems { div.problem role="alert" { p { (prose(problem)) } } }
        div #list {
            @if page.rows.all == 0 {
                (empty("No servers here yet.", html! {
                    "Add one: " code { "cycod mcp add" } ", or see what other programs know: " code { "cycod mcp import" }
                }))
            } @else {
                table.rows {
                    thead { tr { th scope="col" { "Server" } th scope="col" { "State" } th.number scope="col" { "Tools" } th.number scope="col" { "Tokens" } th.when scope="col" { "Last met" } } }
                    tbody { @for one in &page.rows.rows { (row(one)) } }
                }
                (pages(&page.rows, |page| format!("/servers?page={page}")))
            }
        }
    }
}

fn row(row: &ServerRow) -> Markup {
    let view = &row.view;
    html! {
        tr {
            th scope="row" {
                a.row href=(server_address(&view.name)) { (text(&view.name)) }
                p.about { code { (text(&view.how)) } }
            }
            td { (state(row)) }
            td.number data-label="tools" { (count(row.tools)) }
            td.number data-label="tokens" { (count(row.tokens)) }
            td.when data-label="last met" { @if let Some(met) = &row.met { (met) } @else { span.muted { "never" } } }
        }
    }
}

/// How a server is, with what is unusual about it.
fn state(row: &ServerRow) -> Markup {
    let view = &row.view;
    let (class, sign, word) = match (view.in_use, view.accepted, &view.failure, &row.met) {
        (false, ..) => ("none", "◌", "not used"),
        (_, false, ..) => ("wait", "▲", "waits for you"),
        (_, _, Some(_), _) => ("bad", "■", "failed"),
        (_, _, None, Some(_)) => ("ok", "●", "ok"),
        (_, _, None, None) => ("none", "◌", "not met yet"),
    };
    html! {
        span class={ "chip " (class) } { span.sign aria-hidden="true" { (sign) } (word) }
        @if row.waiting > 0 { " " span.chip.wait { span.sign aria-hidden="true" { "▲" } (row.waiting) " to accept" } }
        @for note in view.notes.iter().filter(|note| *note != "not accepted") { p.about { (text(note)) } }
    }
}

/// What the cards of a server carry for their answers.
pub(crate) struct ServerTickets {
    pub(crate) consent: Option<String>,
    pub(crate) proposals: Vec<String>,
}

pub(super) fn page(page: &ServerPage, tickets: &ServerTickets, is_read_only: bool) -> Markup {
    let (row, view) = (&page.row, &page.row.view);
    let address = server_address(&view.name);
    html! {
        header.head {
            div.title { h1 { (text(&view.name)) } (state(row)) }
            @if !is_read_only && view.in_use && view.accepted {
                div.actions { form method="post" action={ (address) "/check" } { button { "Check now" } } }
            }
            p.facts-line {
                code { (text(&view.path)) ":" (view.line) } " · " (view.scope)
                @if let Some(met) = &row.met { " · last met " (met) } " · " a href="/servers" { "All servers" }
            }
        }
        @if let Some(visit) = &page.visit { (met(visit)) }
        @else if let Some(why) = &view.failure { div.problem { p { strong { "It failed when it was last used." } } p { (prose(why)) } } }
        @if let (Some(card), Some(ticket)) = (&page.consent, &tickets.consent) { (consent(view.name.as_str(), card, ticket, is_read_only)) }
        @for (card, ticket) in page.proposals.iter().zip(&tickets.proposals) { (proposal(&view.name, card, ticket, is_read_only)) }
        (more_cards(row.waiting))
        @if page.consent.is_none() {
            section.card aria-labelledby="how-title" { h2 #how-title { "How it is started or reached" } (command(&view.how)) }
        }
        section.card aria-labelledby="offers-title" {
            h2 #offers-title { "What it offers" }
            @if page.tools.all == 0 && page.consent.is_some() {
                (empty("Nothing is known yet.", html! { "Accept the server first, or: " code { "cycod mcp accept " (text(&view.name)) } }))
            } @else if page.tools.all == 0 {
                (empty("Nothing is known yet.", html! { "Meet it with " em { "Check now" } ", or: " code { "cycod mcp test " (text(&view.name)) } }))
            } @else {
                div.scroll.flush { (tools::table(&page.tools.rows)) }
                (pages(&page.tools, |page| format!("{address}?page={page}")))
            }
        }
    }
}

/// What came of meeting a server.
fn met(visit: &Result<Visit, Refusal>) -> Markup {
    match visit {
        Err(why) => refusal(why),
        Ok(visit) => html! {
            section.card role="status" aria-labelledby="visit-title" {
                h2 #visit-title { "It answered in " (visit.took.as_millis()) " ms" }
                dl.facts {
                    @if !visit.identity.is_empty() { dt { "identity" } dd { (text(&visit.identity)) } }
                    dt { "protocol" } dd { (text(&visit.era)) }
                    @if let Some(instructions) = &visit.instructions { dt { "instructions" } dd { pre { (text(instructions)) } } }
                    @if visit.is_first { dt { "accepted" } dd { "Its tools were accepted as below. A change has to be accepted." } }
                    @for problem in &visit.problems { dt { "warning" } dd { (text(problem)) } }
                    @for tool in &visit.tools { @if let Some(problem) = &tool.problem { dt { code { (text(&tool.remote)) } } dd { (text(problem)) } } }
                }
            }
        },
    }
}

/// A server that somebody else configured, in full.
fn consent(name: &str, card: &ConsentCard, ticket: &str, is_read_only: bool) -> Markup {
    let question = if card.is_started { "Let this server be started?" } else { "Let this server be reached?" };
    html! {
        form method="post" action={ (server_address(name)) "/consent" } {
            input type="hidden" name="card" value=(ticket);
            input type="hidden" name="digest" value=(card.digest);
            article.card.ask tabindex="0" aria-labelledby="consent-title" {
                h2 #consent-title { (question) }
                p.facts-line { "It came with the project, and nothing of it runs before you accept it." }
                (command(&card.how))
                @if !card.lines.is_empty() { pre.pad { (text(&card.lines.join("\n"))) } }
                dl.facts { dt { "digest" } dd { code { (card.digest) } } }
                @if !is_read_only { div.buttons { button.primary { "Accept the server" } } }
            }
        }
    }
}

/// A tool that is new or has changed, with all that is different.
fn proposal(server: &str, card: &ProposalCard, ticket: &str, is_read_only: bool) -> Markup {
    let title = format!("proposal-{}", card.tool);
    html! {
        form method="post" action={ (server_address(server)) "/accept" } {
            input type="hidden" name="card" value=(ticket);
            input type="hidden" name="tool" value=(card.tool);
            input type="hidden" name="digest" value=(card.digest);
            article.card.ask tabindex="0" aria-labelledby=(title) {
                h2 id=(title) { "Accept " code { (text(&card.tool)) } "?" }
                p.facts-line { (text(&card.why)) }
                (values_difference(&card.difference))
                dl.facts { dt { "digest" } dd { code { (card.digest) } } }
                @if !is_read_only { div.buttons { button.primary { "Accept this" } } }
            }
        }
    }
}
