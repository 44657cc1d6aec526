//! `cycod worker run`: takes tasks of the hub and runs them, one after the other, until it is stopped.

use std::time::{Duration, Instant};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    Stop,
    definition::{WORKER_LABEL, is_worker_label},
};
use cycod_process::{host_interrupts, is_below_a_run};
use cycod_team_sync::WorkerMachine;

use super::{ticket::Errand, unpacked::remove_abandoned};
use crate::{cli::Context, command_error::CommandError, commands::team::not_synced, options::parsed};

/// How long a request waits for a task, in milliseconds: a worker that was stopped ends within this time.
const WAIT: u64 = 1000;

/// How long a worker waits when the hub doesn't answer.
const PAUSE: Duration = Duration::from_secs(2);

/// What `cycod worker run` takes.
#[derive(Parser)]
#[command(name = "run", about = "Run tools for members of your team")]
struct Arguments {
    /// What this machine offers, for runs that ask for it; repeat for several
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
}

/// `cycod worker run`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Takes tasks until the user stops it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    if let Some(wrong) = args.label.iter().find(|label| !is_worker_label(label)) {
        return Err(CommandError::usage(format!("`{wrong}` can't be a label: {WORKER_LABEL}")));
    }
    if is_below_a_run() {
        return Err(CommandError::failure("a tool can't start a worker"));
    }
    let home = context.engine.catalog().scopes().user_directory().to_owned();
    let machine = WorkerMachine::read(&home).map_err(|error| not_synced(&error))?;
    let Some(mut machine) = machine else {
        return Err(CommandError::failure("this machine isn't a worker").hint("cycod worker join HUB --token TOKEN"));
    };
    let mut labels =
        vec![format!("os:{}", std::env::consts::OS), format!("arch:{}", std::env::consts::ARCH), machine.name.clone()];
    labels.extend(args.label);
    labels.sort();
    labels.dedup();
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let stop = Stop::new().map_err(failed)?;
    let interrupts = host_interrupts(&stop).map_err(failed)?;
    let mut hub = machine.hub().map_err(|error| not_synced(&error))?;
    context.printer.say(&format!("The worker {} of {} takes tasks: {}", machine.name, machine.team, labels.join(" ")));
    remove_abandoned(&machine, context.engine.host());
    let mut is_away = false;
    while !stop.is_raised() {
        let asked = Instant::now();
        match hub.claim(&labels, WAIT) {
            Ok(given) => {
                if std::mem::take(&mut is_away) {
                    context.printer.say("The hub answers again");
                }
                let Some(given) = given else { continue };
                // Who may approve can change while it runs.
                if let Ok(Some(now)) = WorkerMachine::read(&home)
                    && now.is_same(&machine)
                {
                    machine = now;
                }
                let host = context.engine.host();
                let errand = Errand { machine: &machine, host, labels: &labels, stop: &stop, asked };
                let ended = errand.carry_out(&given);
                context.printer.say(&ended);
            }
            Err(error) => {
                if !std::mem::replace(&mut is_away, true) {
                    context.printer.say(&format!("{error}; the worker tries again"));
                }
                _ = stop.wait(PAUSE);
            }
        }
    }
    let signal = interrupts.signal();
    Ok(signal.and_then(|signal| u8::try_from(128 + signal).ok()).unwrap_or_default())
}
