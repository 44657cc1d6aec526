use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool test`.
pub(crate) fn command() -> Command {
    Command::new("test").about("Test a tool with its defined tests")
}

/// Test a tool with its defined tests.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
