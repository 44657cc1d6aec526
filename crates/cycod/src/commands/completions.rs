use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod completions`.
pub(crate) fn command() -> Command {
    Command::new("completions").about("Print a shell completion script")
}

/// Print a shell completion script.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
