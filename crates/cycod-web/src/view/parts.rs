//! Small things that several pages show.

use std::time::Duration;

use cycod_app::views::Note;
use cycod_engine::{Status, diagnostic::Refusal, trust::Mark};
pub(crate) use cycod_page::parts::text;
use cycod_page::parts::{self, LineSign, signed};
pub(super) use cycod_page::parts::{command, count, difference_text, empty, prose, way_in};
use cycod_store::State;
use maud::{Markup, html};

use crate::model::{CARDS, Paged};

/// How long something took: `8.0 s`, `320 ms`, `4 min 2 s`.
pub(super) fn length(length: Duration) -> String {
    match length.as_secs_f64() {
        seconds if seconds < 0.000_5 => "0 ms".to_owned(),
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        seconds if seconds < 100.0 => format!("{seconds:.1} s"),
        seconds if seconds < 6000.0 => format!("{} min {} s", length.as_secs() / 60, length.as_secs() % 60),
        _ => format!("{} h {} min", length.as_secs() / 3600, length.as_secs() / 60 % 60),
    }
}

/// How many bytes, in the unit that suits.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..10_240 => format!("{count} bytes"),
        10_240..10_485_760 => format!("{} KiB", count / 1024),
        _ => format!("{} MiB", count / 1_048_576),
    }
}

/// The class and the sign of a state: meaning is never in the color alone.
fn look(state: State) -> (&'static str, &'static str) {
    match state {
        State::Ok => ("ok", "●"),
        State::Failed | State::TimedOut => ("bad", "■"),
        State::Running => ("run", "○"),
        State::Refused | State::Interrupted | State::Cancelled => ("warn", "▲"),
    }
}

/// A state as a chip.
pub(super) fn state(state: State, words: &str) -> Markup {
    let (class, sign) = look(state);
    html! { span class={ "chip " (class) } { span.sign aria-hidden="true" { (sign) } (text(words)) } }
}

/// The class and the sign of a step.
pub(super) fn step_look(status: Option<Status>) -> (&'static str, &'static str, &'static str) {
    match status {
        None => ("run", "○", "running"),
        Some(Status::Ok) => ("ok", "●", "ok"),
        Some(Status::Skipped) => ("none", "◌", "skipped"),
        Some(Status::NotRun) => ("none", "◌", "not run"),
        Some(Status::TimedOut) => ("bad", "■", "timed out"),
        Some(_) => ("bad", "■", "failed"),
    }
}

/// A verdict as a chip: `allow`, `ask`, `deny`, and `allow-only`.
pub(super) fn verdict(verdict: &'static str) -> Markup {
    let (class, sign) = match verdict {
        "allow" => ("ok", "●"),
        "ask" => ("wait", "▲"),
        "deny" => ("bad", "■"),
        _ => ("warn", "◆"),
    };
    html! { span class={ "chip " (class) } { span.sign aria-hidden="true" { (sign) } (verdict) } }
}

/// A level as a chip.
pub(super) fn level(level: &str) -> Markup {
    html! { span class={ "chip level-" (level) } title="How dangerous the tool is: read, write or run" { (level) } }
}

/// What is not as usual about a tool.
pub(super) fn note(note: &Note) -> Markup {
    let class = if note.is_mistake { "bad" } else { "warn" };
    html! { span class={ "chip " (class) } title={ (note.word) (note.reason) } { (note.word) } }
}

/// A refusal as the terminal has it.
pub(super) fn refusal(refusal: &Refusal) -> Markup {
    refused(refusal.code.name(), &refusal.why, refusal.attempt.as_deref())
}

/// The same from its parts.
pub(super) fn refused(code: &str, why: &str, attempt: Option<&str>) -> Markup {
    html! {
        div.problem role="alert" {
            p { strong { "refused" } " " code { (code) } " " (prose(why)) }
            @if let Some(attempt) = attempt.filter(|attempt| !attempt.is_empty()) { p { "Try: " code { (text(attempt)) } } }
        }
    }
}

/// A difference, line by line.
pub(super) fn difference(lines: &[(Mark, String)]) -> Markup {
    let sign = |mark: &Mark| match mark {
        Mark::Note => LineSign::Note,
        Mark::Same => LineSign::Same,
        Mark::Removed => LineSign::Removed,
        Mark::Added => LineSign::Added,
    };
    parts::difference(&lines.iter().map(|(mark, line)| (sign(mark), line.clone())).collect::<Vec<_>>())
}

/// The same of values, each place with what was and what is there.
pub(super) fn values_difference(all: &str) -> Markup {
    let lines = all.lines().map(|line| match line.strip_prefix("  ") {
        Some(value) => signed(value),
        None => (LineSign::Note, line.to_owned()),
    });
    parts::difference(&lines.collect::<Vec<_>>())
}

/// The way to the other pages of a list, whose addresses are made of their numbers from 1.
pub(super) fn pages<T>(list: &Paged<T>, address: impl Fn(usize) -> String) -> Markup {
    html! {
        @if list.pages() > 1 {
            nav.pages aria-label="Pages" {
                @if list.page > 1 { a rel="prev" href=(address(list.page - 1)) { "Previous" } }
                span { (count(list.before() + 1)) "–" (count(list.before() + list.rows.len())) " of " (count(list.all)) }
                @if list.page < list.pages() { a rel="next" href=(address(list.page + 1)) { "Next" } }
            }
        }
    }
}

/// What a page of questions does not ask yet.
pub(super) fn more_cards(all: usize) -> Markup {
    html! { @if all > CARDS { p.muted.pad { (count(all - CARDS)) " more wait. They are shown when these are answered." } } }
}
