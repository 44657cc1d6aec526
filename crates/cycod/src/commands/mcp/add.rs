//! `cycod mcp add`: an MCP server whose tools are to be used here.

use std::{path::PathBuf, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command, builder::NonEmptyStringValueParser, value_parser};
use cycod_engine::{
    catalog::{Scope, Scopes},
    definition::Host,
    diagnostic::visible,
};
use cycod_settings::{Entry, Servers, Transport, is_server_name, masked, servers_file};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{
        approvals::{confirm, yes},
        mcp::{file_error, forget, written_scope},
    },
    scope::{scope, with_scope},
    store::shown,
};

/// `cycod mcp add`.
pub(crate) fn command() -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let command = Command::new("add")
        .about("Add an MCP server")
        .arg(Arg::new("server").value_name("SERVER").required(true).help("The name of the server"))
        .arg(Arg::new("command").value_name("COMMAND").num_args(1..).last(true).help("The program and its arguments"))
        .arg(option("url", "URL", "Connect to the server at this URL, over HTTP").conflicts_with("command"))
        .arg(option("header", "NAME:VALUE", "Send this header with every request").action(ArgAction::Append))
        .arg(option("env", "NAME=VALUE", "Set this environment variable").action(ArgAction::Append))
        .arg(option("cwd", "DIR", "Start the program in this directory"))
        .arg(
            option("timeout", "MS", "Limit each call to this many milliseconds")
                .value_parser(value_parser!(u64).range(1..)),
        )
        .arg(
            option("tools", "NAMES", "Use only these tools of the server")
                .value_parser(NonEmptyStringValueParser::new())
                .value_delimiter(',')
                .action(ArgAction::Append),
        )
        .arg(
            Arg::new("override")
                .long("override")
                .action(ArgAction::SetTrue)
                .help("Replace an existing server of this name"),
        )
        .arg(yes());
    with_scope(command)
}

/// Adds an MCP server.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("server").expect("clap requires it");
    if !is_server_name(name) {
        return Err(CommandError::usage(format!("`{name}` cannot name a server"))
            .hint("names start with a letter or digit and hold letters, digits, `_` and `-`, at most 32"));
    }
    let scope = written_scope(scope(matches)?, Scope::Local)?;
    let mut entry = Entry::new(transport(matches, scope, context.engine.host())?);
    entry.timeout = matches.get_one::<u64>("timeout").map(|timeout| Duration::from_millis(*timeout));
    entry.tools = matches.get_many::<String>("tools").map(|tools| tools.cloned().collect());
    entry.check().map_err(|problem| CommandError::usage(problem.to_string()))?;
    let what = matches.get_many::<String>("command").into_iter().flatten().chain(matches.get_one::<String>("url"));
    let what = what.map(String::as_str).collect::<Vec<_>>().join(" ");
    confirm(context, matches, &visible(&format!("Add the server `{name}`: {what}?")))?;
    let scopes = context.engine.catalog().scopes();
    let host = context.engine.host();
    let added = cycod_settings::add(scopes, scope, name, &entry, matches.get_flag("override"));
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

fn transport(matches: &ArgMatches, scope: Scope, host: &Host) -> Result<Transport, CommandError> {
    let all = |name: &str| matches.get_many::<String>(name).into_iter().flatten().cloned();
    let pairs = |name: &str, separator: char, form: &str| {
        let pair = |text: String| match text.split_once(separator) {
            Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim_start().to_owned())),
            _ => Err(CommandError::usage(format!("`--{name} {text}` is not of the form {form}"))),
        };
        all(name).map(pair).collect::<Result<Vec<_>, _>>()
    };
    let stray = |names: &[&'static str]| names.iter().copied().find(|name| matches.contains_id(name));
    let mut words = all("command");
    match (words.next(), matches.get_one::<String>("url")) {
        (Some(command), _) => {
            if let Some(name) = stray(&["header"]) {
                return Err(CommandError::usage(format!("`--{name}` is for a server with `--url`")));
            }
            let env = pairs("env", '=', "NAME=VALUE")?;
            let cwd = matches.get_one::<String>("cwd").map(|cwd| {
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
        (None, Some(url)) => match stray(&["env", "cwd"]) {
            Some(name) => Err(CommandError::usage(format!("`--{name}` is for a server that is a program"))),
            None => Ok(Transport::Http { url: url.clone(), headers: pairs("header", ':', "NAME:VALUE")? }),
        },
        (None, None) => Err(CommandError::usage("neither a command nor --url is given")
            .hint("cycod mcp add NAME -- COMMAND [ARGUMENT...]")
            .hint("cycod mcp add NAME --url URL")),
    }
}
