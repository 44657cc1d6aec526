use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::diagnostic::visible;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::approvals::{confirm, yes},
    printer::out_is_terminal,
    secrets::{failed, moment, store},
};

/// `cycod secret show`.
pub(crate) fn command() -> Command {
    Command::new("show")
        .about("Show where a secret is stored and who may use it")
        .arg(Arg::new("secret").value_name("NAME").required(true))
        .arg(Arg::new("reveal").long("reveal").action(ArgAction::SetTrue).help("Also show the value, on a terminal"))
        .arg(yes())
}

/// Shows what is known of a secret; its value only to a person who asks for it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("secret").expect("clap requires it");
    let reveal = matches.get_flag("reveal");
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
        confirm(context, matches, &visible(&format!("Show the value of `{name}` on this terminal?")))?;
        let values = store.values(&[name], None).map_err(|error| failed(&error, &host))?;
        for value in values.into_iter().flatten() {
            context.printer.line(&format!("value: {}", visible(&value)));
        }
    }
    Ok(0)
}
