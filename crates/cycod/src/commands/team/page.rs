//! `cycod team page`: opens the pages of the team's hub in a browser.

use clap::{ArgMatches, Command, CommandFactory, Parser};

use super::{hub_of, joined, not_synced};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod team page` takes.
#[derive(Parser)]
#[command(name = "page", about = "Open the pages of your team's hub")]
struct Arguments {}

/// `cycod team page`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Prints an address with a code, which the hub gives to this device.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    _ = parsed::<Arguments>(matches)?;
    let store = joined(context, false)?;
    let Some((hub, _)) = hub_of(&store)? else {
        return Err(CommandError::failure("your team has no hub, so there are no pages"));
    };
    let address = hub.page().map_err(|error| not_synced(&error))?;
    context.printer.say("Open this address in a browser. It works once, within a minute:\n");
    context.printer.line(&format!("  {address}"));
    Ok(0)
}
