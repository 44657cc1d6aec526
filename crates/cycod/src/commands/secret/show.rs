use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::visible;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::approvals::ConfirmationOptions,
    options::parsed,
    printer::out_is_terminal,
    secrets::{failed, moment, store},
};

/// What `cycod secret show` takes.
#[derive(Parser)]
#[command(name = "show", about = "Show where a secret is stored and who may use it")]
struct Arguments {
    #[arg(value_name = "NAME")]
    secret: String,
    /// Also show the value, on a terminal
    #[arg(long)]
    reveal: bool,
    #[command(flatten)]
    confirmation: ConfirmationOptions,
}

/// `cycod secret show`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows what is known of a secret; its value only to a person who asks for it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.secret;
    let reveal = args.reveal;
    if reveal && !out_is_terminal() {
        return Err(CommandError::usage("a value is shown on a terminal only")
            .hint("a tool gets it by `environment.secrets`: cycod help secret"));
    }
    let host = context.engine.host().clone();
    let store = store(&context.engine);
    let kept = store.list().map_err(|error| failed(&error, &host))?.into_iter().find(|kept| kept.name == *name);
    let Some(kept) = kept else {
        return Err(CommandError::failure(format!("no secret is stored as `{name}`")).hint("cycod secret list"));
    };
    context.printer.line(&format!("name: {}\nkept: {}\nset: {}", kept.name, kept.vault, moment(kept.set_at)));
    if !kept.tools.is_empty() {
        context.printer.line(&format!("for: {}", kept.tools.join(", ")));
    }
    if reveal {
        args.confirmation.confirm(context, &visible(&format!("Show the value of `{name}` on this terminal?")))?;
        let values = store.values(&[name], None).map_err(|error| failed(&error, &host))?;
        for value in values.into_iter().flatten() {
            context.printer.line(&format!("value: {}", visible(&value)));
        }
    }
    Ok(0)
}
