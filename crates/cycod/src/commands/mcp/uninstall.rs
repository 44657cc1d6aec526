use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError, scope::with_scope};

/// `cycod mcp uninstall`.
pub(crate) fn command() -> Command {
    let command = Command::new("uninstall")
        .about("Take back what `install` wrote")
        .arg(Arg::new("host").value_name("HOST").required(true).help("The program that used them"))
        .arg(Arg::new("name").long("name").value_name("NAME").default_value("cycod").help("The name of the entry"))
        .arg(Arg::new("force").long("force").action(ArgAction::SetTrue).help("Remove it even if it starts something else"));
    with_scope(command)
}

/// Removes our entry from the configuration of a host.
pub(crate) fn run(_: &mut Context, _: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this is being written"))
}
