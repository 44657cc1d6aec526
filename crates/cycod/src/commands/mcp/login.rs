use std::{
    fs,
    io::{IsTerminal, stdin},
    sync::Arc,
};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::{Shown, shown};
use cycod_mcp_client::Identity;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::{as_user::AsUser, usable},
    options::parsed,
    printer::talk,
};

/// What `cycod mcp login` takes.
#[derive(Parser)]
#[command(name = "login", about = "Log in to an MCP server")]
struct Arguments {
    #[arg(value_name = "SERVER")]
    server: String,
    /// A scope to request; repeat for several
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// The ID of a client that the server's operator registered
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The file with the client's secret
    #[arg(long, value_name = "FILE", requires = "client_id")]
    client_secret_file: Option<String>,
    /// The URL of a document that describes the client
    #[arg(long, value_name = "URL", conflicts_with = "client_id")]
    client_metadata: Option<String>,
    /// Log out: delete the tokens
    #[arg(long)]
    forget: bool,
    #[command(flatten)]
    user: AsUser,
}

/// `cycod mcp login`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Whether these arguments let more happen than before.
pub(crate) fn grants(matches: &ArgMatches) -> bool {
    parsed::<Arguments>(matches).map_or(true, |args| !args.forget)
}

/// Logs in to a server, or out.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.server;
    let servers = usable(context, name, &args.user)?;
    if args.forget {
        let said = if servers.logout(name)? { "Forgot the login" } else { "there was no login" };
        context.printer.say(&format!("{said} of the server `{name}`"));
        return Ok(0);
    }
    let secret = |path: String| {
        let read = fs::read_to_string(&path);
        read.map_err(|error| CommandError::usage(format!("cannot read `{path}`: {error}")))
    };
    let identity = Identity {
        client_id: args.client_id.clone(),
        client_secret: args.client_secret_file.clone().map(secret).transpose()?.map(|secret| secret.trim().to_owned()),
        metadata_url: args.client_metadata.clone(),
        scopes: args.scope.clone(),
    };
    servers.login(name, identity, Arc::new(browse)).map_err(|refusal| match &refusal.attempt {
        // That is being done.
        Some(attempt) if attempt.starts_with("cycod mcp login ") => {
            refusal.attempt("a fixed token, if it wants one, is a header of its entry: cycod help mcp add")
        }
        _ => refusal,
    })?;
    context.printer.say(&format!("Logged in to the server `{name}`"));
    if args.user.is_given()
        && let Err(refusal) = servers.visit(name)
    {
        // A server of ours that runs lists for this user what was seen now.
        context.printer.warn(&format!("its tools are not known yet: {}", refusal.why));
    }
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
