//! One tool of a run: its plan, what came of its steps, and its report when it is over.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_definition::{Cleanup, Level, OnLost, Produces};
use cycod_diagnostic::{Code, Exit, Refusal};
use cycod_flow::{self as flow, ScopeEnd, StepShape};
use cycod_plan::{Plan, PlannedStep};
use cycod_process::{Session, Stop};

use crate::{
    Driver, Files, RunReport, Status, StepPath, StepReport, UnreadFile,
    artifacts::{Collected, collect},
    failure::exit_code,
    files::named_in,
    mask::masked,
    own_files::private_directory,
    promise::{failed_unless_held, held_to_promise},
    report::last_run,
    results::Results,
    worker::{Attempt, CLEANUP_LIMIT, Called, UnderWay, Worker, clean_up},
};

/// What every step of a tool shares, wherever it is carried out.
pub(crate) struct Tool<'a> {
    pub(crate) plan: Cow<'a, Plan>,
    pub(crate) driver: Driver<'a>,
    pub(crate) session: &'a Session,
    /// The step that called it, or whose items it is.
    parent: Option<StepPath>,
    /// What its steps are.
    pub(crate) kind: Kind,
    /// When the run began.
    pub(crate) began: Instant,
    pub(crate) deadline: Instant,
}

/// What the steps of a scope are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Those of the tool that was asked for.
    Outermost,
    /// Those of a tool that a step calls.
    Called,
    /// The items of a step, of which so many may run at once.
    Items(usize),
}

/// What a flow has to know of the steps of a plan.
pub(crate) fn shapes(plan: &Plan) -> Vec<StepShape> {
    let shape = |(index, step): (usize, &PlannedStep)| StepShape {
        name: step.name.clone(),
        after: step.after.clone(),
        is_conditional: step.condition.is_some(),
        continue_on_error: step.continue_on_error,
        on_failure: step.on_failure,
        // With items, each of them is tried again by itself.
        retries: step.retry.filter(|_| step.each.is_none()).map_or(0, |retry| retry.attempts),
        has_fallback: step.fallback.is_some() && step.each.is_none(),
        on_lost: on_lost(plan, index),
        labels: step.runs_on.clone(),
    };
    plan.steps.iter().enumerate().map(shape).collect()
}

/// How many steps of a plan may run at once.
pub(crate) fn at_once(plan: &Plan) -> usize {
    plan.tool().max_parallel.unwrap_or(flow::AT_ONCE)
}

fn on_lost(plan: &Plan, step: usize) -> flow::LostPolicy {
    let step = &plan.steps[step];
    match step.on_lost {
        // What opens the items does nothing else.
        _ if step.each.is_some() => flow::LostPolicy::Retry,
        Some(OnLost::Retry) => flow::LostPolicy::Retry,
        Some(OnLost::Fail) => flow::LostPolicy::Fail,
        None if plan.level == Level::Read => flow::LostPolicy::Retry,
        Some(OnLost::Ask) | None => flow::LostPolicy::Ask,
    }
}

impl<'a> Tool<'a> {
    /// The outermost tool of a run.
    pub(crate) fn outermost(plan: Cow<'a, Plan>, driver: &Driver<'a>, session: &'a Session, began: Instant) -> Self {
        let deadline = began + plan.timeout;
        Self { plan, driver: *driver, session, parent: None, kind: Kind::Outermost, began, deadline }
    }

    /// The tool that a step of this one calls, or the items that it runs for.
    pub(crate) fn called(&self, step: usize, called: Called) -> Self {
        let step = &self.plan.steps[step];
        let kind = match (&called.items, &step.each) {
            (Some(_), Some(each)) => Kind::Items(each.max_parallel),
            _ => Kind::Called,
        };
        Self {
            plan: Cow::Owned(called.plan),
            kind,
            driver: Driver { keep: called.keep, ..self.driver },
            session: self.session,
            parent: Some(self.path(step)),
            began: self.began,
            deadline: called.deadline,
        }
    }

    pub(crate) fn path(&self, step: &PlannedStep) -> StepPath {
        self.parent.as_ref().map_or_else(|| StepPath::root(&step.name), |parent| parent.child(&step.name))
    }

