//! Carries out one attempt of one step: starts what it runs, follows it, and reports how it ended.

use std::{
    borrow::Cow,
    cell::Cell,
    fs,
    io::Write,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use cycod_call::TransformRunner;
use cycod_definition::{
    Body, Cleanup, CommandText, ForEach, OutputMode, RemoteTool, Step, StreamTarget, ToolUse, Value,
};
use cycod_diagnostic::{Code, Exit, Refusal};
use cycod_file::create_plain;
use cycod_flow as flow;
use cycod_mask::{Masks, StreamMask};
use cycod_plan::{Plan, PlannedAction, PlannedStep, Prepared};
use cycod_process::{EndedProcess, Ending, Input, ProcessLimits, Session, StartError, Stop, Stream, Terminal};
use cycod_syntax::template::{Reference, StepAttribute, Template};

use crate::{
    BuiltInCall, CacheUse, Driver, Event, Models, QUIET, RemoteCall, RemoteNews, Status, StepPath, StepReport,
    StepResult, ToolOutcome,
    answering::{Activity, Answering, Patience},
    cache::{Lookup, StepKey},
    confine::Held,
    container,
    failure::{Failure, exit_code, not_started},
    guarded::{Guarded, may_decide, resolved},
    keep::Keep,
    launched::Launch,
    mask::masked,
    own_files::private_directory,
    platform::{Starts, StepContext, ToolPlatform},
    promise::{self, shown, without_secrets},
    reports::{Report, Reports, VARIABLE},
    results::Results,
};

/// Everything a worker needs to carry out one step by itself.
pub(crate) struct Worker<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) step: &'a PlannedStep,
    pub(crate) path: StepPath,
    pub(crate) results: Results,
    pub(crate) driver: Driver<'a>,
    pub(crate) session: &'a Session,
    pub(crate) deadline: Instant,
}

/// How one attempt went.
pub(crate) struct Attempt {
    exit_code: i32,
    status: Status,
    refusal: Option<Refusal>,
    /// Whether trying again can help: not after a refusal.
    is_final: bool,
}

impl Attempt {
    pub(crate) fn new(exit_code: i32, status: Status, refusal: Option<Refusal>) -> Self {
        Self { exit_code, status, refusal, is_final: false }
    }

    /// What follows from it.
    fn outcome(&self) -> flow::AttemptOutcome {
        match &self.refusal {
            _ if self.status == Status::Ok => flow::AttemptOutcome::Succeeded,
            Some(refusal) if !refusal.code.is_mishap() => flow::AttemptOutcome::Forbidden,
            _ if self.is_final => flow::AttemptOutcome::Refused,
            _ => flow::AttemptOutcome::Failed,
        }
    }

    /// One that was refused, and that another attempt would not help.
    pub(crate) fn refused(refusal: Refusal) -> Self {
        Self { is_final: true, ..Self::failed(refusal) }
    }

    /// One that failed as a refusal says.
    fn failed(refusal: Refusal) -> Self {
        let status = if refusal.code.exit() == Exit::TimedOut { Status::TimedOut } else { Status::Failed };
        Self::new(exit_code(&refusal), status, Some(refusal))
    }
}

