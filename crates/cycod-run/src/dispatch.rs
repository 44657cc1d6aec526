//! Carries out a flow: with threads where several things run at once, and without one where a single thing does.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, Scope as Threads},
    time::{Duration, Instant},
};

use cycod_diagnostic::{Code, Refusal, caught};
use cycod_flow::{
    self as flow, Attempt, Flow, FlowCommand, FlowStart, FlowTask, FlowWork, ScopeId, StepId, WorkAnswer,
};
use cycod_plan::{Plan, Secrets};
use cycod_policy::Approved;
use cycod_process::Session;

use crate::{
    Driver, Durable, Event, FlowFact, FlowNews, FlowSource, RunReport, Sink, Status, StepDone, StepOrder, StepReport,
    durable::Entry,
    failure::exit_code,
    results::Results,
    scope::{Cleaned, Scope, Tool, at_once, shapes},
    worker::{Attempted, UnderWay, warn},
};

/// How many messages may wait for the dispatcher; then the writers wait.
const QUEUE: usize = 64;

/// Runs an approved plan to its end.
///
/// A durable run writes down what it takes to continue it after a crash; one that was written before goes on where it was.
///
/// Nothing that it starts outlives it: processes that steps leave behind are ended before this returns.
#[expect(clippy::needless_pass_by_value, reason = "an approval is used up by the run it allows")]
pub fn run(
    approved: Approved<Plan>,
    driver: &Driver<'_>,
    sink: &mut dyn Sink,
    durable: Option<Durable<'_>>,
) -> RunReport {
    let plan = match approved.subject().with_secrets(driver.secrets) {
        Ok(plan) => plan,
        Err(refusal) => return RunReport::refused(refusal),
    };
    let began = Instant::now();
    let session = match Session::new() {
        Ok(session) => session,
        Err(error) => {
            return RunReport::refused(unprepared(&error));
        }
    };
    let sink = std::cell::RefCell::new(sink);
    let emit = |event: Event<'_>| sink.borrow_mut().event(&event);
    warn(&plan.warnings, &emit);
    let warnings = plan.warnings.clone();
    let mut report = Dispatcher::new(&emit, durable).run(Tool::outermost(plan, driver, &session, began));
    report.warnings.splice(0..0, warnings);
    let left = session.finish();
    let mut of_processes = Vec::new();
    if left.processes > 0 {
        of_processes.push(left_running(left.processes));
    }
    if left.survived > 0 {
        of_processes.push(format!("{} could not be ended", plural(left.survived, "process", "processes")));
    }
    warn(&of_processes, &emit);
    report.warnings.append(&mut of_processes);
    report.duration = began.elapsed();
    report
}

/// Follows an approved plan that other machines carry out, to its end. What happens comes from `source`.
///
/// What the flow is told is written down, so that another process may go on following.
#[expect(clippy::needless_pass_by_value, reason = "an approval is used up by the run it allows")]
pub fn follow(
    approved: Approved<Plan>,
    driver: &Driver<'_>,
    sink: &mut dyn Sink,
    durable: Durable<'_>,
    source: &mut dyn FlowSource,
) -> RunReport {
    let began = Instant::now();
    let session = match Session::new() {
        Ok(session) => session,
        Err(error) => return RunReport::refused(unprepared(&error)),
    };
    // The values of secrets are on the other machines.
    let driver = Driver { secrets: &SecretsElsewhere, ..*driver };
    let plan = std::borrow::Cow::Borrowed(approved.subject());
    let warnings = plan.warnings.clone();
    let sink = std::cell::RefCell::new(sink);
    let emit = |event: Event<'_>| sink.borrow_mut().event(&event);
    let dispatcher = Dispatcher { told: Told::Follows, ..Dispatcher::new(&emit, Some(durable)) };
    let followed = dispatcher.follow(Tool::outermost(plan, &driver, &session, began), source);
    let mut report = followed.unwrap_or_else(RunReport::refused);
    report.warnings.splice(0..0, warnings);
    report.duration = began.elapsed();
    report
}

/// Does one thing of an approved plan whose run several machines carry out. What happened before is told to a flow of this
/// machine, which must then ask for just that.
///
/// # Errors
/// When it does not, or what happened does not fit the plan.
#[expect(clippy::needless_pass_by_value, reason = "an approval is used up by the run it allows")]
pub fn run_step(
    approved: Approved<Plan>,
    driver: &Driver<'_>,
    sink: &mut dyn Sink,
    order: StepOrder,
) -> Result<StepDone, Refusal> {
    let plan = approved.subject().with_secrets(driver.secrets)?;
    let session = Session::new().map_err(|error| unprepared(&error))?;
    let began = Instant::now().checked_sub(order.elapsed).unwrap_or_else(Instant::now);
    let sink = std::cell::RefCell::new(sink);
    let emit = |event: Event<'_>| sink.borrow_mut().event(&event);
    let dispatcher = Dispatcher { told: Told::DoesOne, ..Dispatcher::new(&emit, None) };
    let done = dispatcher.do_one(Tool::outermost(plan, driver, &session, began), order);
    let left = session.finish();
    if left.processes > 0 {
        warn(&[left_running(left.processes)], &emit);
    }
    done
}

