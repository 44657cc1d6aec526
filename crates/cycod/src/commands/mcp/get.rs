use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError, scope::with_scope};

/// `cycod mcp get`.
pub(crate) fn command() -> Command {
    let format = Arg::new("format").long("format").value_name("FORMAT").help("How it is printed");
    let command = Command::new("get")
        .about("Show an MCP server")
        .arg(Arg::new("server").value_name("SERVER").required(true))
        .arg(format.value_parser(["text", "json"]).default_value("text").action(ArgAction::Set));
    with_scope(command)
}

/// Shows an MCP server.
pub(crate) fn run(_: &mut Context, _: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this is being written"))
}
