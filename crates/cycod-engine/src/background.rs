//! Workflows that go on by themselves, in a process of their own.
//!
//! ```text
//!  this process                                a process of its own, in its own session
//!  plan ─ decide ─► Approved ── what to run ──► plan ─ the same call? ─ denied now? ─► run
//!                    ◄─ it runs, or why not ──┘                                          │
//!  ID ◄┘             history, outputs, control of the run ◄──────────────────────────────┘
//! ```
//!
//! What was approved is named by the digest of the call, and what is planned there runs only when it has the same. All of it
//! goes over the process's standard input: nothing of it is in a command line or a file.

use std::{
    ffi::OsString,
    io::{self, BufRead as _, BufReader, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, UNIX_EPOCH},
};

use cycod_call::{Bound, Given, Origin, json};
use cycod_definition::{Body, Host, Privilege, Tool, Value};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::{Plan, PlanError};
use cycod_policy::{Approved, Decision, Surface, Verdict};
use cycod_process::{Program, Stop, is_below_a_run, start_detached};
use cycod_run::{Event, Ran, RanEnd, RunReport, Sink};
use cycod_store::{Controls, Listening, RunId, StoreError};
use cycod_thread::Thread;
use serde::{Deserialize, Serialize};

use crate::{
    Asker, Beginning, Caller, Control, Engine, EngineError, Resumption, durable::not_kept, history::told, host,
};

/// How long it may take until a workflow has begun.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a workflow that is to end has until it is killed: everything is gone within two seconds.
const GRACE: Duration = Duration::from_millis(700);

/// The most bytes that say what to run.
const MOST: u64 = 256 << 20;

/// The ways in which calls come, as the history knows them.
const SURFACES: [&str; 4] = ["person", "mcp", "agent", "test"];

/// How this program is started to carry a workflow on.
#[derive(Clone, Debug)]
pub(crate) struct Ourselves {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Engine {
    /// Says how this program is started again to carry a workflow on: it must then call [`carry_on`]. Without it, none goes on
    /// by itself.
    pub fn go_on_by(&mut self, program: PathBuf, arguments: Vec<OsString>) {
        self.ourselves = Some(Ourselves { program, arguments });
    }

    /// Starts a workflow that goes on by itself, and returns when it has begun.
    pub(crate) fn detach(&self, approved: &Approved<Plan>, control: &Control) -> RunReport {
        let plan = approved.subject();
        let caller = self.caller(control);
        match self.try_detach(approved, &caller, control.durable, "leave `async_execution` out") {
            Ok(()) => {
                let ran = plan.through.as_ref().zip(self.built_ins.as_ref()).map(|(through, built_ins)| {
                    let (tool, workflow) = (&*through.call.tool, plan.tool());
                    built_ins.answer(&Ran {
                        tool,
                        workflow,
                        run: &plan.run_id,
                        end: RanEnd::GoesOn { surface: caller.surface },
                    })
                });
                RunReport::answered(ran.unwrap_or_default())
            }
            Err(refusal) => RunReport::refused(refusal),
        }
    }

    /// Runs an approved call of a user in the background: in a process of its own, which outlives this one. Returns when it
    /// has begun.
    ///
    /// # Errors
    /// Why it has not begun.
    #[expect(clippy::needless_pass_by_value, reason = "an approval is used up by the run it allows")]
    pub fn run_in_background(&self, approved: Approved<Plan>, control: &Control) -> Result<(), Refusal> {
        let caller = self.caller(control);
        self.try_detach(&approved, &caller, control.durable, "leave `--background` out")
    }

    /// Starts a run that goes on by itself, and returns when it has begun. `instead` is what to do to wait for its end.
    fn try_detach(
        &self,
        approved: &Approved<Plan>,
        caller: &Caller,
        durable: bool,
        instead: &str,
    ) -> Result<(), Refusal> {
        let plan = approved.subject();
        let name = plan.tool().name.as_str();
        let unavailable = |why: &str| {
            Refusal::new(Code::BackgroundUnavailable, format!("`{name}` cannot run in the background: {why}"))
                .place(name)
                .attempt(format!("wait for its end: {instead}"))
        };
        if plan.privilege == Privilege::Elevated {
            return Err(unavailable("no user would be there to grant it elevated rights"));
        }
        let order = Wanted::Call(Box::new(OrderRow { durable, ..self.order(approved, caller) }));
        self.start(&order, &plan.run_id, &plan.host().working_directory).map_err(|refusal| match refusal.code {
            Code::ToolChanged => refusal.place(name),
            _ => unavailable(&refusal.why),
        })
    }

