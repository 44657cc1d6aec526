use anstyle::Style;
use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_app::{remote_servers, server_problem, views::ServerView};
use cycod_engine::catalog::ScopeFilter;
use cycod_settings::{Servers, to_json};
use serde_json::{Value, json};

use crate::{
    cli::Context,
    command_error::CommandError,
    options::parsed,
    printer::{DIM, WARNING},
    scope::ScopeOptions,
    table::{Cell, Table},
};

/// How the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Simple,
    Table,
    Json,
}

/// What `cycod mcp list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List MCP servers")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod mcp list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists MCP servers.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let filter = args.scope.filter()?.unwrap_or_default();
    let scopes = context.engine.catalog().scopes();
    let host = context.engine.host();
    let mut all = Servers::load(scopes);
    all.servers.retain(|server| scopes.admits(filter, server.origin.scope));
    all.problems.retain(|problem| scopes.admits(filter, problem.scope));
    for problem in &all.problems {
        context.printer.warn(&server_problem(problem, host));
    }
    match args.format {
        Format::Json => {
            let broken = all.problems.iter().filter(|problem| !problem.is_warning).map(|problem| {
                json!({
                    "name": problem.server,
                    "scope": problem.scope.name(),
                    "path": problem.path.to_string_lossy(),
                    "line": problem.at.map(|at| at.line),
                    "problem": problem.message,
                })
            });
            let list: Vec<Value> = all.servers.iter().map(to_json).chain(broken).collect();
            context.printer.json(&serde_json::to_string_pretty(&list).expect("JSON values can be written"));
        }
        Format::Simple => {
            let names = all.servers.iter().filter(|server| server.shadowed_by.is_none());
            let lines: String = names.map(|server| format!("{}\n", server.name)).collect();
            context.printer.data(lines.as_bytes());
        }
        Format::Table if all.servers.is_empty() => {}
        Format::Table => {
            let connections = remote_servers(&context.engine);
            let mut table = Table::new(&["NAME", "SCOPE", "HOW"]);
            for server in &all.servers {
                let view = ServerView::of(server, host, connections.as_deref());
                table.row(vec![
                    Cell::default().with(server.name.as_str(), if view.in_use { Style::new() } else { DIM }),
                    Cell::new(view.scope),
                    how(&view),
                ]);
            }
            table.print(&mut context.printer);
        }
    }
    if all.servers.is_empty() && all.problems.is_empty() {
        let place = if filter == ScopeFilter::Any { " here" } else { " in this scope" };
        context.printer.say(&format!(
            "no MCP servers{place} yet; add one with `cycod mcp add`, or see what other programs know: cycod mcp import"
        ));
    }
    Ok(0)
}

/// How a server is started or reached, and what keeps it from that.
fn how(view: &ServerView) -> Cell<'static> {
    let mut notes = view.notes.clone();
    if view.failure.is_some() {
        notes.push(format!("failed when it was last used: cycod mcp test {}", view.name));
    }
    let notes = notes.join("; ");
    let dash = if notes.is_empty() { "" } else { " - " };
    Cell::default().with(notes, WARNING).with(dash, Style::new()).with(view.how.clone(), Style::new())
}
