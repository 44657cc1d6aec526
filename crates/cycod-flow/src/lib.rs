//! The state machine of workflows: which step starts when, and what follows its end.
//!
//! ```text
//!            events: opened, decided, ended, due, lost, cancelled, …
//!          ┌──────────────────────────────────────────────────────┐
//!          │                                                      │
//!       driver  (threads, a journal, a fleet)                   Flow
//!          │                                                      ▲
//!          └──────────────────────────────────────────────────────┘
//!            commands: decide, start, pause, settle, clean up, close
//! ```
//!
//! A [`Flow`] has no clock, no thread, no file and no process. A driver carries out its [`FlowCommand`]s and reports what came
//! of them as [`FlowEvent`]s. The same events give the same commands, so a run whose events were written down can be
//! continued elsewhere.
//!
//! The steps of one tool are a *scope*. A step that calls a tool opens a scope of its own inside its attempt, so one flow
//! holds every step of a run. A step that runs for each item of a list opens a scope in the same way: each item is a step
//! of it.
//!
//! Invariants, each held by a property test:
//!
//! - every flow whose commands are carried out ends;
//! - every scope is cleaned up once, after all its steps have settled and before it closes;
//! - no attempt starts twice, unless it was lost in between;
//! - a step starts only after the steps it waits for have settled;
//! - of the steps of a scope, no more are under way than may be.

mod course;
mod flow;
mod scope;
mod step;
mod work;

use serde::{Deserialize, Serialize};

pub use course::{FlowCourse, FlowHeard, FlowMisfit, FlowTimer, FlowTurn};
pub use flow::Flow;
pub use scope::{ScopeEnd, ScopeId};
pub use step::{Attempt, AttemptOutcome, Before, ConditionResult, FlowTask, LostPolicy, Settled, StepId, StepShape};
pub use work::{FlowStart, FlowWork, WorkAnswer};

/// Which rules a flow follows. A journal of a run says it, and only a program that knows it may go on with that run.
pub const VERSION: u32 = 1;

/// How many attempts run at once at the most; more would only wait for processors and descriptors.
pub const AT_ONCE: usize = 64;

/// How often an attempt may be lost before its step has failed.
pub const MOST_LOSSES: u32 = 3;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowEvent {
    /// A tool begins: the outermost one, or the one that an attempt calls.
    Opened {
        /// The attempt that calls it; nothing for the outermost tool.
        by: Option<FlowTask>,
        /// Its steps, in source order.
        steps: Vec<StepShape>,
        /// How many of them may be under way at once, from their turn to their result; at least one may.
        at_once: usize,
    },
    /// The condition of a step was evaluated.
    Decided {
        /// Which step.
        step: StepId,
        /// What came of it.
        decision: ConditionResult,
    },
    /// An attempt ended.
    Ended {
        /// Which attempt.
        task: FlowTask,
        /// How.
        outcome: AttemptOutcome,
    },
    /// The pause before the next attempt of a step is over.
    Due(StepId),
    /// The process that carried out an attempt is gone, and its result with it.
    Lost(FlowTask),
    /// A person said what is to follow the loss of an attempt.
    Answered {
        /// Which attempt.
        task: FlowTask,
        /// What follows.
        answer: LostAnswer,
    },
    /// A machine was given something that it does only with the consent of a person, who is asked. It is nobody's meanwhile.
    Asked(FlowWork),
    /// The person was asked, whatever came of it: the same is given away again.
    Resumed(FlowWork),
    /// The time of a scope is over.
    OutOfTime(ScopeId),
    /// The run was cancelled from outside.
    Cancelled,
    /// The cleanup of a scope is done.
    CleanedUp(ScopeId),
}

/// What a person says about an attempt that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostAnswer {
    /// Start it again.
    Again,
    /// It was done; go on as if it had succeeded.
    Done,
    /// The step has failed.
    Stop,
}

/// What a driver has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowCommand {
    /// Evaluate the condition of a step, and report [`FlowEvent::Decided`].
    Decide(StepId),
    /// Begin an attempt. Report [`FlowEvent::Ended`]; before that [`FlowEvent::Opened`] if it calls a tool.
    Start(FlowTask),
    /// Wait before the next attempt of a step, and report [`FlowEvent::Due`]. `after` is the attempt that failed.
    Pause {
        /// The attempt that failed.
        after: FlowTask,
    },
    /// Ask a person what is to follow the loss of an attempt, and report [`FlowEvent::Answered`].
    Ask(FlowTask),
    /// Take note that a step has its final result.
    Settle {
        /// Which step.
        step: StepId,
        /// How it ended.
        settled: Settled,
    },
    /// Run the cleanup of a scope, and report [`FlowEvent::CleanedUp`].
    CleanUp(ScopeId),
    /// Take note that a scope is over. For a scope that an attempt opened, report [`FlowEvent::Ended`] of that attempt.
    Close {
        /// Which scope.
        scope: ScopeId,
        /// How it ended.
        verdict: ScopeEnd,
    },
}
