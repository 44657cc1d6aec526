//! Runs the tests that a tool brings, and compares what came of them with what was expected.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_call::{Call, Given, NoSteps, ResolveError, RunContext};
use cycod_definition::{Host, TestCase, Tool};
use cycod_diagnostic::{Exit, Refusal};
use cycod_plan::{Plan, PlanError};
use cycod_policy::{Nobody, Surface};
use cycod_run::{Ignore, RunReport};
use cycod_syntax::template::Template;

use crate::{Caller, Control, Engine, RunPlace, ToolAnswer};

/// The exit code of a call whose arguments do not fit.
const WRONG_ARGUMENTS: i32 = Exit::Usage.in_result();

/// Which of a tool's tests to run, and how.
#[derive(Clone, Debug, Default)]
pub struct TestOptions {
    /// Only the test of this name.
    pub only: Option<String>,
    /// Ends after the first failure.
    pub stop_on_failure: bool,
    /// Runs each test in a fresh directory.
    pub isolated: bool,
}

/// What the tests of one tool showed.
#[derive(Clone, Debug)]
pub struct TestReport {
    /// The tool.
    pub tool: String,
    /// Every test that was chosen, in source order.
    pub outcomes: Vec<TestOutcome>,
}

/// What one test showed.
#[derive(Clone, Debug)]
pub struct TestOutcome {
    /// The test.
    pub name: String,
    /// What it is about.
    pub description: Option<String>,
    /// Whether it holds.
    pub verdict: TestVerdict,
    /// How long the call and its cleanup took.
    pub duration: Duration,
    /// The run, when there was one.
    pub run: Option<RunReport>,
    /// What went wrong in the cleanup; it does not decide.
    pub warnings: Vec<String>,
}

/// Whether a test holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestVerdict {
    /// Everything expected came.
    Passed,
    /// What did not come.
    Failed(Vec<Mismatch>),
    /// Why it did not run.
    Skipped(String),
}

/// Something that was expected, and what came in its place; secrets in both are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What was expected.
    pub expected: String,
    /// What came.
    pub came: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, got {}", self.expected, self.came)
    }
}

impl TestReport {
    /// How many passed, failed and were skipped.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count =
            |wanted: fn(&TestVerdict) -> bool| self.outcomes.iter().filter(|outcome| wanted(&outcome.verdict)).count();
        (
            count(|verdict| *verdict == TestVerdict::Passed),
            count(|verdict| matches!(verdict, TestVerdict::Failed(_))),
            count(|verdict| matches!(verdict, TestVerdict::Skipped(_))),
        )
    }
}

impl Engine {
    /// Runs a tool's tests, one after the other.
    ///
    /// `finished` is called after each; a raised stop ends the series.
    pub fn test(
        &self,
        tool: &Arc<Tool>,
        options: &TestOptions,
        control: &Control,
        finished: &mut dyn FnMut(&TestOutcome),
    ) -> TestReport {
        let mut report = TestReport { tool: tool.name.to_string(), outcomes: Vec::new() };
        for case in tool.tests.iter().filter(|case| options.only.as_ref().is_none_or(|only| *only == case.name)) {
            let outcome = self.test_case(tool, case, options, control);
            finished(&outcome);
            let failed = matches!(outcome.verdict, TestVerdict::Failed(_));
            report.outcomes.push(outcome);
            if (failed && options.stop_on_failure) || control.stop.is_raised() {
                break;
            }
        }
        report
    }

    fn test_case(&self, tool: &Arc<Tool>, case: &TestCase, options: &TestOptions, control: &Control) -> TestOutcome {
        let began = Instant::now();
        let mut outcome = TestOutcome {
            name: case.name.clone(),
            description: case.description.clone(),
            verdict: TestVerdict::Passed,
            duration: Duration::ZERO,
            run: None,
            warnings: Vec::new(),
        };
        let platform = self.host().platform;
        if !case.platforms.is_empty() && !case.platforms.contains(&platform) {
            outcome.verdict = TestVerdict::Skipped(format!("not for {platform}"));
            return outcome;
        }
        let fresh = options.isolated.then(|| Fresh::make(&self.host().temp)).transpose();
        let host = match &fresh {
            Ok(None) => Arc::clone(self.host()),
            Ok(Some(fresh)) => {
                let directory = fresh.0.clone();
                Arc::new(Host {
                    working_directory: directory.clone(),
                    workspace: directory,
                    ..Host::clone(self.host())
                })
            }
            Err(error) => {
                outcome.verdict = no_run(format!("no fresh directory: {error}"));
                return outcome;
            }
        };
        match self.run_case(&host, tool, case, control) {
            Ok((report, failures, warnings)) => {
                outcome.warnings = warnings;
                outcome.run = Some(report);
                if !failures.is_empty() {
                    outcome.verdict = TestVerdict::Failed(failures);
                }
            }
            Err(why) => outcome.verdict = no_run(why),
        }
        outcome.duration = began.elapsed();
        outcome
    }

