use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::visible;
use cycod_settings::{ServerEntry, Servers, masked, to_json};
use cycod_shell::quoted_if_needed;
use serde_json::Value;

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
    lines.extend(keys(&masked(&server.entry), &[]));
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

/// The keys of an entry as people read them, without those that are shown otherwise.
pub(super) fn keys(entry: &ServerEntry, shown: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, value) in entry.to_json().as_object().into_iter().flatten() {
        match value {
            _ if shown.contains(&key.as_str()) => {}
            Value::Object(pairs) => {
                lines.push(format!("  {key}:"));
                lines.extend(pairs.iter().map(|(name, value)| format!("    {name}: {}", plain(value))));
            }
            value => lines.push(format!("  {key}: {}", plain(value))),
        }
    }
    lines
}

/// A value as people read it: a list of words as a command line.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let quoted = |item: &Value| {
                let text = plain(item);
                if text.contains("****") {
                    return text;
                }
                quoted_if_needed(&text)
            };
            items.iter().map(quoted).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
