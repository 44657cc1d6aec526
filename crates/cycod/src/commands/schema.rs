use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool schema`.
pub(crate) fn command() -> Command {
    Command::new("schema").about("Print function-calling schemas")
}

/// Print function-calling schemas.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
