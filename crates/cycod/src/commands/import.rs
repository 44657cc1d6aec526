use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool import`.
pub(crate) fn command() -> Command {
    Command::new("import").about("Import a tool definition from a file")
}

/// Import a tool definition from a file.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
