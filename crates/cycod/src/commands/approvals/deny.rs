use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{Answer, LostAnswer, diagnostic::visible};

use super::{RequestName, answer, lost, pending};
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
    if let Some(lost) = lost::named(context, &args.request)? {
        if args.reason.is_some() {
            return Err(CommandError::usage("--reason is for a request, and this is a step that was interrupted"));
        }
        let said = lost::decide(context, &lost, LostAnswer::Stop)?;
        context.printer.say(said);
        return Ok(0);
    }
    let pending = pending(context, &args.request)?;
    answer(context, &pending.id, &Answer::No(args.reason))?;
    let tool = pending.about["tool"].as_str().unwrap_or("?");
    context.printer.say(&format!("Denied `{}`", visible(tool)));
    Ok(0)
}
