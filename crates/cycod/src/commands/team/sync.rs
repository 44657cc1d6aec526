use clap::{ArgMatches, Command, CommandFactory, Parser};

use cycod_team_sync::TeamStore;

use super::{joined, not_synced, now, title};
use crate::{cli::Context, command_error::CommandError, editor::ask, options::parsed};

/// What `cycod team sync` takes.
#[derive(Parser)]
#[command(name = "sync", about = "Put the newest release of your team into force")]
struct Arguments {
    /// The team of this machine instead of yours
    #[arg(long)]
    machine: bool,
    /// Believe the clock of this machine, if it was wrong before
    #[arg(long)]
    trust_clock: bool,
}

/// `cycod team sync`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Fetches and verifies the newest release. If anything is wrong, the one before stays in force.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let store = joined(context, args.machine)?;
    if args.trust_clock {
        trust_clock(context, &store)?;
    }
    let synced = store.sync(now(context.engine.host())).map_err(|error| {
        let failed = not_synced(&error);
        match store.place().release() {
            Ok(release) => failed.hint(format!("{}release {} stays in force", release.of_channel(), release.number)),
            Err(_) => failed,
        }
    })?;
    let release = &synced.fetched.verified.release;
    let name = title(release);
    let said = match (synced.is_new, synced.before) {
        (false, _) => format!("{name}: nothing new"),
        (true, Some(before)) if before == release.number && synced.is_new_root => {
            format!("{name}: root {} is in force", synced.fetched.verified.root.version)
        }
        (true, Some(before)) if before == release.number => format!("{name}: its files were restored"),
        (true, Some(before)) => format!("{name} is in force, after release {before}"),
        (true, None) => format!("{name} is in force"),
    };
    context.printer.say(&said);
    Ok(0)
}

/// Asks whether the clock is right now. Only someone who sees another clock knows, so there is no option for the answer.
fn trust_clock(context: &mut Context, store: &TeamStore) -> Result<(), CommandError> {
    if !context.is_attended() {
        return Err(CommandError::usage(
            "only you can tell whether the clock is right, and there is no terminal to ask at",
        )
        .hint("the next release of the team needs no answer: cycod team sync"));
    }
    let question = format!("The clock of this machine shows {}. Is that right? [y/n] ", now(context.engine.host()));
    match ask(context, &question, &["y", "n"])? {
        Some("y") => store.trust_clock().map_err(|error| not_synced(&error)),
        _ => Err(CommandError::failure("nothing was changed").hint("set the clock first")),
    }
}
