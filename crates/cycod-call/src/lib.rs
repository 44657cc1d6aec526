//! One tool with one set of arguments: coerced, validated, transformed, defaults resolved.
//!
//! [`bind`] turns what a caller gave into a [`Call`], or tells everything that is wrong with it at once. A call
//! then answers what each template of its tool means: pieces for a shell, text elsewhere, values for `with`.
//!
//! Invariant: this crate starts no process, opens no file, asks no clock and reads no environment. The machine
//! comes in as a `Host`, the results of steps through [`Steps`], JavaScript through [`TransformRunner`].

mod bind;
mod bytes;
mod call;
mod change;
mod code;
mod piece;
mod predefined;
mod problem;
mod resolve;
mod sample;
mod steps;
mod transform;

pub use cycod_definition::json;

pub use bind::{Given, ScriptFailed, TransformRunner, bind};
pub use bytes::{carried, delivered};
pub use call::{Bound, Call, KeptSecret, RunContext, ValueOrigin, normalize_path};
pub use change::PlaceholderChange;
pub use code::placed;
pub use cycod_definition::speaks_of_secret;
pub use piece::{OwnedPiece, OwnedValue, OwnedWords};
pub use predefined::timestamp;
pub use problem::{ArgumentProblem, Instead, MOST_TOLD};
pub use resolve::ResolveError;
pub use sample::sample;
pub use steps::{NoSteps, StepValue, Steps};
