use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool get`.
pub(crate) fn command() -> Command {
    Command::new("get").about("Display the details of a specific tool")
}

/// Display the details of a specific tool.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
