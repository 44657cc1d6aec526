use clap::{ArgMatches, Command};

use super::turn;
use crate::{cli::Context, command_error::CommandError};

/// `cycod tools disable`.
pub(crate) fn command() -> Command {
    turn::command(Command::new("disable").about("Turn tools off"))
}

/// Turns tools off in the settings of a scope.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    turn::run(context, matches, false)
}
