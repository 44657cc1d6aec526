//! `cycod schedule log`: what a run of a schedule wrote.

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{Sink as _, event_of_json, report_of_json};

use super::{found, run_of, shown, tasks, terms, times};
use crate::{cli::Context, command_error::CommandError, commands::team::not_synced, options::parsed, run::Display};

/// What `cycod schedule log` takes.
#[derive(Parser)]
#[command(name = "log", about = "Show what the last run of a schedule wrote")]
struct Arguments {
    /// The schedule
    #[arg(value_name = "NAME")]
    name: String,
    /// Show an earlier run: 2 for the one before the last, and so on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    nth: u16,
}

/// `cycod schedule log`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows what the hub kept of it: everything that its steps wrote.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let mut tasks = tasks(context)?;
    let schedule = found(&mut tasks, &args.name)?;
    let run = run_of(&schedule, &args.name, args.nth)?;
    let times = times(&terms(&schedule)?.when)?;
    let why = if run.why.is_empty() { String::new() } else { format!(": {}", run.why) };
    context.printer.say(&format!("{} {}{why}", shown(&times, run.instant), run.state));
    // As for a single step, whose output is passed on.
    let mut display = Display::of_steps(Some(1));
    let (mut last, mut report) = (0, None);
    loop {
        let now = tasks.watch(&run.run, ("", last), 0).map_err(|error| not_synced(&error))?;
        if let Some(result) = &now.result {
            report = report_of_json(result);
        }
        let Some(newest) = now.pieces.last() else { break };
        last = newest.number;
        let mut sink = display.sink(&mut context.printer);
        for piece in &now.pieces {
            piece.events.iter().filter_map(event_of_json).for_each(|event| sink.event(&event));
        }
    }
    if let Some(report) = report {
        display.finish(&mut context.printer, &report);
    }
    Ok(0)
}
