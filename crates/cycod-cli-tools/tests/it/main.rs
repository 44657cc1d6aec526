//! The tools as they are called: through the engine, in real directories, with real programs.

mod environment;
mod generate;
mod project;
mod quick;
mod support;
mod workflow;
