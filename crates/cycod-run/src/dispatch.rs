//! Carries out a flow: with threads where several things run at once, and without one where a single thing does.

use std::{
    collections::{BTreeSet, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, Scope as Threads},
    time::Instant,
};

use cycod_call::Scripts;
use cycod_diagnostic::{Code, Refusal};
use cycod_flow::{self as flow, Attempt, Command, Flow, ScopeId, StepId, Task};
use cycod_plan::{Plan, Secrets};
use cycod_policy::Approved;
use cycod_process::{Observer, Pool, Session, Stop};

use crate::{
    BuiltIns, Event, Models, Remotes, RunReport, Sink,
    results::Results,
    scope::{Cleaned, Scope, Tool},
    worker::{self, Attempted, UnderWay, warn},
    workers::Workers,
};

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

/// Runs an approved plan to its end.
///
/// Nothing that it starts outlives it: processes that steps leave behind are ended before this returns.
#[expect(clippy::needless_pass_by_value, reason = "an approval is used up by the run it allows")]
pub fn run(approved: Approved<Plan>, driver: &Driver<'_>, sink: &mut dyn Sink) -> RunReport {
    let plan = match approved.subject().with_secrets(driver.secrets) {
        Ok(plan) => plan,
        Err(refusal) => return RunReport::refused(refusal),
    };
    let began = Instant::now();
    let session = match Session::new() {
        Ok(session) => session,
        Err(error) => {
            let why = format!("cannot prepare to start processes: {error}");
            return RunReport::refused(Refusal::new(Code::NotStarted, why));
        }
    };
    let sink = std::cell::RefCell::new(sink);
    let emit = |event: Event<'_>| sink.borrow_mut().event(&event);
    warn(&plan.warnings, &emit);
    let warnings = plan.warnings.clone();
    let mut report = Dispatcher::new(&emit).run(Tool::outermost(plan, driver, &session, began));
    report.warnings.splice(0..0, warnings);
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

/// What has to be done, here or in a thread.
struct Job<'a> {
    tool: Arc<Tool<'a>>,
    results: Results,
    what: What,
}

enum What {
    Attempt(Task, Box<UnderWay>),
    CleanUp(ScopeId),
}

/// What a thread says.
enum Message {
    Event(Event<'static>),
    Done(Box<Done>),
}

/// What came of a job.
enum Done {
    Attempted(Task, Box<UnderWay>, Attempted),
    CleanedUp(ScopeId, Cleaned),
}

impl Job<'_> {
    /// Does it. A panic ends what panicked, and nothing else.
    fn carry_out(self, emit: &dyn Fn(Event<'_>)) -> Done {
        let Self { tool, results, what } = self;
        match what {
            What::Attempt(task, mut under_way) => {
                let worker = tool.worker(task.step.index, results);
                let attempt = AssertUnwindSafe(|| worker.attempt_once(task.attempt, &mut under_way, emit));
                let attempted = catch_unwind(attempt).unwrap_or_else(|panic| {
                    let refusal = panicked(&*panic).place(worker.path.as_str());
                    let attempt = worker::Attempt::refused(refusal);
                    Attempted::Ended(under_way.report.record(attempt, &tool.plan))
                });
                Done::Attempted(task, under_way, attempted)
            }
            What::CleanUp(scope) => {
                let cleaned = catch_unwind(AssertUnwindSafe(|| tool.clean(&results))).unwrap_or_else(|panic| {
                    let why = format!("the cleanup was not finished: {}", panicked(&*panic).why);
                    Cleaned { warnings: vec![why], ..Cleaned::default() }
                });
                Done::CleanedUp(scope, cleaned)
            }
        }
    }
}

/// What is said of a panic, which is a mistake of ours.
fn panicked(panic: &(dyn std::any::Any + Send)) -> Refusal {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Refusal::new(
        Code::InternalError,
        format!("this program made a mistake: {}", text.unwrap_or("it did not say which")),
    )
}

/// Where threads send what they say.
struct Channel {
    sender: SyncSender<Message>,
    receiver: Receiver<Message>,
}

/// Carries out the commands of a flow, and tells it what came of them.
struct Dispatcher<'a, 'e> {
    flow: Flow,
    scopes: Vec<Scope<'a>>,
    commands: VecDeque<Command>,
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
    emit: &'e dyn Fn(Event<'_>),
}

