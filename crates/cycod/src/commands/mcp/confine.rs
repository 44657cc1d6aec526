//! `cycod mcp confine`: watches a server, proposes the smallest confinement that it needs, and tries it.

use std::{fmt::Write as _, path::PathBuf, sync::Arc, time::Duration};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    Given, Needs, Observation, Stop,
    catalog::ScopeFilter,
    definition::{Body, RemoteTool, Value},
    diagnostic::visible,
};
use cycod_mcp_client::RemoteServers;
use cycod_process::host_interrupts;
use cycod_settings::{Server, ServerSecurity, Servers, Transport, servers_file};
use serde_json::{Map, Value as Json, json};

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    commands::{
        mcp::{file_error, server},
        run::approved,
    },
    editor::ask,
    options::{TextOrJson, parsed},
    person::Terminal,
    run::not_planned,
    store::shown,
};

/// How long a call may take.
const LONGEST_CALL: Duration = Duration::from_secs(60);

/// What `cycod mcp confine` takes.
#[derive(Parser)]
#[command(name = "confine", about = "Watch what an MCP server touches, and propose its permissions")]
struct Arguments {
    #[arg(value_name = "SERVER")]
    server: String,
    /// Call this tool of the server, too, with these arguments; repeatable
    #[arg(long = "call", value_name = "TOOL[=JSON]")]
    calls: Vec<String>,
    /// Watch a server that is confined without its confinement
    #[arg(long)]
    unconfined: bool,
    /// Write the permissions into the server's entry
    #[arg(long)]
    write: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod mcp confine`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// A call that is made while the server is watched.
struct WatchedCall {
    tool: RemoteTool,
    arguments: Vec<(String, Value)>,
}

/// Watches a server and proposes the permissions under which it touches what it touched.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let server = confinable(context, &args)?;
    let calls = args.calls.iter().map(|call| planned(context, &server, call)).collect::<Result<Vec<_>, _>>()?;
    let (needs, failed) = watch(context, &server, &calls)?;
    let security = ServerSecurity::of_permissions(needs.keys().cloned().collect())
        .map_err(|why| CommandError::failure(format!("no entry can be proposed: {why}")))?;
    let mut confined = server.clone();
    confined.entry.security = Some(security);
    let problem = connections(context, &confined).visit(&server.name).err().map(|refusal| refusal.why);
    if args.write {
        write(context, &confined)?;
    }
    if args.format.is_json() {
        let view = json!({
            "server": server.name,
            "security": confined.entry.security.as_ref().map(ServerSecurity::to_json),
            "touched": needs,
            "failed": failed,
            "holds": problem.is_none(),
            "fails_confined": problem,
        });
        context.printer.json(&format!("{view:#}"));
    } else {
        tell(context, &needs, &calls, &failed, problem.as_deref());
        if args.write {
            context.printer.say("written");
        }
    }
    Ok(if failed.is_empty() && problem.is_none() { 0 } else { exit::FAILURE })
}

/// The server, if it is a program that may be started without a confinement.
fn confinable(context: &mut Context, args: &Arguments) -> Result<Server, CommandError> {
    let name = &args.server;
    let configured = Servers::load(context.engine.catalog().scopes());
    let server = server(&configured, name, ScopeFilter::Any, &context.engine)?.clone();
    if matches!(server.entry.transport, Transport::Http { .. }) {
        let why = format!("the server `{name}` is at an address: cycod doesn't start it, and can't confine it");
        return Err(CommandError::failure(why));
    }
    if !server.is_ours {
        let why = format!("the server `{name}` came with the project, and you haven't accepted it");
        return Err(CommandError::failure(why).hint(format!("cycod mcp accept {name}")));
    }
    if server.entry.security.as_ref().is_some_and(ServerSecurity::confines) && !args.unconfined {
        let question = format!("`{name}` runs without its confinement while it is watched. Start it? [y/n] ");
        if !context.is_attended() || ask(context, &question, &["y", "n"])? != Some("y") {
            let why = format!("the server `{name}` is confined, and would have to run unconfined to be watched");
            return Err(CommandError::failure(why).hint("if you trust it with all your rights: give --unconfined"));
        }
    }
    Ok(server)
}

/// A call as the command line has it, if it may be made.
fn planned(context: &mut Context, server: &Server, text: &str) -> Result<WatchedCall, CommandError> {
    let (tool, arguments) = text.split_once('=').unwrap_or((text, "{}"));
    let arguments: Map<String, Json> = serde_json::from_str(arguments).map_err(|error| {
        CommandError::usage(format!("the arguments of `--call {tool}` are no JSON object: {error}"))
            .hint("for example: --call 'read_file={\"path\": \"README.md\"}'")
    })?;
    let is_meant = |remote: &RemoteTool| *remote.server == *server.name && *remote.tool == *tool;
    let entries = context.engine.catalog().entries();
    let names = entries.iter().filter(|entry| entry.scope == cycod_engine::catalog::Scope::Mcp);
    let found = names.filter_map(|entry| context.engine.tool(&entry.name).ok()).find_map(|found| match &found.body {
        Body::Remote(remote) if is_meant(remote) => Some((remote.clone(), Arc::clone(&found))),
        _ => None,
    });
    let Some((remote, found)) = found else {
        let why = format!("cycod doesn't know a tool `{tool}` of the server `{}`", server.name);
        return Err(CommandError::failure(why).hint(format!("cycod mcp test {}", server.name)));
    };
    let given = arguments.iter().map(|(name, value)| (name.clone(), Given::Value(value.clone().into()))).collect();
    let given = context.engine.by_person(&found, given)?;
    let plan = context.engine.plan_unasked(&found, given, Some(LONGEST_CALL));
    drop(approved(context, plan.map_err(|error| not_planned(found.name.as_str(), error))?)?);
    let arguments = arguments.into_iter().map(|(name, value)| (name, value.into())).collect();
    Ok(WatchedCall { tool: remote, arguments })
}

/// Starts the server, makes the calls, and tells what it touched and what failed.
fn watch(context: &Context, server: &Server, calls: &[WatchedCall]) -> Result<(Needs, Vec<String>), CommandError> {
    let observation = Arc::new(Observation::default());
    let engine = &context.engine;
    let home = engine.catalog().scopes().user_directory();
    let observer = Arc::clone(&observation) as _;
    let servers =
        RemoteServers::observing(server.clone(), Arc::clone(engine.host()), home, Arc::new(Terminal), observer)?;
    let unprepared = |error: std::io::Error| CommandError::failure(format!("cannot prepare to wait: {error}"));
    let stop = Stop::new().map_err(unprepared)?;
    let interrupts = host_interrupts(&stop).map_err(unprepared)?;
    servers.visit(&server.name)?;
    let mut failed = Vec::new();
    for WatchedCall { tool, arguments } in calls {
        match servers.call_tool(tool, arguments, &stop, LONGEST_CALL) {
            Ok(outcome) if outcome.is_error => {
                let said = String::from_utf8_lossy(&outcome.output).chars().take(200).collect::<String>();
                failed.push(format!("`{}` failed: {said}", tool.tool));
            }
            Ok(_) => {}
            Err(refusal) => failed.push(refusal.why),
        }
    }
    drop(interrupts);
    let temp = servers.observed_temp().map(PathBuf::from).unwrap_or_default();
    // What it touches when it ends counts, too.
    drop(servers);
    let Transport::Stdio { cwd, .. } = server.resolve(engine.host())? else { return Ok((Needs::new(), failed)) };
    let directory = cwd.unwrap_or_else(|| engine.host().workspace.clone());
    Ok((observation.needs_of_program(engine.host(), &directory, &temp), failed))
}

/// The way to this server alone.
fn connections(context: &Context, server: &Server) -> RemoteServers {
    let home = context.engine.catalog().scopes().user_directory();
    RemoteServers::new(vec![server.clone()], Arc::clone(context.engine.host()), home, Arc::new(Terminal))
}

/// Writes the entry with its confinement where it is.
fn write(context: &Context, server: &Server) -> Result<(), CommandError> {
    let (scopes, host) = (context.engine.catalog().scopes(), context.engine.host());
    let scope = server.origin.scope;
    if servers_file(scopes, scope) != server.origin.path {
        let path = shown(&server.origin.path, host);
        return Err(CommandError::failure(format!("cycod doesn't write {path}: copy what is shown into it")));
    }
    let added = cycod_settings::add(scopes, scope, &server.name, &server.entry, true);
    added.map(drop).map_err(|error| file_error(&error, host))
}

fn tell(context: &mut Context, needs: &Needs, calls: &[WatchedCall], failed: &[String], problem: Option<&str>) {
    let mut text = String::from("\"security\": {\n  \"required-permissions\": [\n");
    for (index, (permission, examples)) in needs.iter().enumerate() {
        let comma = if index + 1 < needs.len() { "," } else { "" };
        let example = examples.first().map(|example| format!("  // {}", visible(example))).unwrap_or_default();
        let more = if examples.len() > 1 { format!(" and {} more", examples.len() - 1) } else { String::new() };
        let _ = writeln!(text, "    {}{comma}{example}{more}", json!(visible(permission)));
    }
    text.push_str("  ]\n}\n");
    let printer = &mut context.printer;
    printer.text(&text);
    let watched = ["the start"].into_iter().chain(calls.iter().map(|call| &*call.tool.tool));
    printer.say(&format!("watched: {}", visible(&watched.collect::<Vec<_>>().join(", "))));
    for failed in failed {
        printer.warn(&format!("{}, so not everything was seen", visible(failed)));
    }
    match problem {
        None => printer.say("the server starts under these permissions"),
        Some(why) => printer.warn(&format!("confined, {}", visible(why))),
    }
}
