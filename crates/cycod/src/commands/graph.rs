use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool graph`.
pub(crate) fn command() -> Command {
    Command::new("graph").about("Draw a tool's steps")
}

/// Draw a tool's steps.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
