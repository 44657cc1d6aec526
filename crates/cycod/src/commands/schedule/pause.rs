//! `cycod schedule pause`.

use clap::{ArgMatches, Command, CommandFactory};
use cycod_team_sync::ScheduleChange;

use super::{Named, change};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// `cycod schedule pause`.
pub(crate) fn command() -> Command {
    Named::command().name("pause").about("Stop starting a schedule's runs until you resume it")
}

/// Changes it at the hub.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let Named { name } = parsed(matches)?;
    change(context, &name, ScheduleChange::Pause, "is paused")
}