    /// Starts this program again to carry a run on, and returns when it has begun. The refusal says only why it has not.
    fn start(&self, wanted: &Wanted, run: &str, directory: &Path) -> Result<(), Refusal> {
        let unavailable = |why: String| Refusal::new(Code::BackgroundUnavailable, why);
        if is_below_a_run() {
            return Err(unavailable("nothing outlives the run that this was called from".to_owned()));
        }
        let ourselves = self.ourselves.as_ref();
        let ourselves = ourselves.ok_or_else(|| unavailable("there is no way to start it".to_owned()))?;
        let program = Program {
            path: ourselves.program.clone(),
            arg0: None,
            args: ourselves.arguments.clone(),
            env: self.host().environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            cwd: directory.to_owned(),
        };
        let failed = |error: io::Error| unavailable(format!("its process does not start: {error}"));
        let output = start_detached(&program, &line_of(wanted)).map_err(failed)?;
        let read = move || {
            let mut line = String::new();
            BufReader::new(output).take(1 << 20).read_line(&mut line).map(|_| line)
        };
        let reading = Thread::named("background").answer(read).map_err(failed)?;
        let Some(line) = reading.wait_for(PATIENCE) else {
            // It may have begun in this very moment.
            _ = run.parse::<RunId>().and_then(|run| self.controls().cancel(run));
            return Err(unavailable(format!("it has not begun within {} s", PATIENCE.as_secs())));
        };
        match serde_json::from_str(&line?.map_err(failed)?) {
            Ok(Said::Begun { .. }) => Ok(()),
            Ok(Said::Refused { refused }) => Err(refused.into_refusal()),
            Err(_) => Err(unavailable("its process ended before it began".to_owned())),
        }
    }

    /// Continues an interrupted run in a process of its own, and returns when it goes on.
    ///
    /// # Errors
    /// When it does not go on, and why. It can then still be continued.
    pub fn resume_in_background(&self, resumption: Resumption) -> Result<(), Refusal> {
        let (run, directory) = (resumption.run().to_owned(), resumption.directory().to_owned());
        // The other process takes it over.
        drop(resumption);
        self.start(&Wanted::Resume { resume: run.clone() }, &run, &directory)
    }

    /// Everything that the other process needs to know.
    pub(crate) fn order(&self, approved: &Approved<Plan>, caller: &Caller) -> OrderRow {
        let plan = approved.subject();
        let Some(through) = &plan.through else {
            let given: Vec<&Bound> = plan.call.values.iter().filter(|bound| bound.origin == Origin::Given).collect();
            let value = |bound: &Bound| bound.untransformed.clone().or_else(|| bound.value.clone());
            let arguments: Vec<_> =
                given.iter().filter_map(|bound| Some((bound.name.clone(), value(bound)?))).collect();
            let is_answer = |name: &str| plan.call.tool.parameter(name).is_some_and(|parameter| parameter.asked);
            let answers: Vec<&String> = given.iter().map(|bound| &bound.name).filter(|name| is_answer(name)).collect();
            return self.order_of(approved, caller, &plan.asked, &arguments, &[], &answers);
        };
        let call = &through.call;
        let outer: Vec<_> =
            call.values.iter().filter_map(|bound| Some((bound.name.clone(), bound.value.clone()?))).collect();
        let mut answers = Vec::new();
        let mut given = Vec::new();
        for (name, one) in &through.given {
            let (value, is_answer) = plain(one);
            given.push((name.clone(), value));
            answers.extend(is_answer.then_some(name));
        }
        self.order_of(approved, caller, &call.tool, &outer, &given, &answers)
    }

