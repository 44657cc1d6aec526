use clap::{ArgMatches, Command, CommandFactory, Parser};

use cycod_engine::diagnostic::visible;

use super::turn::{self, TurnOptions};
use crate::{cli::Context, command_error::CommandError, commands::approvals::ConfirmationOptions, options::parsed};

/// What `cycod tools enable` takes.
#[derive(Parser)]
#[command(name = "enable", about = "Turn tools on")]
struct Arguments {
    #[command(flatten)]
    turn: TurnOptions,
    #[command(flatten)]
    confirmation: ConfirmationOptions,
}

/// `cycod tools enable`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Turns tools on in the settings of a scope.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let names: Vec<String> = args.turn.name.iter().map(|name| format!("`{name}`")).collect();
    // What cannot be is said before anybody is asked.
    args.turn.checked_scope()?;
    args.confirmation.confirm(context, &visible(&format!("Turn on {}?", names.join(", "))))?;
    turn::run(context, &args.turn, true)
}
