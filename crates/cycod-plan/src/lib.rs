//! Everything that would happen in a run, before anything happens.
//!
//! A [`Plan`] is a call of one tool with its steps in dependency order, the commands that are known already and
//! the templates of those that need the result of an earlier step, the limits, the environment and what it asks
//! to be confined to. [`Plan::prepare`] turns a step into what a process needs once its inputs are known;
//! [`Plan::preview`] shows all of it without running anything.
//!
//! Invariant: this crate starts no process, opens no file and asks no clock.

mod artifacts;
mod bytes;
mod confinement;
mod each;
mod effective;
mod function;
pub mod graph;
mod misuse;
mod plan;
mod prepare;
mod preview;
mod secrets;

pub use artifacts::{ArtifactRoot, PlannedArtifact};
pub use confinement::{
    ContainerMount, ContainerNetwork, ContainerPlan, PlannedConfinement, Reach, ReachTarget, without_dots,
};
pub use effective::{Library, effective_level, standing_for};
pub use function::PreparedCall;
pub use misuse::{Misuse, misuses};
pub use plan::{HeldTo, Plan, PlanError, PlanRequest, PlannedAction, PlannedStep, Through, asking};
pub use prepare::{CommandWord, Prepared, ScriptFile};
pub use preview::{Preview, StepPreview};
pub use secrets::{NoSecrets, Secrets, Swap};
