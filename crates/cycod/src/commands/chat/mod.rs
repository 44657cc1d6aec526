//! `cycod chat`: a conversation at the terminal, or through a pipe, with a model that works with the tools.

mod approve;
mod complete;
mod editor;
mod read;
mod screen;
mod talk;
mod words;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_agent::Choice;

use crate::{choice::ChoiceOptions, cli::Context, command_error::CommandError, models, options::parsed, rules};

/// What `cycod chat` takes.
#[derive(Parser)]
#[command(name = "chat", about = "Chat with a model that uses your tools")]
struct Arguments {
    /// The model, as PROVIDER/NAME
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Continue a saved conversation
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// Treat each line of piped input as a turn or command, not all of it as one
    #[arg(long)]
    lines: bool,
    #[command(flatten)]
    choice: ChoiceOptions,
}

/// `cycod chat`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Talks with a model until the person ends it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let given = args.choice.rules()?;
    rules::warn_of_unknown(&given, &context.engine, &mut context.printer);
    context.engine.add_rules(given);
    let provider = models::provider(&context.engine, args.model.as_deref())?;
    let mut chat = talk::Chat::new(context, provider, args.choice.chosen().unwrap_or(Choice::All), args.lines);
    if let Some(id) = &args.resume {
        chat.resume(id)?;
    }
    chat.go()
}
