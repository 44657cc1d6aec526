//! What waits to be trusted, with everything that is to be judged about it.

use maud::{Markup, html};

use super::{
    parts::{difference, empty, level, pages, prose, text},
    tool_address, trust_address,
};
use crate::model::{TrustCard, TrustList, TrustPage, TrustRow};

pub(super) fn list(list: &TrustList) -> Markup {
    html! {
        header.head {
            h1 { "Trust" }
            p.facts-line {
                "A tool that came with the project runs only after you trust it as it is. "
                (list.trusted) " trusted · " (list.rows.all) " waiting"
            }
        }
        div #list {
            @if list.rows.all == 0 && list.trusted == 0 {
                (empty("No tools of this project need trust.", html! { "Yours and built-in ones run without it. Write one for this project: " code { "cycod init" } }))
            } @else if list.rows.all == 0 {
                (empty("Nothing waits to be trusted.", html! { "A tool that you pull or that changes appears here. In a terminal: " code { "cycod trust --check" } }))
            } @else {
                table.rows {
                    thead { tr { th scope="col" { "Tool" } th scope="col" { "Level" } th scope="col" { "State" } th scope="col" { "Network" } th scope="col" { "Rights" } } }
                    tbody { @for one in &list.rows.rows { (row(one)) } }
                }
                (pages(&list.rows, |page| format!("/trust?page={page}")))
            }
        }
    }
}

fn row(row: &TrustRow) -> Markup {
    html! {
        tr {
            th scope="row" {
                a.row href=(trust_address(&row.name)) { (text(&row.name)) }
                p.about { (text(row.description.lines().next().unwrap_or_default())) }
                @for warning in &row.warnings { p.about { span.chip.warn { "beware" } " " (prose(warning)) } }
            }
            td { (level(row.level)) }
            td { @if row.is_changed { span.chip.warn { "changed" } } @else { span.chip { "new" } } }
            td data-label="network" { @if row.reaches_network { "yes" } @else { span.muted { "no" } } }
            td data-label="rights" { (rights(row.is_confined)) }
        }
    }
}

fn rights(is_confined: bool) -> &'static str {
    if is_confined { "as declared" } else { "all yours" }
}

/// The page of a tool; each card carries a ticket for its answer.
pub(super) fn page(page: &TrustPage, tickets: &[String], refusal: Option<&Markup>, is_read_only: bool) -> Markup {
    html! {
        header.head {
            div.title { h1 { "Trust " (text(&page.name)) } }
            p.facts-line { a href=(tool_address(&page.name)) { "The tool" } " · " a href="/trust" { "Everything that waits" } }
        }
        @if let Some(refusal) = refusal { (refusal) }
        @if page.cards.is_empty() {
            div.card { (empty("It runs without further trust.", html! { "It is trusted as it is, or needs no trust: " code { "cycod tool why " (text(&page.name)) } })) }
        }
        @for (one, ticket) in page.cards.iter().zip(tickets) { (card(page, one, ticket, is_read_only)) }
        @if page.can_stop && !is_read_only {
            form method="post" action={ (trust_address(&page.name)) "/stop" } {
                button.danger { "Stop trusting " (text(&page.name)) }
            }
        }
    }
}

/// A tool in full: nothing of it is left out, so that trust is in all of it.
fn card(page: &TrustPage, one: &TrustCard, ticket: &str, is_read_only: bool) -> Markup {
    let title = format!("trust-{}", one.row.name);
    html! {
        form method="post" action=(trust_address(&page.name)) {
            input type="hidden" name="card" value=(ticket);
            input type="hidden" name="subject" value=(one.row.name);
            input type="hidden" name="digest" value=(one.digest);
            article.card.ask tabindex="0" aria-labelledby=(title) {
                h2 id=(title) {
                    "Trust " code { (text(&one.row.name)) } " as it is? " (level(one.row.level)) " "
                    @if one.row.is_changed { span.chip.warn { "changed since you trusted it" } } @else { span.chip { "new" } }
                }
                @for warning in &one.row.warnings { p.problem.pad { span.chip.warn { "beware" } " " (prose(warning)) } }
                @if !one.difference.is_empty() {
                    h3.pad { "What has changed" }
                    (difference(&one.difference))
                }
                h3.pad { "All that it does" }
                pre.command.tall tabindex="0" role="region" aria-label={ "All that " (one.row.name) " does" } { (text(&one.text)) }
                dl.facts {
                    dt { "file" } dd { code { (text(&one.path)) } }
                    dt { "rights" } dd { (rights(one.row.is_confined)) @if one.row.reaches_network { ", and it reaches the network" } }
                    @if !one.programs.is_empty() { dt { "starts" } dd { code { (text(&one.programs.join("  "))) } } }
                    @for what in &one.unpinned { dt { "beware" } dd { "can't be pinned: " (text(what)) } }
                    dt { "digest" } dd { code { (one.digest) } }
                }
                @if !is_read_only {
                    div.buttons {
                        button.primary { "Trust this" }
                        span.muted { "It counts for this digest only. A change asks again." }
                    }
                }
            }
        }
    }
}
