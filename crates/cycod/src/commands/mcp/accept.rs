use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::{server_entry_lines, views::ProposalView};
use cycod_engine::{
    catalog::ScopeFilter,
    diagnostic::{Shown, shown},
};
use cycod_settings::{Consents, Server, Servers, Transport};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::{as_user::AsUser, usable},
    editor::ask,
    options::parsed,
    store,
};

/// What `cycod mcp accept` takes.
#[derive(Parser)]
#[command(name = "accept", about = "Accept an MCP server, or its changes")]
struct Arguments {
    #[arg(value_name = "SERVER")]
    server: String,
    /// Accept only these of its tools, prompt:NAME, template:URI, resources or extras
    #[arg(value_name = "TOOL", num_args = 0..)]
    tools: Vec<String>,
    /// Accept everything shown, without asking
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    user: AsUser,
}

/// `cycod mcp accept`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows what waits to be accepted, and accepts it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.server;
    let named: Vec<&String> = args.tools.iter().collect();
    let all = args.all;
    let has_consented = consent(context, name, all)?;
    let servers = usable(context, name, &args.user)?;
    let mut proposals = servers.proposals(name)?;
    if let Some(unknown) = named.iter().find(|tool| proposals.iter().all(|proposal| proposal.tool != ***tool)) {
        return Err(CommandError::failure(format!("`{unknown}` of the server `{name}` does not wait to be accepted"))
            .hint(format!("cycod mcp test {name}")));
    }
    proposals.retain(|proposal| named.is_empty() || named.iter().any(|tool| **tool == proposal.tool));
    if proposals.is_empty() && has_consented {
        return Ok(0);
    }
    if proposals.is_empty() {
        context.printer.say(&format!("nothing of the server `{name}` waits to be accepted"));
        return Ok(0);
    }
    for ProposalView { tool, why, difference } in proposals.iter().map(ProposalView::of) {
        context.printer.line(Shown::from(&format!("{tool}: {why}")).on_one_line());
        context.printer.line(Shown::from(difference.trim_end()).quoted("    "));
    }
    // A name alone is an answer only where there is no one to ask.
    if !all && (named.is_empty() || context.is_attended()) {
        agree(context, "Accept this? [y/n] ", &format!("cycod mcp accept {name} --all"))?;
    }
    servers.accept(name, &proposals)?;
    let tools = proposals.iter().filter(|proposal| proposal.is_tool()).count();
    let counted = |count: usize, one: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {one}s")),
    };
    let what = [counted(tools, "tool"), counted(proposals.len() - tools, "other definition")];
    let what: Vec<String> = what.into_iter().flatten().collect();
    context.printer.say(&format!("Accepted {} of the server `{name}`", what.join(" and ")));
    Ok(0)
}

/// Shows how a server that somebody else configured is started, and asks whether it may be; returns whether it was asked.
fn consent(context: &mut Context, name: &str, all: bool) -> Result<bool, CommandError> {
    let scopes = context.engine.catalog().scopes().clone();
    let configured = Servers::load(&scopes);
    let waits = |server: &&Server| !server.is_ours && server.entry.enabled;
    let Some(server) = configured.find(name, ScopeFilter::Any).filter(waits) else {
        return Ok(false);
    };
    let place = format!("{}:{}", store::shown(&server.origin.path, context.engine.host()), server.origin.line);
    let (does, asked) = match &server.entry.transport {
        Transport::Stdio { .. } => ("start", "Let it be started? [y/n] "),
        Transport::Http { .. } => ("reach", "Let it be reached? [y/n] "),
    };
    let how = server.entry.transport.in_full();
    let what = Shown::from(&format!("{place}: the server `{name}` would {does}")).on_one_line();
    context.printer.line(what);
    context.printer.line(shown!["    ", &how].on_one_line());
    for line in server_entry_lines(&server.entry, &["type", "command", "args", "env", "url"]) {
        context.printer.line(shown!["  ", &line].on_one_line());
    }
    if !all {
        agree(context, asked, &format!("cycod mcp accept {name} --all"))?;
    }
    Consents::open(&scopes).give(server).map_err(|error| CommandError::failure(error.to_string()))?;
    context.printer.say(&format!("Accepted the server `{name}`"));
    Ok(true)
}

fn agree(context: &mut Context, question: &str, instead: &str) -> Result<(), CommandError> {
    if !context.is_attended() {
        return Err(CommandError::failure("nothing was accepted: there is no terminal to ask at")
            .hint(format!("try: {instead}")));
    }
    if ask(context, question, &["y", "n"])? == Some("y") {
        return Ok(());
    }
    Err(CommandError::failure("nothing was accepted"))
}
