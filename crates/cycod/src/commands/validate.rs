use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool validate`.
pub(crate) fn command() -> Command {
    Command::new("validate").about("Validate a tool definition")
}

/// Validate a tool definition.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
