use clap::{ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError};

/// `cycod man`.
pub(crate) fn command() -> Command {
    Command::new("man").about("Print man pages")
}

/// Print man pages.
pub(crate) fn run(_context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this command is being built"))
}
