//! `cycod schedule cancel`: ends the runs of a schedule that have not ended.

use clap::{ArgMatches, Command, CommandFactory};

use super::{Named, found, tasks};
use crate::{cli::Context, command_error::CommandError, commands::team::not_synced, options::parsed};

/// `cycod schedule cancel`.
pub(crate) fn command() -> Command {
    Named::command().name("cancel").about("End the current runs of a schedule")
}

/// Ends them; the schedule stays.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let Named { name } = parsed(matches)?;
    let mut tasks = tasks(context)?;
    let runs = found(&mut tasks, &name)?.runs;
    let mut count = 0;
    for run in runs.iter().filter(|run| matches!(run.state.as_str(), "waiting" | "running")) {
        tasks.cancel(&run.run).map_err(|error| not_synced(&error))?;
        count += 1;
    }
    let ended = if count == 1 { "run ends".to_owned() } else { format!("{count} runs end") };
    context.printer.say(&if count == 0 { format!("`{name}` has no current run") } else { format!("{name}: {ended}") });
    Ok(0)
}