    /// What another process needs to know to plan the same call.
    fn order_of(
        &self,
        approved: &Approved<Plan>,
        caller: &Caller,
        tool: &Tool,
        arguments: &[(String, Value)],
        given: &[(String, Value)],
        answers: &[&String],
    ) -> OrderRow {
        let plan = approved.subject();
        let written = |values: &[(String, Value)]| {
            let mut text = String::new();
            json::write_object(values.iter().map(|(name, value)| (name.as_str(), value)), &mut text);
            text
        };
        let moment = plan.host().now.duration_since(UNIX_EPOCH).unwrap_or_default();
        OrderRow {
            tool: tool.name.to_string(),
            arguments: written(arguments),
            given: written(given),
            answers: answers.iter().map(|name| (*name).clone()).collect(),
            run: plan.run_id.clone(),
            moment: (moment.as_secs(), moment.subsec_nanos()),
            timeout: (plan.timeout.as_secs(), plan.timeout.subsec_nanos()),
            call: self.digest_of_call(plan, &asker(caller)).to_string(),
            rule: approved.decision().rule.clone(),
            surface: caller.surface.to_owned(),
            host: caller.host.clone(),
            principal: caller.principal.clone(),
            local: caller.is_local,
            directory: None,
            durable: false,
        }
    }

    /// Plans again what an order asks for.
    pub(crate) fn plan_ordered(&self, order: &Order) -> Result<Plan, Refusal> {
        let tool = self.tool(&order.tool).map_err(EngineError::into_refusal)?;
        let given = |values: &[(String, Value)]| {
            let one = |(name, value): &(String, Value)| {
                let given = Given::Value(value.clone());
                let is_answer = order.answers.contains(name);
                (name.clone(), if is_answer { Given::Answer(Box::new(given)) } else { given })
            };
            values.iter().map(one).collect::<Vec<_>>()
        };
        let wrong = |error: PlanError| error.into_refusal(&order.tool);
        if matches!(tool.body, Body::BuiltIn(_)) {
            // Which of its own arguments were answers is not what the order says.
            let own = order.arguments.iter().map(|(name, value)| (name.clone(), Given::Value(value.clone()))).collect();
            let host = self.host_of(&order.beginning);
            let outer = self.plan_itself(&host, &order.beginning.run_id, &tool, own, None).map_err(wrong)?;
            if let Some(workflow) = self.workflow_of(&outer) {
                return self.plan_given(&outer, &workflow, given(&order.given), Some(order.timeout)).map_err(wrong);
            }
        }
        self.plan_answered(&tool, given(&order.arguments), &[], Some(order.timeout), &order.beginning).map_err(wrong)
    }

    /// Decides about what an order asks for. Whoever was to be asked was, before this process was there.
    pub(crate) fn decide_ordered(&self, plan: &Plan, order: &Order, asker: &Asker) -> Decision {
        match self.decide_for(plan, asker) {
            Decision { verdict: Verdict::Ask, code, .. } => {
                Decision::built_in(Verdict::Allow, format!("approved when it was started: {}", order.rule), code)
            }
            decision => decision,
        }
    }

    /// Lets other processes end a run, until what this returns is dropped.
    pub(crate) fn listen(&self, run: &str, stop: &Stop) -> Result<Listening, Refusal> {
        let unheard = |error: StoreError| {
            Refusal::new(Code::BackgroundUnavailable, format!("no process could end it: {}", told(&error)))
        };
        let run: RunId = run.parse().map_err(unheard)?;
        let listening = self.controls().listen(run).map_err(unheard)?;
        let stop = stop.clone();
        let end = move || {
            stop.ask();
            thread::sleep(GRACE);
            stop.kill();
        };
        listening.on_cancel(end).map_err(unheard)?;
        Ok(listening)
    }

