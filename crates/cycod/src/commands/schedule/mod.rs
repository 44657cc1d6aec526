//! One file for each command about calls that the team's hub starts by the clock.

pub(crate) mod add;
pub(crate) mod apply;
pub(crate) mod cancel;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod pause;
pub(crate) mod remove;
pub(crate) mod resume;
pub(crate) mod show;

use clap::Parser;
use cycod_schedule::{Schedule, ScheduleTimes};
use cycod_team::TicketSchedule;
use cycod_team_sync::{FleetTasks, ScheduleChange, TeamSchedule, TeamScheduleRun};
use jiff::Timestamp;

use super::team::{fleet, not_synced};
use crate::{cli::Context, command_error::CommandError};

/// The name of a schedule, for a command that needs nothing else.
#[derive(Parser)]
struct Named {
    /// The schedule
    #[arg(value_name = "NAME")]
    name: String,
}

/// The schedules of the user's team.
fn tasks(context: &Context) -> Result<FleetTasks, CommandError> {
    Ok(fleet(&context.engine).map(|(_, tasks)| tasks)?)
}

/// A schedule of the team.
fn found(tasks: &mut FleetTasks, name: &str) -> Result<TeamSchedule, CommandError> {
    let all = tasks.schedules().map_err(|error| not_synced(&error))?;
    let found = all.into_iter().find(|schedule| terms(schedule).is_ok_and(|terms| terms.name == name));
    found.ok_or_else(|| {
        CommandError::failure(format!("there is no schedule `{name}`")).hint("see which there are: cycod schedule list")
    })
}

fn terms(schedule: &TeamSchedule) -> Result<&TicketSchedule, CommandError> {
    schedule.ticket.schedule.as_ref().ok_or_else(|| CommandError::failure("the hub sent a schedule without times"))
}

/// The run that is the nth of a schedule, where 1 is the last.
fn run_of<'s>(schedule: &'s TeamSchedule, name: &str, nth: u16) -> Result<&'s TeamScheduleRun, CommandError> {
    let mut runs = schedule.runs.iter().filter(|run| !run.run.is_empty());
    let run = runs.nth(usize::from(nth) - 1);
    run.ok_or_else(|| CommandError::failure(format!("`{name}` has no such run")))
}

/// Changes a schedule, and says so.
fn change(context: &mut Context, name: &str, change: ScheduleChange, done: &str) -> Result<u8, CommandError> {
    tasks(context)?.change_schedule(name, change).map_err(|error| not_synced(&error))?;
    context.printer.say(&format!("`{name}` {done}"));
    Ok(0)
}

/// The times of a schedule.
fn times(when: &Schedule) -> Result<ScheduleTimes, CommandError> {
    when.times().map_err(|error| CommandError::usage(error.to_string()))
}

/// A time as a clock of the schedule's zone shows it.
fn shown(times: &ScheduleTimes, instant: i64) -> String {
    let at = Timestamp::from_second(instant).map(|at| times.shown(at).strftime("%Y-%m-%d %H:%M %Z").to_string());
    at.unwrap_or_else(|_| instant.to_string())
}

/// The cron expression and what goes with it, on one line.
fn when_text(when: &Schedule) -> String {
    format!("{} in {} (missed: {}, overlap: {})", when.cron, when.zone, when.missed, when.overlap)
}
