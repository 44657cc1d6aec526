//! Approvals of plans, and runs of what was approved.

use std::{
    io,
    sync::{Arc, OnceLock},
};

use cycod_diagnostic::Refusal;
use cycod_plan::Plan;
use cycod_policy::{Approved, Approver, Surface, Verdict};
use cycod_process::Stop;
use cycod_run::{ArtifactShelf, CacheUse, Driver, Durable, Event, RunReport, Sink, StepCache, StepPath, TraceOf, run};

use crate::{
    Asker, Caller, Control, Engine, Recording,
    durable::{Resumed, stays_interrupted},
    history::{Recorded, not_in_history},
    journal::Journaled,
    recording::{not_kept, told},
    step_cache::RunCache,
    tracing::{self, RunTrace, Traced},
};

impl Engine {
    /// Decides whether a plan may run, asking `approver` where the rules say so.
    ///
    /// # Errors
    /// A refusal with the rule that decided.
    pub fn approve(&self, plan: Plan, surface: Surface, approver: &dyn Approver) -> Result<Approved<Plan>, Refusal> {
        let asker = Asker::from(surface);
        let decision = self.decide_for(&plan, &asker);
        if decision.verdict != Verdict::Ask {
            return self.approve_unasked(plan, decision, &asker);
        }
        let request = self.request(&plan, &decision, &asker, None);
        let answer = approver.answer(&request);
        self.approve_answered(plan, decision, &request, answer, &asker)
    }

