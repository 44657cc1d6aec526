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
    io::{self, BufRead as _, BufReader, Read, Write},
    path::Path,
    thread,
    time::Duration,
};

use cycod_definition::{Host, Privilege};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::Plan;
use cycod_policy::Approved;
use cycod_process::{Program, Stop, is_below_a_run, start_detached};
use cycod_run::{Event, Ran, RanEnd, RunReport, Sink};
use cycod_store::{Controls, RunId, RunListener, StoreError};
use cycod_thread::Thread;
use serde::{Deserialize, Serialize};

use crate::{
    Caller, Control, Engine, Resumption, host,
    order::{Order, OrderRow, asker},
    recording::{not_kept, told},
};

/// How long it may take until a workflow has begun.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a workflow that is to end has until it is killed: everything is gone within two seconds.
const GRACE: Duration = Duration::from_millis(700);

/// The most bytes that say what to run.
const MOST: u64 = 256 << 20;

impl Engine {
    /// Starts a workflow that goes on by itself, and returns when it has begun.
    pub(crate) fn detach(&self, approved: &Approved<Plan>, control: &Control) -> RunReport {
        let plan = approved.subject();
        let caller = self.caller(control);
        match self.try_detach(approved, &caller, control, "leave `async_execution` out") {
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
        self.try_detach(&approved, &caller, control, "leave `--background` out")
    }

    /// Starts a run that goes on by itself, and returns when it has begun. `instead` is what to do to wait for its end.
    fn try_detach(
        &self,
        approved: &Approved<Plan>,
        caller: &Caller,
        control: &Control,
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
        let placed = self.placed(plan, control)?;
        let mut order = self.order(approved, caller);
        order.durable = control.durable;
        order.fleet = placed.place.carrier().and_then(|carrier| carrier.labels());
        let order = Wanted::Call(Box::new(order));
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

    /// Lets other processes end a run, until what this returns is dropped.
    pub(crate) fn listen(&self, run: &str, stop: &Stop) -> Result<RunListener, Refusal> {
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
/// begun, or why not. The tools are those that `open` opens, and `stop` ends it.
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
    let control = Control::new(stop);
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
    let place = engine.place_of(&approved.subject().asked, order.fleet)?;
    let control = Control { durable: order.durable, caller: Some(order.caller), place, ..control };
    let is_workflow = approved.subject().is_workflow;
    let (mut report, recording) = engine.run_here(approved, &control, follower);
    if let Some(recording) = recording {
        recording.end_or_leave(&mut report, is_workflow);
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
fn begin(engine: &Engine, order: &Order, control: &Control) -> Result<(Approved<Plan>, RunListener), Refusal> {
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

/// Tells the process that started the run that it has begun; a run of which that can't be told ends.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_an_earlier_version_is_a_call() {
        let was = r#"{"tool":"ship","arguments":"{}","given":"{}","answers":[],"run":"01a2021a4831ea9400fc71aa3f533d16","moment":[1700000000,5],"timeout":[60,0],"call":"00","rule":"a rule","surface":"person","host":null,"principal":"ada","local":true,"directory":"/work"}"#;
        let wanted: Wanted = serde_json::from_str(was).expect("it is wanted");
        assert!(matches!(wanted, Wanted::Call(_)));
    }
}