    pub(crate) fn worker(&self, step: usize, results: Results) -> Worker<'_> {
        let step = &self.plan.steps[step];
        self.worker_of(step, self.path(step), results, self.deadline)
    }

    fn worker_of<'w>(
        &'w self,
        step: &'w PlannedStep,
        path: StepPath,
        results: Results,
        deadline: Instant,
    ) -> Worker<'w> {
        Worker { plan: &self.plan, step, path, results, driver: self.driver, session: self.session, deadline }
    }

    /// How many of its steps may be under way at once.
    pub(crate) fn at_once(&self) -> usize {
        match self.kind {
            Kind::Items(most) => most,
            Kind::Outermost | Kind::Called => at_once(&self.plan),
        }
    }

    /// What a flow has to know of its steps.
    pub(crate) fn shapes(&self) -> Vec<StepShape> {
        shapes(&self.plan)
    }

    /// What follows when a crash interrupts a step: what only reads may be done twice.
    pub(crate) fn on_lost(&self, step: usize) -> flow::LostPolicy {
        on_lost(&self.plan, step)
    }

    /// Makes what the steps expect to be there.
    pub(crate) fn prepare(&self) -> Result<(), Refusal> {
        if !self.plan.tool().uses_temp {
            return Ok(());
        }
        private_directory(&self.plan.temp_directory).map_err(|error| {
            let why = format!("cannot make the temporary directory `{}`: {error}", self.plan.temp_directory.display());
            Refusal::new(Code::TempDirectory, why)
        })
    }

    /// Runs the cleanup, whatever happened before, with a limit of its own.
    pub(crate) fn clean(&self, results: &Results) -> Cleaned {
        if matches!(self.kind, Kind::Items(_)) {
            return Cleaned::default();
        }
        let plan = &self.plan;
        // The cleanup removes the files that are asked for.
        let is_asked_for = self.kind == Kind::Outermost && plan.tool().produces == Produces::Blocks;
        let output = last_run(results.steps.iter().flatten().map(Arc::as_ref)).map(|last| last.raw_output.as_slice());
        let mut files = output.filter(|_| is_asked_for).map(|output| named_in(output, plan)).unwrap_or_default();
        if !files.is_empty() {
            let masks = results.masks(plan);
            let mask = |text: &str| masks.apply(text).into_owned();
            let file = |(name, read): (String, Result<Vec<u8>, UnreadFile>)| {
                let read = read.map(|bytes| masks.apply_bytes(&bytes).into_owned());
                (mask(&name), read.map_err(|unread| UnreadFile { name: mask(&unread.name), why: mask(&unread.why) }))
            };
            files = files.into_iter().map(file).collect();
        }
        let mut warnings = Vec::new();
        let artifacts = self.artifacts(results);
        let deadline = Instant::now() + CLEANUP_LIMIT;
        let commands: Vec<_> = plan
            .cleanup
            .iter()
            .filter_map(|action| match action {
                Cleanup::Command(command) => Some(command),
                Cleanup::DeleteTempFiles => None,
            })
            .collect();
        if !commands.is_empty()
            && let Ok(unraised) = Stop::new()
        {
            for command in commands {
                let Some(text) = command.for_platform(plan.host().platform) else { continue };
                let bare = plan.cleanup_step(text);
                let worker = self.worker_of(&bare, StepPath::root("cleanup"), results.clone(), deadline);
                warnings.extend(clean_up(&worker, text, &unraised));
            }
        }
        match std::fs::remove_dir_all(&plan.temp_directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let directory = plan.temp_directory.display();
                warnings.push(format!("cannot remove the temporary directory `{directory}`: {error}"));
            }
            _ => {}
        }
        Cleaned { warnings, files, artifacts, is_lost: false }
    }

    /// Keeps the artifacts of the run, unless it was cancelled.
    fn artifacts(&self, results: &Results) -> Collected {
        if self.kind != Kind::Outermost || !self.plan.keeps_files() || self.driver.stop.is_raised() {
            return Collected::default();
        }
        collect(&self.plan, results, self.driver.artifacts, Instant::now() + CLEANUP_LIMIT)
    }
}

/// What is left of a tool after its cleanup.
#[derive(Default)]
pub(crate) struct Cleaned {
    pub(crate) warnings: Vec<String>,
    /// The files that its output names.
    pub(crate) files: Files,
    /// The files that the run keeps.
    pub(crate) artifacts: Collected,
    /// Whether the machine that cleaned up is gone, and with it what came of that.
    pub(crate) is_lost: bool,
}

/// A tool of a run, and how far its steps are.
pub(crate) struct Scope<'a> {
    pub(crate) tool: Arc<Tool<'a>>,
    pub(crate) results: Results,
    pub(crate) under_way: Vec<Option<Box<UnderWay>>>,
    pub(crate) cleaned: Cleaned,
    pub(crate) opened: Instant,
    /// How many bytes of each stream its items have said so far.
    said: [u64; 2],
}

impl<'a> Scope<'a> {
    /// The steps of a tool, of which none has begun, and what is known before.
    pub(crate) fn new(tool: Tool<'a>, results: Results) -> Self {
        let count = tool.plan.steps.len();
        Self {
            tool: Arc::new(tool),
            results,
            under_way: std::iter::repeat_with(|| None).take(count).collect(),
            cleaned: Cleaned::default(),
            opened: Instant::now(),
            said: [0; 2],
        }
    }

