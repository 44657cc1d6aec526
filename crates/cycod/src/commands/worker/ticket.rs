//! One task of a worker: verified, unpacked, planned, decided and run here, while its events go to the hub.

use std::{
    collections::BTreeSet,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_app::App;
use cycod_engine::{
    Answer, Approved, Asker, AttemptOutcome, Caller, Carrier, Control, Driver, Durable, Engine, FlowEvent, FlowFact,
    FlowWork, Given, Plan, Request, RunPlace, RunReport, Sink, SpanContext, StepDone, StepOrder, Stop, Surface,
    Urgency, Verdict,
    approvals::request_json,
    asked_step,
    definition::{Host, Tool, Value, missing_labels},
    diagnostic::{Code, Refusal},
    json, refused_step, report_json, run_step, timestamp,
    trust::fingerprint,
};
use cycod_process::expire_at;
use cycod_snapshot::{Changes, Snapshot};
use cycod_team::{BytesInParts, StepChanges, TicketDocument, TicketWorkspace};
use cycod_team_sync::{GivenTicket, ReportAnswer, VerifiedStep, VerifiedTicket, WorkerHub, WorkerMachine};
use serde_json::{Value as Json, json as object};

use super::{
    outbox::{Next, Outbox, Sending, size_of_output},
    shared::SharedDirectories,
    unpacked::Unpacked,
};
use crate::{command_error::CommandError, run::not_planned, secrets::seconds};

/// How often a run is reported that says nothing.
const BEAT: Duration = Duration::from_millis(500);

/// How often a run is looked after.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long events are collected before they are sent.
const MERGE: Duration = Duration::from_millis(20);

/// The most events of a piece, and about how many bytes.
const MOST_EVENTS: usize = 500;
const MOST_BYTES: usize = 256 << 10;

/// How long what was stopped has until it is killed.
const GRACE: Duration = Duration::from_secs(1);

/// How long a result is offered to a hub that doesn't answer.
const PATIENCE: Duration = Duration::from_secs(600);

/// The same for a worker that is to stop.
const PARTING: Duration = Duration::from_secs(3);

/// How many paths a message names.
const NAMED: usize = 10;

/// What a worker needs for a task.
pub(super) struct Errand<'a> {
    pub(super) machine: &'a WorkerMachine,
    pub(super) host: &'a Host,
    /// What it offers.
    pub(super) labels: &'a [String],
    /// The directories that it shares with other workers.
    pub(super) shared: &'a SharedDirectories,
    /// Ends the worker with what it runs.
    pub(super) stop: &'a Stop,
    /// When it asked for the task: the lease is no older.
    pub(super) asked: Instant,
}

