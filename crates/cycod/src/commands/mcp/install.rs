use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::{cli::Context, command_error::CommandError, scope::with_scope};

/// `cycod mcp install`.
pub(crate) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let offer = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).action(ArgAction::Append).help(help)
    };
    let command = Command::new("install")
        .about("Offer the tools here to a host")
        .arg(Arg::new("host").value_name("HOST").required(true).help("The program that is to use them"))
        .arg(Arg::new("name").long("name").value_name("NAME").default_value("cycod").help("Call the entry so"))
        .arg(flag("print", "Show the entry and its file, and write nothing"))
        .arg(flag("override", "Replace an entry of this name that starts something else"))
        .arg(offer("tools", "NAMES", "Offer only these tools"))
        .arg(offer("tag", "TAG", "Offer only tools with this tag"))
        .arg(offer("group", "GROUP", "Offer only tools of this group"))
        .arg(offer("level", "LEVEL", "Offer only tools up to this level"));
    with_scope(command)
}

/// Writes our entry into the configuration of a host.
pub(crate) fn run(_: &mut Context, _: &ArgMatches) -> Result<u8, CommandError> {
    Err(CommandError::failure("this is being written"))
}
