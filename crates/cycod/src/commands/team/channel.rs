//! `cycod team channel`: follows another channel of the team.

use clap::{ArgMatches, Command, CommandFactory, Parser};

use super::{joined, not_synced, now, title};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod team channel` takes.
#[derive(Parser)]
#[command(name = "channel", about = "Follow another channel of your team")]
struct Arguments {
    /// The channel, such as `stable` or `beta`
    #[arg(value_name = "CHANNEL")]
    channel: String,
    /// The team of this machine instead of yours
    #[arg(long)]
    machine: bool,
}

/// `cycod team channel`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Puts the newest release of a channel into force, and follows it from now on.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let store = joined(context, args.machine)?;
    let channel = super::channel(Some(&args.channel))?;
    let followed = store.follow(&channel, now(context.engine.host())).map_err(|error| {
        let member = store.member().ok().flatten();
        let before = member.map(|member| format!("you still follow `{}`", member.channel));
        let failed = not_synced(&error);
        before.into_iter().fold(failed, CommandError::hint)
    })?;
    let name = title(&followed.fetched.verified.release);
    context.printer.say(&format!("You follow the channel `{channel}` now: {name} is in force"));
    Ok(0)
}
