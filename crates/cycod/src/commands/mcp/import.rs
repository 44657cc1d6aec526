use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError, scope::with_scope};

/// `cycod mcp import`.
pub(crate) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let command = Command::new("import")
        .about("Import MCP servers from other programs")
        .arg(Arg::new("from").value_name("HOST|FILE").num_args(0..).help("A program, or a file of its format"))
        .arg(flag("dry-run", "Show what would be imported, and import nothing"))
        .arg(flag("override", "Replace servers of the same names"));
    with_scope(command)
}

/// Imports MCP servers from other programs.
pub(crate) fn run(_: &mut Context, _: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this is being written"))
}
