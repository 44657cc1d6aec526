//! May this be done, and which rule says so.
//!
//! [`decide`] turns a [`Question`] into a [`Decision`]; a decision to allow is the only way to an [`Approved`]
//! value, and the runner takes nothing else. Nothing here prompts, remembers or runs.

mod approved;
mod approver;
mod decision;
mod grant;

pub use approved::Approved;
pub use approver::{Answer, Approver, Nobody, Request};
pub use decision::{Decision, Question, Surface, Verdict, decide};
pub use grant::Grant;
