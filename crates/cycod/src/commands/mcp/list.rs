use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError, scope::with_scope};

/// `cycod mcp list`.
pub(crate) fn command() -> Command {
    let format = Arg::new("format").long("format").value_name("FORMAT").help("How the list is printed");
    let command = Command::new("list")
        .about("List MCP servers")
        .arg(format.value_parser(["simple", "table", "json"]).default_value("table").action(ArgAction::Set));
    with_scope(command)
}

/// Lists MCP servers.
pub(crate) fn run(_: &mut Context, _: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this is being written"))
}
