//! Drives the flows of durable runs on the fleet: one workflow of Restate for each run.
//!
//! ```text
//!  Restate ──► conductor: Flow::on ──► FlowQueue: what happened, what starts ──► workers
//!     ▲                                                                            │
//!     └──────────────── what came of a task, by its awakeable ◄────────────────────┘
//! ```
//!
//! The conductor starts no program, sees no output and decides no permission. It has the steps as a [`FlowStart`] describes them,
//! and what came of each as a [`WorkAnswer`]. When its process dies, Restate calls another one, which takes the same events in
//! the same order from Restate's journal and goes on.

mod conductor;
mod queue;

pub use conductor::{Conductor, ConductorError};
pub use queue::{
    CommitError, FlowCommit, FlowHold, FlowOffer, FlowQuestion, FlowQueue, PersonAnswer, TaskAnswer, WorkResumed,
};

#[cfg(doc)]
use cycod_flow::{FlowStart, WorkAnswer};
