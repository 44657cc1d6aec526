//! `cycod mcp add`: an MCP server whose tools are to be used here.

use std::{path::PathBuf, time::Duration};

use clap::{ArgMatches, Command, CommandFactory, Parser, builder::NonEmptyStringValueParser, value_parser};
use cycod_engine::{
    catalog::{Scope, Scopes},
    definition::Host,
    diagnostic::visible,
};
use cycod_settings::{ServerEntry, ServerSecurity, Servers, Transport, is_server_name, masked, servers_file};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{
        approvals::ConfirmationOptions,
        mcp::{file_error, forget, written_scope},
    },
    options::parsed,
    scope::ScopeOptions,
    store::shown,
};

/// What `cycod mcp add` takes.
#[derive(Parser)]
#[command(name = "add", about = "Add an MCP server")]
struct Arguments {
    /// The name of the server
    #[arg(value_name = "SERVER")]
    server: String,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", num_args = 1.., last = true)]
    command: Vec<String>,
    /// Connect to the server at this URL, over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// Send this header with every request
    #[arg(long, value_name = "NAME:VALUE")]
    header: Vec<String>,
    /// Set this environment variable
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Start the program in this directory
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Limit each call to this many milliseconds
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Use only these tools of the server
    #[arg(long, value_name = "NAMES", value_parser = NonEmptyStringValueParser::new(), value_delimiter = ',')]
    tools: Option<Vec<String>>,
    /// Confine the program to this, and to what else is named so; repeatable
    #[arg(long = "permission", value_name = "PERMISSION", conflicts_with = "url")]
    permissions: Vec<String>,
    /// Replace an existing server of this name
    #[arg(long = "override")]
    overwrite: bool,
    #[command(flatten)]
    confirmation: ConfirmationOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod mcp add`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Adds an MCP server.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.server;
    if !is_server_name(name) {
        return Err(CommandError::usage(format!("`{name}` cannot name a server"))
            .hint("names start with a letter or digit and hold letters, digits, `_` and `-`, at most 32"));
    }
    let scope = written_scope(args.scope.filter()?, Scope::Local)?;
    let mut entry = ServerEntry::new(transport(&args, scope, context.engine.host())?);
    entry.timeout = args.timeout.map(Duration::from_millis);
    entry.tools = args.tools.clone();
    if !args.permissions.is_empty() {
        let security = ServerSecurity::of_permissions(args.permissions.clone())
            .map_err(|problem| CommandError::usage(problem.to_string()))?;
        entry.security = Some(security);
    }
    entry.check().map_err(|problem| CommandError::usage(problem.to_string()))?;
    let what = args.command.iter().chain(&args.url);
    let what = what.map(String::as_str).collect::<Vec<_>>().join(" ");
    args.confirmation.confirm(context, &visible(&format!("Add the server `{name}`: {what}?")))?;
    let scopes = context.engine.catalog().scopes();
    let host = context.engine.host();
    let added = cycod_settings::add(scopes, scope, name, &entry, args.overwrite);
    let Some((path, replaced)) = added.map_err(|error| file_error(&error, host))? else {
        let path = shown(&servers_file(scopes, scope), host);
        return Err(CommandError::failure(format!("server `{name}` is already there: {path}"))
            .hint("give --override to replace it"));
    };
    forget(scopes, name, &path)?;
    let verb = if replaced { "Replaced" } else { "Added" };
    let mut said = vec![format!("{verb} {scope} server `{name}`: {}", shown(&path, host))];
    said.extend(standing(scopes, scope, name, host));
    said.push(format!("  try it: cycod mcp test {name}"));
    context.printer.say(&said.join("\n"));
    if scope != Scope::User && masked(&entry) != entry {
        let path = shown(&path, context.engine.host());
        context.printer.warn(&format!(
            "a secret is written down in {path}, which may be shared; '${{NAME}}' in its place takes it from the environment"
        ));
    }
    Ok(0)
}

/// What stands before or behind a new server, and what it still needs.
fn standing(scopes: &Scopes, scope: Scope, name: &str, host: &Host) -> Vec<String> {
    let servers = Servers::load(scopes);
    let mut said = Vec::new();
    let others = servers.servers.iter().filter(|server| server.name.eq_ignore_ascii_case(name));
    if let Some(other) = others.clone().find(|server| server.origin.scope != scope) {
        let path = shown(&other.origin.path, host);
        said.push(if other.origin.scope < scope {
            format!("  the {} server of this name comes before it: {path}", other.origin.scope)
        } else {
            format!("  it comes before the {} server of this name: {path}", other.origin.scope)
        });
    }
    let unset =
        others.filter(|server| server.origin.scope == scope).flat_map(|server| server.entry.transport.references());
    let unset: Vec<String> = unset.filter(|name| !host.environment.contains_key(std::ffi::OsStr::new(name))).collect();
    if !unset.is_empty() {
        said.push(format!("  before it can be used, set {}", unset.join(", ")));
    }
    said
}

fn transport(args: &Arguments, scope: Scope, host: &Host) -> Result<Transport, CommandError> {
    let pairs = |name: &str, values: &[String], separator: char, form: &str| {
        let pair = |text: &String| match text.split_once(separator) {
            Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim_start().to_owned())),
            _ => Err(CommandError::usage(format!("`--{name} {text}` is not of the form {form}"))),
        };
        values.iter().map(pair).collect::<Result<Vec<_>, _>>()
    };
    let mut words = args.command.iter().cloned();
    match (words.next(), &args.url) {
        (Some(command), _) => {
            if !args.header.is_empty() {
                return Err(CommandError::usage("`--header` is for a server with `--url`"));
            }
            let env = pairs("env", &args.env, '=', "NAME=VALUE")?;
            let cwd = args.cwd.as_ref().map(|cwd| {
                let cwd = host.working_directory.join(cwd);
                // A project that moves keeps its servers.
                match cwd.strip_prefix(&host.workspace) {
                    Ok(inside) if scope == Scope::Local && inside.as_os_str().is_empty() => PathBuf::from("."),
                    Ok(inside) if scope == Scope::Local => inside.to_owned(),
                    _ => cwd,
                }
            });
            Ok(Transport::Stdio { command, args: words.collect(), env, cwd })
        }
        (None, Some(_)) if !args.env.is_empty() => {
            Err(CommandError::usage("`--env` is for a server that is a program"))
        }
        (None, Some(_)) if args.cwd.is_some() => Err(CommandError::usage("`--cwd` is for a server that is a program")),
        (None, Some(url)) => {
            Ok(Transport::Http { url: url.clone(), headers: pairs("header", &args.header, ':', "NAME:VALUE")? })
        }
        (None, None) => Err(CommandError::usage("neither a command nor --url is given")
            .hint("cycod mcp add NAME -- COMMAND [ARGUMENT...]")
            .hint("cycod mcp add NAME --url URL")),
    }
}
