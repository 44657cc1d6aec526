use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool list`.
pub(crate) fn command() -> Command {
    Command::new("list").about("List all available tools")
}

/// List all available tools.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