impl Errand<'_> {
    /// Carries a task out, and reports it; returns what the worker says about it.
    pub(super) fn carry_out(&self, given: &GivenTicket) -> String {
        let name = &self.machine.name;
        let now = i64::try_from(seconds(SystemTime::now())).unwrap_or(i64::MAX);
        let (what, sent) = match self.machine.verified(given, now) {
            Ok(ticket) => {
                let what = format!("{} for {}", ticket.document.tool, ticket.member);
                (what, self.run_and_report(&ticket))
            }
            Err(error) => {
                let Some((task, fence)) = given.claimed() else { return "a task can't be read".to_owned() };
                let refusal = ticket_refused(name, &error.to_string());
                let work = given.claimed_work().and_then(|work| serde_json::from_str(&work).ok());
                let outcome = Outcome::refused(work, refusal);
                let what = format!("task {task}");
                let sent = self
                    .machine
                    .hub()
                    .map_err(|error| error.to_string())
                    .and_then(|mut hub| offer(&mut hub, (&task, fence), outcome, self.stop));
                (what, sent)
            }
        };
        match sent {
            Ok(how) | Err(how) => format!("{what}: {how}"),
        }
    }

    /// Runs a verified task; its events go to the hub meanwhile.
    fn run_and_report(&self, ticket: &VerifiedTicket) -> Result<String, String> {
        let unprepared = |error: io::Error| format!("cannot prepare to start processes: {error}");
        let stop = Stop::new().map_err(unprepared)?;
        let mut hub = self.machine.hub().map_err(|error| error.to_string())?;
        let lease = Lease {
            id: ticket.task(),
            fence: ticket.fence,
            length: Duration::from_millis(ticket.lease_ms),
            renewed: Mutex::new(self.asked),
            grace: Mutex::new(HubGrace { length: Duration::from_millis(ticket.grace_ms), answered: self.asked }),
            is_over: AtomicBool::new(false),
            stop: &stop,
        };
        lease.hold();
        let outbox = Outbox::default();
        let report = thread::scope(|scope| {
            let (running, ended) = channel();
            let (lease, hub, outbox, worker) = (&lease, &mut hub, &outbox, self.stop);
            scope.spawn(move || lease.watch(worker, &ended));
            let reporting = scope.spawn(move || lease.report(hub, outbox));
            let report = self.run(ticket, &stop, &mut Sending(outbox));
            // A panic there is one here, when the scope ends.
            _ = reporting.join();
            drop(running);
            expire_at(None);
            report
        });
        if lease.is_over.load(Ordering::SeqCst) {
            // The hub keeps it as a late result. One that was away may have given the lease again: then the run was lost, and how
            // it was ended here must not count as its end.
            let task = (lease.id, lease.fence);
            if hub.report(task, (0, &[]), None).is_ok_and(|answer| answer.over) {
                _ = hub.report(task, (0, &[]), Some(&report.json()));
            }
            return Err("the lease has ended, so the run was stopped".to_owned());
        }
        offer(&mut hub, (lease.id, lease.fence), report, self.stop)
    }

    /// Runs all of a ticket, or the step of it that is asked for.
    fn run(&self, ticket: &VerifiedTicket, stop: &Stop, sink: &mut dyn Sink) -> Outcome {
        let name = &self.machine.name;
        let work = ticket.step.as_ref().map(|step| serde_json::from_str::<FlowWork>(&step.work));
        let work = match work.transpose() {
            Ok(work) => work,
            Err(error) => {
                return Outcome::refused(None, ticket_refused(name, &format!("the step can't be read: {error}")));
            }
        };
        if let [lacks, ..] = missing_labels(&ticket.document.labels, self.labels)[..] {
            return Outcome::refused(work, ticket_refused(name, &format!("it doesn't offer `{lacks}`")));
        }
        let project = ticket.document.workspace.as_ref().map(|workspace| self.project(ticket, workspace)).transpose();
        let place = project.and_then(|project| Unpacked::of(self.machine, self.host, ticket, project));
        let mut place = match place {
            Ok(place) => place,
            Err(why) => return Outcome::refused(work, ticket_refused(name, &why)),
        };
        let done = match (work, &ticket.step) {
            (Some(work), Some(step)) => self
                .step_in(&mut place, ticket, (work, step), stop, sink)
                .map(|done| self.step_outcome(&place, ticket, (work, done), stop)),
            _ => self
                .run_in(&mut place, ticket, RunPlace::Here, stop, sink)
                .map(|report| self.run_outcome(&place, ticket, report)),
        };
        done.unwrap_or_else(|undone| match undone {
            Undone::Refused(refusal) => Outcome::refused(work, *refusal),
            Undone::Asks(question) => match work {
                Some(work) => Outcome::Step(asked_step(work, &question), None),
                None => Outcome::Asks(question),
            },
        })
    }

    /// Gets the files of the project that a ticket names, and what the steps before changed in them.
    fn project(
        &self,
        ticket: &VerifiedTicket,
        workspace: &TicketWorkspace,
    ) -> Result<(Snapshot, Vec<Changes>), String> {
        let mut hub = self.machine.hub().map_err(|error| error.to_string())?;
        let lease = (ticket.task(), ticket.fence);
        let packed = hub.fetch(lease, &workspace.files).map_err(|error| error.to_string())?;
        let project = Snapshot::unpack(&packed).map_err(|error| error.to_string())?;
        let changes = ticket.step.iter().flat_map(|step| &step.past.changes);
        let changes = changes.map(|changes| fetched(&mut hub, lease, changes)).collect::<Result<_, _>>()?;
        Ok((project, changes))
    }

    /// What came of a run, with what it changed in the files of the project.
    fn run_outcome(&self, place: &Unpacked, ticket: &VerifiedTicket, report: RunReport) -> Outcome {
        let comes_back = ticket.document.workspace.as_ref().is_some_and(|workspace| workspace.changes);
        if !comes_back || report.cancelled {
            return Outcome::Run(Box::new(report), None);
        }
        let cannot = |why: String| cannot_travel(&self.machine.name, &why);
        let sent = place.changes().and_then(|changes| {
            if changes.is_empty() {
                return Ok(None);
            }
            let packed = changes.pack().map_err(|error| error.to_string())?;
            let mut hub = self.machine.hub().map_err(|error| error.to_string())?;
            hub.bring((ticket.task(), ticket.fence), &packed).map(Some).map_err(|error| error.to_string())
        });
        match sent {
            Ok(changes) => Outcome::Run(Box::new(report), changes),
            Err(why) => {
                let refusal = report.refusal.clone().unwrap_or_else(|| cannot(why));
                let exit_code = if report.success { 1 } else { report.exit_code };
                let report = RunReport { success: false, exit_code, refusal: Some(refusal), ..report };
                Outcome::Run(Box::new(report), None)
            }
        }
    }

    /// What came of a step, with what it changed in the files of the project. Of one that was stopped, or could not begin, nothing
    /// comes back.
    fn step_outcome(
        &self,
        place: &Unpacked,
        ticket: &VerifiedTicket,
        (work, done): (FlowWork, StepDone),
        stop: &Stop,
    ) -> Outcome {
        let comes_back = ticket.document.workspace.as_ref().is_some_and(|workspace| workspace.changes);
        let is_over = match (work, &done.answer.event) {
            (FlowWork::Attempt(_), FlowEvent::Ended { outcome, .. }) => {
                matches!(outcome, AttemptOutcome::Succeeded | AttemptOutcome::Failed)
            }
            (FlowWork::CleanUp(_), _) => true,
            _ => false,
        };
        if !comes_back || !is_over || stop.is_raised() && matches!(work, FlowWork::Attempt(_)) {
            return Outcome::Step(done, None);
        }
        let changes = place.changes().and_then(|changes| {
            // The next step has it as the member signed it.
            match changes.by_path().keys().find(|path| ticket.files.contains_key(path.as_str())) {
                Some(path) => Err(format!("`{path}` belongs to the tool, and a step can't change that")),
                None => Ok(changes),
            }
        });
        let packed = changes.and_then(|changes| {
            if changes.is_empty() {
                return Ok(None);
            }
            let packed = changes.pack().map_err(|error| error.to_string())?;
            let mut hub = self.machine.hub().map_err(|error| error.to_string())?;
            let files = hub.bring((ticket.task(), ticket.fence), &packed).map_err(|error| error.to_string())?;
            let after = ticket.step.as_ref().map_or(0, |step| step.past.changes.len());
            Ok(Some((StepChanges { files, after }, changes)))
        });
        match packed {
            Ok(changes) => Outcome::Step(done, changes.map(Box::new)),
            Err(why) => Outcome::Step(without_changes(&done, &cannot_travel(&self.machine.name, &why)), None),
        }
    }

    /// Does one thing of a durable run.
    fn step_in(
        &self,
        place: &mut Unpacked,
        ticket: &VerifiedTicket,
        (work, step): (FlowWork, &VerifiedStep),
        stop: &Stop,
        sink: &mut dyn Sink,
    ) -> Result<StepDone, Undone> {
        let unreadable = || ticket_refused(&self.machine.name, "what happened before the step can't be read");
        let fact = |(event, entry): &(Json, String)| {
            let event = serde_json::from_value(event.clone()).ok()?;
            Some(FlowFact { event, entry: STANDARD.decode(entry).ok()? })
        };
        let past = step.past.facts.iter().map(fact).collect::<Option<_>>().ok_or_else(unreadable)?;
        let order =
            StepOrder { work, past, elapsed: Duration::from_millis(step.past.elapsed), labels: self.labels.to_vec() };
        let one = Arc::new(OneStep { order: Mutex::new(Some(order)), done: Mutex::new(None) });
        let report = self.run_in(place, ticket, RunPlace::Carried(Arc::clone(&one) as Arc<dyn Carrier>), stop, sink)?;
        let done = one.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        let done = done.unwrap_or_else(|| Err(report.refusal.unwrap_or_else(unreadable)))?;
        if done.entry.len() > step.past.room {
            let why = format!("the steps of a durable run wrote more than its hub keeps: {} bytes", done.entry.len());
            let refusal = Refusal::new(Code::OutputTooLarge, why);
            return Err(refusal.attempt("write less, or lower `output.buffer-limit`").into());
        }
        Ok(done)
    }

    /// Plans the call by the files of the ticket, decides about it by the rules of this machine, and runs it.
    fn run_in(
        &self,
        place: &mut Unpacked,
        ticket: &VerifiedTicket,
        run_place: RunPlace,
        stop: &Stop,
        sink: &mut dyn Sink,
    ) -> Result<RunReport, Undone> {
        let call = self.call(place, ticket, SystemTime::now())?;
        // One answer counts for all steps, so what is asked is about the files as the member signed them.
        let question = (!self.machine.approvers.is_empty()).then(|| self.question(place, ticket));
        // A step may start what those before it made. The files of the tool are not among that.
        place.advance().map_err(|why| ticket_refused(&self.machine.name, &why))?;
        call.vouch()?;
        let approved = self.approved(&call, question, ticket)?;
        let principal = call.asker.principal.clone();
        let caller = Caller { surface: "person", host: Some("fleet".to_owned()), principal, is_local: false };
        let trace = ticket.document.trace.as_ref();
        let trace = trace.and_then(|trace| Some(SpanContext::parse(&trace.parent)?.with_state(Some(&trace.state))));
        let is_traced_elsewhere = trace.is_some();
        let control = Control {
            caller: Some(caller),
            place: run_place,
            trace,
            is_traced_elsewhere,
            ..Control::new(stop.clone())
        };
        let (mut report, recording) = call.engine.run_recorded(approved, &control, sink);
        if let Some(recording) = recording {
            let transcript = report.transcript.clone();
            recording.end(&mut report, vec![("transcript", cycod_engine::Wrote::Bytes(&transcript))]);
        }
        Ok(report)
    }

    /// Finds the tool of a ticket among its files, if it is the one that was signed, as it is at a moment.
    fn call(&self, place: &Unpacked, ticket: &VerifiedTicket, now: SystemTime) -> Result<SignedCall, Refusal> {
        let refused = |why: &str| ticket_refused(&self.machine.name, why);
        let here = Host {
            working_directory: place.begins.clone(),
            workspace: place.path.clone(),
            now,
            ..Host::clone(self.host)
        };
        // No one is at the terminal of a worker.
        let engine: Engine = App::new().open(here);
        let TicketDocument { tool: name, digest, arguments, .. } = &ticket.document;
        let tool = engine.tool(name).map_err(|error| refused(&error.to_string()))?;
        if !tool.origin.file.as_ref().is_some_and(|file| file.starts_with(engine.host().workspace.as_path())) {
            return Err(refused(&format!("`{name}` is another tool here than that of the ticket")));
        }
        if fingerprint(&engine, &tool).to_string() != *digest {
            return Err(refused(&format!("`{name}` would do something else here than what the member signed")));
        }
        let Ok(Value::Object(arguments)) = json::parse(arguments) else {
            return Err(refused("the arguments are no JSON object"));
        };
        let arguments = arguments.into_iter().map(|(name, value)| (name, Given::Value(value))).collect();
        let arguments = engine.by_person(&tool, arguments)?;
        let works_in = match engine.library(&tool)?.effective(&tool)?.workspace.shared() {
            None => None,
            Some(name) => {
                let directory = self.shared.there(name).ok_or_else(|| {
                    refused(&format!("it doesn't have the directory `{}`, which workers share", name.as_str()))
                })?;
                let (workspace, working_directory) = (directory.clone(), directory);
                Some(Arc::new(Host { workspace, working_directory, ..Host::clone(engine.host()) }))
            }
        };
        let principal = format!("{}@{}", ticket.member, self.machine.team);
        let asker = Asker { name: principal.clone(), principal, ..Asker::from(Surface::Person) };
        let timeout = Duration::from_millis(ticket.document.timeout);
        Ok(SignedCall { engine, tool, arguments, asker, timeout, works_in })
    }

    /// Plans a call, and decides about it by the rules of this machine. What they ask about needs an answer that someone signed
    /// whom a user of this machine named.
    fn approved(
        &self,
        call: &SignedCall,
        question: Option<Result<String, Refusal>>,
        ticket: &VerifiedTicket,
    ) -> Result<Approved<Plan>, Undone> {
        let SignedCall { engine, asker, .. } = call;
        let plan = self.planned(call)?;
        let decision = engine.decide_for(&plan, asker);
        if decision.verdict != Verdict::Ask {
            return Ok(engine.approve_unasked(plan, decision, asker)?);
        }
        let Some(question) = question else {
            let how =
                format!("name who may approve it, at `{}`: cycod worker approvers --add NAME=KEY", self.machine.name);
            return engine.approve_unasked(plan, decision, asker).map_err(|refusal| refusal.attempt(how).into());
        };
        let question = question?;
        let answer = match ticket.answer_to(&question) {
            Some(answer) if answer.approved => Answer::Once,
            Some(answer) => Answer::No(answer.reason.clone()),
            None if ticket.is_closed(&question) => {
                Answer::Unanswered(Some("run it again, and approve it in time".to_owned()))
            }
            None => return Err(Undone::Asks(question)),
        };
        let request = engine.request(&plan, &decision, asker, None);
        Ok(engine.approve_answered(plan, decision, &request, answer, asker)?)
    }

    fn planned(&self, call: &SignedCall) -> Result<Plan, Refusal> {
        let SignedCall { engine, tool, arguments, timeout, works_in, .. } = call;
        let planned = engine.plan_at(works_in.as_ref().unwrap_or(engine.host()), tool, arguments.clone(), *timeout);
        planned.map_err(|error| {
            let CommandError { refusal, message, .. } = not_planned(tool.name.as_str(), error);
            refusal.map_or_else(|| ticket_refused(&self.machine.name, &message), |refusal| *refusal)
        })
    }

    /// What is asked about a call. It is the same for each step of a run, each time and each directory: a moment that is none
    /// and the paths of this machine have names in it.
    fn question(&self, place: &Unpacked, ticket: &VerifiedTicket) -> Result<String, Refusal> {
        let moment = UNIX_EPOCH + Duration::from_secs(NO_MOMENT);
        let call = self.call(place, ticket, moment)?;
        call.vouch()?;
        let plan = self.planned(&call)?;
        let decision = call.engine.decide_for(&plan, &call.asker);
        // An answer counts for one run, and nothing can be changed.
        let request = Request {
            call: String::new(),
            is_lasting: false,
            has_session: false,
            ..call.engine.request(&plan, &decision, &call.asker, None)
        };
        let timestamp = timestamp(moment);
        let (date, time) = timestamp.trim_end_matches('Z').split_once('T').unwrap_or_default();
        let temp = plan.temp_directory.to_string_lossy();
        let path = place.path.to_string_lossy();
        let home = call.engine.catalog().scopes().user_directory().to_string_lossy();
        let workspace = plan.host().workspace.to_string_lossy();
        let names = [
            (&*temp, "{TEMP}"),
            (&*path, if call.works_in.is_some() { "{TOOL}" } else { "{WORKSPACE}" }),
            (&*workspace, "{WORKSPACE}"),
            (&*home, "{CYCOD_HOME}"),
            (&*timestamp, "{TIMESTAMP}"),
            (date, "{DATE}"),
            (time, "{TIME}"),
        ];
        let mut request = request_json(&request);
        named(&mut request, &names);
        self.machine.question(ticket, request).map_err(|error| {
            let why = format!("`{}` needs approval, and can't ask: {error}", ticket.document.tool);
            Refusal::new(Code::NotApproved, why).place(&self.machine.name)
        })
    }
}

