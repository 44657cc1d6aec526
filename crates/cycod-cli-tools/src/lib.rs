//! The nine tools of a command line (`codomyrmex-cli-tools.md`): what is here, how it is, and work on whole projects.
//!
//! ```text
//!  CliTools ── call ──► operation ──► Platform (files, programs)
//!                          │
//!                          └──► Engine, opened where the call works (tools, runs, servers)
//! ```
//!
//! Every answer is one JSON value with `success`, held to the tool's `returns`; so is every failure.
//!
//! Invariant: as in `cycod-builtin`, nothing here starts a program by itself or opens a path of the caller's that the
//! platform did not allow.

#[cfg(feature = "analysis")]
mod analyze;
mod answer;
mod arguments;
mod cli_tools;
mod environment;
mod generate;
mod machine;
mod modules;
mod place;
mod project;
mod quick;
mod skills;
mod status;
mod tools;
mod workflow_run;

pub use cli_tools::{CliTools, ModelsOf, Open};
pub use environment::check_unstarted;
