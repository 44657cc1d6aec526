//! The tools as they are called: through the engine, in real directories, with real programs.

mod bash;
mod confinement;
mod context;
mod data;
mod definitions;
mod files;
mod git;
mod guarded;
mod level;
mod search;
mod support;
