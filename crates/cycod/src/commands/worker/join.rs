//! `cycod worker join`: makes this machine a worker of a team's hub.

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_team_sync::{WorkerMachine, find_hub};

use crate::{cli::Context, command_error::CommandError, commands::team::not_synced, options::parsed};

/// What `cycod worker join` takes.
#[derive(Parser)]
#[command(name = "join", about = "Make this machine a worker of a team's hub")]
struct Arguments {
    /// The address of the hub
    #[arg(value_name = "HUB")]
    hub: String,
    /// The token that `cycod-hub worker token` printed
    #[arg(long, value_name = "TOKEN")]
    token: String,
}

/// `cycod worker join`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Joins a hub. The token names the hub's key, so both sides know each other.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let home = context.engine.catalog().scopes().user_directory().to_owned();
    let url =
        args.hub.parse().map_err(|error| CommandError::usage(format!("`{}` is no address: {error}", args.hub)))?;
    let found = find_hub(&url).map_err(|error| not_synced(&error))?;
    let Some((address, _)) = found else {
        return Err(CommandError::failure(format!("there is no hub at `{url}`")));
    };
    let machine = WorkerMachine::join(&address, &args.token).map_err(|error| not_synced(&error))?;
    machine.write(&home).map_err(|error| not_synced(&error))?;
    context.printer.say(&format!("This machine is the worker {} of {}", machine.name, machine.team));
    Ok(0)
}
