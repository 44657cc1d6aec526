//! Drives an approved plan to its end and tells the story as typed events.
//!
//! ```text
//!              ┌───────────────── dispatcher ─────────────────┐
//!  Approved ──►│  flow: what follows?  ◄─ events · commands ─► │──► RunReport
//!  <Plan>      └───▲──────────────────┬───────────────────────┘
//!                  │ messages         │ one worker per attempt under way
//!                  └── output, how it ended, the plan of a tool that it calls
//! ```
//!
//! `cycod-flow` decides what follows what. The [dispatcher](dispatch) carries that out: workers run alone and send
//! messages, and it passes [`Event`]s to a [`Sink`]. Secrets are masked before anything leaves this crate; only the data
//! passed between steps is unmasked.
//!
//! Invariant: this crate prints nothing, prompts nobody and decides no permission.

mod answering;
mod artifact;
mod artifacts;
mod asks;
mod builtin;
mod cache;
mod confine;
mod confined_program;
mod container;
mod denied;
mod dispatch;
mod driver;
mod durable;
mod event;
mod failure;
mod files;
mod finder;
mod gate;
mod glob;
mod guarded;
mod handler;
mod installed;
mod keep;
mod launch;
mod launched;
mod lines;
mod mask;
mod models;
mod own_files;
mod platform;
mod promise;
mod reach;
mod remote;
mod report;
mod reports;
mod results;
mod scope;
mod told;
mod walk;
mod worker;
mod workers;

pub use artifact::{Artifact, ArtifactShelf, MOST_ARTIFACT_BYTES, MOST_ARTIFACTS};
pub use builtin::{BuiltInCall, BuiltIns, How, Ran, RanEnd, Together, TouchedPath, WorkflowCall};
pub use cache::{CacheOutlook, MOST_RESULT_BYTES, NotCached, ResultFile, StepCache, StepResult, cache_outlook};
pub use confined_program::{ConfinedProgram, ObservedProgram, Terms};
pub use container::{NoContainers, container_engine, container_service};
pub use cycod_flow::{
    AttemptOutcome, FlowEvent, FlowStart, FlowTask, FlowWork, LostAnswer, VERSION as FLOW_VERSION, WorkAnswer,
};
pub use cycod_mask::StreamMask;
pub use dispatch::{asked_step, flow_start, follow, refused_step, run, run_step};
pub use driver::{CacheUse, Driver, TraceOf};
pub use durable::{Durable, InterruptedStep, Ledger, reported_step};
pub use event::{Event, Ignore, QUIET, Sink, StepPath};
pub use files::{Files, UnreadFile};
pub use glob::{GlobError, Hidden};
pub use guarded::{Guarded, resolved};
pub use launch::{NoElevator, elevator};
pub use lines::LineFollower;
pub use models::{ModelAnswer, ModelAsk, ModelBudget, Models};
pub use platform::{Execute, Executed, ToolPlatform};
pub use promise::broken_promise;
pub use remote::{AllRemotes, RemoteCall, RemoteNews, Remotes, ToolOutcome};
pub use report::{RunReport, Status, StepReport};
pub use told::{FlowFact, FlowNews, FlowSource, StepDone, StepOrder};
pub use workers::Workers;
