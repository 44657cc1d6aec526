use std::{
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use cycod_call::Scripts;
use cycod_definition::{Cleanup, Produces};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::{Plan, PlannedStep, Secrets};
use cycod_policy::Approved;
use cycod_process::{Observer, Pool, Session, Stop};

use crate::{
    BuiltIns, Event, Files, Models, Remotes, RunReport, Sink, Status, StepPath, StepReport,
    files::named_in,
    mask::Secrets as Masker,
    results::Results,
    worker::{CLEANUP_LIMIT, Worker, clean_up, private_directory, warn},
    workers::Workers,
};

/// How many steps run at once at the most; more would only wait for processors and descriptors.
const MOST_AT_ONCE: usize = 64;

/// How many messages may wait for the dispatcher; then the writers wait.
const QUEUE: usize = 64;

/// What a run needs from outside the plan.
#[derive(Clone, Copy)]
pub struct Driver<'a> {
    /// Runs the transforms that are JavaScript, for tools that are called on the way.
    pub scripts: &'a (dyn Scripts + Sync),
    /// Where the values of secrets come from.
    pub secrets: &'a (dyn Secrets + Sync),
    /// Ends the run from outside.
    pub stop: &'a Stop,
    /// Whether a person sits at our terminal and can answer an interactive tool.
    pub is_attended: bool,
    /// The way to tools of other programs; without one, calling them is refused.
    pub remotes: Option<&'a dyn Remotes>,
    /// What asks language models for scripts; without it, asking them is refused.
    pub models: Option<&'a dyn Models>,
    /// What carries out built-in tools; without it, calling them is refused.
    pub built_ins: Option<&'a dyn BuiltIns>,
    /// What carries out functions in a language; without it, calling them is refused.
    pub workers: Option<&'a Workers>,
    /// Names the session of whoever calls: functions share their interpreter within it.
    pub worker_session: &'a str,
    /// The most bytes of each stream of a step to keep, below its own `buffer-limit`: for callers that take the bytes
    /// from the events. Steps that feed others keep what those need.
    pub keep: Option<u64>,
    /// Shells that are started before they are needed, for a program that makes many runs.
    pub pool: Option<&'a Pool>,
    /// Who learns what programs touch that are not confined.
    pub observer: Option<&'a Arc<dyn Observer>>,
}

