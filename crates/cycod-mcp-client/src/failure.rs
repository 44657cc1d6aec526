//! Refusals of calls that reach another program and get no result.

use std::error::Error;

use cycod_diagnostic::{Code, Refusal};
use cycod_settings::{Server, Transport};
use rmcp::{
    ServiceError,
    model::ErrorData,
    service::ClientInitializeError,
    transport::auth::{AuthError, WWWAuthenticateParams},
    transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError, StreamableHttpError},
};

use crate::{lines::BROKEN_ANSWER, text::line};

/// The server answered, but not with a result.
pub(crate) fn failed(server: &str, why: impl Into<String>) -> Refusal {
    Refusal::new(Code::RemoteFailed, why).place(server)
}

/// Whether a refusal says so.
pub(crate) fn is_failed(refusal: &Refusal) -> bool {
    refusal.code == Code::RemoteFailed
}

/// The server cannot be reached.
pub(crate) fn unreachable(server: &str, why: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::RemoteUnreachable, format!("the server `{server}` cannot be reached: {why}"))
        .place(server)
        .attempt(format!("cycod mcp test {server}"))
}

/// The server got a call and was gone before it answered: what it did of it cannot be told.
pub(crate) fn outcome_unknown(server: &str, tool: &str) -> Refusal {
    let why = format!(
        "the server `{server}` ended or closed the connection during the call of `{tool}`: whether it was carried out is \
         unknown"
    );
    Refusal::new(Code::OutcomeUnknown, why).place(server).attempt("check what it did before you call it again")
}

/// The server answered, and not as the protocol says.
pub(crate) fn broken(server: &str, why: impl std::fmt::Display) -> Refusal {
    failed(server, format!("the server `{server}` broke the protocol: {why}"))
        .attempt(format!("cycod mcp test {server}"))
}

/// The server wants to know who we are.
pub(crate) fn login(server: &str) -> Refusal {
    Refusal::new(Code::LoginNeeded, format!("the server `{server}` wants a login"))
        .place(server)
        .attempt(format!("cycod mcp login {server}"))
}

/// The server wants more than what the login grants.
fn login_for(server: &str, scope: &str) -> Refusal {
    let why = format!("the server `{server}` wants the scope `{}`, which your login doesn't have", line(scope));
    Refusal::new(Code::LoginNeeded, why).place(server).attempt(format!("cycod mcp login {server}"))
}

/// The scope that a challenge says is missing.
pub(crate) fn missing_scope(challenge: &str) -> Option<String> {
    // Nothing but the address of metadata depends on it.
    let base = reqwest::Url::parse("http://localhost/").ok()?;
    let challenge = WWWAuthenticateParams::parse(challenge, &base);
    challenge.is_insufficient_scope().then_some(challenge.scope).flatten().filter(|scope| !scope.trim().is_empty())
}

/// A login does not help where the entry itself says who we are, and is not believed.
pub(crate) fn of_header(server: &Server, refusal: Refusal) -> Refusal {
    let says = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    match &server.entry.transport {
        Transport::Http { headers, .. } if refusal.code == Code::LoginNeeded && headers.iter().any(says) => {
            let why = format!("the server `{}` does not take the `Authorization` that its entry sends", server.name);
            Refusal::new(refusal.code, why).place(&server.name).attempt(format!("cycod mcp get {}", server.name))
        }
        _ => refusal,
    }
}

/// Whether a server ended or closed the connection when it was first spoken to.
pub(crate) fn is_closed(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ConnectionClosed(_) => true,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_closed(fallback),
        ClientInitializeError::TransportError { error, .. } => {
            let broken = |cause: &(dyn Error + 'static)| {
                cause.downcast_ref::<std::io::Error>().is_some_and(|error| {
                    matches!(error.kind(), std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::NotConnected)
                })
            };
            causes(&*error.error).any(broken)
        }
        _ => false,
    }
}

