use clap::{Arg, ArgMatches, Command};
use cycod_engine::{Answer, LostAnswer, diagnostic::visible};

use super::{answer, id, lost, pending};
use crate::{cli::Context, command_error::CommandError};

/// `cycod approvals deny`.
pub(crate) fn command() -> Command {
    Command::new("deny")
        .about("Deny a request, or count an interrupted step as failed")
        .arg(id())
        .arg(Arg::new("reason").long("reason").value_name("TEXT").help("The reason; the requester sees it"))
}

/// Answers a request with no.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    if let Some(lost) = lost::named(context, matches)? {
        if matches.contains_id("reason") {
            return Err(CommandError::usage("--reason is for a request, and this is a step that was interrupted"));
        }
        let said = lost::decide(context, &lost, LostAnswer::Stop)?;
        context.printer.say(said);
        return Ok(0);
    }
    let pending = pending(context, matches)?;
    answer(context, &pending.id, &Answer::No(matches.get_one::<String>("reason").cloned()))?;
    let tool = pending.about["tool"].as_str().unwrap_or("?");
    context.printer.say(&format!("Denied `{}`", visible(tool)));
    Ok(0)
}
