//! What passes between a driver that knows nothing but the flow and the machines that carry out its work.

use serde::{Deserialize, Serialize};

use crate::{AttemptOutcome, ConditionResult, FlowEvent, FlowTask, ScopeId, StepId, StepShape};

/// Something that a driver gives to another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowWork {
    /// An attempt.
    Attempt(FlowTask),
    /// The condition of a step.
    Decide(StepId),
    /// The cleanup of a scope.
    CleanUp(ScopeId),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkAnswer {
    /// What the flow is told.
    pub event: FlowEvent,
    /// How long the pause is that may follow, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<u64>,
    /// The time of the scope that was opened, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// How the attempt ends whose scope is cleaned up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes: Option<AttemptOutcome>,
}

/// What a driver has to know to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowStart {
    /// The rules that the flow follows: [`crate::VERSION`].
    pub version: u32,
    /// The steps of the outermost tool.
    pub steps: Vec<StepShape>,
    /// How many of them may be under way at once.
    pub at_once: usize,
    /// The time of the run, in milliseconds.
    pub timeout: u64,
}

impl FlowWork {
    /// The scope of which it is a part.
    pub fn scope(self) -> ScopeId {
        match self {
            Self::Attempt(task) => task.step.scope,
            Self::Decide(step) => step.scope,
            Self::CleanUp(scope) => scope,
        }
    }

    /// What is told when everyone is gone who had it. Nothing follows for a step whose tool was not cleaned up.
    pub fn lost(self) -> WorkAnswer {
        match self {
            Self::Attempt(task) => WorkAnswer::new(FlowEvent::Lost(task)),
            Self::Decide(step) => WorkAnswer::new(FlowEvent::Decided { step, decision: ConditionResult::Undecidable }),
            Self::CleanUp(scope) => {
                let closes = Some(AttemptOutcome::Forbidden);
                WorkAnswer { closes, ..WorkAnswer::new(FlowEvent::CleanedUp(scope)) }
            }
        }
    }
}

impl WorkAnswer {
    /// An answer with nothing but an event.
    pub fn new(event: FlowEvent) -> Self {
        Self { event, pause: None, timeout: None, closes: None }
    }

    /// Whether it is one to this work.
    pub fn is_of(&self, work: FlowWork) -> bool {
        match (work, &self.event) {
            (FlowWork::Attempt(of), FlowEvent::Ended { task, .. } | FlowEvent::Lost(task)) => of == *task,
            (FlowWork::Attempt(of), FlowEvent::Opened { by, .. }) => Some(of) == *by,
            (FlowWork::Decide(of), FlowEvent::Decided { step, .. }) => of == *step,
            (FlowWork::CleanUp(of), FlowEvent::CleanedUp(scope)) => of == *scope,
            (of, FlowEvent::Asked(work)) => of == *work,
            _ => false,
        }
    }
}
