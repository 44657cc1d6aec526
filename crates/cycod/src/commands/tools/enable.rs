use clap::{ArgMatches, Command};

use cycod_engine::diagnostic::visible;

use super::turn;
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::approvals::{confirm, yes},
};

/// `cycod tools enable`.
pub(crate) fn command() -> Command {
    turn::command(Command::new("enable").about("Turn tools on")).arg(yes())
}

/// Turns tools on in the settings of a scope.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let names: Vec<String> =
        matches.get_many::<String>("name").into_iter().flatten().map(|name| format!("`{name}`")).collect();
    // What cannot be is said before anybody is asked.
    turn::checked_scope(matches)?;
    confirm(context, matches, &visible(&format!("Turn on {}?", names.join(", "))))?;
    turn::run(context, matches, true)
}
