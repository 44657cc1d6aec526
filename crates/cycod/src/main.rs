//! The `cycod` program: arguments in, text and an exit code out.

mod add;
mod app;
mod browse;
mod charset;
mod choice;
mod cli;
mod command_error;
mod commands;
mod completing;
mod create;
mod detail;
mod editor;
mod folded;
mod help;
mod junit;
mod markdown;
mod models;
mod options;
mod page;
mod pager;
mod person;
mod piped;
mod printer;
mod registry;
mod removal;
mod rules;
mod run;
mod scope;
mod secrets;
mod servers;
mod store;
mod table;
mod terminal;
mod transcripts;
mod usage;
mod yaml_text;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
