//! What a person meets: the program itself, run in a place of its own.

#![allow(clippy::needless_pass_by_value, reason = "an expectation is written where it is used, and used once")]

mod support;

mod add;
mod completions;
mod edit;
mod explain;
mod export;
mod get;
mod graph;
mod help;
mod import;
mod list;
mod remove;
mod run;
mod schema;
mod test;
mod validate;
