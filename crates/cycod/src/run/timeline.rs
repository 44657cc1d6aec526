//! When each step of a run ran, as bars that fit the terminal.

use std::time::Duration;

use anstyle::Style;
use cycod_engine::{
    RunReport, Status,
    diagnostic::{Shown, shown, visible},
    journal::StepTimes,
};
use unicode_width::UnicodeWidthStr;

use super::text;
use crate::printer::{DIM, ERROR, GOOD, paint};

/// How wide the bars are at the most, in columns.
const WIDEST: usize = 32;

/// Bars that would be narrower say nothing, and are left out.
const NARROWEST: usize = 8;

/// How wide a name is at the most where there is no room for all of it.
const NARROWEST_NAME: usize = 8;

/// From here on, an exit code is that of a process which a signal ended.
const SIGNALS: i32 = 128;

/// How a step ended, in a word of four columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    status: Option<Status>,
    /// Whether the user stopped it.
    is_stopped: bool,
}

impl Mark {
    pub(super) fn of(status: Option<Status>) -> Self {
        Self { status, is_stopped: false }
    }

    pub(super) fn word(self) -> &'static str {
        match self.status {
            _ if self.is_stopped => "stop",
            None => "…   ",
            Some(Status::Ok) => "ok  ",
            Some(Status::Failed) => "FAIL",
            Some(Status::TimedOut) => "TIME",
            Some(Status::Skipped) => "skip",
            Some(Status::NotRun) => "--  ",
        }
    }

    pub(super) fn style(self) -> Style {
        match self.status {
            Some(Status::Ok) => GOOD,
            Some(Status::Failed | Status::TimedOut) => ERROR,
            None | Some(Status::Skipped | Status::NotRun) => DIM,
        }
    }
}

/// When one step ran, for its line.
struct Bar {
    name: String,
    status: Option<Status>,
    exit_code: i32,
    attempts: u32,
    used_fallback: bool,
    is_cached: bool,
    is_stopped: bool,
    began: Duration,
    length: Duration,
}

/// Draws when each step of a run that has just ended ran, one line each, in so many columns.
pub(crate) fn timeline(report: &RunReport, columns: usize, colour: bool) -> Shown {
    let bars = report.steps.iter().map(|step| Bar {
        name: step.name.clone(),
        status: Some(step.status),
        exit_code: step.exit_code,
        attempts: step.attempts,
        used_fallback: step.used_fallback,
        is_cached: step.cached_from.is_some(),
        is_stopped: report.cancelled && step.is_failure() && step.exit_code > SIGNALS,
        began: step.began,
        length: match (step.start_time, step.end_time) {
            (Some(start), Some(end)) => end.duration_since(start).unwrap_or(step.duration),
            _ => step.duration,
        },
    });
    let mut drawn = Shown::default();
    for (mark, rest) in draw(&bars.collect::<Vec<_>>(), report.duration, columns) {
        drawn.push(shown!["  ", paint(colour, mark.style(), mark.word()), &rest, "\n"]);
    }
    drawn
}

/// Draws when each step of a run ran that is told by its journal, those of called tools included.
pub(crate) fn timeline_of(steps: &[StepTimes], total: Duration, columns: usize) -> String {
    let bars = steps.iter().map(|step| Bar {
        name: visible(step.step.as_str()).into_owned(),
        // One that did not begin has no time of its own.
        status: step.status.or(step.began.is_none().then_some(Status::NotRun)),
        exit_code: step.exit_code,
        attempts: step.attempts,
        used_fallback: step.used_fallback,
        is_cached: step.cached_from.is_some(),
        is_stopped: false,
        began: step.began.unwrap_or_default(),
        length: step.length,
    });
    let lines = draw(&bars.collect::<Vec<_>>(), total, columns).into_iter();
    lines.map(|(mark, rest)| format!("  {}{rest}\n", mark.word()).replace("  \n", "\n")).collect()
}

