//! What tools need on this machine, and how to get it.

use cycod_app::views::{CheckView, MachineView};
use maud::{Markup, html};

use super::parts::{empty, prose, refusal, text};

pub(super) fn page(view: &MachineView, is_complete: bool, is_read_only: bool) -> Markup {
    let count = |status: &str| view.checks.iter().filter(|check| check.status == status).count();
    let (failed, warnings) = (count("failed"), count("warning"));
    let many = |count: usize, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    html! {
        header.head {
            h1 { "Machine" }
            p.facts-line {
                @match (failed, warnings) {
                    (0, 0) => "Everything is as it should be.",
                    (0, _) => { "Everything that is needed is here; " (many(warnings, "warning")) "." }
                    _ => { (many(failed, "failed check")) ", " (many(warnings, "warning")) "." }
                }
                @if !is_complete { " No program was started for this." }
            }
            @if !is_read_only {
                form.check-all method="post" action="/machine" {
                    label.check { input type="checkbox" name="servers" value="1"; " and meet the servers" }
                    button { "Ask programs for their versions" }
                }
            }
        }
        @if let Some(why) = &view.unstarted { (refusal(why)) }
        @if view.checks.is_empty() { (empty("There is nothing to check.", html! { "In a terminal: " code { "cycod doctor" } })) }
        @for group in groups(&view.checks) {
            @let name = group.first().map(|check| check.group.as_str()).unwrap_or_default();
            section.card aria-label=(name) {
                h2 { (text(name)) }
                ul.checks { @for check in group { (one(check)) } }
            }
        }
    }
}

/// The checks, those of one group together.
fn groups(checks: &[CheckView]) -> impl Iterator<Item = &[CheckView]> {
    checks.chunk_by(|one, other| one.group == other.group)
}

fn one(check: &CheckView) -> Markup {
    let (class, sign, word) = match check.status.as_str() {
        "ok" => ("ok", "●", "ok"),
        "absent" => ("none", "◌", "not there"),
        "warning" => ("warn", "▲", "warning"),
        _ => ("bad", "■", "failed"),
    };
    let is_wrong = matches!(class, "warn" | "bad");
    html! {
        li {
            span class={ "sign " (class) } aria-hidden="true" { (sign) } span.hidden { (word) ": " }
            span.name { (text(&check.name.replace('_', " "))) }
            p {
                (prose(&check.message))
                @if let Some(fix) = check.fix.as_deref().filter(|fix| is_wrong && !fix.is_empty()) { br; span.muted { "fix: " } code { (text(fix)) } }
            }
        }
    }
}
