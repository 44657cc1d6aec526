//! What every command that removes something asks first.

use clap::{Arg, ArgAction, ArgMatches};

use crate::{cli::Context, command_error::CommandError, editor::ask};

/// `--force`.
pub(crate) fn force() -> Arg {
    Arg::new("force").long("force").action(ArgAction::SetTrue).help("Skip confirmation prompt")
}

/// Asks whether `what` may be removed, unless `--force` was given.
///
/// # Errors
/// When nobody can be asked, and when the answer is no.
pub(crate) fn confirm(context: &mut Context, matches: &ArgMatches, what: &str) -> Result<(), CommandError> {
    if matches.get_flag("force") {
        return Ok(());
    }
    if !context.is_attended() {
        return Err(CommandError::usage(format!(
            "removing the {what} needs confirmation, and there is no terminal to ask at"
        ))
        .hint("give --force"));
    }
    context.printer.say(&format!("This removes the {what}"));
    match ask(context, "Remove it? [y/n] ", &["y", "n"])? {
        Some("y") => Ok(()),
        _ => Err(CommandError::failure("nothing was removed")),
    }
}
