//! May this be done, and which rule says so.
//!
//! A [`Policy`] holds what was decided beforehand: [`Rule`]s, each with the [`Pattern`] of the calls it is about and the
//! [`Origin`] it came from. [`Policy::decide`] turns a [`Question`] into a [`Decision`]; a decision to allow is the only
//! way to an [`Approved`] value, and the runner takes nothing else. Nothing here prompts, remembers or runs.

mod allowlist;
mod approved;
mod approver;
mod condition;
mod decision;
mod floor;
mod glob;
mod index;
mod pattern;
mod policy;
mod question;
mod rule;
mod surface;
mod value;

pub use allowlist::{AllowedKind, Allowlist};
pub use approved::Approved;
pub use approver::{Answer, Approver, Breadth, Nobody, Request};
pub use decision::{Decision, Verdict};
pub use floor::{Floor, FloorKind, NetworkReach, ProgramTerms};
pub use pattern::{Pattern, PatternError};
pub use policy::{Flaw, Policy};
pub use question::{Argument, Held, Meant, Places, Question, Reading, Standing, Subject};
pub use rule::{Layer, Origin, Rule};
pub use surface::{Surface, Surfaces};
