use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool export`.
pub(crate) fn command() -> Command {
    Command::new("export").about("Export a tool definition to a file")
}

/// Export a tool definition to a file.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