impl<'a, 'e> Dispatcher<'a, 'e> {
    fn new(emit: &'e dyn Fn(Event<'_>)) -> Self {
        Self {
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
            emit,
        }
    }

    /// Runs a tool to its end.
    fn run(mut self, tool: Tool<'a>) -> RunReport {
        if let Err(refusal) = tool.prepare() {
            return RunReport::refused(refusal);
        }
        self.tell_time_of(&tool);
        self.open(None, tool);
        thread::scope(|threads| {
            loop {
                self.tell_time();
                while let Some(command) = self.commands.pop_front() {
                    self.carry_out(&command);
                }
                // A single thing needs no thread and no queue.
                if self.threads == 0 && self.pauses.is_empty() && self.jobs.len() == 1 {
                    let done = self.jobs.remove(0).carry_out(self.emit);
                    self.done(done);
                    continue;
                }
                for job in std::mem::take(&mut self.jobs) {
                    self.spawn(threads, job);
                }
                if self.threads == 0 && self.pauses.is_empty() {
                    break;
                }
                self.wait();
            }
        });
        let why = || Refusal::new(Code::InternalError, "this program made a mistake: the run has no end");
        self.report.unwrap_or_else(|| RunReport::refused(why()))
    }

    fn on(&mut self, event: flow::Event) {
        self.commands.extend(self.flow.on(event));
    }

    fn open(&mut self, by: Option<Task>, tool: Tool<'a>) {
        let shapes = tool.shapes();
        self.in_time.insert(ScopeId(self.scopes.len()));
        self.scopes.push(Scope::new(tool));
        self.on(flow::Event::Opened { by, steps: shapes });
    }

    /// A run that was cancelled before it began starts nothing.
    fn tell_time_of(&mut self, tool: &Tool<'_>) {
        if tool.driver.stop.is_raised() {
            self.is_cancelled = true;
            self.on(flow::Event::Cancelled);
        }
    }

    /// Tells the flow what time has brought: that the run was cancelled, that limits are over, that pauses are.
    fn tell_time(&mut self) {
        if !self.is_cancelled && self.scopes[0].tool.driver.stop.is_raised() {
            self.is_cancelled = true;
            self.pauses.clear();
            self.on(flow::Event::Cancelled);
        }
        let now = Instant::now();
        let is_over = |id: &ScopeId| now >= self.scopes[id.0].tool.deadline;
        for id in self.in_time.iter().copied().filter(is_over).collect::<Vec<_>>() {
            self.in_time.remove(&id);
            self.on(flow::Event::OutOfTime(id));
        }
        while let Some((due, step)) = self.pauses.first()
            && (*due <= now || !self.in_time.contains(&step.scope))
        {
            let step = *step;
            self.pauses.pop_first();
            self.on(flow::Event::Due(step));
        }
    }

    fn carry_out(&mut self, command: &Command) {
        match *command {
            Command::Decide(step) => {
                let decision = self.scopes[step.scope.0].decide(step.index);
                self.on(flow::Event::Decided { step, decision });
            }
            Command::Start(task) => {
                let scope = &mut self.scopes[task.step.scope.0];
                let tool = Arc::clone(&scope.tool);
                let new = || Box::new(UnderWay::new(&tool.plan.steps[task.step.index], tool.began));
                let under_way = scope.under_way[task.step.index].take().unwrap_or_else(new);
                self.jobs.push(Job { results: scope.results.clone(), tool, what: What::Attempt(task, under_way) });
            }
            Command::Pause { after } => {
                let scope = &self.scopes[after.step.scope.0];
                let step = &scope.tool.plan.steps[after.step.index];
                if let (Some(retry), Attempt::Number(number)) = (step.retry, after.attempt) {
                    let pause = retry.pause(number);
                    let exit_code = scope.under_way[after.step.index].as_ref().map_or(1, |way| way.report.exit_code);
                    (self.emit)(Event::Retrying { step: scope.tool.path(step), exit_code, pause });
                    self.pauses.insert((Instant::now() + pause, after.step));
                }
            }
            Command::Settle { step, settled } => {
                let scope = &mut self.scopes[step.scope.0];
                let path = scope.tool.path(&scope.tool.plan.steps[step.index]);
                let report = scope.settle(step.index, settled);
                (self.emit)(Event::StepEnded {
                    step: path,
                    status: report.status,
                    exit_code: report.exit_code,
                    duration: report.duration,
                });
            }
            Command::CleanUp(id) => {
                let scope = &self.scopes[id.0];
                let (tool, results) = (Arc::clone(&scope.tool), scope.results.clone());
                self.jobs.push(Job { tool, results, what: What::CleanUp(id) });
            }
            Command::Close { scope, verdict } => self.close(scope, verdict),
            // Threads are not lost.
            Command::Ask(task) => self.on(flow::Event::Answered { task, answer: flow::Answer::Stop }),
        }
    }

    /// Hands the report of a tool to the step that called it, or to the one who asked for the run.
    fn close(&mut self, id: ScopeId, verdict: flow::Verdict) {
        self.in_time.remove(&id);
        let scope = &mut self.scopes[id.0];
        let report = scope.report(verdict);
        let (duration, called) = (scope.opened.elapsed(), Arc::clone(&scope.tool));
        let Some(task) = self.flow.opened_by(id) else {
            self.report = Some(report);
            return;
        };
        let caller = &mut self.scopes[task.step.scope.0];
        if let Some(under_way) = &mut caller.under_way[task.step.index] {
            let outcome = under_way.report.record_called(&called.plan, report, duration, &caller.tool.plan);
            self.on(flow::Event::Ended { task, outcome });
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
            // The dispatcher listens until every thread is done, so sending cannot fail.
            let done = job.carry_out(&|event| drop(sender.send(Message::Event(event.into_owned()))));
            drop(sender.send(Message::Done(Box::new(done))));
        });
    }

    /// Waits until a thread says something or a pause is over.
    fn wait(&mut self) {
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
            Some(Message::Event(event)) => (self.emit)(event),
            Some(Message::Done(done)) => {
                self.threads -= 1;
                self.done(*done);
            }
            None => {}
        }
    }

    /// Tells the flow what came of a job.
    fn done(&mut self, done: Done) {
        // What the time has brought came before.
        self.tell_time();
        match done {
            Done::Attempted(task, under_way, attempted) => {
                let scope = &mut self.scopes[task.step.scope.0];
                scope.under_way[task.step.index] = Some(under_way);
                match attempted {
                    Attempted::Ended(outcome) => self.on(flow::Event::Ended { task, outcome }),
                    Attempted::Calls(called) => {
                        let tool = scope.tool.called(task.step.index, *called);
                        match tool.prepare() {
                            Ok(()) => self.open(Some(task), tool),
                            Err(refusal) => {
                                let report = RunReport::refused(refusal);
                                if let Some(under_way) = &mut scope.under_way[task.step.index] {
                                    let plan = &scope.tool.plan;
                                    let duration = std::time::Duration::ZERO;
                                    let outcome = under_way.report.record_called(&tool.plan, report, duration, plan);
                                    self.on(flow::Event::Ended { task, outcome });
                                }
                            }
                        }
                    }
                }
            }
            Done::CleanedUp(id, cleaned) => {
                warn(&cleaned.warnings, self.emit);
                self.scopes[id.0].cleaned = cleaned;
                self.on(flow::Event::CleanedUp(id));
            }
        }
    }
}
