//! `cycod schedule apply`: what a run of a schedule changed in the files of the project, applied here.

use clap::{ArgMatches, Command, CommandFactory, Parser};

use super::{found, run_of, tasks};
use crate::{
    cli::Context, command_error::CommandError, commands::runs::apply::HowToApply, options::parsed, run::changes_of,
};

/// What `cycod schedule apply` takes.
#[derive(Parser)]
#[command(name = "apply", about = "Apply what the last run of a schedule changed in the project")]
struct Arguments {
    /// The schedule
    #[arg(value_name = "NAME")]
    name: String,
    /// Take an earlier run: 2 for the one before the last, and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    nth: u16,
    #[command(flatten)]
    how: HowToApply,
}

/// `cycod schedule apply`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Gets the changes from the hub, and applies or shows them.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let mut tasks = tasks(context)?;
    let schedule = found(&mut tasks, &args.name)?;
    let run = run_of(&schedule, &args.name, args.nth)?.run.clone();
    let changes = changes_of(&mut tasks, &run)?;
    if changes.is_empty() {
        return Err(CommandError::failure(format!("no changes are kept of `{run}`")));
    }
    _ = args.how.carry_out(context, (&changes, &run))?;
    Ok(0)
}
