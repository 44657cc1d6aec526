use clap::{Arg, ArgMatches, Command};
use cycod_engine::{Answer, diagnostic::visible};

use super::{answer, id, pending};
use crate::{cli::Context, command_error::CommandError};

/// `cycod approvals deny`.
pub(crate) fn command() -> Command {
    Command::new("deny")
        .about("Deny a request")
        .arg(id())
        .arg(Arg::new("reason").long("reason").value_name("TEXT").help("The reason; the requester sees it"))
}

/// Answers a request with no.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let pending = pending(context, matches)?;
    answer(context, &pending.id, &Answer::No(matches.get_one::<String>("reason").cloned()))?;
    let tool = pending.about["tool"].as_str().unwrap_or("?");
    context.printer.say(&format!("Denied `{}`", visible(tool)));
    Ok(0)
}
