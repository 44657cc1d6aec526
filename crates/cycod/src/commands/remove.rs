use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool remove`.
pub(crate) fn command() -> Command {
    Command::new("remove").about("Delete a tool")
}

/// Delete a tool.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
