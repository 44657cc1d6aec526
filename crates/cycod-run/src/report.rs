//! What came of a run and of each of its steps.

use std::time::{Duration, SystemTime};

use cycod_diagnostic::{Exit, Refusal};
use serde_json::Value as Json;

use crate::{Artifact, Files, ToolOutcome};

/// How a run ended, for every surface.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Whether the tool did what it was asked to.
    pub success: bool,
    /// Its exit code: the first failure's, else 0; -1 after a timeout.
    pub exit_code: i32,
    /// The standard output of the last step that ran.
    pub output: Vec<u8>,
    /// The standard error of the last step that ran.
    pub error: Vec<u8>,
    /// The answer of a tool of another program, with more than its text.
    pub answer: Option<Box<ToolOutcome>>,
    /// What it gives back, for a tool that promises JSON: held to that promise as it was said, and then without secrets. Of
    /// one that broke it, how.
    pub value: Option<Result<Json, Refusal>>,
    /// The files that the output's content blocks name, for a tool that `produces` such.
    pub files: Files,
    /// The files that it keeps.
    pub artifacts: Vec<Artifact>,
    /// Everything that was said, headed per step for a workflow.
    pub transcript: Vec<u8>,
    /// Whether a limit of time ended it.
    pub timed_out: bool,
    /// Whether it was stopped from outside.
    pub cancelled: bool,
    /// Whether output was cut.
    pub truncated: bool,
    /// From start to end.
    pub duration: Duration,
    /// Every step, in source order.
    pub steps: Vec<StepReport>,
    /// Present when the run was not a plain exit.
    pub refusal: Option<Refusal>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// Whether the run goes on on other machines, and is only no longer followed.
    pub goes_on: bool,
}

/// How a step ended.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// Its name.
    pub name: String,
    /// In one word.
    pub status: Status,
    /// Its exit code; -1 after a timeout, 128 and the number for a signal, 127 for a missing program.
    pub exit_code: i32,
    /// What it wrote to standard output, masked.
    pub output: Vec<u8>,
    /// What it wrote to standard error, masked.
    pub error: Vec<u8>,
    /// The last attempt, fallback included.
    pub duration: Duration,
    /// How often it was started.
    pub attempts: u32,
    /// Whether the result is the fallback's.
    pub used_fallback: bool,
    /// The run whose result it is, where the step did not run because that was stored.
    pub cached_from: Option<String>,
    /// Whether output was cut.
    pub truncated: bool,
    /// What was executed, masked; one for each attempt that differed.
    pub commands: Vec<String>,
    /// When it began, from the start of the run.
    pub began: Duration,
    /// When it began, by the clock.
    pub start_time: Option<SystemTime>,
    /// When it ended, by the clock.
    pub end_time: Option<SystemTime>,
    /// Present when it was not a plain exit.
    pub refusal: Option<Refusal>,
    /// The answer of a tool of another program, with more than its text.
    pub answer: Option<Box<ToolOutcome>>,
    /// The steps of the tool it called.
    pub steps: Vec<StepReport>,
    /// Whether it was to run only after a failure: its output is not the tool's.
    pub(crate) on_failure: bool,
    /// What it wrote, byte for byte, for the steps that use it.
    pub(crate) raw_output: Vec<u8>,
    /// The same for standard error.
    pub(crate) raw_error: Vec<u8>,
    /// What it answered in a value, as it was said.
    pub(crate) raw_value: Option<Json>,
    /// What it may have said that must never be shown.
    pub(crate) secrets: Vec<String>,
    /// Warnings to carry into the run's.
    pub(crate) warnings: Vec<String>,
}

/// The end of a step in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Ended well.
    Ok,
    /// Ended badly, or did not start.
    Failed,
    /// Its condition was false.
    Skipped,
    /// Ended by a limit of time.
    TimedOut,
    /// The run ended before its turn.
    NotRun,
}

impl Status {
    const ALL: [Self; 5] = [Self::Ok, Self::Failed, Self::Skipped, Self::TimedOut, Self::NotRun];

    /// The status of that [name](Self::name).
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// The word used in templates and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::TimedOut => "timed-out",
            Self::NotRun => "not-run",
        }
    }
}

