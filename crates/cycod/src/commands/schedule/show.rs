//! `cycod schedule show`: what a schedule permits, and what came of its last times.

use clap::{ArgMatches, Command, CommandFactory, Parser};

use super::{found, shown, tasks, terms, times, when_text};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod schedule show` takes.
#[derive(Parser)]
#[command(name = "show", about = "Show a schedule and its last runs")]
struct Arguments {
    /// The schedule
    #[arg(value_name = "NAME")]
    name: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod schedule show`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows one.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let schedule = found(&mut tasks(context)?, &args.name)?;
    if args.format.is_json() {
        context.printer.json_of(&schedule);
        return Ok(0);
    }
    let terms = terms(&schedule)?;
    let times = times(&terms.when)?;
    let state = match schedule.why.as_str() {
        "" => schedule.state.clone(),
        why => format!("{}: {why}", schedule.state),
    };
    let next = if schedule.next == 0 { "none".to_owned() } else { shown(&times, schedule.next) };
    for line in [
        format!("{} ({state})", terms.name),
        format!("  tool      {} {}", schedule.ticket.tool, schedule.ticket.arguments),
        format!("  member    {}", schedule.member),
        format!("  times     {}", when_text(&terms.when)),
        format!("  next      {next}"),
        format!("  until     {}", shown(&times, schedule.ticket.expires)),
    ] {
        context.printer.line(&line);
    }
    for run in &schedule.runs {
        let why = if run.why.is_empty() { String::new() } else { format!(": {}", run.why) };
        context.printer.line(&format!("  {}  {}{why}", shown(&times, run.instant), run.state));
    }
    Ok(0)
}