/// Tells what a person should know while the run goes on; the report of the run has it too.
pub(crate) fn warn(warnings: &[String], emit: &dyn Fn(Event<'_>)) {
    warnings.iter().for_each(|warning| emit(Event::Warning(warning.clone())));
}

/// A step between its first attempt and its result.
pub(crate) struct UnderWay {
    pub(crate) report: StepReport,
    /// How far it said that it is; over all attempts this only grows.
    progress: f64,
}

impl UnderWay {
    pub(crate) fn new(step: &PlannedStep, began: Instant) -> Self {
        let mut report = StepReport::new(&step.name, Status::Failed);
        report.start_time = Some(SystemTime::now());
        report.began = began.elapsed();
        Self::of(report)
    }

    pub(crate) fn of(report: StepReport) -> Self {
        Self { report, progress: f64::NEG_INFINITY }
    }

    /// Ends the attempt with a refusal.
    pub(crate) fn refuse(&mut self, refusal: Refusal, plan: &Plan) -> flow::AttemptOutcome {
        self.report.record(Attempt::refused(refusal), plan)
    }
}

impl UnderWay {
    /// What other machines may know of it, which is nothing secret, and how it ended for them. `results` are those of the
    /// steps before.
    pub(crate) fn for_others(
        mut self,
        plan: &Plan,
        results: &Results,
        outcome: flow::AttemptOutcome,
    ) -> (StepReport, flow::AttemptOutcome) {
        let masks = results.masks(plan).with(&self.report.secrets);
        let is_plain = |bytes: &[u8]| *masks.apply_bytes(bytes) == *bytes;
        let value = self.report.raw_value.as_ref().map(ToString::to_string).unwrap_or_default();
        let is_known =
            is_plain(&self.report.raw_output) && is_plain(&self.report.raw_error) && is_plain(value.as_bytes());
        let mut outcome = outcome;
        if !is_known {
            let name = &self.report.name;
            let why = format!("what `{name}` wrote contains a secret, and secrets don't leave the worker");
            outcome = self.refuse(Refusal::new(Code::NotForFleet, why), plan);
            self.report.raw_output.clear();
            self.report.raw_error.clear();
            self.report.raw_value = None;
        }
        self.report.secrets.clear();
        self.report.end_time = Some(SystemTime::now());
        (self.report, outcome)
    }
}

/// What came of an attempt.
pub(crate) enum Attempted {
    /// It ended.
    Ended(flow::AttemptOutcome),
    /// It calls a tool, or runs for each item of a list.
    Calls(Box<Called>),
}

/// A tool that a step calls, or the items that it runs for.
pub(crate) struct Called {
    pub(crate) plan: Plan,
    pub(crate) deadline: Instant,
    /// The most bytes of each stream that its steps need to keep.
    pub(crate) keep: Option<u64>,
    /// Present when these are no steps of another tool, but what the step runs for.
    pub(crate) items: Option<Vec<Value>>,
}

impl Worker<'_> {
    /// Carries out one attempt of the step.
    pub(crate) fn attempt_once(
        &self,
        attempt: flow::Attempt,
        under_way: &mut UnderWay,
        emit: &dyn Fn(Event<'_>),
    ) -> Attempted {
        let UnderWay { report, progress } = under_way;
        let most = Cell::new(*progress);
        let emit = &|event: Event<'_>| match event {
            Event::Progress { ref step, done, .. } if *step == self.path && done <= most.get() => {}
            Event::Progress { ref step, done, .. } if *step == self.path => {
                most.set(done);
                emit(event);
            }
            event => emit(event),
        };
        let warned = report.warnings.len();
        let ended = match (attempt, &self.step.action, &self.step.fallback) {
            (flow::Attempt::Fallback, _, Some(fallback)) => {
                emit(Event::FallingBack { step: self.path.clone() });
                report.used_fallback = true;
                Ok(self.attempt(fallback, report, emit))
            }
            (_, action, _) => {
                report.attempts += 1;
                match action {
                    _ if let Some(each) = &self.step.each => self.run_for_each(each, report, emit),
                    PlannedAction::Command(command) => Ok(self.attempt(command, report, emit)),
                    PlannedAction::Tool(tool_use) => self.call_tool(tool_use, report, emit),
                    PlannedAction::Handler(handler) => Ok(self.call_handler(handler, report, emit)),
                    PlannedAction::BuiltIn => Ok(self.call_built_in(report, emit)),
                    PlannedAction::Remote(remote) => Ok(self.call_remote(remote, report, emit)),
                }
            }
        };
        warn(&report.warnings[warned..], emit);
        *progress = most.get();
        match ended {
            Ok(attempt) => Attempted::Ended(report.record(attempt, self.plan)),
            Err(called) => Attempted::Calls(called),
        }
    }

    /// Ends a step that failed and would go on, were there time: what ended it is not its last attempt.
    pub(crate) fn cut_short(&self, report: &mut StepReport, before: flow::Before) {
        let ended_already =
            report.refusal.as_ref().is_some_and(|refusal| matches!(refusal.code, Code::TimedOut | Code::Cancelled));
        if ended_already {
            return;
        }
        let before = match before {
            flow::Before::Retry => "could be tried again",
            flow::Before::Fallback => "could fall back",
        };
        let (place, code) = (self.path.as_str(), report.exit_code);
        let refusal = if self.driver.stop.is_raised() {
            let why =
                format!("`{place}` was stopped from outside before it {before}; it had failed with exit code {code}");
            Refusal::new(Code::Cancelled, why)
        } else {
            let why =
                format!("the time of the run was over before `{place}` {before}; it had failed with exit code {code}");
            Refusal::new(Code::TimedOut, why).attempt(self.plan.more_time())
        };
        report.record(Attempt::failed(refusal.place(place)), self.plan);
    }

    /// Runs a command once.
    fn attempt(&self, command: &CommandText, report: &mut StepReport, emit: &dyn Fn(Event<'_>)) -> Attempt {
        let prepared = match self.plan.prepare(self.step, command, &self.results) {
            Ok(prepared) => prepared,
            Err(refusal) => return Attempt::refused(refusal),
        };
        report.keep_secret(&prepared.secrets);
        let masks = &prepared.masks;
        let shown = masks.apply(&prepared.shown).into_owned();
        if report.commands.last() != Some(&shown) {
            report.commands.push(shown.clone());
        }
        emit(Event::StepStarted { step: self.path.clone(), attempt: report.attempts, command: shown });
        let mut capture = match Capture::new(self, masks, emit) {
            Ok(capture) => capture,
            Err(refusal) => return Attempt::refused(refusal),
        };
        let started = Instant::now();
        let lookup = self.lookup(&prepared).filter(|_| !report.used_fallback);
        let key = lookup.as_ref().and_then(|lookup| match lookup.key() {
            Ok(key) => Some(key),
            Err(why) => {
                report.warnings.push(self.not_cached(&why));
                None
            }
        });
        if let (Some(lookup), Some(key)) = (&lookup, &key) {
            match self.stored_result(lookup, key, &prepared) {
                Ok(None) => {}
                Ok(Some(result)) => {
                    emit(Event::Cached { step: self.path.clone(), run: result.run.clone() });
                    for (stream, bytes) in [(Stream::Stdout, &result.output), (Stream::Stderr, &result.error)] {
                        if !bytes.is_empty() {
                            capture.take(stream, bytes);
                        }
                    }
                    report.duration = started.elapsed();
                    report.attempts = 0;
                    capture.finish(report, masks);
                    report.cached_from = Some(result.run);
                    return Attempt::new(0, Status::Ok, None);
                }
                Err(Uncached::Because(why)) => report.warnings.push(self.not_cached(&why)),
                Err(Uncached::Refused(failure)) => return failed_to_start(failure),
            }
        }
        let outcome = self.start(&prepared, &mut capture);
        report.duration = started.elapsed();
        let whole = key.as_ref().and_then(|_| capture.whole());
        let cut = capture.finish(report, masks);
        if let (Some(lookup), Some(key), Some((output, error)), Ok((ended, _)), false) =
            (&lookup, &key, whole, &outcome, cut)
            && ended.is_success()
            && let Err(why) = lookup.store(key, output, error)
        {
            report.warnings.push(self.not_cached(&why));
        }
        match outcome {
            Ok((ended, launch)) => {
                let mut attempt = self.judge(&ended, cut);
                if let Some(held) = &launch.held {
                    Self::explain(held, &prepared, &mut attempt, report);
                } else if launch.is_contained() {
                    attempt.refusal = attempt.refusal.or_else(|| container::failure(attempt.exit_code, &report.error));
                }
                attempt
            }
            Err(failure) => failed_to_start(failure),
        }
    }

    /// What decides the result of the step, if that may be stored.
    fn lookup<'w>(&'w self, prepared: &'w Prepared) -> Option<Lookup<'w>> {
        let cache = self.driver.cache.filter(|_| self.driver.cache_use != CacheUse::Never);
        Lookup::of(self.plan, self.step, &self.results, prepared, cache)
    }

    fn not_cached(&self, why: &str) -> String {
        format!("the result of `{}` isn't cached: {why}", self.path)
    }

    /// The stored result of the step, with its files in their places. What would keep the step from running keeps it from
    /// that, too.
    fn stored_result(
        &self,
        lookup: &Lookup<'_>,
        key: &StepKey,
        prepared: &Prepared,
    ) -> Result<Option<StepResult>, Uncached> {
        if self.driver.cache_use != CacheUse::Use {
            return Ok(None);
        }
        let Some(result) = lookup.stored(key).map_err(Uncached::Because)? else { return Ok(None) };
        let launch = self.launch(prepared, &[]).map_err(Uncached::Refused)?;
        if self.driver.cache.is_none_or(|cache| cache.is_exposed()) {
            return Ok(None);
        }
        let restored = lookup.restore(&result, launch.held.as_ref());
        if let Some(held) = &launch.held {
            held.tidy();
        }
        restored.map_err(Uncached::Because)?;
        Ok(Some(result))
    }

    /// Says which permission a confined program lacked.
    fn explain(held: &Held, prepared: &Prepared, attempt: &mut Attempt, report: &mut StepReport) {
        if attempt.status == Status::Ok {
            let lack = held.refused();
            report.warnings.extend(lack.map(|lack| format!("{}: {} would allow it", lack.why, lack.permission)));
            return;
        }
        held.tidy();
        if attempt.refusal.is_none() {
            attempt.refusal = held.denial(&report.error, &prepared.working_directory);
        }
    }

    /// Starts the program and waits for its end.
    fn start(&self, prepared: &Prepared, capture: &mut Capture<'_>) -> Result<(EndedProcess, Launch), Failure> {
        let mut reports = self.reports()?;
        let channel: Vec<_> = reports.iter().map(|reports| (VARIABLE.into(), reports.path().into())).collect();
        let mut launch = self.launch(prepared, &channel)?;
        let input = self.input(prepared)?;
        let mut answering = None;
        launch.spec.input = match input {
            Input::Inherit => {
                launch.spec.terminal = Terminal::Inherit;
                answering = self.answering()?;
                answering.as_ref().map_or(Input::Inherit, Answering::input)
            }
            input => input,
        };
        capture.activity = answering.as_ref().map(Answering::activity);
        launch.spec.deadline = Some(self.attempt_deadline());
        launch.spec.quiet = Some(QUIET);
        capture.open(self, launch.held.as_ref())?;
        let spec = &launch.spec;
        let run = |take: &mut dyn FnMut(Stream, &[u8])| {
            self.session.run_with(self.driver.pool, spec, self.driver.stop, &mut || self.has_started(), take)
        };
        let mut follow = || match &mut reports {
            None => Ok(run(&mut |stream, bytes| capture.take(stream, bytes))),
            Some(reports) => self.follow(reports, prepared, capture, run),
        };
        let ended = match answering {
            None => follow()?,
            Some(answering) => answering.during(follow).map_err(|error| no_terminal(&error))??,
        };
        if !matches!(&ended, Ok(ended) if matches!(ended.ending, Ending::Exited(_))) {
            launch.clear(self.session);
        }
        Ok((ended.map_err(|error| not_started(&error))?, launch))
    }

    /// Tells that a program has been started.
    fn has_started(&self) {
        self.driver.started.iter().for_each(|started| started());
    }

    /// The most bytes of each stream to hold below the step's own limit: no fewer than others may ask for.
    fn keep(&self) -> Option<u64> {
        let is_stored = self.step.cache.is_some() && self.driver.cache.is_some();
        self.driver.keep.filter(|_| !is_stored && !self.feeds_others())
    }

    /// Whether another step or the cleanup uses what this one says.
    fn feeds_others(&self) -> bool {
        let uses = |reference: &Reference| {
            matches!(
                reference,
                Reference::Step { step, attribute: StepAttribute::Output | StepAttribute::Error }
                    if step == self.step.known_as()
            )
        };
        let steps = match &self.plan.tool().body {
            Body::Steps(steps) => steps.as_slice(),
            _ => &[],
        };
        let mut cleanup = self.plan.cleanup.iter().flat_map(|action| match action {
            Cleanup::Command(command) => command.texts().flat_map(|text| text.template.references()).collect(),
            Cleanup::DeleteTempFiles => Vec::new(),
        });
        cleanup.any(|(reference, _)| uses(reference))
            || steps.iter().flat_map(Step::references).any(|(reference, _)| uses(reference))
    }

    /// Whether the tool promises that its output is JSON.
    pub(crate) fn promises_json(&self) -> bool {
        promise::is_made_by(self.plan.tool())
    }

    /// Whether no step waits for this one.
    fn is_last(&self) -> bool {
        if self.step.item_of.is_some() {
            return false;
        }
        let waits_for = |index: usize| self.plan.steps.get(index).is_some_and(|step| step.name == self.step.name);
        !self.plan.steps.iter().any(|step| step.after.iter().copied().any(waits_for))
    }

    /// Makes the channel of a step whose tool reports.
    fn reports(&self) -> Result<Option<Reports>, Refusal> {
        if !self.plan.tool().reports {
            return Ok(None);
        }
        let path = self.plan.temp_directory.join(format!("{}.report", self.step.own_name()));
        let opened = private_directory(&self.plan.temp_directory).and_then(|()| Reports::open(&path));
        opened
            .map(Some)
            .map_err(|error| Refusal::new(Code::TempDirectory, format!("cannot make `{}`: {error}", path.display())))
    }

    /// Runs a program that reports.
    fn follow<T: Send>(
        &self,
        reports: &mut Reports,
        prepared: &Prepared,
        capture: &mut Capture<'_>,
        run: impl FnOnce(&mut dyn FnMut(Stream, &[u8])) -> T + Send,
    ) -> Result<T, Failure> {
        let emit = capture.emit;
        let mut report = |report: Report| emit(report.event(self.path.clone(), &prepared.masks));
        let followed = reports.follow(run, &mut |stream, bytes| capture.take(stream, bytes), &mut report);
        let (ended, wrong) = followed.map_err(|error| {
            Refusal::new(Code::NotStarted, format!("cannot listen to what `{}` reports: {error}", self.path))
        })?;
        if let Some(why) = wrong {
            capture.failure.get_or_insert(format!("`{}` reports in a line that {why}", self.path));
        }
        Ok(ended)
    }

    pub(crate) fn attempt_deadline(&self) -> Instant {
        self.attempt_limit().map_or(self.deadline, |limit| self.deadline.min(Instant::now() + limit))
    }

    /// The limit of one attempt, beside the run's.
    fn attempt_limit(&self) -> Option<Duration> {
        self.step.timeout
    }

    /// The way by which a person answers a tool that does not wait for them forever.
    fn answering(&self) -> Result<Option<Answering>, Refusal> {
        let Some(interactive) = &self.plan.tool().interactive else { return Ok(None) };
        let Some(limit) = interactive.timeout else { return Ok(None) };
        let default = interactive.default_response.as_ref().map(|response| self.response(response)).transpose()?;
        Answering::open(Patience { limit, default }).map_err(|error| no_terminal(&error))
    }

    /// What is answered in the place of a person.
    fn response(&self, response: &Template) -> Result<Vec<u8>, Refusal> {
        let response = self.plan.call.bytes(response, &self.results);
        response.map_err(|error| Refusal::new(error.code(), error.to_string()))
    }

    /// What the program reads. An interactive tool reads from the person, or gets its one default answer.
    fn input(&self, prepared: &Prepared) -> Result<Input, Refusal> {
        let bytes = |bytes: &[u8]| Input::Bytes(Arc::from(bytes));
        match (&prepared.input, &self.plan.tool().interactive) {
            (Some(input), _) => Ok(bytes(input)),
            (None, None) => Ok(Input::Closed),
            (None, Some(_)) if self.driver.is_attended => Ok(Input::Inherit),
            (None, Some(interactive)) => match &interactive.default_response {
                Some(response) => {
                    let mut response = self.response(response)?;
                    response.push(b'\n');
                    Ok(bytes(&response))
                }
                None => Err(Refusal::new(
                    Code::NobodyToAnswer,
                    format!("`{}` asks questions, and there is no terminal", self.plan.tool().name),
                )
                .attempt("run it on a terminal, or give it `interactive-options.default-response`")),
            },
        }
    }

    fn judge(&self, ended: &EndedProcess, cut: bool) -> Attempt {
        let place = self.path.as_str();
        match ended.ending {
            Ending::Exited(_) if cut && !self.step.output.truncation => {
                let limit = self.step.output.buffer_limit;
                let refusal = Refusal::new(
                    Code::OutputTooLarge,
                    format!("`{place}` wrote more than its `buffer-limit` of {limit} bytes"),
                )
                .place(place);
                Attempt::failed(refusal.attempt("raise `output.buffer-limit`, or set `output.truncation: true`"))
            }
            Ending::Exited(0) => Attempt::new(0, Status::Ok, None),
            Ending::Exited(code) => Attempt::new(code, Status::Failed, None),
            Ending::Signaled(signal) => Attempt::new(128 + signal, Status::Failed, None),
            Ending::TimedOut { .. } => Attempt::failed(self.timed_out()),
            Ending::Stopped { killed } => {
                let why = format!("`{place}` was stopped from outside");
                let stopped = Attempt::failed(Refusal::new(Code::Cancelled, why).place(place));
                Attempt { exit_code: if killed { 137 } else { stopped.exit_code }, ..stopped }
            }
            Ending::MemoryExceeded => {
                let limit = self.plan.tool().resources.max_memory.unwrap_or_default();
                let refusal = Refusal::new(
                    Code::MemoryExceeded,
                    format!("`{place}` used more than its `max-memory` of {limit} bytes"),
                )
                .place(place);
                Attempt::failed(refusal.rule(format!("{:?}", ended.memory)).attempt("raise `resources.max-memory`"))
            }
        }
    }

    /// The refusal of what was ended because its time was over.
    pub(crate) fn timed_out(&self) -> Refusal {
        let place = self.path.as_str();
        let (why, attempted) = match self.attempt_limit() {
            Some(limit) if Instant::now() < self.deadline => (
                format!("`{place}` was ended at its limit of {} ms", limit.as_millis()),
                "raise the step's `timeout`".to_owned(),
            ),
            _ => (format!("`{place}` was ended when the time of the run was over"), self.plan.more_time()),
        };
        Refusal::new(Code::TimedOut, why).place(place).attempt(attempted)
    }

    /// Carries out a tool of our own.
    fn call_built_in(&self, report: &mut StepReport, emit: &dyn Fn(Event<'_>)) -> Attempt {
        let shown = self.plan.shown_call("built in");
        report.commands.push(shown.clone());
        emit(Event::StepStarted { step: self.path.clone(), attempt: report.attempts, command: shown });
        let Some(built_ins) = self.driver.built_ins else {
            let why = format!("nothing here carries out the built-in tool `{}`", self.plan.tool().name);
            return Attempt::refused(Refusal::new(Code::NotStarted, why).place(self.path.as_str()));
        };
        let prepared = match self.plan.prepare_call(self.step, &self.results) {
            Ok(prepared) => prepared,
            Err(refusal) => return Attempt::refused(refusal),
        };
        let platform = ToolPlatform::new(self, &prepared, Starts::Any);
        let call = BuiltInCall {
            tool: self.plan.tool(),
            arguments: &prepared.arguments,
            platform: &platform,
            unplanned: self.plan.unplanned.as_ref(),
        };
        report.keep_secret(&prepared.secrets);
        self.answered(&prepared.masks, |follow| built_ins.call(&call, &mut |line| follow("info", line)), report, emit)
    }

    /// How what it starts or calls learns in which span of a trace it works.
    pub(crate) fn trace(&self) -> Vec<(&'static str, String)> {
        self.driver.trace.map(|of| of(&self.path)).unwrap_or_default()
    }

    /// Calls the tool of another program.
    fn call_remote(&self, tool: &RemoteTool, report: &mut StepReport, emit: &dyn Fn(Event<'_>)) -> Attempt {
        let shown = format!("mcp: {tool}");
        report.commands.push(shown.clone());
        emit(Event::StepStarted { step: self.path.clone(), attempt: report.attempts, command: shown });
        let Some(remotes) = self.driver.remotes else {
            let why =
                format!("`{}` belongs to the server `{}`, and nothing here can reach servers", tool.tool, tool.server);
            return Attempt::refused(Refusal::new(Code::RemoteUnreachable, why).place(self.path.as_str()));
        };
        let arguments = self.plan.arguments();
        let (stop, deadline, trace) = (self.driver.stop, self.attempt_deadline(), self.trace());
        let call =
            RemoteCall { tool, arguments: &arguments, stop, deadline, trace: &trace, principal: self.driver.principal };
        report.keep_secret(&remotes.secrets(&tool.server));
        let masks = self.plan.masks().with(&report.secrets);
        let told = |follow: &mut dyn FnMut(&str, &str), news| match news {
            RemoteNews::Log { level, message } => follow(level, &message),
            RemoteNews::Progress { done, total, message } => {
                let message = message.map(|message| masks.apply(&message).into_owned());
                emit(Event::Progress { step: self.path.clone(), done, total, message });
            }
        };
        self.answered(&masks, |follow| remotes.call(&call, &mut |news| told(follow, news)), report, emit)
    }

    /// Waits for what is no process, and takes its answer as if it were one.
    pub(crate) fn answered(
        &self,
        masks: &Masks,
        call: impl FnOnce(&mut dyn FnMut(&str, &str)) -> Result<ToolOutcome, Refusal>,
        report: &mut StepReport,
        emit: &dyn Fn(Event<'_>),
    ) -> Attempt {
        let started = Instant::now();
        let answer = call(&mut |level, line| {
            let message = masks.apply(line).into_owned();
            emit(Event::Log { step: self.path.clone(), level: level.to_owned(), message });
        });
        report.duration = started.elapsed();
        match answer {
            Ok(answer) => {
                report.raw_output.clone_from(&answer.output);
                report.raw_error.clone_from(&answer.error);
                report.raw_value = answer.structured.clone().filter(|_| self.promises_json());
                let answer = without_secrets(masks, answer, self.promises_json());
                let (exit_code, status) = if answer.is_error { (1, Status::Failed) } else { (0, Status::Ok) };
                for (stream, bytes) in [(Stream::Stdout, &answer.output), (Stream::Stderr, &answer.error)] {
                    if !bytes.is_empty() {
                        let (step, bytes) = (self.path.clone(), Cow::Borrowed(bytes.as_slice()));
                        emit(Event::Output { step, stream, bytes, live: false });
                    }
                }
                report.output.clone_from(&answer.output);
                report.error.clone_from(&answer.error);
                report.answer = Some(Box::new(answer));
                Attempt { exit_code, status, refusal: None, is_final: false }
            }
            Err(refusal) => Attempt::failed(refusal),
        }
    }

    /// Plans the tool that the step calls, within the time that is left.
    fn call_tool(
        &self,
        tool_use: &ToolUse,
        report: &mut StepReport,
        emit: &dyn Fn(Event<'_>),
    ) -> Result<Attempt, Box<Called>> {
        let scripts: &dyn TransformRunner = self.driver.scripts;
        let plan = match self.plan.nested(self.step, tool_use, &self.results, scripts) {
            Ok(plan) => plan,
            Err(error) => return Ok(Attempt::refused(error.in_step(self.step.known_as(), &tool_use.tool))),
        };
        if let Some(demand) = plan.unmet.first() {
            let refusal = Refusal::new(Code::ConfinementUnavailable, demand.clone()).place(&tool_use.tool);
            return Ok(Attempt::refused(refusal));
        }
        let with_secrets = match plan.with_secrets(self.driver.secrets) {
            Ok(Cow::Owned(plan)) => Some(plan),
            Ok(Cow::Borrowed(_)) => None,
            Err(refusal) => return Ok(Attempt::refused(refusal)),
        };
        let plan = with_secrets.unwrap_or(plan);
        emit(Event::StepStarted {
            step: self.path.clone(),
            attempt: report.attempts,
            command: format!("use-tool: {}", tool_use.tool),
        });
        let deadline = [Some(Instant::now() + plan.timeout), self.step.timeout.map(|limit| Instant::now() + limit)]
            .into_iter()
            .flatten()
            .fold(self.deadline, Instant::min);
        Err(Box::new(Called { plan, deadline, keep: self.keep(), items: None }))
    }

    /// Finds the items that the step runs for.
    fn run_for_each(
        &self,
        each: &ForEach,
        report: &mut StepReport,
        emit: &dyn Fn(Event<'_>),
    ) -> Result<Attempt, Box<Called>> {
        let items = match self.plan.items(self.step, each, &self.results) {
            Ok(items) => items,
            Err(refusal) => return Ok(Attempt::refused(refusal)),
        };
        let command = each.line(Some(items.len()));
        report.commands.push(command.clone());
        emit(Event::StepStarted { step: self.path.clone(), attempt: report.attempts, command });
        let plan = self.plan.for_items(self.step, items.len());
        Err(Box::new(Called { plan, deadline: self.deadline, keep: self.keep(), items: Some(items) }))
    }
}

impl StepContext for Worker<'_> {
    fn plan(&self) -> &Plan {
        self.plan
    }

    fn stop(&self) -> &Stop {
        self.driver.stop
    }

    fn deadline(&self) -> Instant {
        self.attempt_deadline()
    }

    fn models(&self) -> Option<&dyn Models> {
        self.driver.models
    }

    fn launch(&self, prepared: &Prepared) -> Result<Launch, Failure> {
        Worker::launch(self, prepared, &[])
    }

    fn run(&self, launch: &Launch, take: &mut dyn FnMut(Stream, &[u8])) -> Result<EndedProcess, StartError> {
        let (pool, stop) = (self.driver.pool, self.driver.stop);
        let ended = self.session.run_with(pool, &launch.spec, stop, &mut || self.has_started(), take);
        if !matches!(&ended, Ok(ended) if matches!(ended.ending, Ending::Exited(_))) {
            launch.clear(self.session);
        }
        ended
    }
}

impl StepReport {
    /// Takes over how an attempt ended, and says what follows from it.
    pub(crate) fn record(&mut self, attempt: Attempt, plan: &Plan) -> flow::AttemptOutcome {
        let outcome = attempt.outcome();
        self.exit_code = attempt.exit_code;
        self.status = attempt.status;
        let masks = plan.masks().with(&self.secrets);
        self.refusal = attempt.refusal.map(|refusal| masked(&masks, refusal));
        outcome
    }

    /// Remembers what must not be shown of what the step said, wherever that goes.
    pub(crate) fn keep_secret(&mut self, secrets: &[String]) {
        self.secrets.extend_from_slice(secrets);
        self.secrets.sort_unstable();
        self.secrets.dedup();
    }
}

/// Why a stored result is not used.
enum Uncached {
    /// The step runs.
    Because(String),
    /// The step could not run either.
    Refused(Failure),
}

/// How an attempt went of which nothing started.
fn failed_to_start(Failure { refusal, exit_code }: Failure) -> Attempt {
    Attempt { exit_code, status: Status::Failed, refusal: Some(*refusal), is_final: false }
}

/// What one attempt says, on its way to the sink and into the report.
struct Capture<'a> {
    kept: [Keep; 2],
    /// Whether what is kept may be used beyond being shown.
    is_raw: bool,
    masks: [StreamMask; 2],
    /// Whether the tool promises JSON.
    promises_json: bool,
    /// A JSON value that is shown when all of it is there: what becomes of a part of it shows only then.
    promised: Option<Vec<u8>>,
    /// Who wants to know that something is said.
    activity: Option<Arc<Activity>>,
    live: bool,
    file: Option<fs::File>,
    /// Where that file is.
    path: Option<PathBuf>,
    failure: Option<String>,
    step: StepPath,
    emit: &'a dyn Fn(Event<'_>),
}

impl<'a> Capture<'a> {
    fn new(worker: &Worker<'_>, masks: &Masks, emit: &'a dyn Fn(Event<'_>)) -> Result<Self, Refusal> {
        let output = &worker.step.output;
        let most = worker.keep().unwrap_or(u64::MAX);
        let is_stream = output.mode == OutputMode::Stream;
        let promises_json = worker.promises_json();
        // A person who is asked something must see the question.
        let is_asking = worker.plan.tool().interactive.is_some();
        let is_held_back = promises_json && worker.is_last() && !is_asking && !masks.is_empty();
        let path = match &output.stream_callback {
            StreamTarget::File(template) if is_stream => {
                let path = worker.plan.path(template, &worker.results);
                let path = path.map_err(|error| Refusal::new(error.code(), error.to_string()))?;
                Some(worker.plan.working_directory.join(path))
            }
            _ => None,
        };
        let keep = || Keep::at_most(output.buffer_limit, most);
        Ok(Self {
            kept: [keep(), keep()],
            is_raw: worker.plan.is_workflow || worker.path.depth() > 0 || promises_json,
            masks: [masks.stream(), masks.stream()],
            promised: is_held_back.then(Vec::new),
            promises_json,
            activity: None,
            live: is_stream && path.is_none(),
            file: None,
            path,
            failure: None,
            step: worker.path.clone(),
            emit,
        })
    }

    /// Makes the file that what is said goes to, if there is one.
    fn open(&mut self, worker: &Worker<'_>, held: Option<&Held>) -> Result<(), Refusal> {
        let Some(path) = &self.path else { return Ok(()) };
        let real = match held {
            Some(held) => Ok(held.may_write(path)?),
            None => resolved(path),
        };
        if let Ok(real) = &real {
            may_decide(worker.plan, real, Guarded::of(worker.plan).decides(real))?;
        }
        let file = real.and_then(|real| create_plain(&real));
        let refuse = |error| {
            Refusal::new(Code::StreamFile, format!("cannot write `{}`: {error}", path.display()))
                .place(path.display().to_string())
        };
        self.file = Some(file.map_err(refuse)?);
        Ok(())
    }

    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return (self.emit)(Event::Quiet);
        }
        let index = stream as usize;
        if let Some(activity) = &self.activity {
            activity.note();
        }
        self.kept[index].push(bytes);
        if stream == Stream::Stdout && self.held_back(bytes) {
            return;
        }
        let shown = self.masks[index].push(bytes);
        self.pass_on(stream, shown);
    }

    /// Whether these bytes are held back until the value that they belong to is whole.
    fn held_back(&mut self, bytes: &[u8]) -> bool {
        let Some(promised) = &mut self.promised else { return false };
        promised.extend_from_slice(bytes);
        if self.kept[Stream::Stdout as usize].is_whole() {
            return true;
        }
        // It is too long to be kept, so it is no value.
        if let Some(promised) = self.promised.take() {
            let shown = self.masks[Stream::Stdout as usize].push(&promised).into_owned();
            self.pass_on(Stream::Stdout, Cow::Owned(shown));
        }
        true
    }

    fn pass_on(&mut self, stream: Stream, bytes: Cow<'_, [u8]>) {
        if bytes.is_empty() {
            return;
        }
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(&bytes)
            && self.failure.is_none()
        {
            self.failure = Some(format!("cannot write the stream file of `{}`: {error}", self.step));
        }
        (self.emit)(Event::Output { step: self.step.clone(), stream, bytes, live: self.live });
    }

    /// All that was said so far; nothing where it is not held.
    fn whole(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let [output, error] = &self.kept;
        Some((output.whole()?.to_vec(), error.whole()?.to_vec()))
    }

    /// Moves what was kept into the report; returns whether anything was cut.
    fn finish(mut self, report: &mut StepReport, masks: &Masks) -> bool {
        if let Some(promised) = self.promised.take() {
            self.pass_on(Stream::Stdout, Cow::Owned(shown(masks, promised, true)));
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = self.masks[stream as usize].finish();
            self.pass_on(stream, Cow::Owned(rest));
        }
        report.warnings.extend(self.failure.take());
        let [output, error] = self.kept;
        let cut = output.is_cut() || error.is_cut();
        report.truncated = cut;
        let keep = |keep: Keep, is_promised: bool| {
            let marker = keep.marker();
            let is_whole = keep.is_whole();
            let bytes = keep.into_bytes();
            let raw = if self.is_raw { bytes.clone() } else { Vec::new() };
            // Where it is cut, its end may be the beginning of a secret, which nobody would know for one.
            let mut shown = match is_whole {
                true if is_promised => shown(masks, bytes, true),
                true => masks.apply_bytes(&bytes).into_owned(),
                false => masks.stream().push(&bytes).into_owned(),
            };
            shown.extend_from_slice(marker.unwrap_or_default().as_bytes());
            (raw, shown)
        };
        (report.raw_output, report.output) = keep(output, self.promises_json);
        (report.raw_error, report.error) = keep(error, false);
        cut
    }
}

fn no_terminal(error: &std::io::Error) -> Refusal {
    Refusal::new(Code::NotStarted, format!("cannot make a terminal for the answers of the user: {error}"))
}

/// How long a run's cleanup may take.
pub(crate) const CLEANUP_LIMIT: Duration = Duration::from_secs(10);

/// Runs one cleanup command; returns what went wrong.
pub(crate) fn clean_up(worker: &Worker<'_>, command: &CommandText, stop: &Stop) -> Option<String> {
    let prepared = match worker.plan.prepare(worker.step, command, &worker.results) {
        Ok(prepared) => prepared,
        Err(refusal) => {
            let why = worker.results.masks(worker.plan).apply(&refusal.why).into_owned();
            return Some(format!("a cleanup command was skipped: {why}"));
        }
    };
    let masks = &prepared.masks;
    let shown = masks.apply(&prepared.shown).into_owned();
    let mut launch = match worker.launch(&prepared, &[]) {
        Ok(launch) => launch,
        Err(failure) => return Some(format!("cleanup `{shown}` did not start: {}", failure.refusal.why)),
    };
    launch.spec.limits = ProcessLimits::default();
    launch.spec.deadline = Some(worker.deadline);
    let mut said = Keep::new(4096);
    let ended = worker.session.run(&launch.spec, stop, &mut |_, bytes| said.push(bytes));
    launch.clear(worker.session);
    match ended {
        Ok(ended) if ended.is_success() => None,
        Ok(ended) => {
            let said = masks.apply(String::from_utf8_lossy(&said.into_bytes()).trim()).into_owned();
            let said = if said.is_empty() { said } else { format!(": {said}") };
            Some(match ended.ending {
                Ending::Exited(code) => format!("cleanup `{shown}` failed with exit code {code}{said}"),
                _ => format!("cleanup `{shown}` was ended{said}"),
            })
        }
        Err(error) => Some(format!("cleanup `{shown}` did not start: {}", not_started(&error).refusal.why)),
    }
}
