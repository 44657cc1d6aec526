use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod help`.
pub(crate) fn command() -> Command {
    Command::new("help").about("Show help")
}

/// Show help.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
