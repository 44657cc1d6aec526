use std::{collections::HashMap, time::Duration};

use cycod_engine::{Event, Status, StepPath};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::text;

/// Running steps on a terminal: a line each with the time they took so far and the last thing they said.
#[derive(Debug)]
pub(crate) struct Live {
    lines: MultiProgress,
    running: HashMap<StepPath, ProgressBar>,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self { lines: MultiProgress::new(), running: HashMap::new() }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::StepStarted { step, attempt, command } => {
                let line = self.running.entry(step.clone()).or_insert_with(|| new_line(&self.lines, step));
                let again = if *attempt > 1 { format!("(attempt {attempt}) ") } else { String::new() };
                line.set_message(text::shortened(&format!("{again}$ {}", text::first_line(command)), 100));
            }
            Event::Output { step, bytes, .. } => {
                if let (Some(line), Some(said)) = (self.running.get(step), text::last_line(bytes)) {
                    line.set_message(text::shortened(&said, 100));
                }
            }
            Event::Progress { step, done, total, message } => {
                if let Some(line) = self.running.get(step) {
                    line.set_message(text::shortened(&text::progress(*done, *total, message.as_deref()), 100));
                }
            }
            Event::Log { step, level, message } => self.say(&format!("[{step}] {level}: {message}")),
            Event::Retrying { step, exit_code, pause } => {
                if let Some(line) = self.running.get(step) {
                    line.set_message(format!(
                        "failed with exit code {exit_code}, trying again in {}",
                        text::duration(*pause)
                    ));
                }
            }
            Event::FallingBack { step } => {
                if let Some(line) = self.running.get(step) {
                    line.set_message("falling back");
                }
            }
            Event::StepEnded { step, status, exit_code, duration } => {
                if let Some(line) = self.running.remove(step) {
                    line.finish_and_clear();
                }
                if *status != Status::NotRun {
                    self.say(&ended(step, *status, *exit_code, *duration));
                }
            }
            Event::Warning(warning) => self.say(&format!("warning: {warning}")),
        }
    }

    /// Writes a line above the running ones.
    pub(crate) fn say(&self, line: &str) {
        // A terminal that has gone away has nobody to tell.
        drop(self.lines.println(line));
    }

    /// Writes something else while the running lines stand aside.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        self.lines.suspend(write);
    }
}

fn new_line(lines: &MultiProgress, step: &StepPath) -> ProgressBar {
    // Among the lines first: one that draws by itself would leave a copy behind.
    let line = lines.add(ProgressBar::no_length());
    if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix}  {elapsed}  {wide_msg}") {
        line.set_style(style);
    }
    line.set_prefix(step.to_string());
    line.enable_steady_tick(Duration::from_millis(100));
    line
}

/// The line that stays when a step has ended.
pub(crate) fn ended(step: &StepPath, status: Status, exit_code: i32, duration: Duration) -> String {
    let took = text::duration(duration);
    match status {
        Status::Ok => format!("  ok   {step}  {took}"),
        Status::Failed => format!("  FAIL {step}  {took}  exit code {exit_code}"),
        Status::TimedOut => format!("  TIME {step}  {took}  timed out"),
        Status::Skipped => format!("  skip {step}"),
        Status::NotRun => format!("  --   {step}  not run"),
    }
}
