use std::{collections::HashMap, time::Duration};

use cycod_engine::{
    Event, Status, StepPath,
    diagnostic::{Shown, visible},
};

use super::text;
use crate::printer::{Lines, RunningLine};

/// Running steps on a terminal: a line each with the time they took so far and the last thing they said.
#[derive(Debug)]
pub(crate) struct Live {
    lines: Lines,
    running: HashMap<(Run, StepPath), RunningLine>,
    waiting: Option<RunningLine>,
}

/// Which of the runs that are shown together; the empty one, where there is but one.
type Run = String;

impl Live {
    pub(crate) fn new() -> Self {
        Self { lines: Lines::new(), running: HashMap::new(), waiting: None }
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
                let line = self.running.entry(key(step)).or_insert_with(|| self.lines.add(&named(run, step)));
                let again = if *attempt > 1 { format!("(attempt {attempt}) ") } else { String::new() };
                line.set(&text::shortened(&format!("{again}$ {}", text::first_line(command)), 100));
            }
            Event::Output { step, bytes, .. } => {
                if let (Some(line), Some(said)) = (self.running.get(&key(step)), text::last_line(bytes)) {
                    line.set(&text::shortened(&said, 100));
                }
            }
            Event::Progress { step, done, total, message } => {
                if let Some(line) = self.running.get(&key(step)) {
                    let said = text::progress(*done, *total, message.as_deref());
                    line.set(&text::shortened(&said, 100));
                }
            }
            Event::Log { step, level, message } => self.say(&format!("[{}] {level}: {message}", named(run, step))),
            Event::Retrying { step, exit_code, pause } => {
                if let Some(line) = self.running.get(&key(step)) {
                    line.set(&format!("failed with exit code {exit_code}, trying again in {}", text::duration(*pause)));
                }
            }
            Event::FallingBack { step } => {
                if let Some(line) = self.running.get(&key(step)) {
                    line.set("falling back");
                }
            }
            Event::StepEnded { step, status, exit_code, duration } => {
                if let Some(line) = self.running.remove(&key(step)) {
                    line.end();
                }
                // Who calls several tools says by itself how each of them ended.
                if *status != Status::NotRun && !is_all_of(run, step) {
                    self.say(&ended(step, *status, *exit_code, *duration));
                }
            }
            Event::Quiet => {}
            Event::Warning(warning) => self.say(&format!("warning: {warning}")),
        }
    }

    /// Writes a line above the running ones.
    pub(crate) fn say(&self, line: impl Into<Shown>) {
        self.lines.say(line.into().hanging(2));
    }

    /// Shows that somebody is waited for, and how long, until [`Live::waited`].
    pub(crate) fn wait(&mut self, whom: &str) {
        self.waited();
        self.waiting = Some(self.lines.add(whom));
    }

    /// Shows that nobody is waited for any more.
    pub(crate) fn waited(&mut self) {
        if let Some(line) = self.waiting.take() {
            line.end();
        }
    }

    /// Writes something else while the running lines stand aside.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        self.lines.aside(write);
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
