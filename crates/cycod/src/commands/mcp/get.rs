use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::server_entry_lines;
use cycod_engine::diagnostic::visible;
use cycod_settings::{Servers, masked, to_json};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::server,
    options::{TextOrJson, parsed},
    scope::ScopeOptions,
    store::shown,
};

/// What `cycod mcp get` takes.
#[derive(Parser)]
#[command(name = "get", about = "Show an MCP server")]
struct Arguments {
    #[arg(value_name = "SERVER")]
    server: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod mcp get`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows an MCP server.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.server;
    let host = context.engine.host();
    let servers = Servers::load(context.engine.catalog().scopes());
    let server = server(&servers, name, args.scope.filter()?.unwrap_or_default(), &context.engine)?;
    if args.format.is_json() {
        context.printer.json(&serde_json::to_string_pretty(&to_json(server)).expect("JSON values can be written"));
        return Ok(0);
    }
    let origin = &server.origin;
    let mut lines =
        vec![format!("{} ({} scope, {}:{})", server.name, origin.scope, shown(&origin.path, host), origin.line)];
    lines.extend(server_entry_lines(&masked(&server.entry), &[]));
    if let Some(path) = &server.shadowed_by {
        lines.push(format!("  another server of this name comes before it: {}", shown(path, host)));
    }
    if !server.is_ours {
        lines.push(format!(
            "  came with the project and does not start until you accept it: cycod mcp accept {}",
            server.name
        ));
    } else if let Err(refusal) = server.resolve(host) {
        lines.push(format!("  cannot be used yet: {}", refusal.why));
    }
    context.printer.line(&visible(&lines.join("\n")));
    Ok(0)
}
