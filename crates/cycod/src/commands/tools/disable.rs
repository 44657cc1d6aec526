use clap::{ArgMatches, Command, CommandFactory, Parser};

use super::turn::{self, TurnOptions};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod tools disable` takes.
#[derive(Parser)]
#[command(name = "disable", about = "Turn tools off")]
struct Arguments {
    #[command(flatten)]
    turn: TurnOptions,
}

/// `cycod tools disable`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Turns tools off in the settings of a scope.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    turn::run(context, &args.turn, false)
}
