//! Runs that survive a crash: what they need to be continued, and how they are.
//!
//! ```text
//!   run ──► state: the call ─ what happened ─ what happened ─ …   ╳ crash
//!   resume ─► the same call? ─ denied now? ─► what had happened ─► goes on
//! ```
//!
//! The state is sealed to this machine (`cycod-store`). It holds the call with its arguments as they were given. A run is
//! continued with the tool that it began with: when planning the call gives another, it is not, unless somebody says so.

use std::path::{Path, PathBuf};

use cycod_diagnostic::{Code, Refusal};
use cycod_plan::Plan;
use cycod_policy::Approved;
use cycod_run::{self as run, Durable, Ledger, LostAnswer, RunReport, Sink, StepPath};
use cycod_store::{History, Run, RunState, State, StoreError, approvals::RequestId, digest};
use serde_json::json;

use crate::{
    Control, Engine,
    journal::{Reached, reached},
    order::{Order, OrderRow, asker},
    recording::{not_kept, told},
};

/// A run that was interrupted and can be continued. While this is held, no other process can.
pub struct Resumption {
    state: RunState,
    order: Order,
    directory: PathBuf,
    past: Vec<Vec<u8>>,
}

impl Resumption {
    /// Takes over what a run left in the directory of journals.
    ///
    /// # Errors
    /// When it left nothing, another process has it, or it cannot be read.
    pub fn open(journals: &Path, run: &str) -> Result<Self, Refusal> {
        let refused = |why: String| Refusal::new(Code::NotResumable, why).place(run);
        let opened = RunState::open(journals, run).map_err(|error| match error {
            StoreError::InUse { .. } => {
                refused("the run continues in another process".to_owned()).attempt(format!("cycod runs follow {run}"))
            }
            error => refused(told(&error)),
        })?;
        let (state, mut past) = opened.ok_or_else(|| {
            refused("the run was not durable, or it has ended".to_owned()).attempt(format!("cycod runs rerun {run}"))
        })?;
        let unreadable = || refused("what it left cannot be read by this version".to_owned());
        let call = if past.is_empty() { return Err(unreadable()) } else { past.remove(0) };
        let order: Option<OrderRow> = serde_json::from_slice(&call).ok();
        let order = order.and_then(OrderRow::read).ok_or_else(unreadable)?;
        let directory = order.directory.clone().ok_or_else(unreadable)?;
        Ok(Self { state, order, directory, past })
    }

    /// The directory in which the run was started; the engine that continues it must be opened there.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The tool.
    pub fn tool(&self) -> &str {
        &self.order.tool
    }

    /// Whether workers carry it out.
    pub fn is_on_fleet(&self) -> bool {
        self.order.fleet.is_some()
    }

    /// The run.
    pub fn run(&self) -> &str {
        &self.order.beginning.run_id
    }

    /// How many lost steps are undecided.
    pub fn undecided(&self) -> usize {
        run::InterruptedStep::among(&self.past).len()
    }

    /// Writes down what follows for a lost step. The run goes on with it when it is continued.
    ///
    /// # Errors
    /// When the step is not lost any more, or that cannot be written.
    pub fn decide(&mut self, lost: &LostStep, answer: LostAnswer) -> Result<(), Refusal> {
        if !run::InterruptedStep::among(&self.past).contains(&lost.lost) {
            let why = format!("`{}` is not waiting any more", lost.lost.step);
            return Err(Refusal::new(Code::NotResumable, why).place(&lost.run.id));
        }
        for entry in lost.lost.answered(answer) {
            self.state.add(&entry, true).map_err(|error| not_written(&error))?;
            self.past.push(entry);
        }
        Ok(())
    }
}

/// A step that was running when its run was interrupted, about which the user decides.
#[derive(Clone, Debug)]
pub struct LostStep {
    /// The name under which it waits for that; it stays the same.
    pub id: RequestId,
    /// The run.
    pub run: Run,
    lost: run::InterruptedStep,
}

impl LostStep {
    /// Finds all of them, the oldest run first.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn all(history: &History) -> Result<Vec<Self>, StoreError> {
        let mut all = Vec::new();
        for name in RunState::list(&history.journals())? {
            let Some(run) = history.find(&name)?.pop().filter(|run| run.state == State::Interrupted) else { continue };
            // One that cannot be read is told of when it is continued.
            let Ok(Some(past)) = RunState::peek(&history.journals(), &run.id) else { continue };
            all.extend(run::InterruptedStep::among(&past).into_iter().map(|lost| {
                let id = RequestId::of(&digest(&json!(["lost", run.id, lost.number()])));
                Self { id, run: run.clone(), lost }
            }));
        }
        Ok(all)
    }

    /// The step.
    pub fn step(&self) -> &StepPath {
        &self.lost.step
    }

    /// How far it got, by the journal of its run.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn reached(&self, history: &History) -> Result<Reached, StoreError> {
        reached(&history.journals(), &self.run.id, self.step())
    }
}