    /// The plan of a test's call, with the arguments that the person in it is taken to give.
    ///
    /// # Errors
    /// Why there is none.
    pub fn plan_of_test(&self, tool: &Arc<Tool>, case: &TestCase) -> Result<Plan, Refusal> {
        let run_id = crate::beginning::run_id();
        let unresolved = |error: ResolveError| Refusal::new(error.code(), error.to_string()).place(&case.name);
        let (_, arguments) = arguments_of(self.host(), tool, case, &run_id).map_err(unresolved)?;
        let planned = self.by_person(tool, arguments).map_err(PlanError::from);
        let plan = planned.and_then(|arguments| self.plan_on(self.host(), &run_id, tool, arguments, &[], None));
        plan.map_err(|error| error.into_refusal(tool.name.as_str()))
    }

    /// Runs the call of a test and checks what came out; the error says why there was no call.
    fn run_case(
        &self,
        host: &Arc<Host>,
        tool: &Arc<Tool>,
        case: &TestCase,
        control: &Control,
    ) -> Result<(RunReport, Vec<Mismatch>, Vec<String>), String> {
        let run_id = crate::beginning::run_id();
        let (outside, arguments) = arguments_of(host, tool, case, &run_id).map_err(|error| error.to_string())?;
        let planned = self.by_person(tool, arguments).map_err(PlanError::from);
        let plan = match planned.and_then(|arguments| self.plan_on(host, &run_id, tool, arguments, &[], None)) {
            Ok(plan) => plan,
            // A test may show that a wrong argument is turned away: the exit code is then that of `cycod run`.
            Err(error @ PlanError::Arguments(_)) if case.expected.exit_code == Some(WRONG_ARGUMENTS.into()) => {
                let refusal = error.into_refusal(tool.name.as_str());
                let failures = case.expected.output_contains.iter().filter_map(|template| {
                    let text = outside.text(template, &NoSteps).unwrap_or_default();
                    (!refusal.why.contains(&text))
                        .then(|| Mismatch { expected: format!("output with {text:?}"), came: refusal.why.clone() })
                });
                let failures = failures.collect();
                let report = RunReport { exit_code: WRONG_ARGUMENTS, ..RunReport::refused(refusal) };
                return Ok((report, failures, Vec::new()));
            }
            Err(error) => return Err(error.into_refusal(tool.name.as_str()).why),
        };
        let after = plan.clone();
        let approved = self.approve(plan, Surface::Person, &Nobody).map_err(|refusal| said(&refusal))?;
        let control = Control { caller: Some(self.person(Caller::TEST)), place: RunPlace::Here, ..control.clone() };
        let report = self.run(approved, &control, &mut Ignore);
        let failures = self.check(&after, case, &report);
        let warnings = self.clean_up_after(after, case);
        Ok((report, failures, warnings))
    }

    /// Compares what was expected with what came.
    fn check(&self, plan: &Plan, case: &TestCase, report: &RunReport) -> Vec<Mismatch> {
        let masks = plan.masks();
        let mut failures = Vec::new();
        let mut miss = |expected: String, came: String| {
            let mask = |text: String| masks.apply(&text).into_owned();
            failures.push(Mismatch { expected: mask(expected), came: mask(came) });
        };
        let expected = &case.expected;
        let wanted = expected.exit_code.unwrap_or(0);
        if i64::from(report.exit_code) != wanted || report.cancelled {
            miss(format!("exit code {wanted}"), ending(report));
        }
        if let Some(problem) = ToolAnswer::of(plan.tool(), report).problem.filter(|_| report.success) {
            miss("output as `produces` and `returns` promise it".to_owned(), problem.why);
        }
        let said = String::from_utf8_lossy(&report.transcript);
        let resolve = |template: &Template| plan.call.text(template, &NoSteps).map_err(|error| error.to_string());
        for template in &expected.output_contains {
            match resolve(template) {
                Ok(text) if said.contains(&text) => {}
                Ok(text) => miss(format!("output with {text:?}"), extent(&said)),
                Err(why) => miss("a text to look for".to_owned(), why),
            }
        }
        let any = &expected.output_contains_any;
        if !any.is_empty() {
            let commands = report.commands().join("\n");
            let (texts, wrong): (Vec<_>, Vec<_>) = any.iter().map(resolve).partition(Result::is_ok);
            let texts: Vec<String> = texts.into_iter().flatten().collect();
            wrong.into_iter().filter_map(Result::err).for_each(|why| miss("a text to look for".to_owned(), why));
            if !texts.iter().any(|text| said.contains(text.as_str()) || commands.contains(text.as_str())) {
                let listed: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
                miss(format!("output or a command with one of {}", listed.join(", ")), extent(&said));
            }
        }
        for (templates, kind) in [(&expected.file_exists, "file"), (&expected.directory_exists, "directory")] {
            for template in templates {
                match plan.path(template, &NoSteps) {
                    Ok(path) => {
                        let whole = plan.working_directory.join(&path);
                        let is_there = if kind == "file" { whole.is_file() } else { whole.is_dir() };
                        if !is_there {
                            let came = if whole.is_dir() {
                                "a directory"
                            } else if whole.exists() {
                                "something else"
                            } else {
                                "nothing there"
                            };
                            miss(format!("{kind} `{path}`"), came.to_owned());
                        }
                    }
                    Err(error) => miss(format!("a {kind} to look for"), error.to_string()),
                }
            }
        }
        failures
    }

