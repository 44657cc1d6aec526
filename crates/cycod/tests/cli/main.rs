//! What a person meets: the program itself, run in a place of its own.

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
