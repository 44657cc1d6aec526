//! `cycod worker run`: takes tasks of the hub and runs them, one after the other, until it is stopped.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    Stop,
    definition::{Host, WORKER_LABEL, is_plain_label},
};
use cycod_process::{host_interrupts, is_below_a_run};
use cycod_team_sync::WorkerMachine;

use super::{programs::OfferedPrograms, shared::SharedDirectories, ticket::Errand, unpacked::remove_abandoned};
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
    /// A directory that other workers have, too, for tools that work in it; repeat for several
    #[arg(long, value_name = "NAME=PATH")]
    shared: Vec<String>,
    /// A program that it offers with its version; repeat for several
    #[arg(long, value_name = "NAME[=VERSION]")]
    tool: Vec<String>,
}

/// `cycod worker run`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Takes tasks until the user stops it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    if let Some(wrong) = args.label.iter().find(|label| !is_plain_label(label)) {
        return Err(CommandError::usage(format!("`{wrong}` can't be a label: {WORKER_LABEL}")));
    }
    for (kind, what, how) in [("shared:", "a directory", "--shared NAME=PATH"), ("tool:", "a program", "--tool NAME")] {
        if let Some(own) = args.label.iter().find(|label| label.starts_with(kind)) {
            let why = format!("`{own}` says that the worker has {what}");
            return Err(CommandError::usage(why).hint(format!("say which: {how}")));
        }
    }
    if is_below_a_run() {
        return Err(CommandError::failure("a tool can't start a worker"));
    }
    let home = context.engine.catalog().scopes().user_directory().to_owned();
    let machine = WorkerMachine::read(&home).map_err(|error| not_synced(&error))?;
    let Some(mut machine) = machine else {
        return Err(CommandError::failure("this machine isn't a worker").hint("cycod worker join HUB --token TOKEN"));
    };
    let shared = SharedDirectories::named(&args.shared, &home)?;
    let host = Host::clone(context.engine.host());
    let programs = OfferedPrograms::named(&args.tool, &host)?;
    let mut fixed =
        vec![format!("os:{}", std::env::consts::OS), format!("arch:{}", std::env::consts::ARCH), machine.name.clone()];
    fixed.extend(args.label);
    // A network file system can be away for a while, and a program can be updated: the worker offers what is there now.
    let labels = || {
        let labels: BTreeSet<String> = fixed.iter().cloned().chain(shared.labels()).chain(programs.labels()).collect();
        labels.into_iter().collect::<Vec<_>>()
    };
    let failed = |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let stop = Stop::new().map_err(failed)?;
    let interrupts = host_interrupts(&stop).map_err(failed)?;
    let mut hub = machine.hub().map_err(|error| not_synced(&error))?;
    let offers = labels().join(" ");
    context.printer.say(&format!("The worker {} of {} takes tasks: {offers}", machine.name, machine.team));
    for name in programs.without_version() {
        let why = format!("`{name} --version` says no version, so no tool that needs one runs here");
        context.printer.say(&format!("{why}; to state it: --tool {name}=VERSION"));
    }
    remove_abandoned(&machine, context.engine.host());
    let mut is_away = false;
    while !stop.is_raised() {
        let (asked, labels) = (Instant::now(), labels());
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
                let errand = Errand { machine: &machine, host, labels: &labels, shared: &shared, stop: &stop, asked };
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
