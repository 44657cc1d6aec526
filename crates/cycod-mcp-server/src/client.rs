//! Who sent a request, and until when.

use cycod_engine::{
    approvals::LOCAL,
    settings::{ProfileChoice, TokenSubject},
};
use cycod_http::{Principal, TokenHolder};
use cycod_mcp_client::Account;
use rmcp::{RoleServer, model::Extensions, service::RequestContext};
use tokio_util::sync::CancellationToken;

/// The principal of a client that came over standard input.
pub(crate) const STDIO: &str = "stdio";

/// Who waits for the answer to a request.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) principal: Principal,
    /// Fires when nobody waits for the answer any more: the connection was cut, the session was closed or expired.
    pub(crate) gone: CancellationToken,
}

impl Client {
    /// The client of a request. One without HTTP came over standard input, whose end ends the server itself.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let parts = extensions.get::<hyper::http::request::Parts>();
        let client = parts.and_then(|parts| parts.extensions.get::<Self>()).cloned();
        client.unwrap_or_else(|| Self { principal: Principal::unknown(STDIO), gone: CancellationToken::new() })
    }
}

/// To whom something is offered.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    /// The name that the client announces.
    pub(crate) client: Option<String>,
    /// Whose token came with the request.
    token: Option<TokenHolder>,
    /// For whom other servers are reached.
    pub(crate) account: Account,
}

impl Guest {
    /// Who sent a request, as a client of this name.
    pub(crate) fn of(client: Option<String>, extensions: &Extensions) -> Self {
        let principal = Client::of(extensions).principal;
        let account = Account::of_principal(owner(&principal.name));
        Self { client, account, token: principal.token }
    }

    /// What chooses its profiles, where the server was started with the profile `named`.
    pub(crate) fn choice<'a>(&'a self, named: Option<&'a str>) -> ProfileChoice<'a> {
        let token = match &self.token {
            None => TokenSubject::NoToken,
            Some(TokenHolder { subject: None, .. }) => TokenSubject::Unnamed,
            Some(TokenHolder { subject: Some(subject), .. }) => TokenSubject::Named(subject),
        };
        ProfileChoice { named, client: self.client.as_deref(), token }
    }
}

/// Who calls.
pub(crate) fn principal(context: &RequestContext<RoleServer>) -> String {
    Client::of(&context.extensions).principal.name
}

/// Whose the outputs are that a principal may read. A client on standard input is the user of this machine.
pub(crate) fn owner(principal: &str) -> &str {
    if principal == STDIO { LOCAL } else { principal }
}
