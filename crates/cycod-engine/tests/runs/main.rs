//! Whole runs with real shells: what a plan's steps do to each other and to the world.

mod support;
mod testing;

mod answers;
mod asks;
mod composition;
mod environment;
mod limits;
mod memory;
mod output;
mod reports;
mod steps;
mod values;
