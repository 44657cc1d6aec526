//! The tools as they are called: through the engine, in real directories, with real programs.

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
