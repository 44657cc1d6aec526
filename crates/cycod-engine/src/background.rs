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
use serde_json::{Value as Json, json};

use crate::{
    Asker, Beginning, Caller, Control, Engine, EngineError, Resumption, durable::not_kept, history::told, host, refusal_json,
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
        match self.try_detach(approved, &caller, control.durable) {
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

    fn try_detach(&self, approved: &Approved<Plan>, caller: &Caller, durable: bool) -> Result<(), Refusal> {
        let plan = approved.subject();
        let name = plan.tool().name.as_str();
        let unavailable = |why: &str| {
            Refusal::new(Code::BackgroundUnavailable, format!("`{name}` cannot run in the background: {why}"))
                .place(name)
                .attempt("wait for its end: leave `async_execution` out")
        };
        if plan.privilege == Privilege::Elevated {
            return Err(unavailable("no user would be there to grant it elevated rights"));
        }
        let mut order = self.order(approved, caller);
        order["durable"] = durable.into();
        self.start(&order, &plan.run_id, &plan.host().working_directory).map_err(|refusal| match refusal.code {
            Code::ToolChanged => refusal.place(name),
            _ => unavailable(&refusal.why),
        })
    }

    /// Starts this program again to carry a run on, and returns when it has begun. The refusal says only why it has not.
    fn start(&self, order: &Json, run: &str, directory: &Path) -> Result<(), Refusal> {
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
        let output = start_detached(&program, order.to_string().as_bytes()).map_err(failed)?;
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
        let said: Json = serde_json::from_str(&line?.map_err(failed)?).unwrap_or_default();
        if said["begun"] == true {
            return Ok(());
        }
        let text = |name: &str| said["refused"][name].as_str().map(str::to_owned);
        let code = text("code").and_then(|code| code.parse().ok()).unwrap_or(Code::BackgroundUnavailable);
        let why = text("why").unwrap_or_else(|| "its process ended before it began".to_owned());
        Err(Refusal { attempt: text("try"), place: text("where"), ..Refusal::new(code, why) })
    }

    /// Continues an interrupted run in a process of its own, and returns when it goes on.
    ///
    /// # Errors
    /// When it does not go on, and why. It can then still be continued.
    pub fn resume_in_background(&self, resumption: Resumption) -> Result<(), Refusal> {
        let (run, directory) = (resumption.run().to_owned(), resumption.directory().to_owned());
        // The other process takes it over.
        drop(resumption);
        self.start(&json!({"resume": run}), &run, &directory)
    }

    /// Everything that the other process needs to know.
    pub(crate) fn order(&self, approved: &Approved<Plan>, caller: &Caller) -> Json {
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
    ) -> Json {
        let plan = approved.subject();
        let written = |values: &[(String, Value)]| {
            let mut text = String::new();
            json::write_object(values.iter().map(|(name, value)| (name.as_str(), value)), &mut text);
            text
        };
        let moment = plan.host().now.duration_since(UNIX_EPOCH).unwrap_or_default();
        json!({
            "tool": tool.name.as_str(),
            "arguments": written(arguments),
            "given": written(given),
            "answers": answers,
            "run": plan.run_id,
            "moment": [moment.as_secs(), moment.subsec_nanos()],
            "timeout": [plan.timeout.as_secs(), plan.timeout.subsec_nanos()],
            "call": self.digest_of_call(plan, &asker(caller)).to_string(),
            "rule": approved.decision().rule,
            "surface": caller.surface,
            "host": caller.host,
            "principal": caller.principal,
            "local": caller.is_local,
        })
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
    let wanted = Wanted::read(&text).ok_or(NotCarriedOn::NotUnderstood)?;
    let here = host::current().map_err(NotCarriedOn::NoDirectory)?;
    let engine = open(here);
    let mut tell = |said: &Json| writeln!(output, "{said}").and_then(|()| output.flush());
    let control =
        Control { stop, is_attended: false, keep: None, observer: None, caller: None, durable: false, session: None };
    let refused = |refusal: &Refusal| json!({ "refused": refusal_json(refusal) });
    let mut follower = Beginner { tell: &mut tell, has_told: false, stop: control.stop.clone() };
    let done = match wanted {
        Wanted::Call(order) => call(&engine, *order, control, &mut follower),
        Wanted::Resume(run) => resume(&engine, &run, &control, &mut follower),
    };
    if !follower.has_told {
        // Where not even one step began, it may have been refused.
        let refusal = done.as_ref().map_or_else(Some, |report| report.refusal.as_ref());
        let said = refusal.map_or_else(|| json!({ "begun": true }), refused);
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
fn begin(
    engine: &Engine,
    order: &Order,
    control: &Control,
) -> Result<(Approved<Plan>, Listening), Refusal> {
    let refuse = |why: &str| Err(Refusal::new(Code::BackgroundUnavailable, why));
    if is_below_a_run() {
        return refuse("nothing outlives the run that it was started from");
    }
    let plan = engine.plan_ordered(order)?;
    if plan.through.is_none() {
        return refuse("what is to run is no workflow");
    }
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
    tell: &'a mut dyn FnMut(&Json) -> io::Result<()>,
    has_told: bool,
    stop: Stop,
}

impl Beginner<'_> {
    fn begun(&mut self) {
        if !self.has_told {
            self.has_told = true;
            if (self.tell)(&json!({ "begun": true })).is_err() {
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
enum Wanted {
    /// A call that was approved.
    Call(Box<Order>),
    /// The rest of an interrupted run.
    Resume(String),
}

impl Wanted {
    fn read(text: &str) -> Option<Self> {
        if let Some(order) = Order::read(text) {
            return Some(Self::Call(Box::new(order)));
        }
        let wanted: Json = serde_json::from_str(text).ok()?;
        Some(Self::Resume(wanted["resume"].as_str()?.to_owned()))
    }
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

impl Order {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let order: Json = serde_json::from_str(text).ok()?;
        let text = |name: &str| order[name].as_str().map(str::to_owned);
        let object = |name: &str| match json::parse(order[name].as_str()?).ok()? {
            Value::Object(fields) => Some(fields),
            _ => None,
        };
        let duration = |name: &str| {
            let nanoseconds = u32::try_from(order[name][1].as_u64()?).ok()?;
            Some(Duration::new(order[name][0].as_u64()?, nanoseconds.min(999_999_999)))
        };
        let answers = order["answers"].as_array()?.iter().map(|name| name.as_str().map(str::to_owned));
        Some(Self {
            tool: text("tool")?,
            arguments: object("arguments")?,
            given: object("given")?,
            answers: answers.collect::<Option<_>>()?,
            beginning: Beginning { moment: UNIX_EPOCH.checked_add(duration("moment")?)?, run_id: text("run")? },
            timeout: duration("timeout")?,
            call: text("call")?,
            rule: text("rule")?,
            caller: Caller {
                surface: SURFACES.into_iter().find(|name| Some(*name) == order["surface"].as_str())?,
                host: text("host"),
                principal: text("principal")?,
                is_local: order["local"].as_bool()?,
            },
            directory: text("directory").map(PathBuf::from),
            durable: order["durable"] == true,
        })
    }
}
