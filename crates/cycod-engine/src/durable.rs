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

use cycod_call::{Bound, Given, Origin};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::{Plan, PlanError};
use cycod_policy::{Approved, Decision, Verdict};
use cycod_run::{Durable, Event, Ledger, LostAnswer, RunReport, Sink, StepPath};
use cycod_store::{RunState, StoreError};

use crate::{
    Control, Engine, EngineError,
    background::{Order, asker},
    history::told,
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
        let order = String::from_utf8(call).ok().and_then(|text| Order::read(&text)).ok_or_else(unreadable)?;
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

/// A durable run whose beginning is not in the history.
pub(crate) fn not_kept(run: &str) -> Refusal {
    Refusal::new(Code::HistoryUnwritable, "a durable run must be in the history, and there is none").place(run)
}

impl Engine {
    /// Begins to write a run down, if it is durable.
    pub(crate) fn kept(
        &self,
        approved: &Approved<Plan>,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> Result<Option<Resumed<'static>>, Refusal> {
        let plan = approved.subject();
        if !control.durable && !plan.call.tool.durable {
            return Ok(None);
        }
        if plan.through.is_some() {
            let why = format!("`{}` is durable, but not when another tool runs it", plan.tool().name);
            sink.event(&Event::Warning(why));
            return Ok(None);
        }
        let history = self.history().ok_or_else(|| not_kept(&plan.run_id))?;
        let given: Vec<&Bound> = plan.call.values.iter().filter(|bound| bound.origin == Origin::Given).collect();
        let value = |bound: &Bound| bound.untransformed.clone().or_else(|| bound.value.clone());
        let arguments: Vec<_> = given.iter().filter_map(|bound| Some((bound.name.clone(), value(bound)?))).collect();
        let is_answer = |name: &str| plan.call.tool.parameter(name).is_some_and(|parameter| parameter.asked);
        let answers: Vec<&String> = given.iter().map(|bound| &bound.name).filter(|name| is_answer(name)).collect();
        let mut order = self.order_of(approved, &self.caller(control), &plan.asked, &arguments, &[], &answers);
        order["directory"] = plan.host().working_directory.to_string_lossy().into();
        let state = RunState::create(&history.journals(), &plan.run_id).map_err(|error| not_written(&error))?;
        let mut ledger = Sealed(state);
        ledger.add(order.to_string().as_bytes(), true)?;
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
        let tool = self.tool(&order.tool).map_err(EngineError::into_refusal)?;
        let arguments = order.arguments.iter().map(|(name, value)| {
            let given = Given::Value(value.clone());
            let is_answer = order.answers.contains(name);
            (name.clone(), if is_answer { Given::Answer(Box::new(given)) } else { given })
        });
        let wrong = |error: PlanError| error.into_refusal(&order.tool);
        let plan = self.plan_answered(&tool, arguments.collect(), &[], Some(order.timeout), &order.beginning);
        let plan = plan.map_err(wrong)?;
        let asker = asker(&order.caller);
        if !with_current && self.digest_of_call(&plan, &asker).to_string() != order.call {
            let why = format!("`{}`, or a file that it uses, is not what it was when the run began", order.tool);
            return Err(Refusal::new(Code::ToolChanged, why)
                .place(&order.tool)
                .attempt("restore the files, or continue with those of today: `--with-current`"));
        }
        let decision = match self.decide_for(&plan, &asker) {
            Decision { verdict: Verdict::Ask, code, .. } => {
                Decision::built_in(Verdict::Allow, format!("approved when it was started: {}", order.rule), code)
            }
            decision => decision,
        };
        let is_workflow = plan.is_workflow;
        let approved = decision.approve(&order.tool, plan)?;
        let control = Control { caller: Some(order.caller), ..control.clone() };
        let resumed = Resumed { ledger: Sealed(state), past, lost };
        let (mut report, recording) = self.run_or_resume(approved, &control, sink, Some(resumed));
        let is_left = |refusal: &Refusal| matches!(refusal.code, Code::NotResumable | Code::StepLost);
        if report.steps.is_empty()
            && let Some(refusal) = report.refusal.take_if(|refusal| is_left(refusal))
        {
            if let Some(recording) = recording {
                recording.leave();
            }
            return Err(refusal);
        }
        if let Some(recording) = recording {
            recording.end_here(&mut report, is_workflow);
        }
        Ok(report)
    }
}
