//! The part of `cycod mcp serve` that is about HTTP.

use std::{error::Error, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, value_parser};
use cycod_engine::Stop;
use cycod_mcp_server::{HttpAccess, HttpError, HttpLimits, HttpOptions, IssuerKeys, OAuth, ServerOptions, serve_http};
use cycod_store::bearer_token;

use crate::{cli::Context, command_error::CommandError};

/// The options of a server over HTTP, all of which need `--http`.
#[derive(Args)]
#[group(skip)]
pub(crate) struct OverHttp {
    /// Require the token in this file; cycod creates the file on first use
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with_all = ["no_auth", "oauth_issuer"])]
    token_file: Option<PathBuf>,
    /// Let every program on this machine connect without a token
    #[arg(long, requires = "http", conflicts_with = "oauth_issuer")]
    no_auth: bool,
    /// Accept this host name from clients
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,
    /// Let web pages of this origin use the server
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// Require access tokens of this authorization server
    #[arg(long, value_name = "URL", requires = "http", requires = "oauth_audience")]
    oauth_issuer: Option<String>,
    /// The address of this server that access tokens are issued for
    #[arg(long, value_name = "URL", requires = "http", requires = "oauth_issuer")]
    oauth_audience: Option<String>,
    /// The keys of the authorization server, if its metadata doesn't name them
    #[arg(long, value_name = "FILE|URL", requires = "http", requires = "oauth_issuer")]
    oauth_jwks: Option<String>,
    /// Require this scope in access tokens
    #[arg(long, value_name = "SCOPE", requires = "http", requires = "oauth_issuer")]
    oauth_scope: Vec<String>,
    /// The largest accepted request, in bytes
    #[arg(long, value_name = "BYTES", requires = "http", value_parser = value_parser!(u32).range(1..))]
    max_body: Option<u32>,
    /// How many sessions to keep
    #[arg(long, value_name = "N", requires = "http", value_parser = value_parser!(u32).range(1..))]
    max_sessions: Option<u32>,
    /// How many requests to answer at once
    #[arg(long, value_name = "N", requires = "http", value_parser = value_parser!(u32).range(1..))]
    max_requests: Option<u32>,
    /// End a session after this much time without use
    #[arg(long, value_name = "SECONDS", requires = "http", value_parser = value_parser!(u32).range(1..))]
    session_idle: Option<u32>,
}

/// Serves at an address until somebody interrupts.
pub(crate) fn serve(
    context: &mut Context,
    over_http: &OverHttp,
    address: SocketAddr,
    options: ServerOptions,
    stop: &Stop,
) -> Result<(), CommandError> {
    let http = HttpOptions {
        address,
        access: access(context, over_http)?,
        hosts: over_http.allow_host.clone(),
        origins: over_http.allow_origin.clone(),
        limits: limits(over_http),
    };
    let printer = &mut context.printer;
    if !address.ip().to_canonical().is_loopback() && !matches!(http.access, HttpAccess::Anyone) {
        printer.warn("tokens and data cross the network unencrypted; put a server with TLS in front");
    }
    let mut listening = |address| printer.say(&format!("listening on http://{address}/mcp"));
    serve_http(options, &http, stop, &mut listening).map_err(|error| explained(&error))
}

fn access(context: &mut Context, over_http: &OverHttp) -> Result<HttpAccess, CommandError> {
    if over_http.no_auth {
        return Ok(HttpAccess::Anyone);
    }
    if let Some(issuer) = &over_http.oauth_issuer {
        return Ok(HttpAccess::OAuth(OAuth {
            issuer: issuer.clone(),
            audience: over_http.oauth_audience.clone().unwrap_or_default(),
            keys: match &over_http.oauth_jwks {
                None => IssuerKeys::Issuer,
                Some(url) if url.contains("://") => IssuerKeys::Url(url.clone()),
                Some(file) => IssuerKeys::File(file.into()),
            },
            scopes: over_http.oauth_scope.clone(),
        }));
    }
    let file = over_http.token_file.clone().unwrap_or_else(|| {
        let user = context.engine.catalog().scopes().user_directory();
        user.join("mcp/token")
    });
    let token = bearer_token(&file).map_err(|error| CommandError::failure(error.to_string()))?;
    context.printer.say(&format!("token file: {}", file.display()));
    Ok(HttpAccess::Token(token))
}

fn limits(over_http: &OverHttp) -> HttpLimits {
    let count = |number: Option<u32>| number.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let usual = HttpLimits::default();
    HttpLimits {
        body: count(over_http.max_body).unwrap_or(usual.body),
        sessions: count(over_http.max_sessions).unwrap_or(usual.sessions),
        requests: count(over_http.max_requests).unwrap_or(usual.requests),
        idle: over_http.session_idle.map_or(usual.idle, |seconds| Duration::from_secs(seconds.into())),
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
