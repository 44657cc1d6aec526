//! `cycod schedule resume`.

use clap::{ArgMatches, Command, CommandFactory};
use cycod_team_sync::ScheduleChange;

use super::{Named, change};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// `cycod schedule resume`.
pub(crate) fn command() -> Command {
    Named::command().name("resume").about("Start a schedule's runs again, from its next time on")
}

/// Changes it at the hub.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let Named { name } = parsed(matches)?;
    change(context, &name, ScheduleChange::Resume, "starts again")
}