    /// Where the runs that go on by themselves can be spoken to.
    pub fn controls(&self) -> Controls {
        Controls::at(self.catalog().scopes().user_directory())
    }
}

/// Why a workflow that another process started was not carried on, where that process is not told.
#[derive(Debug, thiserror::Error)]
pub enum NotCarriedOn {
    /// What to run did not come.
    #[error("what to run cannot be read: {0}")]
    Unreadable(io::Error),
    /// Something else came.
    #[error("what to run is not understood")]
    NotUnderstood,
    /// There is no place to run it in.
    #[error("there is no working directory: {0}")]
    NoDirectory(io::Error),
    /// Nobody hears why it is refused.
    #[error("{0}")]
    Unheard(io::Error),
}

/// Carries a workflow on that another process started: reads from `input` what to run, and writes to `output` that it has
/// begun, or why not. The tools are those that `open` opens; `stop` ends it.
///
/// # Errors
/// What keeps it from saying even that.
pub fn carry_on(
    open: impl FnOnce(Host) -> Engine,
    input: impl Read,
    mut output: impl Write,
    stop: Stop,
) -> Result<(), NotCarriedOn> {
    let mut text = String::new();
    input.take(MOST).read_to_string(&mut text).map_err(NotCarriedOn::Unreadable)?;
    let wanted = serde_json::from_str(&text).map_err(|_| NotCarriedOn::NotUnderstood)?;
    let wanted = match wanted {
        Wanted::Call(order) => Ok(order.read().ok_or(NotCarriedOn::NotUnderstood)?),
        Wanted::Resume { resume } => Err(resume),
    };
    let here = host::current().map_err(NotCarriedOn::NoDirectory)?;
    let engine = open(here);
    let mut tell = |said: &Said| output.write_all(&line_of(said)).and_then(|()| output.flush());
    let control =
        Control { stop, is_attended: false, keep: None, observer: None, caller: None, durable: false, session: None };
    let mut follower = Beginner { tell: &mut tell, has_told: false, stop: control.stop.clone() };
    let done = match wanted {
        Ok(order) => call(&engine, order, control, &mut follower),
        Err(run) => resume(&engine, &run, &control, &mut follower),
    };
    if !follower.has_told {
        // Where not even one step began, it may have been refused.
        let refusal = done.as_ref().map_or_else(Some, |report| report.refusal.as_ref());
        let said =
            refusal.map_or(Said::Begun { begun: true }, |refusal| Said::Refused { refused: RefusalRow::of(refusal) });
        return tell(&said).map_err(NotCarriedOn::Unheard);
    }
    Ok(())
}

/// Runs what was approved, if it still is what it was.
fn call(engine: &Engine, order: Order, control: Control, follower: &mut Beginner<'_>) -> Result<RunReport, Refusal> {
    let (approved, _listening) = begin(engine, &order, &control)?;
    let control = Control { durable: order.durable, caller: Some(order.caller), ..control };
    let (mut report, recording) = engine.run_here(approved, &control, follower);
    if let Some(recording) = recording {
        recording.end_here(&mut report, true);
    }
    Ok(report)
}

/// Continues a run about which everything is decided.
fn resume(engine: &Engine, run: &str, control: &Control, follower: &mut Beginner<'_>) -> Result<RunReport, Refusal> {
    let history = engine.history().ok_or_else(|| not_kept(run))?;
    let resumption = Resumption::open(&history.journals(), run)?;
    let report = engine.resume(resumption, &|_| None, false, control, follower)?;
    // Where the answer was that a step has failed, nothing may have happened that it could have seen.
    follower.begun();
    Ok(report)
}

/// Plans what was approved, and looks whether it still is what it was, and may still run.
fn begin(engine: &Engine, order: &Order, control: &Control) -> Result<(Approved<Plan>, Listening), Refusal> {
    let refuse = |why: &str| Err(Refusal::new(Code::BackgroundUnavailable, why));
    if is_below_a_run() {
        return refuse("nothing outlives the run that it was started from");
    }
    let plan = engine.plan_ordered(order)?;
    let name = plan.tool().name.to_string();
    let asker = asker(&order.caller);
    if engine.digest_of_call(&plan, &asker).to_string() != order.call {
        let why = format!("`{name}` is not any more what was approved, and was not started");
        return Err(Refusal::new(Code::ToolChanged, why).place(&name));
    }
    let decision = engine.decide_ordered(&plan, order, &asker);
    let asked = engine.asked(&plan, &decision);
    let approved = decision.approve(&name, plan);
    let approved = approved.map_err(|refusal| engine.record_refusal(asked.as_ref(), &order.caller, refusal))?;
    let listening = engine.listen(&order.beginning.run_id, &control.stop)?;
    Ok((approved, listening))
}

/// Tells whoever started the run that it has begun; a run of which nobody could be told ends.
struct Beginner<'a> {
    tell: &'a mut dyn FnMut(&Said) -> io::Result<()>,
    has_told: bool,
    stop: Stop,
}

impl Beginner<'_> {
    fn begun(&mut self) {
        if !self.has_told {
            self.has_told = true;
            if (self.tell)(&Said::Begun { begun: true }).is_err() {
                self.stop.kill();
            }
        }
    }
}

impl Sink for Beginner<'_> {
    fn event(&mut self, _: &Event<'_>) {
        self.begun();
    }
}

/// Who asks for a run, as far as the rules need to know.
pub(crate) fn asker(caller: &Caller) -> Asker {
    let surface = Surface::NAMES.iter().find(|(name, _)| *name == caller.surface).map(|(_, surface)| *surface);
    Asker { principal: caller.principal.clone(), ..Asker::from(surface.unwrap_or(Surface::Person)) }
}

