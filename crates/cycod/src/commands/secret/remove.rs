use clap::{ArgMatches, Command, CommandFactory, Parser};

use crate::{
    cli::Context,
    command_error::CommandError,
    options::parsed,
    removal::RemovalOptions,
    secrets::{failed, store},
};

/// What `cycod secret remove` takes.
#[derive(Parser)]
#[command(name = "remove", about = "Delete a secret")]
struct Arguments {
    #[arg(value_name = "NAME")]
    secret: String,
    #[command(flatten)]
    removal: RemovalOptions,
}

/// `cycod secret remove`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Forgets a secret.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.secret;
    let host = context.engine.host().clone();
    let store = store(&context.engine);
    let kept = store.list().map_err(|error| failed(&error, &host))?;
    if kept.iter().all(|kept| kept.name != *name) {
        return Err(CommandError::failure(format!("no secret is stored as `{name}`")).hint("cycod secret list"));
    }
    args.removal.confirm(context, &format!("secret `{name}`"))?;
    store.remove(name).map_err(|error| failed(&error, &host))?;
    context.printer.say(&format!("Removed the secret `{name}`"));
    Ok(0)
}
