//! `cycod schedule list`: the schedules of the team.

use clap::{ArgMatches, Command, CommandFactory, Parser};
use serde_json::json;

use super::{shown, tasks, terms, times};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::team::not_synced,
    options::{TextOrJson, parsed},
};

/// What `cycod schedule list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List the schedules of the team")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod schedule list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists them.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let all = tasks(context)?.schedules().map_err(|error| not_synced(&error))?;
    if args.format.is_json() {
        context.printer.json_of(&json!({ "schedules": all }));
        return Ok(0);
    }
    if all.is_empty() {
        context.printer.say("The team has no schedules: cycod schedule add TOOL_NAME --cron CRON");
    }
    for schedule in &all {
        let terms = terms(schedule)?;
        let next = match schedule.next {
            0 => schedule.why.clone(),
            next => format!("next {}", shown(&times(&terms.when)?, next)),
        };
        let (state, member, tool) = (&schedule.state, &schedule.member, &schedule.ticket.tool);
        context
            .printer
            .line(format!("{state:<8} {}  {tool} for {member}  {}  {next}", terms.name, terms.when.cron).trim_end());
    }
    Ok(0)
}
