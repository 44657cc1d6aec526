//! `cycod chat`: a conversation at the terminal, or through a pipe, with a model that works with the tools.

mod approve;
mod complete;
mod editor;
mod read;
mod screen;
mod talk;
mod words;

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_agent::Choice;

use crate::{choice, cli::Context, command_error::CommandError, models, rules};

/// `cycod chat`.
pub(crate) fn command() -> Command {
    let command = Command::new("chat")
        .about("Chat with a model that uses your tools")
        .arg(Arg::new("model").long("model").value_name("MODEL").help("The model, as PROVIDER/NAME"))
        .arg(Arg::new("resume").long("resume").value_name("ID").help("Continue a saved conversation"))
        .arg(
            Arg::new("lines")
                .long("lines")
                .action(ArgAction::SetTrue)
                .help("Treat each line of piped input as a turn or command, not all of it as one"),
        );
    choice::with_choice(command)
}

/// Talks with a model until whoever types ends it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let given = choice::rules(matches)?;
    rules::warn_of_unknown(&given, &context.engine, &mut context.printer);
    context.engine.add_rules(given);
    let provider = models::provider(&context.engine, matches.get_one::<String>("model").map(String::as_str))?;
    let mut chat =
        talk::Chat::new(context, provider, choice::chosen(matches).unwrap_or(Choice::All), matches.get_flag("lines"));
    if let Some(id) = matches.get_one::<String>("resume") {
        chat.resume(id)?;
    }
    chat.go()
}
