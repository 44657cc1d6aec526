//! The `cycod` program: arguments in, text and an exit code out.

mod cli;
mod command_error;
mod commands;
mod printer;
mod run;
mod scope;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