/// What a worker tells the dispatcher.
enum Message {
    Event(Event<'static>),
    Ended(usize, Box<StepReport>),
}

/// Runs an approved plan to its end.
///
/// Nothing that it starts outlives it: processes that steps leave behind are ended before this returns.
#[expect(clippy::needless_pass_by_value, reason = "an approval is used up by the run it allows")]
pub fn run(approved: Approved<Plan>, driver: &Driver<'_>, sink: &mut dyn Sink) -> RunReport {
    let plan = match approved.subject().with_secrets(driver.secrets) {
        Ok(plan) => plan,
        Err(refusal) => return RunReport::refused(refusal, 1),
    };
    let began = Instant::now();
    let session = match Session::new() {
        Ok(session) => session,
        Err(error) => {
            return RunReport::refused(
                Refusal::new(Code::NotStarted, format!("cannot prepare to start processes: {error}")),
                1,
            );
        }
    };
    let sink = std::cell::RefCell::new(sink);
    let emit = |event: Event<'_>| sink.borrow_mut().event(&event);
    warn(&plan.warnings, &emit);
    let mut report = drive(&plan, driver, &session, None, began, began + plan.timeout, &emit);
    report.warnings.splice(0..0, plan.warnings.iter().cloned());
    let left = session.finish();
    let mut of_processes = Vec::new();
    if left.processes > 0 {
        of_processes
            .push(format!("ended {} left running in the background", plural(left.processes, "process", "processes")));
    }
    if left.survived > 0 {
        of_processes.push(format!("{} could not be ended", plural(left.survived, "process", "processes")));
    }
    warn(&of_processes, &emit);
    report.warnings.append(&mut of_processes);
    report.duration = began.elapsed();
    report
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Drives one tool's steps; the tools they call come back here through their workers.
pub(crate) fn drive(
    plan: &Plan,
    driver: &Driver<'_>,
    session: &Session,
    parent: Option<&StepPath>,
    began: Instant,
    deadline: Instant,
    emit: &dyn Fn(Event<'_>),
) -> RunReport {
    let mut warnings = Vec::new();
    if plan.tool().uses_temp
        && let Err(error) = private_directory(&plan.temp_directory)
    {
        let why = format!("cannot make the temporary directory `{}`: {error}", plan.temp_directory.display());
        return RunReport::refused(Refusal::new(Code::TempDirectory, why), 1);
    }
    let path =
        |step: &PlannedStep| parent.map_or_else(|| StepPath::root(&step.name), |parent| parent.child(&step.name));
    let worker =
        |step, results| Worker { plan, step, path: path(step), results, driver: *driver, session, began, deadline };
    let mut state = State::new(plan);

    if let [step] = plan.steps.as_slice()
        && step.condition.is_none()
    {
        // One step needs no thread and no queue.
        let report = worker(step, Results::default()).run(emit);
        state.ended(0, report, &path(step), emit);
    } else {
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel::<Message>(QUEUE);
            loop {
                while let Some(index) = state.next_ready(driver.stop, deadline, &path, emit) {
                    let worker = worker(&plan.steps[index], state.results.clone());
                    let sender: SyncSender<Message> = sender.clone();
                    scope.spawn(move || {
                        // The dispatcher listens until every worker has ended, so sending cannot fail.
                        let report = worker.run(&|event| drop(sender.send(Message::Event(event.into_owned()))));
                        drop(sender.send(Message::Ended(index, Box::new(report))));
                    });
                }
                if state.running == 0 {
                    break;
                }
                match receiver.recv() {
                    Ok(Message::Event(event)) => emit(event),
                    Ok(Message::Ended(index, report)) => {
                        state.running -= 1;
                        state.ended(index, *report, &path(&plan.steps[index]), emit);
                    }
                    Err(_) => break,
                }
            }
        });
    }

    state.mark_not_run(&path, emit);
    // The cleanup removes them.
    let is_asked_for = parent.is_none() && plan.tool().produces == Produces::Blocks;
    let output = last_run(state.results.0.iter().flatten().map(Arc::as_ref)).map(|last| last.output.as_slice());
    let mut files = output.filter(|_| is_asked_for).map(|output| named_in(output, plan)).unwrap_or_default();
    if !files.is_empty() {
        let secrets = Masker::with(plan, &state.results);
        files.values_mut().flatten().for_each(|bytes| *bytes = secrets.mask(std::mem::take(bytes)));
    }
    warnings.extend(clean(plan, driver, session, began, &state.results));
    warn(&warnings, emit);
    RunReport { files, ..state.into_report(driver.stop, warnings, began.elapsed()) }
}

/// The step whose output is the tool's: of those that ran, the one that ended last.
pub(crate) fn last_run<'s>(steps: impl DoubleEndedIterator<Item = &'s StepReport>) -> Option<&'s StepReport> {
    steps.rev().filter(|step| step.has_run()).max_by_key(|step| step.end_time)
}

/// What the dispatcher knows.
struct State<'a> {
    plan: &'a Plan,
    results: Results,
    started: Vec<bool>,
    running: usize,
    /// The step whose failure stopped the run.
    failure: Option<usize>,
}

impl<'a> State<'a> {
    fn new(plan: &'a Plan) -> Self {
        let count = plan.steps.len();
        Self { plan, results: Results(vec![None; count]), started: vec![false; count], running: 0, failure: None }
    }

