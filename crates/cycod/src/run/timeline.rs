use std::time::Duration;

use cycod_engine::{RunReport, Status, StepReport};

use super::text;

/// How wide the bars are, in columns.
const WIDTH: usize = 32;

/// Draws when each step ran, one line each: nothing for a tool without steps of its own.
pub(crate) fn timeline(report: &RunReport) -> String {
    let total = report.duration.max(Duration::from_millis(1));
    let names = report.steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
    report.steps.iter().map(|step| line(step, names, total)).collect()
}

fn line(step: &StepReport, names: usize, total: Duration) -> String {
    let (mark, remark) = match step.status {
        Status::Ok if step.used_fallback => ("ok  ", " (fallback)".to_owned()),
        Status::Ok if step.attempts > 1 => ("ok  ", format!(" ({} attempts)", step.attempts)),
        Status::Ok => ("ok  ", String::new()),
        Status::Failed => ("FAIL", format!(" (exit code {})", step.exit_code)),
        Status::TimedOut => ("TIME", " (timed out)".to_owned()),
        Status::Skipped => ("skip", " (condition is false)".to_owned()),
        Status::NotRun => ("--  ", " (not run)".to_owned()),
    };
    let padding = " ".repeat(names - step.name.chars().count());
    if !step.has_run() {
        return format!("  {mark} {}{padding}  {}{remark}\n", step.name, " ".repeat(WIDTH)).replace("  \n", "\n");
    }
    let length = match (step.start_time, step.end_time) {
        (Some(start), Some(end)) => end.duration_since(start).unwrap_or(step.duration),
        _ => step.duration,
    };
    let bar = bar(step.began, length, total);
    format!("  {mark} {}{padding}  {bar}  {}{remark}\n", step.name, text::duration(length))
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