    /// Evaluates the condition of a step; why it has no value is the step's result.
    pub(crate) fn decide(&mut self, step: usize) -> flow::ConditionResult {
        let (plan, planned) = (&self.tool.plan, &self.tool.plan.steps[step]);
        let decided =
            planned.condition.as_ref().map_or(Ok(true), |(condition, _)| plan.call.condition(condition, &self.results));
        match decided {
            Ok(true) => flow::ConditionResult::Run,
            Ok(false) => flow::ConditionResult::Skip,
            Err(error) => {
                let mut report = StepReport::new(&planned.name, Status::Failed);
                let why = format!("the condition of `{}` cannot be decided: {error}", planned.name);
                let refusal = Refusal::new(error.code(), why).place(&planned.name);
                report.exit_code = exit_code(&refusal);
                report.refusal = Some(masked(&self.results.masks(plan), refusal));
                self.under_way[step] = Some(Box::new(UnderWay::of(report)));
                flow::ConditionResult::Undecidable
            }
        }
    }

    /// Takes over the result of a step.
    pub(crate) fn settle(&mut self, step: usize, settled: flow::Settled) -> &StepReport {
        let name = &self.tool.plan.steps[step].name;
        let mut report = match (settled, self.under_way[step].take()) {
            (flow::Settled::Skipped, _) => StepReport::new(name, Status::Skipped),
            (_, None) => StepReport::new(name, Status::NotRun),
            (settled, Some(under_way)) => {
                let mut report = under_way.report;
                if let flow::Settled::CutShort(before) = settled {
                    self.tool.worker(step, Results::default()).cut_short(&mut report, before);
                }
                match settled {
                    flow::Settled::Done => report.status = Status::Ok,
                    flow::Settled::Lost => {
                        let why = format!("`{name}` was running when the run was interrupted");
                        report.exit_code = 1;
                        report.refusal = Some(Refusal::new(Code::StepLost, why).place(name));
                    }
                    _ => {}
                }
                if report.start_time.is_some() {
                    // Another machine may have said when it ended.
                    _ = report.end_time.get_or_insert_with(std::time::SystemTime::now);
                }
                report
            }
        };
        report.on_failure = self.tool.plan.steps[step].on_failure;
        if matches!(self.tool.kind, Kind::Items(_)) {
            self.keep_within_limit(step, &mut report);
        }
        self.results.steps[step].insert(Arc::new(report))
    }

    /// Cuts what an item said to what its step may still keep.
    fn keep_within_limit(&mut self, step: usize, report: &mut StepReport) {
        let limit = self.tool.plan.steps[step].output.buffer_limit;
        let [said_out, said_err] = &mut self.said;
        let streams = [
            (&mut report.output, &mut report.raw_output, said_out),
            (&mut report.error, &mut report.raw_error, said_err),
        ];
        for (shown, raw, said) in streams {
            let room = usize::try_from(limit - *said).unwrap_or(usize::MAX);
            if shown.len().max(raw.len()) > room {
                shown.truncate(room);
                raw.truncate(room);
                report.truncated = true;
            }
            *said = (*said + shown.len().max(raw.len()) as u64).min(limit);
        }
    }

