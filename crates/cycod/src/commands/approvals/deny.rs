use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{Answer, LostAnswer, diagnostic::shown};

use super::{
    RequestName, answer,
    elsewhere::{self, There},
    lost, pending,
};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod approvals deny` takes.
#[derive(Parser)]
#[command(name = "deny", about = "Deny a request, or count an interrupted step as failed")]
struct Arguments {
    #[command(flatten)]
    request: RequestName,
    /// The reason; the requester sees it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// `cycod approvals deny`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Answers a request with no.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let here = lost::named(context, &args.request)?;
    let there = if here.is_none() { elsewhere::named(context, &args.request)? } else { None };
    let is_lost = here.is_some() || matches!(there, Some(There::Lost(_)));
    if is_lost && args.reason.is_some() {
        return Err(CommandError::usage("--reason is for a request, and this is a step that was interrupted"));
    }
    let said = match (here, there) {
        (Some(lost), _) => lost::decide(context, &lost, LostAnswer::Stop)?,
        (None, Some(There::Lost(lost))) => lost.decide(context, LostAnswer::Stop)?,
        (None, Some(There::Consent(consent))) => consent.answer(context, false, args.reason)?,
        (None, None) => {
            let pending = pending(context, &args.request)?;
            answer(context, &pending.id, &Answer::No(args.reason))?;
            let tool = pending.about["tool"].as_str().unwrap_or("?");
            shown!["Denied `", tool, "`"]
        }
    };
    context.printer.say(said);
    Ok(0)
}