    /// Picks the next step to start, settling on the way those whose condition is false.
    fn next_ready(
        &mut self,
        stop: &Stop,
        deadline: Instant,
        path: &dyn Fn(&PlannedStep) -> StepPath,
        emit: &dyn Fn(Event<'_>),
    ) -> Option<usize> {
        loop {
            if self.failure.is_some() || stop.is_raised() || Instant::now() >= deadline || self.running >= MOST_AT_ONCE
            {
                return None;
            }
            let is_ready = |index: &usize| {
                !self.started[*index]
                    && self.plan.steps[*index].after.iter().all(|&before| self.results.0[before].is_some())
            };
            let index = (0..self.plan.steps.len()).find(is_ready)?;
            self.started[index] = true;
            let step = &self.plan.steps[index];
            let condition =
                step.condition.as_ref().map(|(condition, _)| self.plan.call.condition(condition, &self.results));
            match condition {
                None | Some(Ok(true)) => {
                    self.running += 1;
                    return Some(index);
                }
                Some(Ok(false)) => self.ended(index, StepReport::new(&step.name, Status::Skipped), &path(step), emit),
                Some(Err(error)) => {
                    let mut report = StepReport::new(&step.name, Status::Failed);
                    report.exit_code = 1;
                    let why = format!("the condition of `{}` cannot be decided: {error}", step.name);
                    let refusal = Refusal::new(error.code(), why).place(&step.name);
                    report.refusal = Some(Masker::with(self.plan, &self.results).mask_refusal(refusal));
                    self.ended(index, report, &path(step), emit);
                }
            }
        }
    }

    fn ended(&mut self, index: usize, report: StepReport, path: &StepPath, emit: &dyn Fn(Event<'_>)) {
        self.started[index] = true;
        emit(Event::StepEnded {
            step: path.clone(),
            status: report.status,
            exit_code: report.exit_code,
            duration: report.duration,
        });
        if report.is_failure() && !self.plan.steps[index].continue_on_error && self.failure.is_none() {
            self.failure = Some(index);
        }
        self.results.0[index] = Some(Arc::new(report));
    }

    fn mark_not_run(&mut self, path: &dyn Fn(&PlannedStep) -> StepPath, emit: &dyn Fn(Event<'_>)) {
        for index in 0..self.plan.steps.len() {
            if self.results.0[index].is_none() {
                let step = &self.plan.steps[index];
                self.ended(index, StepReport::new(&step.name, Status::NotRun), &path(step), emit);
            }
        }
    }

    fn into_report(self, stop: &Stop, mut warnings: Vec<String>, duration: Duration) -> RunReport {
        let steps: Vec<StepReport> = self.results.0.into_iter().flatten().map(Arc::unwrap_or_clone).collect();
        let unfinished = steps.iter().any(|step| step.status == Status::NotRun);
        let failure = self.failure.map(|index| &steps[index]);
        let timed_out = failure.is_some_and(|step| step.status == Status::TimedOut)
            || (unfinished && failure.is_none() && !stop.is_raised());
        let refusal = failure.and_then(|step| step.refusal.clone()).or_else(|| {
            timed_out.then(|| {
                Refusal::new(Code::TimedOut, "the time of the run was over before every step had its turn")
                    .attempt(self.plan.more_time())
            })
        });
        let exit_code = match failure {
            Some(step) => step.exit_code,
            None if timed_out => -1,
            None if unfinished => 143,
            None => 0,
        };
        warnings.splice(0..0, steps.iter().flat_map(|step| step.warnings.iter().cloned()));
        let last = last_run(steps.iter());
        RunReport {
            success: exit_code == 0,
            exit_code,
            output: last.map(|step| step.output.clone()).unwrap_or_default(),
            error: last.map(|step| step.error.clone()).unwrap_or_default(),
            answer: last.and_then(|step| step.answer.clone()),
            files: Files::new(),
            transcript: transcript(&steps, self.plan.is_workflow),
            timed_out,
            cancelled: stop.is_raised(),
            truncated: steps.iter().any(|step| step.truncated),
            duration,
            refusal,
            warnings,
            steps,
        }
    }
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

/// Runs the cleanup, whatever happened before, with a limit of its own; returns what went wrong.
fn clean(plan: &Plan, driver: &Driver<'_>, session: &Session, began: Instant, results: &Results) -> Vec<String> {
    let mut warnings = Vec::new();
    let deadline = Instant::now() + CLEANUP_LIMIT;
    if let Ok(unraised) = Stop::new() {
        for command in plan.cleanup.iter().filter_map(|action| match action {
            Cleanup::Command(command) => Some(command),
            Cleanup::DeleteTempFiles => None,
        }) {
            let Some(text) = command.for_platform(plan.host().platform) else { continue };
            let bare = plan.cleanup_step(text);
            let worker = Worker {
                plan,
                step: &bare,
                path: StepPath::root("cleanup"),
                results: results.clone(),
                driver: *driver,
                session,
                began,
                deadline,
            };
            warnings.extend(clean_up(&worker, text, &unraised));
        }
    }
    match std::fs::remove_dir_all(&plan.temp_directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            warnings
                .push(format!("cannot remove the temporary directory `{}`: {error}", plan.temp_directory.display()));
        }
        _ => {}
    }
    warnings
}
