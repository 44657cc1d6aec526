use clap::{ArgMatches, Command};

use super::turn;
use crate::{cli::Context, command_error::CommandError};

/// `cycod tools enable`.
pub(crate) fn command() -> Command {
    turn::command(Command::new("enable").about("Turn tools on"))
}

/// Turns tools on in the settings of a scope.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    turn::run(context, matches, true)
}
