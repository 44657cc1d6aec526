use clap::{Arg, ArgMatches, Command};
use cycod_settings::Servers;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::{file_error, forget, server},
    removal::{confirm, force},
    scope::{scope, with_scope},
    store::shown,
};

/// `cycod mcp remove`.
pub(crate) fn command() -> Command {
    let command = Command::new("remove")
        .about("Remove an MCP server")
        .arg(Arg::new("server").value_name("SERVER").required(true))
        .arg(force());
    with_scope(command)
}

/// Removes the first MCP server of a name, and says which.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("server").expect("clap requires it");
    let servers = Servers::load(context.engine.catalog().scopes());
    let server = server(&servers, name, scope(matches)?.unwrap_or_default(), &context.engine)?;
    let path = shown(&server.origin.path, context.engine.host());
    let what = format!("{} server `{}`: {path}", server.origin.scope, server.name);
    confirm(context, matches, &what)?;
    let host = context.engine.host();
    cycod_settings::remove(context.engine.catalog().scopes(), server).map_err(|error| file_error(&error, host))?;
    forget(context.engine.catalog().scopes(), &server.name, &server.origin.path)?;
    let behind = servers
        .servers
        .iter()
        .find(|other| other.name.eq_ignore_ascii_case(&server.name) && other.origin != server.origin);
    let mut said = format!("Removed {what}");
    if let Some(other) = behind {
        let path = shown(&other.origin.path, host);
        said.push_str(&format!("\n  the name now leads to the {} server: {path}", other.origin.scope));
    }
    context.printer.say(&said);
    Ok(0)
}
