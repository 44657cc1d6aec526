//! `cycod schedule remove`.

use clap::{ArgMatches, Command, CommandFactory};
use cycod_team_sync::ScheduleChange;

use super::{Named, change};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// `cycod schedule remove`.
pub(crate) fn command() -> Command {
    Named::command().name("remove").about("End a schedule and your permission for it")
}

/// Changes it at the hub.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let Named { name } = parsed(matches)?;
    change(context, &name, ScheduleChange::Remove, "is removed")
}