impl StepReport {
    /// A step of which nothing is known but how it ended.
    pub fn new(name: &str, status: Status) -> Self {
        Self {
            name: name.to_owned(),
            status,
            exit_code: 0,
            output: Vec::new(),
            error: Vec::new(),
            duration: Duration::ZERO,
            attempts: 0,
            used_fallback: false,
            cached_from: None,
            truncated: false,
            commands: Vec::new(),
            began: Duration::ZERO,
            start_time: None,
            end_time: None,
            refusal: None,
            answer: None,
            steps: Vec::new(),
            on_failure: false,
            raw_output: Vec::new(),
            raw_error: Vec::new(),
            raw_value: None,
            secrets: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Whether it ran and ended badly.
    pub fn is_failure(&self) -> bool {
        matches!(self.status, Status::Failed | Status::TimedOut)
    }

    /// Whether it ran at all.
    pub fn has_run(&self) -> bool {
        !matches!(self.status, Status::Skipped | Status::NotRun)
    }
}

impl RunReport {
    /// The report of a call that was refused before anything ran.
    pub fn refused(refusal: Refusal) -> Self {
        let exit = refusal.code.exit();
        Self {
            timed_out: exit == Exit::TimedOut,
            cancelled: exit == Exit::Stopped,
            refusal: Some(refusal),
            ..Self::without_run(exit.in_result())
        }
    }

    /// The report of nothing.
    pub fn without_run(exit_code: i32) -> Self {
        Self {
            success: false,
            exit_code,
            output: Vec::new(),
            error: Vec::new(),
            answer: None,
            value: None,
            files: Files::new(),
            artifacts: Vec::new(),
            transcript: Vec::new(),
            timed_out: false,
            cancelled: false,
            truncated: false,
            duration: Duration::ZERO,
            steps: Vec::new(),
            refusal: None,
            warnings: Vec::new(),
            goes_on: false,
        }
    }

    /// The report of a call that is answered without a run.
    pub fn answered(outcome: ToolOutcome) -> Self {
        Self {
            success: !outcome.is_error,
            output: outcome.output.clone(),
            answer: Some(Box::new(outcome)),
            ..Self::without_run(0)
        }
    }

    /// The steps that did not run because their results were stored, those of called tools behind the names of their callers.
    pub fn cached_steps(&self) -> Vec<String> {
        fn collect(steps: &[StepReport], above: &str, into: &mut Vec<String>) {
            for step in steps {
                let name = format!("{above}{}", step.name);
                collect(&step.steps, &format!("{name}/"), into);
                if step.cached_from.is_some() {
                    into.push(name);
                }
            }
        }
        let mut cached = Vec::new();
        collect(&self.steps, "", &mut cached);
        cached
    }

    /// Every command that was executed, nested ones included, masked.
    pub fn commands(&self) -> Vec<&str> {
        fn collect<'a>(steps: &'a [StepReport], into: &mut Vec<&'a str>) {
            for step in steps {
                into.extend(step.commands.iter().map(String::as_str));
                collect(&step.steps, into);
            }
        }
        let mut commands = Vec::new();
        collect(&self.steps, &mut commands);
        commands
    }
}

/// The step whose output is the tool's: of those that ran, the one that ended last.
pub(crate) fn last_run<'s>(steps: impl DoubleEndedIterator<Item = &'s StepReport>) -> Option<&'s StepReport> {
    steps.rev().filter(|step| step.has_run() && !step.on_failure).max_by_key(|step| step.end_time)
}

#[cfg(test)]
mod tests {
    use cycod_diagnostic::{Code, Refusal};

    use super::RunReport;

    #[test]
    fn a_refused_call_ends_as_its_code_says() {
        let check = |code, expected: (i32, bool, bool)| {
            let report = RunReport::refused(Refusal::new(code, "no"));
            assert_eq!((report.exit_code, report.timed_out, report.cancelled), expected, "{code}");
            assert!(!report.success);
        };
        check(Code::UnknownTool, (1, false, false));
        check(Code::InvalidArgument, (2, false, false));
        check(Code::ToolChanged, (3, false, false));
        check(Code::NotStarted, (126, false, false));
        check(Code::TimedOut, (-1, true, false));
        check(Code::Cancelled, (143, false, true));
    }
}
