use std::fs;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_mcp_client::Identity;

use crate::{
    browse::Browsing,
    cli::Context,
    command_error::CommandError,
    commands::mcp::{as_user::AsUser, usable},
    options::parsed,
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
    let (_browsing, browse) = Browsing::begin();
    servers.login(name, identity, browse).map_err(|refusal| match &refusal.attempt {
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