fn plain(given: &Given) -> (Value, bool) {
    match given {
        Given::Text(text) => (Value::Text(text.clone()), false),
        Given::Value(value) => (value.clone(), false),
        Given::Answer(given) => (plain(given).0, true),
    }
}

/// What another process wants.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wanted {
    /// A call that was approved.
    Call(Box<OrderRow>),
    /// The rest of an interrupted run.
    Resume { resume: String },
}

/// What the other process says.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Said {
    Begun { begun: bool },
    Refused { refused: RefusalRow },
}

#[derive(Serialize, Deserialize)]
struct RefusalRow {
    code: String,
    rule: Option<String>,
    place: Option<String>,
    why: String,
    attempt: Option<String>,
}

impl RefusalRow {
    fn of(refusal: &Refusal) -> Self {
        let Refusal { code, rule, place, why, attempt } = refusal.clone();
        Self { code: code.name().to_owned(), rule, place, why, attempt }
    }

    fn into_refusal(self) -> Refusal {
        let Self { code, rule, place, why, attempt } = self;
        Refusal { code: code.parse().unwrap_or(Code::BackgroundUnavailable), rule, place, why, attempt }
    }
}

/// A message as one line. None of them can fail to be written.
fn line_of(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// A call that another process may plan again.
pub(crate) struct Order {
    pub(crate) tool: String,
    pub(crate) arguments: Vec<(String, Value)>,
    pub(crate) given: Vec<(String, Value)>,
    pub(crate) answers: Vec<String>,
    pub(crate) beginning: Beginning,
    pub(crate) timeout: Duration,
    pub(crate) call: String,
    pub(crate) rule: String,
    pub(crate) caller: Caller,
    /// Where it began, for a run that another process may continue.
    pub(crate) directory: Option<PathBuf>,
    /// Whether it is durable although its tool does not say so.
    pub(crate) durable: bool,
}

/// A call that another process may plan again, as it is written. An interrupted run may have one of an earlier version:
/// fields may be added, never changed.
#[derive(Serialize, Deserialize)]
pub(crate) struct OrderRow {
    tool: String,
    arguments: String,
    given: String,
    answers: Vec<String>,
    run: String,
    moment: (u64, u32),
    timeout: (u64, u32),
    call: String,
    rule: String,
    surface: String,
    host: Option<String>,
    principal: String,
    local: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) directory: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    durable: bool,
}

impl OrderRow {
    /// The order; nothing where a value is none of ours.
    pub(crate) fn read(self) -> Option<Order> {
        let object = |text: &str| match json::parse(text).ok()? {
            Value::Object(fields) => Some(fields),
            _ => None,
        };
        let duration = |(seconds, nanoseconds): (u64, u32)| Duration::new(seconds, nanoseconds.min(999_999_999));
        Some(Order {
            arguments: object(&self.arguments)?,
            given: object(&self.given)?,
            tool: self.tool,
            answers: self.answers,
            beginning: Beginning { moment: UNIX_EPOCH.checked_add(duration(self.moment))?, run_id: self.run },
            timeout: duration(self.timeout),
            call: self.call,
            rule: self.rule,
            caller: Caller {
                surface: SURFACES.into_iter().find(|name| *name == self.surface)?,
                host: self.host,
                principal: self.principal,
                is_local: self.local,
            },
            directory: self.directory.map(PathBuf::from),
            durable: self.durable,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_an_earlier_version_is_read_and_written_the_same() {
        let was = r#"{"tool":"ship","arguments":"{\"PIN\": \"x\"}","given":"{}","answers":["PIN"],"run":"01a2021a4831ea9400fc71aa3f533d16","moment":[1700000000,5],"timeout":[60,0],"call":"00","rule":"a rule","surface":"person","host":null,"principal":"ada","local":true,"directory":"/work"}"#;
        let row: OrderRow = serde_json::from_str(was).expect("it is read");
        assert_eq!(serde_json::to_string(&row).expect("it is written"), was);
        let order = row.read().expect("it is an order");
        assert_eq!(order.arguments, [("PIN".to_owned(), Value::Text("x".to_owned()))]);
        assert_eq!((order.caller.surface, order.durable), ("person", false));
        let other: Wanted = serde_json::from_str(was).expect("it is wanted");
        assert!(matches!(other, Wanted::Call(_)));
    }
}