/// A moment that no clock shows, in seconds since 1970: 8888-08-08T08:08:08Z.
const NO_MOMENT: u64 = 218_330_064_488;

/// Puts names in the place of what differs between machines and moments.
fn named(json: &mut Json, names: &[(&str, &str)]) {
    match json {
        Json::String(text) => {
            for (value, name) in names {
                if text.contains(value) {
                    *text = text.replace(value, name);
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| named(item, names)),
        Json::Object(fields) => fields.values_mut().for_each(|field| named(field, names)),
        _ => {}
    }
}

/// A call that a member's device signed.
struct SignedCall {
    engine: Engine,
    tool: Arc<Tool>,
    arguments: Vec<(String, Given)>,
    asker: Asker,
    timeout: Duration,
    /// This machine, in the directory that workers share, if the tool works there. Its files stay where they are.
    works_in: Option<Arc<Host>>,
}

impl SignedCall {
    /// Trusts the tool: the member's device signed exactly this one.
    fn vouch(&self) -> Result<(), Refusal> {
        self.engine.subjects(&self.tool)?.iter().for_each(|subject| self.engine.vouch(subject));
        Ok(())
    }
}

/// Why something was not run.
enum Undone {
    /// For good.
    Refused(Box<Refusal>),
    /// Someone has to answer this first.
    Asks(String),
}

impl From<Refusal> for Undone {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// What the worker says about a run that waits for an answer.
const ASKS: &str = "needs approval, and waits for it";

/// What came of a task.
enum Outcome {
    /// All of a run, with what it changed in the files of the project.
    Run(Box<RunReport>, Option<BytesInParts>),
    /// One thing of a durable run, with what it changed in the files of the project.
    Step(StepDone, Option<Box<(StepChanges, Changes)>>),
    /// Nothing yet: someone has to answer this first.
    Asks(String),
}

impl Outcome {
    fn refused(work: Option<FlowWork>, refusal: Refusal) -> Self {
        match work {
            Some(work) => Self::Step(refused_step(work, &refusal), None),
            None => Self::Run(Box::new(RunReport::refused(refusal)), None),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Run(report, changes) => {
                let mut json = report_json(report);
                if let Some(changes) = changes {
                    json["changes"] = object!(changes);
                }
                json
            }
            Self::Asks(question) => object!({"asks": question}),
            Self::Step(StepDone { answer, entry }, changes) => {
                let mut json = object!({"answer": answer, "entry": STANDARD.encode(entry)});
                if let Some((changes, _)) = changes.as_deref() {
                    json["changes"] = object!(changes);
                }
                json
            }
        }
    }

    /// How it ended, for the user of the worker.
    fn text(&self) -> String {
        match self {
            Self::Run(report, _) => match &report.refusal {
                Some(refusal) => format!("{}: {}", refusal.code, refusal.why),
                None if report.success => "ok".to_owned(),
                None => format!("ended with {}", report.exit_code),
            },
            Self::Asks(_) => ASKS.to_owned(),
            Self::Step(done, _) => match &done.answer.event {
                FlowEvent::Asked(_) => ASKS.to_owned(),
                FlowEvent::Ended { outcome, .. } => format!("step {outcome:?}").to_lowercase(),
                FlowEvent::CleanedUp(_) => "cleaned up".to_owned(),
                _ => "ok".to_owned(),
            },
        }
    }
}

/// Does one thing of a durable run, in the place of all of it.
#[derive(Debug)]
struct OneStep {
    order: Mutex<Option<StepOrder>>,
    done: Mutex<Option<Result<StepDone, Refusal>>>,
}

impl Carrier for OneStep {
    fn carry(
        &self,
        approved: Approved<Plan>,
        driver: &Driver<'_>,
        sink: &mut dyn Sink,
        _: Option<Durable<'_>>,
    ) -> RunReport {
        let order = self.order.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(order) = order else { return RunReport::without_run(1) };
        let done = run_step(approved, driver, sink, order);
        let report = match &done {
            Ok(done) => {
                let is_ended_badly = |event: &FlowEvent| matches!(event, FlowEvent::Ended { outcome, .. } if *outcome != AttemptOutcome::Succeeded);
                let success = !is_ended_badly(&done.answer.event);
                RunReport { success, ..RunReport::without_run(i32::from(!success)) }
            }
            Err(refusal) => RunReport::refused(refusal.clone()),
        };
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        report
    }
}

fn ticket_refused(worker: &str, why: &str) -> Refusal {
    Refusal::new(Code::TicketRefused, format!("the worker `{worker}` refused: {why}")).place(worker)
}

fn cannot_travel(worker: &str, why: &str) -> Refusal {
    Refusal::new(Code::WorkspaceRefused, format!("what the run changed can't travel: {why}")).place(worker)
}

/// Gets what a step changed.
fn fetched(hub: &mut WorkerHub, lease: (&str, i64), parts: &BytesInParts) -> Result<Changes, String> {
    let packed = hub.fetch(lease, parts).map_err(|error| error.to_string())?;
    Changes::unpack(&packed).map_err(|error| error.to_string())
}

impl Outcome {
    /// Considers what other steps changed meanwhile. If the two don't fit together, this step has failed.
    fn catch_up(&mut self, hub: &mut WorkerHub, lease: (&str, i64), behind: &[BytesInParts]) -> Result<(), String> {
        let Self::Step(done, changes) = self else { return Ok(()) };
        let Some((reported, own)) = changes.as_deref_mut() else { return Ok(()) };
        let before = own.by_path().len();
        let mut conflicts = BTreeSet::new();
        for parts in behind {
            conflicts.extend(own.after(&fetched(hub, lease, parts)?));
            // That may have taken a while.
            _ = hub.report(lease, (0, &[]), None);
        }
        if !conflicts.is_empty() {
            let named: Vec<String> = conflicts.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
            let more = if conflicts.len() > NAMED { ", …" } else { "" };
            let why = format!("a step that ran at the same time changed {}{more}, too", named.join(", "));
            let refusal = Refusal::new(Code::WorkspaceConflict, why)
                .attempt("let one of the steps wait for the other: wait-for: [NAME]");
            *done = without_changes(done, &refusal);
            *changes = None;
        } else if own.is_empty() {
            *changes = None;
        } else {
            reported.after += behind.len();
            if own.by_path().len() != before {
                let packed = own.pack().map_err(|error| error.to_string())?;
                reported.files = hub.bring(lease, &packed).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

/// A step whose changes don't come back. One that had failed anyway keeps its own failure.
fn without_changes(done: &StepDone, refusal: &Refusal) -> StepDone {
    match done.answer.event {
        FlowEvent::Ended { task, outcome: AttemptOutcome::Succeeded } => refused_step(FlowWork::Attempt(task), refusal),
        FlowEvent::CleanedUp(scope) => {
            let StepDone { entry, .. } = refused_step(FlowWork::CleanUp(scope), refusal);
            StepDone { answer: done.answer.clone(), entry }
        }
        _ => done.clone(),
    }
}

/// Offers a result to the hub until it takes it; returns how the run ended. A worker that is to stop doesn't offer it for long.
fn offer(hub: &mut WorkerHub, lease: (&str, i64), mut outcome: Outcome, stop: &Stop) -> Result<String, String> {
    let began = Instant::now();
    let mut stopped: Option<Instant> = None;
    let mut result = outcome.json();
    loop {
        match hub.report(lease, (0, &[]), Some(&result)) {
            Ok(answer) if answer.over => return Err("the hub no longer waits for the result".to_owned()),
            Ok(ReportAnswer { behind: Some(behind), .. }) => {
                outcome.catch_up(hub, lease, &behind)?;
                result = outcome.json();
            }
            Ok(_) => {
                return Ok(outcome.text());
            }
            Err(error) => {
                let is_last = stop.urgency() == Urgency::Kill
                    || stop.is_raised() && stopped.get_or_insert_with(Instant::now).elapsed() > PARTING;
                if is_last || began.elapsed() > PATIENCE {
                    return Err(format!("the result was not reported: {error}"));
                }
                thread::sleep(BEAT);
            }
        }
    }
}

/// The time for which this worker has a task. What it runs ends before another worker can have it.
struct Lease<'a> {
    id: &'a str,
    fence: i64,
    length: Duration,
    /// When the last report was sent that the hub took.
    renewed: Mutex<Instant>,
    grace: Mutex<HubGrace>,
    is_over: AtomicBool,
    stop: &'a Stop,
}

/// For how long the run continues while no hub runs.
struct HubGrace {
    length: Duration,
    /// When a report was sent that the hub answered.
    answered: Instant,
}

impl Lease<'_> {
    /// Lets what runs live until the lease ends, and no longer: also if this process is frozen then.
    fn hold(&self) {
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        expire_at(Some(renewed + self.length));
    }

    /// Kills the run when the lease ends, and stops it with the worker, until it `ended`.
    fn watch(&self, worker: &Stop, ended: &Receiver<()>) {
        let mut stopped: Option<Instant> = None;
        while ended.recv_timeout(LOOK_AGAIN) == Err(RecvTimeoutError::Timeout) {
            let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
            if renewed.elapsed() >= self.length.mul_f32(0.9) {
                self.is_over.store(true, Ordering::SeqCst);
                self.stop.kill();
            }
            if worker.is_raised() && !self.stop.is_raised() {
                self.stop.ask();
            }
            if self.stop.is_raised() && stopped.get_or_insert_with(Instant::now).elapsed() > GRACE {
                self.stop.kill();
            }
        }
    }

    /// Sends the events of a run, in pieces, until there are no more.
    fn report(&self, hub: &mut WorkerHub, outbox: &Outbox) {
        let mut piece = 0;
        loop {
            let mut together = Vec::new();
            match outbox.next(BEAT) {
                Next::Event(event) => {
                    outbox.settle(MERGE);
                    let mut bytes = size_of_output(&event);
                    together.push(event);
                    while together.len() < MOST_EVENTS
                        && bytes < MOST_BYTES
                        && let Next::Event(event) = outbox.next(Duration::ZERO)
                    {
                        bytes += size_of_output(&event);
                        together.push(event);
                    }
                    piece += 1;
                }
                Next::Nothing => {}
                Next::End => return,
            }
            // Of a lease that is over, nothing counts any more; the run must not wait for it.
            while !self.is_over.load(Ordering::SeqCst) {
                let sent = self.send(hub, (piece, &together));
                outbox.note_hub(sent == Sent::Unanswered);
                if sent == Sent::Done {
                    break;
                }
                thread::sleep(Duration::from_millis(100));
            }
        }
    }

    fn send(&self, hub: &mut WorkerHub, piece: (i64, &[Json])) -> Sent {
        let at = Instant::now();
        let Ok(answer) = hub.report((self.id, self.fence), piece, None) else {
            let grace = self.grace.lock().unwrap_or_else(PoisonError::into_inner);
            // A hub that isn't there gives the task to no other worker; one that comes back waits for a whole lease first.
            if hub.is_away() && grace.answered.elapsed() < grace.length {
                *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = at;
                self.hold();
            }
            return Sent::Unanswered;
        };
        *self.grace.lock().unwrap_or_else(PoisonError::into_inner) =
            HubGrace { length: Duration::from_millis(answer.grace_ms), answered: at };
        if answer.over {
            self.is_over.store(true, Ordering::SeqCst);
            self.stop.kill();
            return Sent::Done;
        }
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = at;
        self.hold();
        if answer.stop && !self.stop.is_raised() {
            self.stop.ask();
        }
        if answer.full { Sent::NotTaken } else { Sent::Done }
    }
}

/// What came of a piece that was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// There is no reason to send it again.
    Done,
    /// The hub has no room until someone has read what it has.
    NotTaken,
    Unanswered,
}