    /// A control that nobody holds yet.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn control(&self) -> io::Result<Control> {
        Stop::new().map(Control::new)
    }

    /// Runs an approved plan to its end.
    pub fn run(&self, approved: Approved<Plan>, control: &Control, sink: &mut dyn Sink) -> RunReport {
        let is_workflow = approved.subject().is_workflow;
        let (mut report, recording) = self.run_recorded(approved, control, sink);
        if let Some(recording) = recording {
            recording.end_or_leave(&mut report, is_workflow);
        }
        report
    }

    /// Runs an approved plan to its end, for a caller that keeps what it writes, and tells the history where.
    pub fn run_recorded(
        &self,
        approved: Approved<Plan>,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> (RunReport, Option<Recording>) {
        if approved.subject().is_detached() {
            return (self.detach(&approved, control), None);
        }
        self.run_or_resume(approved, control, sink, None, true)
    }

    /// Runs an approved plan in this process, also one that goes on by itself. Others know its ID already, so it is in the
    /// history before it begins.
    pub(crate) fn run_here(
        &self,
        approved: Approved<Plan>,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> (RunReport, Option<Recording>) {
        self.run_or_resume(approved, control, sink, None, false)
    }

    /// The same, for a run that goes on where it was interrupted, or whose row may wait until it has begun.
    pub(crate) fn run_or_resume(
        &self,
        approved: Approved<Plan>,
        control: &Control,
        sink: &mut dyn Sink,
        resumed: Option<Resumed<'_>>,
        may_wait: bool,
    ) -> (RunReport, Option<Recording>) {
        self.moments.hold(false);
        match self.placed(approved.subject(), control) {
            Ok(control) => self.run_placed(approved, &control, sink, resumed, may_wait),
            Err(refusal) => (RunReport::refused(refusal), None),
        }
    }

    fn run_placed(
        &self,
        approved: Approved<Plan>,
        control: &Control,
        sink: &mut dyn Sink,
        resumed: Option<Resumed<'_>>,
        may_wait: bool,
    ) -> (RunReport, Option<Recording>) {
        let (through, workflow) = (approved.subject().through.clone(), Arc::clone(&approved.subject().call.tool));
        let run_id = approved.subject().run_id.clone();
        let has_artifacts = approved.subject().keeps_files();
        let is_resumed = resumed.is_some();
        // What it takes to go on is there before the history says that the run begins.
        let kept = resumed.map_or_else(|| self.kept(&approved, control), |resumed| Ok(Some(resumed)));
        let mut kept = match kept {
            Ok(kept) => kept,
            Err(refusal) => return (RunReport::refused(refusal), None),
        };
        let recorded = match self.record(&approved, &self.caller(control), is_resumed, may_wait && kept.is_none()) {
            Ok(Recorded { recording: None, .. }) if kept.is_some() => Err(not_kept(&run_id)),
            recorded => recorded,
        };
        let Recorded { mut recording, warning, waiting } = match recorded {
            Ok(recorded) => recorded,
            Err(refusal) => {
                kept.into_iter().for_each(|kept| kept.give_up(is_resumed));
                return (RunReport::refused(refusal), None);
            }
        };
        let unkept = (has_artifacts && recording.is_none())
            .then(|| "the artifacts of this run are not kept: it is not in the history".to_owned());
        let mut warnings: Vec<String> = warning.into_iter().chain(unkept).collect();
        warnings.iter().for_each(|warning| sink.event(&Event::Warning(warning.clone())));
        let durable = kept.as_mut().map(Resumed::durable);
        // A test looks whether they are there, and is run often.
        let is_test = self.caller(control).surface == Caller::TEST;
        let artifacts = recording.as_ref().filter(|_| !is_test).map(Recording::artifacts);
        let mut trace = self.trace_or_warn(&approved, control, sink, &mut warnings);
        let of_caller = control.trace.clone().filter(|_| control.is_traced_elsewhere);
        let context = of_caller.or_else(|| trace.as_ref().map(RunTrace::context));
        let run_trace = context.as_ref().map(tracing::told).unwrap_or_default();
        let trace_of = context.as_ref().map(|root| |step: &StepPath| tracing::names(root, step));
        let began = OnceLock::new();
        let caller = self.caller(control);
        let begin = || {
            began.get_or_init(|| waiting.as_ref().map_or(Ok(()), |waiting| self.write_beginning(waiting)));
        };
        let cache = self.run_cache(approved.subject(), &caller);
        let cache_use = cache_use(control, is_test);
        let driver = Driver {
            cache: cache.as_ref().map(|cache| cache as &dyn StepCache),
            cache_use,
            artifacts: artifacts.as_ref().map(|artifacts| artifacts as &dyn ArtifactShelf),
            scripts: &self.scripts,
            secrets: &*self.secrets,
            stop: &control.stop,
            is_attended: control.is_attended,
            remotes: Some(&self.remotes),
            principal: caller.owner(),
            models: self.models.as_deref(),
            built_ins: self.built_ins.as_deref(),
            workers: Some(&self.workers),
            worker_session: control.session.as_deref().unwrap_or_default(),
            keep: control.keep,
            observer: control.observer.as_ref(),
            pool: self.pool.as_deref(),
            started: Some(&begin),
            interpreters: Some(&|| self.configured_interpreters()),
            trace: trace_of.as_ref().map(|of| of as &TraceOf<'_>),
            run_trace: &run_trace,
        };
        let sink: &mut dyn Sink = &mut Traced { sink, trace: trace.as_mut() };
        let journal = recording.as_ref().and_then(|recording| recording.journal.clone());
        let mut report = match journal {
            Some(journal) => {
                let is_durable = durable.is_some();
                let sink = &mut Journaled { sink, journal, is_durable };
                carried(approved, control, &driver, sink, durable)
            }
            None => carried(approved, control, &driver, sink, durable),
        };
        // Nothing was started where the run was over before.
        begin();
        if let Some(Err(error)) = began.into_inner() {
            recording.take().into_iter().for_each(Recording::leave);
            let warning = not_in_history(&error);
            sink.event(&Event::Warning(warning.clone()));
            warnings.push(warning);
        }
        if let Some(Err(error)) = cache.as_ref().map(RunCache::end) {
            report.warnings.push(format!("the stored results of steps can't be removed: {}", told(&error)));
        }
        if let (Some(recording), Some(kept)) = (&mut recording, kept) {
            recording.state = Some(kept.into_state());
        }
        report.warnings.extend(warnings);
        trace.into_iter().for_each(|trace| trace.end(&report));
        if let Some(through) = through.filter(|_| !is_resumed || !stays_interrupted(&report)) {
            let refusal = self.answered_for(&through, &workflow, &run_id, &mut report);
            if let Some(recording) = &mut recording {
                (recording.is_answered_for, recording.refusal) = (true, refusal);
            }
        }
        (report, recording)
    }
}

/// Runs a plan here, or where the control says.
fn carried(
    approved: Approved<Plan>,
    control: &Control,
    driver: &Driver<'_>,
    sink: &mut dyn Sink,
    durable: Option<Durable<'_>>,
) -> RunReport {
    let Some(carrier) = control.place.carrier() else { return run(approved, driver, sink, durable) };
    // The other machine begins when it can.
    if let Some(started) = driver.started {
        started();
    }
    carrier.carry(approved, driver, sink, durable)
}

/// What a run does with the stored results of its steps.
fn cache_use(control: &Control, is_test: bool) -> CacheUse {
    match control {
        // What is tested, or observed, has to run.
        _ if is_test || control.observer.is_some() => CacheUse::Never,
        Control { refreshes_cache: true, .. } => CacheUse::Refresh,
        _ => CacheUse::Use,
    }
}