/// Where a run is written down, and what was before.
pub(crate) struct Resumed<'a> {
    ledger: Sealed,
    past: Vec<Vec<u8>>,
    lost: &'a dyn Fn(&StepPath) -> Option<LostAnswer>,
}

impl Resumed<'_> {
    pub(crate) fn durable(&mut self) -> Durable<'_> {
        Durable { ledger: &mut self.ledger, past: std::mem::take(&mut self.past), lost: self.lost }
    }

    /// Lets go of a run that does not go on: one that would have begun leaves nothing.
    pub(crate) fn give_up(self, is_resumed: bool) {
        if !is_resumed {
            // What cannot be removed belongs to no run, and is removed with the next ones.
            _ = self.into_state().remove();
        }
    }

    pub(crate) fn into_state(self) -> RunState {
        self.ledger.0
    }
}

#[derive(Debug)]
struct Sealed(RunState);

impl Ledger for Sealed {
    fn add(&mut self, entry: &[u8], must_last: bool) -> Result<(), Refusal> {
        self.0
            .add(entry, must_last)
            .map_err(|error| not_written(&error).attempt("free some space, then continue it: `cycod runs resume last`"))
    }
}

fn not_written(error: &StoreError) -> Refusal {
    Refusal::new(
        Code::HistoryUnwritable,
        format!("a durable run must be written down, and that failed: {}", told(error)),
    )
}

/// Whether a run that was to be continued is as it was before.
pub(crate) fn stays_interrupted(report: &RunReport) -> bool {
    let code = report.refusal.as_ref().map(|refusal| refusal.code);
    report.steps.is_empty() && matches!(code, Some(Code::NotResumable | Code::StepLost))
}

impl Engine {
    /// Begins to write a run down, if it is durable.
    pub(crate) fn kept(
        &self,
        approved: &Approved<Plan>,
        control: &Control,
    ) -> Result<Option<Resumed<'static>>, Refusal> {
        let plan = approved.subject();
        let goes_elsewhere = control.place.carrier().map(|carrier| carrier.labels());
        if !control.durable && !plan.call.tool.durable || goes_elsewhere == Some(None) {
            return Ok(None);
        }
        let history = self.history().ok_or_else(|| not_kept(&plan.run_id))?;
        let mut order = self.order(approved, &self.caller(control));
        order.fleet = goes_elsewhere.flatten();
        order.directory = Some(plan.host().working_directory.to_string_lossy().into_owned());
        let state = RunState::create(&history.journals(), &plan.run_id).map_err(|error| not_written(&error))?;
        let mut ledger = Sealed(state);
        ledger.add(&serde_json::to_vec(&order).unwrap_or_default(), true)?;
        Ok(Some(Resumed { ledger, past: Vec::new(), lost: &|_| None }))
    }

    /// Continues a run that was interrupted, and runs it to its end.
    ///
    /// What had ended is not done again. `lost` says what follows for a step that was running then and may not simply start
    /// again; where it says nothing, the run stays as it is. Time limits begin again. `with_current` continues it also when the
    /// tool is not what it was.
    ///
    /// # Errors
    /// When the tool is not what it was or may not run any more, a step is lost and nobody says what follows, or what was
    /// written does not fit. The run can then still be continued.
    pub fn resume(
        &self,
        resumption: Resumption,
        lost: &dyn Fn(&StepPath) -> Option<LostAnswer>,
        with_current: bool,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> Result<RunReport, Refusal> {
        let Resumption { state, order, directory: _, past } = resumption;
        let plan = self.plan_ordered(&order)?;
        let name = plan.tool().name.to_string();
        let asker = asker(&order.caller);
        if !with_current && self.digest_of_call(&plan, &asker).to_string() != order.call {
            let why = format!("`{name}`, or a file that it uses, is not what it was when the run began");
            return Err(Refusal::new(Code::ToolChanged, why)
                .place(&name)
                .attempt("restore the files, or continue with those of today: `--with-current`"));
        }
        let decision = self.decide_ordered(&plan, &order, &asker);
        let (is_workflow, is_detached) = (plan.is_workflow, plan.is_detached());
        let place = self.place_of(&plan.asked, order.fleet)?;
        let approved = decision.approve(&name, plan)?;
        let control = Control { caller: Some(order.caller), place, ..control.clone() };
        // What went on by itself is ended where it was, whichever process continues it.
        let _listening = is_detached.then(|| self.listen(&order.beginning.run_id, &control.stop)).transpose()?;
        let resumed = Resumed { ledger: Sealed(state), past, lost };
        let (mut report, recording) = self.run_or_resume(approved, &control, sink, Some(resumed), false);
        if stays_interrupted(&report)
            && let Some(refusal) = report.refusal.take()
        {
            if let Some(recording) = recording {
                recording.leave();
            }
            return Err(refusal);
        }
        if let Some(recording) = recording {
            recording.end_or_leave(&mut report, is_workflow);
        }
        Ok(report)
    }
}
