//! Whole runs with real shells: what a plan's steps do to each other and to the world.

mod support;
mod testing;

mod answers;
mod asks;
mod bytes;
mod composition;
#[cfg(target_os = "linux")]
mod confinement;
mod environment;
mod history;
mod hostile;
mod limits;
mod memory;
mod output;
mod panics;
mod policy;
mod remotes;
mod reports;
mod rules;
mod secrets;
mod selection;
mod spread;
mod steps;
mod trust;
mod values;
