use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::{cli::Context, command_error::CommandError, scope::with_scope};

/// `cycod mcp add`.
pub(crate) fn command() -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let command = Command::new("add")
        .about("Add an MCP server")
        .arg(Arg::new("server").value_name("SERVER").required(true).help("What to call it"))
        .arg(Arg::new("command").value_name("COMMAND").num_args(1..).last(true).help("The program and its arguments"))
        .arg(option("url", "URL", "Reach the server there, over HTTP").conflicts_with("command"))
        .arg(option("header", "NAME:VALUE", "Send this header with every request").action(ArgAction::Append))
        .arg(option("env", "NAME=VALUE", "Give the program this variable").action(ArgAction::Append))
        .arg(option("cwd", "DIR", "Start the program in this directory"))
        .arg(option("timeout", "MS", "Give each call at most this long").value_parser(value_parser!(u64).range(1..)))
        .arg(option("tools", "NAMES", "Take only these of its tools").value_delimiter(',').action(ArgAction::Append))
        .arg(Arg::new("override").long("override").action(ArgAction::SetTrue).help("Replace the server of this name"));
    with_scope(command)
}

/// Adds an MCP server.
pub(crate) fn run(_: &mut Context, _: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this is being written"))
}
