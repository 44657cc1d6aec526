use clap::{ArgMatches, Command, CommandFactory, Parser};

use super::{joined, not_synced};
use crate::{cli::Context, command_error::CommandError, options::parsed, removal::RemovalOptions};

/// What `cycod team leave` takes.
#[derive(Parser)]
#[command(name = "leave", about = "Stop using the tools and rules of your team")]
struct Arguments {
    #[command(flatten)]
    removal: RemovalOptions,
    /// The team of this machine instead of yours; only its administrator can
    #[arg(long)]
    machine: bool,
}

/// `cycod team leave`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Leaves the team.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let store = joined(context, args.machine)?;
    let team = store.member().ok().flatten().map_or_else(|| "the team".to_owned(), |member| member.team);
    args.removal.confirm(context, &format!("tools and rules of {team}"))?;
    store.leave().map_err(|error| not_synced(&error))?;
    context.printer.say(&format!("Left {team}"));
    Ok(0)
}
