use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool edit`.
pub(crate) fn command() -> Command {
    Command::new("edit").about("Edit a tool definition")
}

/// Edit a tool definition.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
