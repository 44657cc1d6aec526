use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_settings::{Done, uninstall};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::{
        file_error,
        install::{NAME, entry_name, host_file},
    },
    scope::with_scope,
    store::shown,
};

/// `cycod mcp uninstall`.
pub(crate) fn command() -> Command {
    let command = Command::new("uninstall")
        .about("Undo 'install'")
        .arg(Arg::new("host").value_name("HOST").required(true).help("The host"))
        .arg(Arg::new("name").long("name").value_name("NAME").default_value(NAME).help("The name of the entry"))
        .arg(
            Arg::new("force")
                .long("force")
                .action(ArgAction::SetTrue)
                .help("Remove it even if it starts something else"),
        );
    with_scope(command)
}

/// Removes our entry from the configuration of a host.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let host = context.engine.host().clone();
    let (of, file) = host_file(matches, &host)?;
    let name = entry_name(matches)?;
    let path = shown(&file.path, &host);
    let done = uninstall(of, &file, &name, matches.get_flag("force")).map_err(|error| file_error(&error, &host))?;
    match done {
        Done::Missing => Err(CommandError::failure(format!("{} has no entry `{name}`: {path}", of.title))),
        Done::Foreign => {
            Err(CommandError::failure(format!("the entry `{name}` of {} starts something else: {path}", of.title))
                .hint("give --force to remove it nevertheless"))
        }
        _ => {
            context.printer.say(&format!("Removed `{name}` from {}: {path}", of.title));
            Ok(0)
        }
    }
}
