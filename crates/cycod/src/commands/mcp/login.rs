use std::{
    fs,
    io::{IsTerminal, stdin},
    sync::Arc,
};

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::diagnostic::{Shown, shown};
use cycod_mcp_client::Identity;

use crate::{cli::Context, command_error::CommandError, commands::mcp::usable, printer::talk};

/// `cycod mcp login`.
pub(crate) fn command() -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("login")
        .about("Log in to an MCP server")
        .arg(Arg::new("server").value_name("SERVER").required(true))
        .arg(option("scope", "SCOPE", "A scope to request; repeat for several").action(ArgAction::Append))
        .arg(option("client-id", "ID", "The ID of a client that the server's operator registered"))
        .arg(option("client-secret-file", "FILE", "The file with the client's secret").requires("client-id"))
        .arg(
            option("client-metadata", "URL", "The URL of a document that describes the client")
                .conflicts_with("client-id"),
        )
        .arg(Arg::new("forget").long("forget").action(ArgAction::SetTrue).help("Log out: delete the tokens"))
}

/// Logs in to a server, or out.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("server").expect("clap requires it");
    let servers = usable(context, name)?;
    if matches.get_flag("forget") {
        let said = if servers.logout(name)? { "Forgot the login" } else { "there was no login" };
        context.printer.say(&format!("{said} of the server `{name}`"));
        return Ok(0);
    }
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let secret = |path: String| {
        let read = fs::read_to_string(&path);
        read.map_err(|error| CommandError::usage(format!("cannot read `{path}`: {error}")))
    };
    let identity = Identity {
        client_id: text("client-id"),
        client_secret: text("client-secret-file").map(secret).transpose()?.map(|secret| secret.trim().to_owned()),
        metadata_url: text("client-metadata"),
        scopes: matches.get_many::<String>("scope").into_iter().flatten().cloned().collect(),
    };
    servers.login(name, identity, Arc::new(browse)).map_err(|refusal| match &refusal.attempt {
        // That is being done.
        Some(attempt) if attempt.starts_with("cycod mcp login ") => {
            refusal.attempt("a fixed token, if it wants one, is a header of its entry: cycod help mcp add")
        }
        _ => refusal,
    })?;
    context.printer.say(&format!("Logged in to the server `{name}`"));
    Ok(0)
}

/// Shows where to log in. A browser on another machine cannot come back by itself; then its address is pasted here.
fn browse(address: &str) -> Option<String> {
    talk(shown!["Open this address in a browser:\n\n  ", Shown::from(address).on_one_line(), "\n\n"]);
    if !stdin().is_terminal() {
        return None;
    }
    talk("If the browser is on another machine, paste here the address that it ends at:\n");
    let mut line = String::new();
    stdin().read_line(&mut line).ok().filter(|read| *read > 1).map(|_| line.trim().to_owned())
}
