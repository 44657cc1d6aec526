use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_settings::Servers;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::{file_error, forget, server},
    options::parsed,
    removal::RemovalOptions,
    scope::ScopeOptions,
    store::shown,
};

/// What `cycod mcp remove` takes.
#[derive(Parser)]
#[command(name = "remove", about = "Remove an MCP server")]
struct Arguments {
    #[arg(value_name = "SERVER")]
    server: String,
    #[command(flatten)]
    removal: RemovalOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod mcp remove`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Removes the first MCP server of a name, and says which.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.server;
    let servers = Servers::load(context.engine.catalog().scopes());
    let server = server(&servers, name, args.scope.filter()?.unwrap_or_default(), &context.engine)?;
    let path = shown(&server.origin.path, context.engine.host());
    let what = format!("{} server `{}`: {path}", server.origin.scope, server.name);
    args.removal.confirm(context, &what)?;
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
