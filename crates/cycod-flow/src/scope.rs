//! The steps of one tool within a flow: which have their turn, which have failed, and how the tool has ended.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{FlowTask, Settled, StepShape};

/// The steps of one tool within a flow, numbered in the order in which they were opened; 0 is the outermost tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScopeId(pub usize);

/// How a scope ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeEnd {
    /// Every step had its turn, and none stopped the others.
    Completed,
    /// This step, by index, failed and stopped the others.
    Failed(usize),
    /// The time was over before every step had its turn.
    OutOfTime,
    /// The run was cancelled before every step had its turn.
    Cancelled,
}

/// The steps of one tool, and how far they are.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The attempt that called the tool.
    pub(crate) by: Option<FlowTask>,
    pub(crate) steps: Vec<Step>,
    /// Steps whose turn has come.
    pub(crate) ready: BTreeSet<usize>,
    /// How many steps are between their turn and their result.
    pub(crate) busy: usize,
    /// How many may be.
    pub(crate) at_once: usize,
    /// The step whose failure stopped the others.
    pub(crate) failure: Option<usize>,
    /// Whether a step failed that was to run on failure.
    pub(crate) has_handling_failed: bool,
    pub(crate) is_out_of_time: bool,
    pub(crate) phase: Phase,
}

/// How far a scope is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// The steps that run on failure do.
    HandlingFailure,
    CleaningUp(ScopeEnd),
    Closed(ScopeEnd),
}

/// A step, and how far it is.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) shape: StepShape,
    pub(crate) state: State,
    /// How many of the steps that it waits for have not settled.
    pub(crate) waits_for: usize,
    /// The steps that wait for it.
    pub(crate) dependents: Vec<usize>,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waits for its turn.
    Waiting,
    /// Its condition is being evaluated.
    Deciding,
    /// An attempt is under way; `has_opened` when that called a tool.
    Running { task: FlowTask, has_opened: bool },
    /// Waits for the attempt that follows this one.
    Pausing(FlowTask),
    /// Waits for a person.
    Asking(FlowTask),
    /// Has its result.
    Settled(Settled),
}

impl State {
    /// Whether the step occupies one of the places for steps that run at once. One that called a tool does not: the steps of
    /// that tool do.
    pub(crate) fn occupies(self) -> bool {
        match self {
            Self::Deciding | Self::Running { has_opened: false, .. } | Self::Pausing(_) => true,
            Self::Waiting | Self::Running { has_opened: true, .. } | Self::Asking(_) | Self::Settled(_) => false,
        }
    }
}

impl Scope {
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    pub(crate) fn new(by: Option<FlowTask>, shapes: Vec<StepShape>, at_once: usize) -> Self {
        let mut steps: Vec<Step> = shapes
            .into_iter()
            .map(|shape| Step { shape, state: State::Waiting, waits_for: 0, dependents: Vec::new() })
            .collect();
        for index in 0..steps.len() {
            let after: BTreeSet<usize> = steps[index].shape.after.iter().copied().collect();
            steps[index].waits_for = after.len();
            for before in after {
                // A step that waits for one that does not exist never has its turn.
                if let Some(before) = steps.get_mut(before) {
                    before.dependents.push(index);
                }
            }
        }
        let mut scope = Self {
            by,
            steps,
            ready: BTreeSet::new(),
            busy: 0,
            at_once: at_once.max(1),
            failure: None,
            has_handling_failed: false,
            is_out_of_time: false,
            phase: Phase::Running,
        };
        scope.ready = scope.first(false);
        scope
    }

    /// The steps that wait for nothing: of those that run on failure, or of the others.
    fn first(&self, on_failure: bool) -> BTreeSet<usize> {
        let is_first = |step: &Step| step.waits_for == 0 && step.shape.on_failure == on_failure;
        self.steps.iter().enumerate().filter(|(_, step)| is_first(step)).map(|(index, _)| index).collect()
    }

    /// Goes on with the steps that run on failure, if there are any and a step has failed. Returns whether it did.
    pub(crate) fn handles_failure(&mut self) -> bool {
        if self.phase != Phase::Running || self.failure.is_none() || self.is_out_of_time {
            return false;
        }
        self.ready = self.first(true);
        if self.ready.is_empty() {
            return false;
        }
        self.phase = Phase::HandlingFailure;
        true
    }

    /// Whether a step may begin that is ready.
    pub(crate) fn goes_on(&self) -> bool {
        match self.phase {
            Phase::Running => self.failure.is_none(),
            Phase::HandlingFailure => !self.has_handling_failed,
            Phase::CleaningUp(_) | Phase::Closed(_) => false,
        }
    }

    /// Records the result of a step; those that waited for it alone have their turn.
    pub(crate) fn settle(&mut self, index: usize, settled: Settled) {
        let step = &mut self.steps[index];
        step.state = State::Settled(settled);
        if settled.is_failure() && !step.shape.continue_on_error {
            if step.shape.on_failure {
                self.has_handling_failed = true;
            } else {
                self.failure.get_or_insert(index);
            }
        }
        for dependent in std::mem::take(&mut step.dependents) {
            let dependent_step = &mut self.steps[dependent];
            dependent_step.waits_for -= 1;
            if dependent_step.waits_for == 0
                && dependent_step.state == State::Waiting
                && dependent_step.shape.on_failure == (self.phase == Phase::HandlingFailure)
            {
                self.ready.insert(dependent);
            }
        }
    }

    /// How the scope ended, once no step is under way.
    pub(crate) fn verdict(&self, is_cancelled: bool) -> ScopeEnd {
        let is_unfinished = self.steps.iter().any(|step| step.state == State::Settled(Settled::NotRun));
        match self.failure {
            Some(step) => ScopeEnd::Failed(step),
            None if !is_unfinished => ScopeEnd::Completed,
            None if is_cancelled => ScopeEnd::Cancelled,
            None => ScopeEnd::OutOfTime,
        }
    }
}
