use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError, scope::with_scope};

/// `cycod mcp remove`.
pub(crate) fn command() -> Command {
    let command = Command::new("remove")
        .about("Remove an MCP server")
        .arg(Arg::new("server").value_name("SERVER").required(true))
        .arg(Arg::new("force").long("force").action(ArgAction::SetTrue).help("Skip confirmation prompt"));
    with_scope(command)
}

/// Removes an MCP server.
pub(crate) fn run(_: &mut Context, _: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this is being written"))
}
