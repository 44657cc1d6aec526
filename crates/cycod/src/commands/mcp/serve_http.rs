//! The part of `cycod mcp serve` that is about HTTP.

use std::{error::Error, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use cycod_engine::Stop;
use cycod_mcp_server::{Access, HttpError, HttpOptions, KeySource, Limits, OAuth, Options, serve_http};
use cycod_store::bearer_token;

use crate::{cli::Context, command_error::CommandError};

/// The options, all of which need `--http`.
pub(crate) fn options() -> [Arg; 12] {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).requires("http").help(help)
    };
    let number = || value_parser!(u32).range(1..);
    [
        option("token-file", "FILE", "Require the token in this file; cycod creates the file on first use")
            .value_parser(value_parser!(PathBuf))
            .conflicts_with_all(["no-auth", "oauth-issuer"]),
        Arg::new("no-auth")
            .long("no-auth")
            .action(ArgAction::SetTrue)
            .requires("http")
            .conflicts_with("oauth-issuer")
            .help("Let every program on this machine connect without a token"),
        option("allow-host", "HOST", "Accept this host name from clients").action(ArgAction::Append),
        option("allow-origin", "ORIGIN", "Let web pages of this origin use the server").action(ArgAction::Append),
        option("oauth-issuer", "URL", "Require access tokens of this authorization server")
            .requires_all(["oauth-audience", "oauth-jwks"]),
        option("oauth-audience", "URL", "The address of this server that access tokens are issued for")
            .requires("oauth-issuer"),
        option("oauth-jwks", "FILE|URL", "The keys of the authorization server").requires("oauth-issuer"),
        option("oauth-scope", "SCOPE", "Require this scope in access tokens")
            .action(ArgAction::Append)
            .requires("oauth-issuer"),
        option("max-body", "BYTES", "The largest accepted request, in bytes").value_parser(number()),
        option("max-sessions", "N", "How many sessions to keep").value_parser(number()),
        option("max-requests", "N", "How many requests to answer at once").value_parser(number()),
        option("session-idle", "SECONDS", "End a session after this much time without use").value_parser(number()),
    ]
}

/// Serves at an address until somebody interrupts.
pub(crate) fn serve(
    context: &mut Context,
    matches: &ArgMatches,
    address: SocketAddr,
    options: Options,
    stop: &Stop,
) -> Result<(), CommandError> {
    let all = |name: &str| matches.get_many::<String>(name).into_iter().flatten().cloned().collect::<Vec<_>>();
    let http = HttpOptions {
        address,
        access: access(context, matches)?,
        hosts: all("allow-host"),
        origins: all("allow-origin"),
        limits: limits(matches),
    };
    let printer = &mut context.printer;
    if !address.ip().to_canonical().is_loopback() && !matches!(http.access, Access::Anyone) {
        printer.warn("tokens and data cross the network unencrypted; put a server with TLS in front");
    }
    let mut listening = |address| printer.say(&format!("listening on http://{address}/mcp"));
    serve_http(options, &http, stop, &mut listening).map_err(|error| explained(&error))
}

fn access(context: &mut Context, matches: &ArgMatches) -> Result<Access, CommandError> {
    if matches.get_flag("no-auth") {
        return Ok(Access::Anyone);
    }
    let one = |name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
    if matches.contains_id("oauth-issuer") {
        let keys = one("oauth-jwks");
        return Ok(Access::OAuth(OAuth {
            issuer: one("oauth-issuer"),
            audience: one("oauth-audience"),
            keys: if keys.contains("://") { KeySource::Url(keys) } else { KeySource::File(keys.into()) },
            scopes: matches.get_many::<String>("oauth-scope").into_iter().flatten().cloned().collect(),
        }));
    }
    let file = matches.get_one::<PathBuf>("token-file").cloned().unwrap_or_else(|| {
        let user = context.engine.catalog().scopes().user_directory();
        user.join("mcp/token")
    });
    let token = bearer_token(&file).map_err(|error| CommandError::failure(error.to_string()))?;
    context.printer.say(&format!("token file: {}", file.display()));
    Ok(Access::Token(token))
}

fn limits(matches: &ArgMatches) -> Limits {
    let number = |name: &str| matches.get_one::<u32>(name).copied();
    let count = |name: &str| number(name).map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let usual = Limits::default();
    Limits {
        body: count("max-body").unwrap_or(usual.body),
        sessions: count("max-sessions").unwrap_or(usual.sessions),
        requests: count("max-requests").unwrap_or(usual.requests),
        idle: number("session-idle").map_or(usual.idle, |seconds| Duration::from_secs(seconds.into())),
        ..usual
    }
}

/// Says what is wrong, with its cause, and what to do.
fn explained(error: &HttpError) -> CommandError {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    let message = format!("cannot serve: {error}{cause}");
    match error {
        HttpError::Unguarded(_) => CommandError::usage(message)
            .hint("try: leave out --no-auth, and give clients the token")
            .hint("or: serve at 127.0.0.1, for this machine only"),
        HttpError::Name { .. } | HttpError::Keys { .. } => CommandError::usage(message),
        HttpError::Listen { .. } => CommandError::failure(message).hint("try: port 0, which takes any that is free"),
        HttpError::Begin(_) => CommandError::failure(message),
    }
}
