//! The tools as they are called: through the engine, in real directories, with real programs.

mod analyze;
mod environment;
mod generate;
mod project;
mod quick;
mod support;
mod workflow;
