use clap::{ArgMatches, Command, CommandFactory, Parser};

use super::{joined, not_synced, now, title};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod team sync` takes.
#[derive(Parser)]
#[command(name = "sync", about = "Put the newest release of your team into force")]
struct Arguments {
    /// The team of this machine instead of yours
    #[arg(long)]
    machine: bool,
}

/// `cycod team sync`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Fetches and verifies the newest release. If anything is wrong, the one before stays in force.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let store = joined(context, args.machine)?;
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
