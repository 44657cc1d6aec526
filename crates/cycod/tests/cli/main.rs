//! What a person meets: the program itself, run in a place of its own.

mod support;

mod completions;
mod explain;
mod get;
mod help;
mod list;
mod run;
mod schema;
mod validate;
