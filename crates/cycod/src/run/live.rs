//! The lines of a run that change while it is under way.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use cycod_engine::{
    Event, Status, StepPath,
    diagnostic::{self, Shown, shown, visible},
};

use super::{text, timeline::Mark};
use crate::printer::{Lines, Place, RunningLine, paint, talk_size};

/// Running steps on a terminal: a line each with the time they took so far and the last thing they said.
#[derive(Debug)]
pub(crate) struct Live {
    lines: Lines,
    running: HashMap<(Run, StepPath), RunningLine>,
    waiting: Option<RunningLine>,
    list: Option<List>,
}

/// The steps of one run that have ended, above those that run, and how many there are in all, below them.
#[derive(Debug)]
struct List {
    ended: VecDeque<RunningLine>,
    counter: RunningLine,
    done: usize,
    total: usize,
    colour: bool,
}

/// How many steps that have ended stay above those that run.
const MOST_ENDED: usize = 12;

/// Which of the runs that are shown together; the empty one, where there is but one.
type Run = String;

impl Live {
    pub(crate) fn new() -> Self {
        Self { lines: Lines::new(), running: HashMap::new(), waiting: None, list: None }
    }

    /// Shows one run of so many steps. What has ended goes away with [`Live::end`], because a list of all steps follows.
    pub(crate) fn of_steps(total: usize, colour: bool) -> Self {
        let live = Self::new();
        let counter = live.lines.count(&counted(0, total));
        let list = List { ended: VecDeque::new(), counter, done: 0, total, colour };
        Self { list: Some(list), ..live }
    }

    /// Takes all lines away.
    pub(crate) fn end(mut self) {
        self.waited();
        self.running.drain().for_each(|(_, line)| line.end());
        if let Some(list) = self.list.take() {
            list.ended.into_iter().for_each(RunningLine::end);
            list.counter.end();
        }
    }

    /// Adds the line of a step that begins.
    fn begin(&self, run: &str, step: &StepPath) -> RunningLine {
        let place = if self.list.is_some() { Place::AboveLast } else { Place::Last };
        self.lines.add(&name_that_fits(&named(run, step)), place)
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
                if !self.running.contains_key(&key(step)) {
                    let line = self.begin(run, step);
                    self.running.insert(key(step), line);
                }
                let Some(line) = self.running.get(&key(step)) else { return };
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
            Event::Cached { step, run } => {
                if let Some(line) = self.running.get(&key(step)) {
                    line.set(&text::cached(run));
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
                if let Some(list) = &mut self.list {
                    list.ended(&self.lines, step, *status, *exit_code, *duration);
                    return;
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
        self.waiting = Some(self.lines.add(whom, Place::Last));
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

impl List {
    fn ended(&mut self, lines: &Lines, step: &StepPath, status: Status, exit_code: i32, duration: Duration) {
        if step.depth() == 0 {
            self.done += 1;
            self.counter.rename(&counted(self.done, self.total));
        }
        if status == Status::NotRun {
            return;
        }
        let (mark, rest) = ended_parts(step, status, exit_code, duration);
        let mark = shown!["  ", paint(self.colour, mark.style(), mark.word())];
        self.ended.push_back(lines.keep(self.ended.len(), (mark, MARK), &rest));
        let most = talk_size().map_or(MOST_ENDED, |(_, rows)| MOST_ENDED.min(rows / 2));
        if self.ended.len() > most
            && let Some(first) = self.ended.pop_front()
        {
            first.end();
        }
    }
}

/// How many columns stand before the name of a step that has ended.
const MARK: usize = 6;

/// How far a run is.
fn counted(done: usize, total: usize) -> String {
    format!("{done} of {}", diagnostic::counted(total, "step"))
}

/// A name that leaves room for what its step says.
fn name_that_fits(name: &str) -> String {
    let columns = talk_size().map_or(80, |(columns, _)| columns);
    text::fitted(name, (columns / 2).max(8))
}

/// The line that stays when a step has ended.
pub(crate) fn ended(step: &StepPath, status: Status, exit_code: i32, duration: Duration) -> String {
    let (mark, rest) = ended_parts(step, status, exit_code, duration);
    format!("  {}{rest}", mark.word())
}

/// What stands at the beginning of that line, and the rest of it.
fn ended_parts(step: &StepPath, status: Status, exit_code: i32, duration: Duration) -> (Mark, String) {
    let took = text::duration(duration);
    let rest = match status {
        Status::Ok => format!(" {step}  {took}"),
        Status::Failed => format!(" {step}  {took}  exit code {exit_code}"),
        Status::TimedOut => format!(" {step}  {took}  timed out"),
        Status::Skipped => format!(" {step}"),
        Status::NotRun => format!(" {step}  not run"),
    };
    (Mark::of(Some(status)), rest)
}
