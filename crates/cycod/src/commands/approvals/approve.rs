use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::{
    Answer, Breadth, Request,
    diagnostic::{Code, Refusal},
};

use super::{answer, id, lost, pending, request};
use crate::{
    cli::Context,
    command_error::CommandError,
    printer::Tty,
    run::{Prompt, Said},
};

/// `cycod approvals approve`.
pub(crate) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    Command::new("approve")
        .about("Approve a request, or decide about an interrupted step")
        .arg(id())
        .arg(flag("session", "Approve it for the rest of the requester's session").conflicts_with("always"))
        .arg(flag("always", "Approve it until the tool changes"))
        .arg(flag("any-arguments", "With --session or --always: approve it for any arguments"))
        .arg(
            Arg::new("edit")
                .long("edit")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["session", "always", "any-arguments"])
                .help("Change the arguments; cycod asks again with the new ones"),
        )
        .arg(lost::option().conflicts_with_all(["session", "always", "any-arguments", "edit"]))
        .arg(flag("without-terminal", "Approve it without showing it; for programs that ask the user in another way"))
}

/// Shows a request to the person at the terminal, and answers it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    if let Some(lost) = lost::named(context, matches)? {
        return lost::approve(context, matches, &lost);
    }
    let pending = pending(context, matches)?;
    if lost::wanted(matches).is_some() {
        return Err(CommandError::usage("--lost is for a step that was interrupted, and this is a request"));
    }
    let request = request(&pending)?;
    let wanted = wanted(matches, &request)?;
    let said = match (Tty::open(), matches.get_flag("without-terminal")) {
        (_, true) => Said::Answer(wanted.unwrap_or(Answer::Once)),
        (Some(tty), false) => {
            let prompt = Prompt { tty, host: context.engine.host(), stop: None };
            prompt.ask_for(&request, wanted, matches.get_flag("edit"))
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

/// The answer that the options name.
fn wanted(matches: &ArgMatches, request: &Request) -> Result<Option<Answer>, CommandError> {
    let any = matches.get_flag("any-arguments");
    let breadth = if any { Breadth::AnyArguments } else { Breadth::TheseArguments };
    let wanted = match (matches.get_flag("session"), matches.get_flag("always")) {
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