/// Why a connection did not come about.
pub(crate) fn of_start(server: &str, error: &ClientInitializeError) -> Refusal {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return login(server);
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => answered(server, error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => of_start(server, fallback),
        ClientInitializeError::ConnectionClosed(_) => unreachable(server, "it closed the connection at once"),
        ClientInitializeError::TransportError { error, .. } => unreachable(server, chain(&*error.error)),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<&str> = server_supported.iter().map(rmcp::model::ProtocolVersion::as_str).collect();
            broken(server, format!("it knows no version of it that we know: {}", line(&theirs.join(", "))))
        }
        other => broken(server, line(&other.to_string())),
    }
}

/// Whether an error of a request that was sent means that the connection broke off before the answer.
pub(crate) fn breaks_off(error: &ServiceError) -> bool {
    match error {
        ServiceError::TransportClosed => true,
        // What was never sent was not carried out, and an answer with a status is one.
        ServiceError::TransportSend(error) => causes(&*error.error).any(|cause| {
            cause.downcast_ref::<reqwest::Error>().is_some_and(|error| {
                !error.is_connect()
                    && !error.is_builder()
                    && !error.is_status()
                    && (error.is_request() || error.is_body())
            })
        }),
        _ => false,
    }
}

/// Why a request has no result.
pub(crate) fn of_service(server: &str, error: &ServiceError) -> Refusal {
    match error {
        ServiceError::McpError(error) => answered(server, error),
        ServiceError::TransportSend(error) => {
            if needs_login(&*error.error) {
                let missing = challenge_of(&*error.error).and_then(|challenge| missing_scope(&challenge));
                return missing.map_or_else(|| login(server), |scope| login_for(server, &scope));
            }
            unreachable(server, chain(&*error.error))
        }
        ServiceError::TransportClosed => unreachable(server, "it ended, or closed the connection"),
        ServiceError::UnexpectedResponse => broken(server, "it answered something else than was asked"),
        other => broken(server, line(&other.to_string())),
    }
}

/// The server answered with an error of the protocol.
fn answered(server: &str, error: &ErrorData) -> Refusal {
    if error.code == BROKEN_ANSWER {
        return broken(server, &error.message);
    }
    let why = format!("the server `{server}` refused: {} ({})", line(&error.message), error.code.0);
    failed(server, why)
}

/// A call that was ended before it had a result.
pub(crate) fn ended(server: &str, tool: &str, code: Code, why: &str) -> Refusal {
    Refusal::new(code, format!("the call of `{tool}` at the server `{server}` {why}")).place(server)
}

/// What a server said when it refused us until we log in, if it did.
pub(crate) fn challenge(error: &ServiceError) -> Option<String> {
    let ServiceError::TransportSend(error) = error else { return None };
    challenge_of(&*error.error)
}

fn challenge_of(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).find_map(|cause| {
        let required = cause.downcast_ref::<AuthRequiredError>().map(|error| &error.www_authenticate_header);
        let scope = || cause.downcast_ref::<InsufficientScopeError>().map(|error| &error.www_authenticate_header);
        required.or_else(scope).cloned()
    })
}

fn needs_login(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| {
        let of_login = cause.downcast_ref::<AuthError>();
        cause.is::<AuthRequiredError>()
            || cause.is::<InsufficientScopeError>()
            || matches!(of_login, Some(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)))
    })
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    // The transport has its cause in its text alone, and so would hide what that was caused by.
    let first = match error.downcast_ref() {
        Some(StreamableHttpError::<reqwest::Error>::Client(client)) => client,
        _ => error,
    };
    std::iter::successors(Some(first), |&error| error.source())
}

/// An error with its causes, each once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let text = causes(error)
        .map(ToString::to_string)
        .reduce(|text, cause| if text.contains(&cause) { text } else { format!("{text}: {cause}") });
    line(&text.unwrap_or_default())
}