    /// Runs a test's cleanup commands where the tool ran, one after the other whatever happens.
    fn clean_up_after(&self, mut plan: Plan, case: &TestCase) -> Vec<String> {
        let texts = case.cleanup.iter().filter_map(|command| command.for_platform(self.host().platform));
        plan.run_id = crate::beginning::run_id();
        plan.cleanup = Vec::new();
        plan.is_workflow = true;
        plan.timeout = Duration::from_secs(10);
        plan.steps = texts
            .enumerate()
            .map(|(index, text)| {
                let mut step = plan.cleanup_step(text);
                step.name = format!("cleanup-{}", index + 1);
                step.after = index.checked_sub(1).into_iter().collect();
                step.continue_on_error = true;
                step
            })
            .collect();
        if plan.steps.is_empty() {
            return Vec::new();
        }
        let (Ok(control), Ok(approved)) = (self.control(), self.approve(plan, Surface::Person, &Nobody)) else {
            return vec!["the cleanup could not be started".to_owned()];
        };
        let control = Control { caller: Some(self.person(Caller::TEST)), place: RunPlace::Here, ..control };
        let report = self.run(approved, &control, &mut Ignore);
        let failed = report.steps.iter().filter(|step| step.is_failure() || !step.has_run());
        failed
            .map(|step| {
                let command = step.commands.first().map_or(step.name.as_str(), String::as_str);
                match &step.refusal {
                    Some(refusal) => format!("cleanup `{command}`: {}", refusal.why),
                    None => format!("cleanup `{command}` ended with exit code {}", step.exit_code),
                }
            })
            .collect()
    }
}

/// The arguments of a test, with what they are resolved by: they may lie below the directory that the run is going to have.
fn arguments_of(
    host: &Arc<Host>,
    tool: &Arc<Tool>,
    case: &TestCase,
    run_id: &str,
) -> Result<(Call, Vec<(String, Given)>), ResolveError> {
    let run = RunContext { temp: Plan::temp_directory_of(host, run_id), tool_name: tool.name.to_string() };
    let outside = Call::without_arguments(Arc::clone(tool), Arc::clone(host), run);
    let argument =
        |(name, literal): &(String, _)| Ok((name.clone(), Given::Value(outside.literal(literal, &NoSteps)?)));
    let arguments = case.parameters.iter().map(argument).collect::<Result<Vec<_>, ResolveError>>()?;
    Ok((outside, arguments))
}

/// How a run ended, for somebody who expected another end.
fn ending(report: &RunReport) -> String {
    let code = format!("exit code {}", report.exit_code);
    match &report.refusal {
        _ if report.cancelled => format!("{code}, stopped from outside"),
        Some(refusal) => format!("{code} ({})", refusal.why),
        None if report.timed_out => format!("{code}, a limit of time"),
        None => code,
    }
}

/// How much was said in vain.
fn extent(text: &str) -> String {
    match text.lines().count() {
        0 => "no output".to_owned(),
        1 => "one line without it".to_owned(),
        lines => format!("{lines} lines without it"),
    }
}

fn no_run(why: String) -> TestVerdict {
    TestVerdict::Failed(vec![Mismatch { expected: "a run".to_owned(), came: why }])
}

fn said(refusal: &cycod_diagnostic::Refusal) -> String {
    match &refusal.attempt {
        Some(attempt) => format!("{}; try: {attempt}", refusal.why),
        None => refusal.why.clone(),
    }
}

/// A directory of one test, removed with everything in it.
struct Fresh(PathBuf);

impl Fresh {
    fn make(below: &Path) -> std::io::Result<Self> {
        let path = below.join(format!("cycod-test-{}", crate::beginning::run_id()));
        fs::create_dir_all(&path)?;
        path.canonicalize().map(Self)
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning of its temporary directory.
        drop(fs::remove_dir_all(&self.0));
    }
}
