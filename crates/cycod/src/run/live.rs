use std::{collections::HashMap, time::Duration};

use cycod_engine::{Event, Status, StepPath, diagnostic::visible};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::text;

/// Running steps on a terminal: a line each with the time they took so far and the last thing they said.
///
/// Nothing that is shown drives the terminal, whoever says it.
#[derive(Debug)]
pub(crate) struct Live {
    lines: MultiProgress,
    running: HashMap<(Run, StepPath), ProgressBar>,
    waiting: Option<ProgressBar>,
}

/// Which of the runs that are shown together; the empty one, where there is but one.
type Run = String;

impl Live {
    pub(crate) fn new() -> Self {
        Self { lines: MultiProgress::new(), running: HashMap::new(), waiting: None }
    }

    /// Shows what happens in the one run.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        self.event_of("", event);
    }

    /// Shows what happens in one of several runs.
    pub(crate) fn event_of(&mut self, run: &str, event: &Event<'_>) {
        let key = |step: &StepPath| (run.to_owned(), step.clone());
        match event {
            Event::StepStarted { step, attempt, command } => {
                let line = self.running.entry(key(step)).or_insert_with(|| new_line(&self.lines, &named(run, step)));
                let again = if *attempt > 1 { format!("(attempt {attempt}) ") } else { String::new() };
                line.set_message(text::shortened(&format!("{again}$ {}", text::first_line(command)), 100));
            }
            Event::Output { step, bytes, .. } => {
                if let (Some(line), Some(said)) = (self.running.get(&key(step)), text::last_line(bytes)) {
                    line.set_message(text::shortened(&said, 100));
                }
            }
            Event::Progress { step, done, total, message } => {
                if let Some(line) = self.running.get(&key(step)) {
                    let said = text::progress(*done, *total, message.as_deref());
                    line.set_message(text::shortened(&text::without_escapes(&said), 100));
                }
            }
            Event::Log { step, level, message } => self.say(&format!("[{}] {level}: {message}", named(run, step))),
            Event::Retrying { step, exit_code, pause } => {
                if let Some(line) = self.running.get(&key(step)) {
                    line.set_message(format!(
                        "failed with exit code {exit_code}, trying again in {}",
                        text::duration(*pause)
                    ));
                }
            }
            Event::FallingBack { step } => {
                if let Some(line) = self.running.get(&key(step)) {
                    line.set_message("falling back");
                }
            }
            Event::StepEnded { step, status, exit_code, duration } => {
                if let Some(line) = self.running.remove(&key(step)) {
                    line.finish_and_clear();
                }
                // Who calls several tools says by itself how each of them ended.
                if *status != Status::NotRun && !is_all_of(run, step) {
                    self.say(&ended(step, *status, *exit_code, *duration));
                }
            }
            Event::Warning(warning) => self.say(&format!("warning: {warning}")),
        }
    }

    /// Writes a line above the running ones.
    pub(crate) fn say(&self, line: &str) {
        // A terminal that has gone away has nobody to tell.
        drop(self.lines.println(visible(line)));
    }

    /// Shows that somebody is waited for, and how long, until [`Live::waited`].
    pub(crate) fn wait(&mut self, whom: &str) {
        self.waited();
        self.waiting = Some(new_line(&self.lines, &visible(whom)));
    }

    /// Shows that nobody is waited for any more.
    pub(crate) fn waited(&mut self) {
        if let Some(line) = self.waiting.take() {
            line.finish_and_clear();
        }
    }

    /// Writes something else while the running lines stand aside.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        self.lines.suspend(write);
    }
}

/// What a step is called among those of several runs.
pub(super) fn named(run: &str, step: &StepPath) -> String {
    let name = match run {
        "" => step.to_string(),
        run if is_all_of(run, step) => run.to_owned(),
        run => format!("{run}/{step}"),
    };
    visible(&name).into_owned()
}

/// Whether a step is all there is of a run, which is called as its tool, or as its tool with a number: `git#2`.
pub(super) fn is_all_of(run: &str, step: &StepPath) -> bool {
    run.split_once('#').map_or(run, |(tool, _)| tool) == step.as_str()
}

fn new_line(lines: &MultiProgress, what: &str) -> ProgressBar {
    // Among the lines first: one that draws by itself would leave a copy behind.
    let line = lines.add(ProgressBar::no_length());
    if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix}  {elapsed}  {wide_msg}") {
        line.set_style(style);
    }
    line.set_prefix(what.to_owned());
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
