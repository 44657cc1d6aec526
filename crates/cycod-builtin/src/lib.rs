//! The tools that come with this program: files, search, commands, git and what a model wants to know of a project.

//!
//! ```text
//!  Toolbox ── call ──► operations ──► search · files ──► the machine
//!                          │ may I?
//!                          └──► Platform
//! ```
//!
//! Definitions are files like any other tool's, in `tools/`. `operations` asks the [`Platform`](cycod_run::Platform) for every
//! path and hands it every program to start, so that a tool that is used by a confined one stays in its confines.
//!
//! Invariant: nothing here starts a program by itself, and no path is opened that the platform did not return.

mod arguments;
mod failure;
mod files;
mod git;
mod kept;
mod listed;
mod operations;
mod said;
mod say;
mod search;
mod toolbox;
mod tree;
mod until;

pub use listed::{Listed, files_below};
pub use toolbox::Toolbox;