    /// The report of the tool, which is over.
    pub(crate) fn report(&mut self, verdict: ScopeEnd) -> RunReport {
        let steps: Vec<StepReport> =
            std::mem::take(&mut self.results.steps).into_iter().flatten().map(Arc::unwrap_or_clone).collect();
        let is_items = matches!(self.tool.kind, Kind::Items(_));
        let failure = match verdict {
            ScopeEnd::Failed(step) => steps.get(step),
            // The others went on, and the step has failed all the same.
            ScopeEnd::Completed if is_items => steps.iter().find(|step| step.is_failure()),
            _ => None,
        };
        let timed_out = verdict == ScopeEnd::OutOfTime || failure.is_some_and(|step| step.status == Status::TimedOut);
        let refusal = failure.and_then(|step| step.refusal.clone()).or_else(|| {
            timed_out.then(|| {
                Refusal::new(Code::TimedOut, "the time of the run was over before every step had its turn")
                    .attempt(self.tool.plan.more_time())
            })
        });
        let is_too_large = is_items && failure.is_none() && steps.iter().any(|step| step.truncated);
        let refusal = match self.tool.plan.steps.first() {
            Some(step) if is_too_large && !step.output.truncation => {
                let (name, limit) = (step.known_as(), step.output.buffer_limit);
                let why = format!("the items of `{name}` wrote more than its `buffer-limit` of {limit} bytes");
                let refusal = Refusal::new(Code::OutputTooLarge, why).place(name);
                Some(refusal.attempt("raise `output.buffer-limit`, or set `output.truncation: true`"))
            }
            _ => refusal,
        };
        let exit_code = match (verdict, failure) {
            (ScopeEnd::Completed, None) if refusal.is_some() => refusal.as_ref().map_or(1, exit_code),
            (_, Some(step)) => step.exit_code,
            (ScopeEnd::OutOfTime, None) => Exit::TimedOut.in_result(),
            (ScopeEnd::Cancelled, None) => Exit::Stopped.in_result(),
            (ScopeEnd::Completed | ScopeEnd::Failed(_), None) => 0,
        };
        let Cleaned { warnings: mut of_cleanup, files, artifacts, .. } = std::mem::take(&mut self.cleaned);
        let (exit_code, refusal) = match artifacts.problem {
            Some(problem) if exit_code == 0 => (self::exit_code(&problem), Some(problem)),
            // A run that failed need not have made everything.
            Some(problem) if problem.code != Code::ArtifactMissing => {
                of_cleanup.push(problem.why);
                (exit_code, refusal)
            }
            _ => (exit_code, refusal),
        };
        let mut warnings: Vec<String> = steps.iter().flat_map(|step| step.warnings.iter().cloned()).collect();
        warnings.extend(of_cleanup);
        let last = last_run(steps.iter()).filter(|_| !is_items);
        let (output, error) = match is_items {
            true => (joined(&steps, |step| &step.output), joined(&steps, |step| &step.error)),
            false => last.map(|step| (step.output.clone(), step.error.clone())).unwrap_or_default(),
        };
        let report = RunReport {
            goes_on: false,
            success: exit_code == 0,
            exit_code,
            output,
            error,
            answer: last.and_then(|step| step.answer.clone()),
            value: None,
            files,
            artifacts: artifacts.kept,
            transcript: transcript(&steps, self.tool.plan.is_workflow),
            timed_out,
            cancelled: self.tool.driver.stop.is_raised(),
            truncated: steps.iter().any(|step| step.truncated),
            duration: self.run_time(),
            refusal,
            warnings,
            steps,
        };
        match self.tool.kind {
            Kind::Outermost => held_to_promise(&self.tool.plan, report),
            Kind::Called => failed_unless_held(&self.tool.plan, report, self.tool.driver.keep.is_none()),
            // Each item is held to the promise of what it calls.
            Kind::Items(_) => report,
        }
    }

    /// How long the tool has run: the outermost one since the start of the run.
    fn run_time(&self) -> Duration {
        if self.tool.kind == Kind::Outermost { self.tool.began.elapsed() } else { self.opened.elapsed() }
    }
}

impl StepReport {
    /// Takes over what came of the tool that the step called.
    pub(crate) fn record_called(
        &mut self,
        called: &Tool<'_>,
        ended: RunReport,
        duration: Duration,
        plan: &Plan,
    ) -> flow::AttemptOutcome {
        self.duration = duration;
        // What it made of a secret may be in what it says, which others read.
        self.keep_secret(&called.plan.call.secrets());
        ended.steps.iter().for_each(|step| self.keep_secret(&step.secrets));
        (self.raw_output, self.raw_error) = match (called.kind, last_run(ended.steps.iter())) {
            (Kind::Items(_), _) => {
                (joined(&ended.steps, |step| &step.raw_output), joined(&ended.steps, |step| &step.raw_error))
            }
            (_, Some(last)) => (last.raw_output.clone(), last.raw_error.clone()),
            (_, None) => (Vec::new(), Vec::new()),
        };
        self.output = ended.output;
        self.error = ended.error;
        self.truncated = ended.truncated;
        self.warnings = ended.warnings;
        self.steps = ended.steps;
        let status = match (ended.success, ended.timed_out) {
            (true, _) => Status::Ok,
            (false, true) => Status::TimedOut,
            (false, false) => Status::Failed,
        };
        self.record(Attempt::new(ended.exit_code, status, ended.refusal), plan)
    }
}

/// What the items of a step said, in their order, each from the start of a line.
fn joined(steps: &[StepReport], of: impl Fn(&StepReport) -> &Vec<u8>) -> Vec<u8> {
    let mut joined = Vec::new();
    for said in steps.iter().filter(|step| step.has_run()).map(of).filter(|said| !said.is_empty()) {
        if !joined.is_empty() && !joined.ends_with(b"\n") {
            joined.push(b'\n');
        }
        joined.extend_from_slice(said);
    }
    joined
}

/// Everything that was said, headed per step for a workflow.
fn transcript(steps: &[StepReport], is_headed: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for step in steps.iter().filter(|step| step.has_run()) {
        if is_headed {
            text.extend_from_slice(format!("--- {} ---\n", step.name).as_bytes());
        }
        for said in [&step.output, &step.error] {
            text.extend_from_slice(said);
            if is_headed && !said.is_empty() && !said.ends_with(b"\n") {
                text.push(b'\n');
            }
        }
    }
    text
}
