use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod explain`.
pub(crate) fn command() -> Command {
    Command::new("explain").about("Explain an error code")
}

/// Explain an error code.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