/// The line of each step: its mark, and what follows.
fn draw(bars: &[Bar], total: Duration, columns: usize) -> Vec<(Mark, String)> {
    let total = total.max(Duration::from_millis(1));
    let tails: Vec<String> = bars.iter().map(tail).collect();
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let names = widest(&mut bars.iter().map(|bar| bar.name.width()));
    let tail = widest(&mut tails.iter().map(|tail| tail.width()));
    // Two columns of indent, the mark, and what stands between the parts; none is left for a cursor behind the line.
    let fixed = 2 + 4 + 1 + 2 + tail;
    let names = names.min(columns.saturating_sub(fixed).max(NARROWEST_NAME));
    let room = columns.saturating_sub(fixed + names + 2).min(WIDEST);
    let width = if room < NARROWEST { 0 } else { room };
    let line = |(bar, tail): (&Bar, &String)| {
        let name = text::fitted(&bar.name, names);
        let padding = " ".repeat(names.saturating_sub(name.width()));
        let has_run = !matches!(bar.status, Some(Status::Skipped | Status::NotRun));
        let drawn = match width {
            0 => String::new(),
            width if has_run => format!("{}  ", self::bar(bar.began, bar.length, total, width)),
            width => " ".repeat(width + 2),
        };
        let rest = format!(" {name}{padding}  {drawn}{tail}");
        (Mark { status: bar.status, is_stopped: bar.is_stopped }, rest.trim_end().to_owned())
    };
    bars.iter().zip(&tails).map(line).collect()
}

/// What stands behind the bar of a step.
fn tail(step: &Bar) -> String {
    let took = text::duration(step.length);
    match step.status {
        None => format!("{took} (running)"),
        Some(Status::Ok) if step.is_cached => format!("{took} (cached)"),
        Some(Status::Ok) if step.used_fallback => format!("{took} (fallback)"),
        Some(Status::Ok) if step.attempts > 1 => format!("{took} ({} attempts)", step.attempts),
        Some(Status::Ok) => took,
        _ if step.is_stopped => format!("{took} (stopped)"),
        Some(Status::Failed) => format!("{took} (exit code {})", step.exit_code),
        Some(Status::TimedOut) => format!("{took} (timed out)"),
        Some(Status::Skipped) => "(condition is false)".to_owned(),
        Some(Status::NotRun) => "(not run)".to_owned(),
    }
}

/// A bar of `length` that begins at `began`, of a whole of `total`.
fn bar(began: Duration, length: Duration, total: Duration, width: usize) -> String {
    let column = |time: Duration| {
        ((time.as_secs_f64() / total.as_secs_f64()) * width as f64).round().clamp(0.0, width as f64) as usize
    };
    let start = column(began).min(width - 1);
    let end = column(began + length).clamp(start + 1, width);
    format!("{}{}{}", "·".repeat(start), "━".repeat(end - start), "·".repeat(width - end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_their_share() {
        let check = |began, length, expect: &str| {
            let milliseconds = Duration::from_millis;
            assert_eq!(bar(milliseconds(began), milliseconds(length), milliseconds(320), 32), expect);
        };
        check(0, 320, "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━");
        check(0, 0, "━·······························");
        check(160, 80, "················━━━━━━━━········");
        check(320, 10, "·······························━");
    }

    #[test]
    fn lines_fit_the_terminal() {
        let step = |name: &str, status, exit_code| Bar {
            name: name.to_owned(),
            status: Some(status),
            exit_code,
            attempts: 1,
            used_fallback: false,
            is_cached: false,
            is_stopped: false,
            began: Duration::ZERO,
            length: Duration::from_secs(1),
        };
        let bars = [
            step("日本語テキスト🎉", Status::Ok, 0),
            step("a-name-that-is-longer-than-others-are", Status::Failed, 3),
            step("last", Status::NotRun, 0),
        ];
        for columns in [30, 40, 60, 80, 200] {
            for (_, rest) in draw(&bars, Duration::from_secs(2), columns) {
                let width = 2 + 4 + rest.width();
                let least = 2 + 4 + 1 + NARROWEST_NAME + 2 + "1.0 s (exit code 3)".len();
                assert!(width <= columns.max(least), "{width} columns of {columns}: {rest}");
            }
        }
        let wide = draw(&bars, Duration::from_secs(2), 200);
        assert!(wide[0].1.ends_with("━━━━━━━━━━━━━━━━················  1.0 s"), "{}", wide[0].1);
    }
}