/// What a machine reports that refuses to do its part of a run.
pub fn refused_step(work: FlowWork, refusal: &Refusal) -> StepDone {
    let report = |refusal: &Refusal| {
        let mut report = StepReport::new("", Status::Failed);
        (report.exit_code, report.refusal) = (exit_code(refusal), Some(refusal.clone()));
        Box::new(report)
    };
    let is_mishap = refusal.code.is_mishap();
    let outcome = if is_mishap { flow::AttemptOutcome::Refused } else { flow::AttemptOutcome::Forbidden };
    let (event, entry) = match work {
        FlowWork::Attempt(task) => {
            (flow::FlowEvent::Ended { task, outcome }, Entry::Ended(task, outcome, report(refusal)))
        }
        FlowWork::Decide(step) => {
            let task = FlowTask { step, attempt: Attempt::Number(1), losses: 0 };
            let decision = flow::ConditionResult::Undecidable;
            (flow::FlowEvent::Decided { step, decision }, Entry::Ended(task, outcome, report(refusal)))
        }
        FlowWork::CleanUp(scope) => {
            let why = format!("the cleanup was refused: {}", refusal.why);
            (flow::FlowEvent::CleanedUp(scope), Entry::CleanedUp(scope, vec![why]))
        }
    };
    StepDone { answer: WorkAnswer::new(event), entry: entry.to_bytes() }
}

/// What a machine reports that does its part of a run only with the consent of a person. `question` is what it asks.
pub fn asked_step(work: FlowWork, question: &str) -> StepDone {
    StepDone { answer: WorkAnswer::new(flow::FlowEvent::Asked(work)), entry: question.as_bytes().to_vec() }
}

/// What a conductor has to know to begin the flow of a plan.
pub fn flow_start(plan: &Plan) -> FlowStart {
    FlowStart {
        version: flow::VERSION,
        steps: shapes(plan),
        at_once: at_once(plan),
        timeout: u64::try_from(plan.timeout.as_millis()).unwrap_or(u64::MAX),
    }
}

fn unprepared(error: &std::io::Error) -> Refusal {
    Refusal::new(Code::NotStarted, format!("cannot prepare to start processes: {error}"))
}

/// Why a step failed of which a part was lost each time it began.
fn lost_work(what: &str) -> Refusal {
    Refusal::new(Code::StepLost, format!("each worker is gone that began it when {what}"))
}

fn unfit() -> Refusal {
    Refusal::new(Code::NotResumable, "what was written of the run does not fit its plan")
        .attempt("run the tool again from its beginning")
}

/// The secrets of a run that other machines carry out: they have values there, and none is known here.
#[derive(Debug)]
struct SecretsElsewhere;

impl Secrets for SecretsElsewhere {
    fn values(&self, names: &[&str], _: &str) -> Result<Vec<Option<String>>, Refusal> {
        Ok(names.iter().map(|name| Some(format!("the secret {name} of another machine"))).collect())
    }

    fn placeholder(&self) -> Result<String, Refusal> {
        Ok("a secret of another machine".to_owned())
    }
}

/// Who tells a flow what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// This machine, which carries everything out.
    Here,
    /// Others, who carry everything out.
    Follows,
    /// Others; this machine does one thing.
    DoesOne,
}

/// What is said of processes that outlived their commands.
fn left_running(processes: usize) -> String {
    format!("ended {} left running in the background", plural(processes, "process", "processes"))
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What has to be done, here or in a thread.
struct Job<'a> {
    tool: Arc<Tool<'a>>,
    results: Results,
    what: What,
}

enum What {
    Attempt(FlowTask, Box<UnderWay>),
    Decide(StepId),
    CleanUp(ScopeId),
}

impl What {
    fn work(&self) -> FlowWork {
        match *self {
            Self::Attempt(task, _) => FlowWork::Attempt(task),
            Self::Decide(step) => FlowWork::Decide(step),
            Self::CleanUp(scope) => FlowWork::CleanUp(scope),
        }
    }
}

/// What a thread says.
enum Message {
    Event(Event<'static>),
    Done(Box<Done>),
    /// Its job panicked where no attempt could be blamed.
    Broke(Refusal),
}

/// What came of a job.
enum Done {
    Attempted(FlowTask, Box<UnderWay>, Attempted),
    CleanedUp(ScopeId, Cleaned),
    Decided(StepId),
}

impl Job<'_> {
    /// Does it. A panic ends what panicked, and nothing else.
    fn carry_out(self, emit: &dyn Fn(Event<'_>)) -> Done {
        let Self { tool, results, what } = self;
        match what {
            What::Attempt(task, mut under_way) => {
                let worker = tool.worker(task.step.index, results);
                let attempted = caught(|| worker.attempt_once(task.attempt, &mut under_way, emit));
                let attempted = attempted.unwrap_or_else(|refusal| {
                    Attempted::Ended(under_way.refuse(refusal.place(worker.path.as_str()), &tool.plan))
                });
                Done::Attempted(task, under_way, attempted)
            }
            What::CleanUp(scope) => {
                let cleaned = caught(|| tool.clean(&results)).unwrap_or_else(|refusal| {
                    let why = format!("the cleanup was not finished: {}", refusal.why);
                    Cleaned { warnings: vec![why], ..Cleaned::default() }
                });
                Done::CleanedUp(scope, cleaned)
            }
            // A machine that carries out everything has nothing of this kind: it decides at once.
            What::Decide(step) => Done::Decided(step),
        }
    }
}

/// Where threads send what they say.
struct Channel {
    sender: SyncSender<Message>,
    receiver: Receiver<Message>,
}

/// Carries out the commands of a flow, and tells it what came of them.
struct Dispatcher<'a, 'e, 'd> {
    told: Told,
    durable: Option<Durable<'d>>,
    /// Whether what is done was done before a crash, and is only told again.
    is_past: bool,
    /// Attempts of the past that began, and are not known to have ended.
    begun: BTreeSet<FlowTask>,
    flow: Flow,
    scopes: Vec<Scope<'a>>,
    commands: VecDeque<FlowCommand>,
    jobs: Vec<Job<'a>>,
    /// Pauses by their ends.
    pauses: BTreeSet<(Instant, StepId)>,
    /// How many threads are at work.
    threads: usize,
    channel: Option<Channel>,
    is_cancelled: bool,
    /// The tools that are not over, and whose time is not.
    in_time: BTreeSet<ScopeId>,
    report: Option<RunReport>,
    /// How the attempt ended whose tool closed last.
    closed: Option<flow::AttemptOutcome>,
    /// When the step ended that settled last, of those that others carry out.
    last_end: Option<std::time::SystemTime>,
    emit: &'e dyn Fn(Event<'_>),
}

