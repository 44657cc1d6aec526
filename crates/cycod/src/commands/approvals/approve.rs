use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    Answer, Breadth, LostAnswer, Request,
    diagnostic::{Code, Refusal},
};

use super::{
    RequestName, answer,
    elsewhere::{self, There},
    lost, pending, request,
};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{one_of, parsed},
    printer::Tty,
    run::{Prompt, Said},
};

/// What `cycod approvals approve` takes.
#[derive(Parser)]
#[command(name = "approve", about = "Approve a request, or decide about an interrupted step")]
struct Arguments {
    #[command(flatten)]
    request: RequestName,
    /// Approve it for the rest of the requester's session
    #[arg(long, conflicts_with = "always")]
    session: bool,
    /// Approve it until the tool changes
    #[arg(long)]
    always: bool,
    /// With --session or --always: approve it for any arguments
    #[arg(long)]
    any_arguments: bool,
    /// Change the arguments; cycod asks again with the new ones
    #[arg(long, conflicts_with_all = ["session", "always", "any_arguments"])]
    edit: bool,
    /// What to do with a step that was running: start it again, count it as done, or count it as failed
    #[arg(long, value_name = "WHAT", value_parser = one_of(lost::WORDS), conflicts_with_all = ["session", "always", "any_arguments", "edit"])]
    lost: Option<LostAnswer>,
    /// Approve it without showing it; for programs that ask the user in another way
    #[arg(long)]
    without_terminal: bool,
}

/// `cycod approvals approve`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows a request to the person at the terminal, and answers it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    if let Some(lost) = lost::named(context, &args.request)? {
        return lost::approve(context, args.lost, &lost);
    }
    match elsewhere::named(context, &args.request)? {
        Some(There::Lost(lost)) => return lost.approve(context, args.lost),
        Some(There::Consent(_)) if args.lost.is_some() => return Err(not_lost()),
        Some(There::Consent(_)) if args.session || args.always || args.any_arguments || args.edit => {
            return Err(CommandError::usage("what a worker asks is approved for its run alone, as it is"));
        }
        Some(There::Consent(consent)) => return consent.approve(context, args.without_terminal),
        None => {}
    }
    let pending = pending(context, &args.request)?;
    if args.lost.is_some() {
        return Err(not_lost());
    }
    let request = request(&pending)?;
    let wanted = wanted(&args, &request)?;
    let said = match (Tty::open(), args.without_terminal) {
        (_, true) => Said::Answer(wanted.unwrap_or(Answer::Once)),
        (Some(tty), false) => {
            let prompt = Prompt { tty, host: context.engine.host(), stop: None };
            prompt.ask_for(&request, wanted, args.edit)
        }
        (None, false) => {
            let command = format!("cycod approvals approve {}", pending.id);
            return Err(Refusal::new(
                Code::ApprovalNeedsTerminal,
                "a request must be shown before you approve it, and there is no terminal",
            )
            .attempt(format!("ask the user to run it in a terminal: {command}"))
            .into());
        }
    };
    let Said::Answer(given) = said.or_no() else {
        return Err(CommandError::failure("nothing was answered"));
    };
    answer(context, &pending.id, &given)?;
    let (word, how) = match (&given, pending.is_awaited) {
        (Answer::No(_), _) => ("Denied", ""),
        (Answer::Edit(_), true) => ("Changed", "; cycod asks again with these arguments"),
        (Answer::Edit(_), false) => ("Changed", "; the next identical call needs approval with these arguments"),
        (_, true) => ("Approved", ""),
        (_, false) => ("Approved", " for the next same call, within ten minutes"),
    };
    context.printer.say(&format!("{word} `{}`{how}", request.tool));
    Ok(0)
}

fn not_lost() -> CommandError {
    CommandError::usage("--lost is for a step that was interrupted, and this is a request")
}

/// The answer that the options name.
fn wanted(args: &Arguments, request: &Request) -> Result<Option<Answer>, CommandError> {
    let any = args.any_arguments;
    let breadth = if any { Breadth::AnyArguments } else { Breadth::TheseArguments };
    let wanted = match (args.session, args.always) {
        (true, _) => Answer::Session(breadth),
        (_, true) => Answer::Always(breadth),
        _ if any => return Err(CommandError::usage("--any-arguments goes with --session or --always")),
        _ => return Ok(None),
    };
    if !request.is_lasting {
        return Err(CommandError::failure(format!(
            "`{}` is approved each time: it runs with elevated rights",
            request.tool
        )));
    }
    if matches!(wanted, Answer::Session(_)) && !request.has_session {
        return Err(CommandError::failure(format!("the caller of `{}` has no session", request.tool)));
    }
    Ok(Some(wanted))
}
