use clap::{Arg, ArgMatches, Command};

use crate::{
    cli::Context,
    command_error::CommandError,
    removal::{confirm, force},
    secrets::{failed, store},
};

/// `cycod secret remove`.
pub(crate) fn command() -> Command {
    Command::new("remove")
        .about("Delete a secret")
        .arg(Arg::new("secret").value_name("NAME").required(true))
        .arg(force())
}

/// Forgets a secret.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("secret").expect("clap requires it");
    let host = context.engine.host().clone();
    let store = store(&context.engine);
    let kept = store.list().map_err(|error| failed(&error, &host))?;
    if kept.iter().all(|kept| kept.name != *name) {
        return Err(CommandError::failure(format!("no secret is stored as `{name}`")).hint("cycod secret list"));
    }
    confirm(context, matches, &format!("secret `{name}`"))?;
    store.remove(name).map_err(|error| failed(&error, &host))?;
    context.printer.say(&format!("Removed the secret `{name}`"));
    Ok(0)
}