impl<'a, 'e, 'd> Dispatcher<'a, 'e, 'd> {
    fn new(emit: &'e dyn Fn(Event<'_>), durable: Option<Durable<'d>>) -> Self {
        Self {
            told: Told::Here,
            durable,
            is_past: false,
            begun: BTreeSet::new(),
            flow: Flow::new(),
            scopes: Vec::new(),
            commands: VecDeque::new(),
            jobs: Vec::new(),
            pauses: BTreeSet::new(),
            threads: 0,
            channel: None,
            is_cancelled: false,
            in_time: BTreeSet::new(),
            report: None,
            closed: None,
            last_end: None,
            emit,
        }
    }

    /// Runs a tool to its end.
    fn run(mut self, tool: Tool<'a>) -> RunReport {
        if let Err(refusal) = tool.prepare() {
            return RunReport::refused(refusal);
        }
        if tool.driver.stop.is_raised() {
            // A run that was cancelled before it began starts nothing.
            self.is_cancelled = true;
            self.on(flow::FlowEvent::Cancelled);
        }
        let results = Results::new(tool.plan.steps.len());
        self.open(None, tool, results);
        if let Err(refusal) = self.go_on() {
            return RunReport::refused(refusal);
        }
        let worked = thread::scope(|threads| {
            let worked = caught(|| self.work(threads)).flatten();
            // Who follows the run may panic as well. The threads that are left must not wait for somebody to listen.
            self.channel = None;
            worked
        });
        if let Err(refusal) = worked {
            return RunReport::refused(refusal);
        }
        let why = || Refusal::new(Code::InternalError, "this is a bug in cycod: the run has no end");
        self.report.unwrap_or_else(|| RunReport::refused(why()))
    }

    /// Makes what the steps of a tool expect to be there, if any is carried out here.
    fn prepared(&self, tool: &Tool<'_>) -> Result<(), Refusal> {
        if self.told == Told::Follows { Ok(()) } else { tool.prepare() }
    }

    /// Follows a tool that others carry out to its end.
    fn follow(mut self, tool: Tool<'a>, source: &mut dyn FlowSource) -> Result<RunReport, Refusal> {
        let stop = tool.driver.stop;
        let results = Results::new(tool.plan.steps.len());
        self.open(None, tool, results);
        let past = self.durable.as_mut().map(|durable| std::mem::take(&mut durable.past)).unwrap_or_default();
        self.is_past = true;
        for bytes in past {
            let fact = FlowFact::read(&bytes).ok_or_else(unfit)?;
            self.hear(fact)?;
        }
        self.is_past = false;
        loop {
            self.carry_out_all();
            if let Some(report) = self.report.take() {
                return Ok(report);
            }
            match source.next(stop)? {
                FlowNews::Event(event) => self.tell(event),
                FlowNews::Fact(fact) => {
                    if let Some(durable) = &mut self.durable {
                        durable.ledger.add(&fact.to_bytes(), true)?;
                    }
                    self.hear(fact)?;
                }
            }
        }
    }

    /// Does one thing of a tool, after what happened before.
    fn do_one(mut self, tool: Tool<'a>, order: StepOrder) -> Result<StepDone, Refusal> {
        tool.prepare()?;
        let results = Results::new(tool.plan.steps.len());
        self.open(None, tool, results);
        // What follows is told where the run is followed.
        self.is_past = true;
        let done = order.past.into_iter().try_for_each(|fact| self.hear(fact)).and_then(|()| {
            self.carry_out_all();
            let why = || Refusal::new(Code::TicketRefused, "it isn't the turn of this step");
            let job = self.job(order.work).ok_or_else(why)?;
            if let Some(lacks) =
                self.flow.labels(order.work).iter().find(|label| !cycod_definition::offers(&order.labels, label))
            {
                let why = format!("this machine doesn't offer `{lacks}`, which the step needs");
                return Err(Refusal::new(Code::TicketRefused, why));
            }
            self.do_job(job)
        });
        for scope in self.scopes.iter().filter(|scope| scope.tool.plan.tool().uses_temp) {
            // What can't be removed is in the directory for what is temporary.
            _ = std::fs::remove_dir_all(&scope.tool.plan.temp_directory);
        }
        done
    }

    fn do_job(&mut self, job: Job<'a>) -> Result<StepDone, Refusal> {
        let (tool, results) = (Arc::clone(&job.tool), job.results.clone());
        let ended = |under_way: UnderWay, task: FlowTask, outcome: flow::AttemptOutcome| {
            let (report, outcome) = under_way.for_others(&tool.plan, &results, outcome);
            let step = &tool.plan.steps[task.step.index];
            let pause = match (step.retry, task.attempt) {
                (Some(retry), Attempt::Number(number)) => u64::try_from(retry.pause(number).as_millis()).ok(),
                _ => None,
            };
            let event = flow::FlowEvent::Ended { task, outcome };
            let entry = Entry::Ended(task, outcome, Box::new(report)).to_bytes();
            StepDone { answer: WorkAnswer { pause, ..WorkAnswer::new(event) }, entry }
        };
        Ok(match job.carry_out(self.emit) {
            Done::Decided(step) => {
                let decision = self.scopes[step.scope.0].decide(step.index);
                let event = flow::FlowEvent::Decided { step, decision };
                StepDone { answer: WorkAnswer::new(event), entry: Vec::new() }
            }
            Done::Attempted(task, under_way, Attempted::Ended(outcome)) => ended(*under_way, task, outcome),
            Done::Attempted(task, mut under_way, Attempted::Calls(called)) => {
                let timeout = u64::try_from(called.plan.timeout.as_millis()).ok();
                let called = tool.called(task.step.index, *called);
                match called.prepare() {
                    Err(refusal) => {
                        let outcome = under_way.refuse(refusal, &tool.plan);
                        ended(*under_way, task, outcome)
                    }
                    Ok(()) => {
                        let event = flow::FlowEvent::Opened {
                            by: Some(task),
                            steps: called.shapes(),
                            at_once: called.at_once(),
                        };
                        StepDone { answer: WorkAnswer { timeout, ..WorkAnswer::new(event) }, entry: Vec::new() }
                    }
                }
            }
            Done::CleanedUp(scope, cleaned) => {
                let entry = Entry::CleanedUp(scope, cleaned.warnings.clone()).to_bytes();
                self.handle(Done::CleanedUp(scope, cleaned));
                self.carry_out_all();
                let event = flow::FlowEvent::CleanedUp(scope);
                StepDone { answer: WorkAnswer { closes: self.closed, ..WorkAnswer::new(event) }, entry }
            }
        })
    }

    /// Tells the flow what happened on another machine.
    fn hear(&mut self, fact: FlowFact) -> Result<(), Refusal> {
        self.carry_out_all();
        self.heard(fact).ok_or_else(unfit)
    }

    fn heard(&mut self, FlowFact { event, entry }: FlowFact) -> Option<()> {
        use flow::FlowEvent;
        match event {
            FlowEvent::Opened { by: None, steps, at_once } => {
                let tool = &self.scopes[0].tool;
                return (steps == tool.shapes() && at_once == tool.at_once()).then_some(());
            }
            FlowEvent::Opened { by: Some(task), steps, at_once } => {
                self.happened(Entry::Called(task))?;
                let tool = &self.scopes.last()?.tool;
                return (steps == tool.shapes() && at_once == tool.at_once()).then_some(());
            }
            FlowEvent::Decided { step, decision } => {
                self.job(FlowWork::Decide(step))?;
                if decision == flow::ConditionResult::Undecidable && !entry.is_empty() {
                    // A machine refused to decide.
                    let Entry::Ended(_, _, mut report) = Entry::read(&entry)? else { return None };
                    let scope = &mut self.scopes[step.scope.0];
                    scope.tool.plan.steps[step.index].name.clone_into(&mut report.name);
                    scope.under_way[step.index] = Some(Box::new(UnderWay::of(*report)));
                    self.on(event);
                    return Some(());
                }
                // What follows from the results is known here as well, unless everyone is gone who was to say it.
                let scope = &mut self.scopes[step.scope.0];
                if scope.decide(step.index) != decision {
                    if decision != flow::ConditionResult::Undecidable {
                        return None;
                    }
                    let name = &scope.tool.plan.steps[step.index].name;
                    let refusal = lost_work(&format!("the condition of `{name}` was being decided"));
                    let mut under_way = UnderWay::of(StepReport::new(name, Status::Failed));
                    _ = under_way.refuse(refusal, &scope.tool.plan);
                    scope.under_way[step.index] = Some(Box::new(under_way));
                }
                self.on(event);
            }
            FlowEvent::Ended { task, outcome } if entry.is_empty() => {
                // No machine began it.
                let job = self.job(FlowWork::Attempt(task))?;
                if let What::Attempt(task, mut under_way) = job.what {
                    let refusal = if self.is_cancelled {
                        Refusal::new(Code::Cancelled, "the run was cancelled before a worker had time for it")
                    } else {
                        let why = "the time of the run was over before a worker had time for it";
                        Refusal::new(Code::TimedOut, why).attempt(job.tool.plan.more_time())
                    };
                    _ = under_way.refuse(refusal, &job.tool.plan);
                    self.put_back(task, under_way);
                }
                self.on(FlowEvent::Ended { task, outcome });
            }
            FlowEvent::Ended { task, outcome } => match Entry::read(&entry)? {
                Entry::Ended(of, how, mut report) if (of, how) == (task, outcome) => {
                    let plan = &self.scopes.get(task.step.scope.0)?.tool.plan;
                    plan.steps.get(task.step.index)?.name.clone_into(&mut report.name);
                    self.happened(Entry::Ended(task, outcome, report))?;
                }
                _ => return None,
            },
            FlowEvent::CleanedUp(scope) if entry.is_empty() => {
                self.job(FlowWork::CleanUp(scope))?;
                let warnings = vec!["the cleanup was lost: each worker that began it is gone".to_owned()];
                self.handle(Done::CleanedUp(scope, Cleaned { warnings, is_lost: true, ..Cleaned::default() }));
            }
            FlowEvent::CleanedUp(scope) => match Entry::read(&entry)? {
                cleaned @ Entry::CleanedUp(of, _) if of == scope => self.happened(cleaned)?,
                _ => return None,
            },
            FlowEvent::Lost(task) => self.happened(Entry::Lost(task))?,
            FlowEvent::Due(step) => self.happened(Entry::Due(step))?,
            // It is still to be done, by this machine or another one.
            FlowEvent::Asked(_) | FlowEvent::Resumed(_) => {}
            FlowEvent::OutOfTime(scope) => self.happened(Entry::OutOfTime(scope))?,
            FlowEvent::Cancelled => self.happened(Entry::Cancelled)?,
            FlowEvent::Answered { task, answer } => self.happened(Entry::Answered(task, answer))?,
        }
        Some(())
    }

    /// Does what there is to do until nothing is left.
    fn work<'s>(&mut self, threads: &'s Threads<'s, '_>) -> Result<(), Refusal>
    where
        'a: 's,
    {
        loop {
            self.tell_time();
            self.carry_out_all();
            let jobs = std::mem::take(&mut self.jobs);
            // A single thing needs no thread and no queue.
            let is_alone = self.threads == 0 && self.pauses.is_empty() && jobs.len() == 1;
            for job in jobs {
                match self.begin(job) {
                    Some(job) if is_alone => {
                        let done = job.carry_out(self.emit);
                        self.done(done);
                    }
                    Some(job) => self.spawn(threads, job),
                    None => {}
                }
            }
            if !self.commands.is_empty() {
                continue;
            }
            if self.threads == 0 && self.pauses.is_empty() {
                return Ok(());
            }
            self.wait()?;
        }
    }

    /// Brings a durable run to where it was when it was interrupted.
    fn go_on(&mut self) -> Result<(), Refusal> {
        let past = self.durable.as_mut().map(|durable| std::mem::take(&mut durable.past)).unwrap_or_default();
        if past.is_empty() {
            return Ok(());
        }
        self.is_past = true;
        for bytes in past {
            self.carry_out_all();
            let entry = Entry::read(&bytes);
            entry.and_then(|entry| self.happened(entry)).ok_or_else(unfit)?;
        }
        self.carry_out_all();
        self.is_past = false;
        self.lose()
    }

    fn carry_out_all(&mut self) {
        while let Some(command) = self.commands.pop_front() {
            self.carry_out(&command);
        }
    }

    /// Tells the flow what happened before the crash; nothing if it cannot have.
    fn happened(&mut self, entry: Entry) -> Option<()> {
        match entry {
            Entry::Started(task, _) => drop(self.begun.insert(task)),
            Entry::Ended(task, outcome, mut report) => {
                let before = match self.job(FlowWork::Attempt(task)) {
                    Some(Job { what: What::Attempt(_, before), .. }) => Some(before),
                    Some(_) => None,
                    // It was lost, and its result came late.
                    None if self.flow.outstanding().contains(&FlowCommand::Ask(task)) => {
                        let scope = self.scopes.get_mut(task.step.scope.0)?;
                        scope.under_way.get_mut(task.step.index)?.take()
                    }
                    None => return None,
                };
                // The steps of a tool that an earlier attempt called are told by themselves.
                if let Some(before) = before
                    && report.steps.is_empty()
                {
                    report.steps = before.report.steps;
                }
                self.begun.remove(&task);
                self.handle(Done::Attempted(task, Box::new(UnderWay::of(*report)), Attempted::Ended(outcome)));
            }
            Entry::Called(task) => {
                let job = self.job(FlowWork::Attempt(task))?;
                self.begun.remove(&task);
                match job.carry_out(&|_| {}) {
                    done @ Done::Attempted(_, _, Attempted::Calls(_)) => self.handle(done),
                    _ => return None,
                }
            }
            Entry::Due(step) => {
                self.pauses.retain(|(_, pausing)| *pausing != step);
                self.on(flow::FlowEvent::Due(step));
            }
            Entry::OutOfTime(scope) => {
                self.in_time.remove(&scope);
                self.on(flow::FlowEvent::OutOfTime(scope));
            }
            Entry::Cancelled => {
                self.is_cancelled = true;
                self.on(flow::FlowEvent::Cancelled);
            }
            Entry::CleanedUp(scope, warnings) => {
                self.job(FlowWork::CleanUp(scope))?;
                self.handle(Done::CleanedUp(scope, Cleaned { warnings, ..Cleaned::default() }));
            }
            Entry::Lost(task) => {
                self.begun.remove(&task);
                self.lost(task)?;
            }
            Entry::Answered(task, answer) => self.on(flow::FlowEvent::Answered { task, answer }),
        }
        Some(())
    }

    /// Takes a job off those to be done.
    fn job(&mut self, work: FlowWork) -> Option<Job<'a>> {
        let place = self.jobs.iter().position(|job| job.what.work() == work)?;
        Some(self.jobs.remove(place))
    }

    /// Tells the flow that nobody knows how an attempt ended.
    fn lost(&mut self, task: FlowTask) -> Option<()> {
        let job = self.job(FlowWork::Attempt(task))?;
        if let What::Attempt(task, under_way) = job.what {
            self.put_back(task, under_way);
        }
        self.on(flow::FlowEvent::Lost(task));
        Some(())
    }

    /// Returns what is known of a step to where the next attempt finds it.
    fn put_back(&mut self, task: FlowTask, under_way: Box<UnderWay>) {
        self.scopes[task.step.scope.0].under_way[task.step.index] = Some(under_way);
    }

    /// Tells the flow which attempts the crash interrupted. Nothing is told before everybody has answered who is asked.
    fn lose(&mut self) -> Result<(), Refusal> {
        let lost: Vec<FlowTask> = std::mem::take(&mut self.begun).into_iter().collect();
        let asked = self.flow.outstanding().into_iter();
        let asked = asked.filter_map(|command| if let FlowCommand::Ask(task) = command { Some(task) } else { None });
        let asks =
            |task: &FlowTask| self.scopes[task.step.scope.0].tool.on_lost(task.step.index) == flow::LostPolicy::Ask;
        let asked: Vec<FlowTask> = asked.chain(lost.iter().copied().filter(asks)).collect();
        let mut answers = Vec::new();
        for task in asked {
            let tool = &self.scopes[task.step.scope.0].tool;
            let path = tool.path(&tool.plan.steps[task.step.index]);
            let answer = self.durable.as_ref().and_then(|durable| (durable.lost)(&path)).ok_or_else(|| {
                let why = format!("`{path}` was running when the run was interrupted, and may have been done");
                Refusal::new(Code::StepLost, why).place(path.as_str()).attempt(
                    "choose what to do: `--lost again`, `--lost done` or `--lost stop`; or decide later: `cycod \
                         approvals list`",
                )
            })?;
            answers.push((task, answer));
        }
        for task in lost {
            self.write(&Entry::Lost(task), true)?;
            _ = self.lost(task);
        }
        for (task, answer) in answers {
            self.write(&Entry::Answered(task, answer), true)?;
            self.on(flow::FlowEvent::Answered { task, answer });
        }
        Ok(())
    }

    /// Writes down what happens, where the run is durable.
    fn write(&mut self, entry: &Entry, must_last: bool) -> Result<(), Refusal> {
        match &mut self.durable {
            Some(durable) if !self.is_past => durable.ledger.add(&entry.to_bytes(), must_last),
            _ => Ok(()),
        }
    }

    /// Writes down what the step that comes next makes certain: if that cannot be written either, the run ends.
    fn note(&mut self, entry: &Entry) {
        _ = self.write(entry, false);
    }

    /// Writes down that a job begins. A step that cannot be written down ends instead: after a crash, nobody would know
    /// that it may have been done.
    fn begin(&mut self, job: Job<'a>) -> Option<Job<'a>> {
        let Job { tool, what: What::Attempt(task, _), .. } = &job else { return Some(job) };
        let (task, on_lost) = (*task, tool.on_lost(task.step.index));
        let is_asked = self.durable.is_some() && on_lost == flow::LostPolicy::Ask;
        let asks = is_asked.then(|| tool.path(&tool.plan.steps[task.step.index]).as_str().to_owned());
        let written = self.write(&Entry::Started(task, asks), on_lost != flow::LostPolicy::Retry);
        let Err(refusal) = written else { return Some(job) };
        if let What::Attempt(task, mut under_way) = job.what {
            let outcome = under_way.refuse(refusal, &job.tool.plan);
            self.put_back(task, under_way);
            self.on(flow::FlowEvent::Ended { task, outcome });
        }
        None
    }

    fn tell(&self, event: Event<'_>) {
        if !self.is_past {
            (self.emit)(event);
        }
    }

    fn on(&mut self, event: flow::FlowEvent) {
        self.commands.extend(self.flow.on(event));
    }

    fn open(&mut self, by: Option<FlowTask>, tool: Tool<'a>, results: Results) {
        let (steps, at_once) = (tool.shapes(), tool.at_once());
        self.in_time.insert(ScopeId(self.scopes.len()));
        self.scopes.push(Scope::new(tool, results));
        self.on(flow::FlowEvent::Opened { by, steps, at_once });
    }

    /// Tells the flow what time has brought: that the run was cancelled, that limits are over, that pauses are.
    fn tell_time(&mut self) {
        if !self.is_cancelled && self.scopes[0].tool.driver.stop.is_raised() {
            self.is_cancelled = true;
            self.pauses.clear();
            self.note(&Entry::Cancelled);
            self.on(flow::FlowEvent::Cancelled);
        }
        let now = Instant::now();
        let is_over = |id: &ScopeId| now >= self.scopes[id.0].tool.deadline;
        for id in self.in_time.iter().copied().filter(is_over).collect::<Vec<_>>() {
            self.in_time.remove(&id);
            self.note(&Entry::OutOfTime(id));
            self.on(flow::FlowEvent::OutOfTime(id));
        }
        while let Some((due, step)) = self.pauses.first()
            && (*due <= now || !self.in_time.contains(&step.scope))
        {
            let step = *step;
            self.pauses.pop_first();
            self.note(&Entry::Due(step));
            self.on(flow::FlowEvent::Due(step));
        }
    }

    fn carry_out(&mut self, command: &FlowCommand) {
        match *command {
            FlowCommand::Decide(step) if self.told != Told::Here => {
                let scope = &self.scopes[step.scope.0];
                let (tool, results) = (Arc::clone(&scope.tool), scope.results.clone());
                self.jobs.push(Job { tool, results, what: What::Decide(step) });
            }
            FlowCommand::Decide(step) => {
                let decision = self.scopes[step.scope.0].decide(step.index);
                self.on(flow::FlowEvent::Decided { step, decision });
            }
            FlowCommand::Start(task) => {
                let scope = &mut self.scopes[task.step.scope.0];
                let tool = Arc::clone(&scope.tool);
                let new = || Box::new(UnderWay::new(&tool.plan.steps[task.step.index], tool.began));
                let under_way = scope.under_way[task.step.index].take().unwrap_or_else(new);
                self.jobs.push(Job {
                    results: scope.results.seen_by(task.step.index),
                    tool,
                    what: What::Attempt(task, under_way),
                });
            }
            FlowCommand::Pause { after } => {
                let scope = &self.scopes[after.step.scope.0];
                let step = &scope.tool.plan.steps[after.step.index];
                if let (Some(retry), Attempt::Number(number)) = (step.retry, after.attempt) {
                    let pause = retry.pause(number);
                    let exit_code = scope.under_way[after.step.index].as_ref().map_or(1, |way| way.report.exit_code);
                    self.tell(Event::Retrying { step: scope.tool.path(step), exit_code, pause });
                    self.pauses.insert((Instant::now() + pause, after.step));
                }
            }
            FlowCommand::Settle { step, settled } => {
                self.keep_order(step);
                let scope = &mut self.scopes[step.scope.0];
                let path = scope.tool.path(&scope.tool.plan.steps[step.index]);
                let report = scope.settle(step.index, settled);
                let (status, exit_code, duration) = (report.status, report.exit_code, report.duration);
                self.tell(Event::StepEnded { step: path, status, exit_code, duration });
            }
            FlowCommand::CleanUp(id) => {
                let scope = &self.scopes[id.0];
                let (tool, results) = (Arc::clone(&scope.tool), scope.results.clone());
                self.jobs.push(Job { tool, results, what: What::CleanUp(id) });
            }
            FlowCommand::Close { scope, verdict } => self.close(scope, verdict),
            // A question of the past is answered once all of it is known.
            FlowCommand::Ask(_) if self.durable.is_some() && self.told == Told::Here => {}
            FlowCommand::Ask(_) if self.told == Told::DoesOne => {}
            // The hub asks, and the answer is among what it tells.
            FlowCommand::Ask(task) if self.told == Told::Follows => {
                let tool = &self.scopes[task.step.scope.0].tool;
                let path = tool.path(&tool.plan.steps[task.step.index]);
                let what = format!("`{path}` may have been done, so the run waits until you decide what follows");
                self.tell(Event::Warning(format!("{what}: cycod approvals list")));
                self.tell(Event::Quiet);
            }
            FlowCommand::Ask(task) => self.on(flow::FlowEvent::Answered { task, answer: flow::LostAnswer::Stop }),
        }
    }

    /// Has a step that others carried out end after those that settled before it, whatever the clocks of the machines say.
    fn keep_order(&mut self, step: StepId) {
        let under_way = &mut self.scopes[step.scope.0].under_way[step.index];
        let Some(under_way) = under_way.as_mut().filter(|_| self.told != Told::Here) else { return };
        let report = &mut under_way.report;
        // One that never began has no end, as on this machine.
        if report.start_time.or(report.end_time).is_none() {
            return;
        }
        let after = self.last_end.map(|last| last + Duration::from_nanos(1));
        report.end_time = report.end_time.max(after).or(report.start_time);
        self.last_end = report.end_time.max(self.last_end);
    }

    /// Hands the report of a tool to the step that called it, or to the one who asked for the run.
    fn close(&mut self, id: ScopeId, verdict: flow::ScopeEnd) {
        self.in_time.remove(&id);
        let scope = &mut self.scopes[id.0];
        let is_lost = scope.cleaned.is_lost;
        let report = scope.report(verdict);
        // Also if another process heard of it, and this one only follows.
        let report = RunReport { cancelled: report.cancelled || self.is_cancelled, ..report };
        let (duration, called) = (scope.opened.elapsed(), Arc::clone(&scope.tool));
        match self.flow.opened_by(id) {
            Some(task) if is_lost => {
                let caller = &mut self.scopes[task.step.scope.0];
                if let Some(under_way) = &mut caller.under_way[task.step.index] {
                    _ = under_way.report.record_called(&called, report, duration, &caller.tool.plan);
                    let refusal = lost_work(&format!("`{}` was being cleaned up", called.plan.tool().name));
                    _ = under_way.refuse(refusal, &caller.tool.plan);
                    self.on(flow::FlowEvent::Ended { task, outcome: flow::AttemptOutcome::Forbidden });
                }
            }
            Some(task) => self.returned(task, &called, report, duration),
            None => self.report = Some(report),
        }
    }

    /// Ends the step that called a tool with what came of the tool.
    fn returned(&mut self, task: FlowTask, called: &Tool<'_>, report: RunReport, duration: Duration) {
        let caller = &mut self.scopes[task.step.scope.0];
        if let Some(under_way) = &mut caller.under_way[task.step.index] {
            let outcome = under_way.report.record_called(called, report, duration, &caller.tool.plan);
            self.closed = Some(outcome);
            self.on(flow::FlowEvent::Ended { task, outcome });
        }
    }

    /// Does a job in a thread of its own.
    fn spawn<'s>(&mut self, threads: &'s Threads<'s, '_>, job: Job<'a>)
    where
        'a: 's,
    {
        let channel = self.channel.get_or_insert_with(|| {
            let (sender, receiver) = sync_channel(QUEUE);
            Channel { sender, receiver }
        });
        let sender = channel.sender.clone();
        self.threads += 1;
        threads.spawn(move || {
            // The dispatcher listens until every thread is done, unless it has broken off itself.
            let done = caught(|| job.carry_out(&|event| drop(sender.send(Message::Event(event.into_owned())))));
            drop(sender.send(done.map_or_else(Message::Broke, |done| Message::Done(Box::new(done)))));
        });
    }

    /// Waits until a thread says something or a pause is over.
    fn wait(&mut self) -> Result<(), Refusal> {
        let due = self.pauses.first().map(|(due, _)| *due);
        let deadlines = self.in_time.iter().map(|id| self.scopes[id.0].tool.deadline);
        let next = due.map(|due| deadlines.fold(due, Instant::min));
        let message = match (&self.channel, next) {
            (Some(channel), None) => channel.receiver.recv().ok(),
            (Some(channel), Some(next)) if self.threads > 0 => {
                channel.receiver.recv_timeout(next.saturating_duration_since(Instant::now())).ok()
            }
            (_, Some(next)) => {
                let stop = self.scopes[0].tool.driver.stop;
                stop.wait(next.saturating_duration_since(Instant::now()));
                None
            }
            (None, None) => None,
        };
        match message {
            Some(Message::Event(event)) => self.tell(event),
            Some(Message::Done(done)) => {
                self.threads -= 1;
                self.done(*done);
            }
            // Without this the run would wait for what never comes: the channel has another sender, which is ours.
            Some(Message::Broke(refusal)) => return Err(refusal),
            None => {}
        }
        Ok(())
    }

    /// Tells the flow what came of a job.
    fn done(&mut self, done: Done) {
        // What the time has brought came before.
        self.tell_time();
        let done = self.written(done);
        self.handle(done);
    }

    /// Writes down what came of a job before anything follows from it.
    fn written(&mut self, done: Done) -> Done {
        if self.durable.is_none() {
            return done;
        }
        let written = match &done {
            Done::Attempted(task, under_way, Attempted::Ended(outcome)) => {
                self.write(&Entry::Ended(*task, *outcome, Box::new(under_way.report.clone())), true)
            }
            Done::Attempted(task, _, Attempted::Calls(_)) => self.write(&Entry::Called(*task), false),
            // The cleanup of the outermost tool is the end of the run.
            Done::CleanedUp(ScopeId(0), _) | Done::Decided(_) => Ok(()),
            Done::CleanedUp(scope, cleaned) => self.write(&Entry::CleanedUp(*scope, cleaned.warnings.clone()), true),
        };
        match (written, done) {
            (Err(refusal), Done::Attempted(task, mut under_way, _)) => {
                let plan = &self.scopes[task.step.scope.0].tool.plan;
                let outcome = under_way.refuse(refusal, plan);
                Done::Attempted(task, under_way, Attempted::Ended(outcome))
            }
            (_, done) => done,
        }
    }

    fn handle(&mut self, done: Done) {
        match done {
            Done::Attempted(task, under_way, attempted) => {
                self.put_back(task, under_way);
                match attempted {
                    Attempted::Ended(outcome) => self.on(flow::FlowEvent::Ended { task, outcome }),
                    Attempted::Calls(called) => {
                        let scope = &self.scopes[task.step.scope.0];
                        let results = match called.items.clone() {
                            Some(items) => Results::of_items(scope.results.seen_by(task.step.index), items),
                            None => Results::new(called.plan.steps.len()),
                        };
                        let tool = scope.tool.called(task.step.index, *called);
                        match self.prepared(&tool) {
                            Ok(()) => self.open(Some(task), tool, results),
                            Err(refusal) => {
                                self.returned(task, &tool, RunReport::refused(refusal), Duration::ZERO);
                            }
                        }
                    }
                }
            }
            Done::CleanedUp(id, cleaned) => {
                if !self.is_past {
                    warn(&cleaned.warnings, self.emit);
                }
                self.scopes[id.0].cleaned = cleaned;
                self.on(flow::FlowEvent::CleanedUp(id));
            }
            Done::Decided(_) => {}
        }
    }
}
