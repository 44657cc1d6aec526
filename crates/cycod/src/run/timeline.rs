use std::time::Duration;

use cycod_engine::{RunReport, Status, diagnostic::visible, journal::StepTimes};
use unicode_width::UnicodeWidthStr;

use super::text;

/// How wide the bars are, in columns.
const WIDTH: usize = 32;

/// When one step ran, for its line.
struct Bar {
    name: String,
    status: Option<Status>,
    exit_code: i32,
    attempts: u32,
    used_fallback: bool,
    began: Duration,
    length: Duration,
}

/// Draws when each step of a run that has just ended ran, one line each.
pub(crate) fn timeline(report: &RunReport) -> String {
    let bars = report.steps.iter().map(|step| Bar {
        name: step.name.clone(),
        status: Some(step.status),
        exit_code: step.exit_code,
        attempts: step.attempts,
        used_fallback: step.used_fallback,
        began: step.began,
        length: match (step.start_time, step.end_time) {
            (Some(start), Some(end)) => end.duration_since(start).unwrap_or(step.duration),
            _ => step.duration,
        },
    });
    draw(&bars.collect::<Vec<_>>(), report.duration)
}

/// Draws when each step of a run ran that is told by its journal, those of called tools included.
pub(crate) fn timeline_of(steps: &[StepTimes], total: Duration) -> String {
    let bars = steps.iter().map(|step| Bar {
        name: visible(step.step.as_str()).into_owned(),
        // One that did not begin has no time of its own.
        status: step.status.or(step.began.is_none().then_some(Status::NotRun)),
        exit_code: step.exit_code,
        attempts: step.attempts,
        used_fallback: step.used_fallback,
        began: step.began.unwrap_or_default(),
        length: step.length,
    });
    draw(&bars.collect::<Vec<_>>(), total)
}

fn draw(bars: &[Bar], total: Duration) -> String {
    let total = total.max(Duration::from_millis(1));
    let names = bars.iter().map(|bar| bar.name.width()).max().unwrap_or(0);
    bars.iter().map(|bar| line(bar, names, total)).collect()
}

fn line(step: &Bar, names: usize, total: Duration) -> String {
    let (mark, remark) = match step.status {
        None => ("…   ", " (running)".to_owned()),
        Some(Status::Ok) if step.used_fallback => ("ok  ", " (fallback)".to_owned()),
        Some(Status::Ok) if step.attempts > 1 => ("ok  ", format!(" ({} attempts)", step.attempts)),
        Some(Status::Ok) => ("ok  ", String::new()),
        Some(Status::Failed) => ("FAIL", format!(" (exit code {})", step.exit_code)),
        Some(Status::TimedOut) => ("TIME", " (timed out)".to_owned()),
        Some(Status::Skipped) => ("skip", " (condition is false)".to_owned()),
        Some(Status::NotRun) => ("--  ", " (not run)".to_owned()),
    };
    let padding = " ".repeat(names - step.name.width());
    if matches!(step.status, Some(Status::Skipped | Status::NotRun)) {
        return format!("  {mark} {}{padding}  {}{remark}\n", step.name, " ".repeat(WIDTH)).replace("  \n", "\n");
    }
    let bar = bar(step.began, step.length, total);
    format!("  {mark} {}{padding}  {bar}  {}{remark}\n", step.name, text::duration(step.length))
}

/// A bar of `length` that begins at `began`, of a whole of `total`.
fn bar(began: Duration, length: Duration, total: Duration) -> String {
    let column = |time: Duration| {
        ((time.as_secs_f64() / total.as_secs_f64()) * WIDTH as f64).round().clamp(0.0, WIDTH as f64) as usize
    };
    let start = column(began).min(WIDTH - 1);
    let end = column(began + length).clamp(start + 1, WIDTH);
    format!("{}{}{}", "·".repeat(start), "━".repeat(end - start), "·".repeat(WIDTH - end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_their_share() {
        let check = |began, length, expect: &str| {
            let milliseconds = Duration::from_millis;
            assert_eq!(bar(milliseconds(began), milliseconds(length), milliseconds(320)), expect);
        };
        check(0, 320, "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━");
        check(0, 0, "━·······························");
        check(160, 80, "················━━━━━━━━········");
        check(320, 10, "·······························━");
    }
}
