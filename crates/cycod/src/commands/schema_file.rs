use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool schema-file`.
pub(crate) fn command() -> Command {
    Command::new("schema-file").about("Print the JSON Schema of the tool file")
}

/// Print the JSON Schema of the tool file.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
