//! The tools as they are called: through the engine, in real directories, with real programs.

#![allow(clippy::needless_pass_by_value, reason = "a value is written where it is used, and used once")]

mod analyze;
mod environment;
mod generate;
mod hostile;
mod modules;
mod project;
mod quick;
mod skills;
mod status;
mod support;
mod workflow;
