//! One access token for a resource that is no MCP server, such as the hub of a team. It is used once and stored nowhere.

use std::sync::Arc;

use cycod_diagnostic::{Code, Refusal};
use reqwest::Url;
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource, AuthorizationRequest,
};

use crate::{
    browser::{Browse, log_in},
    failure, http,
};

/// What wants an access token.
#[derive(Clone, Debug)]
pub struct LoginResource {
    /// The address at which the user reaches it. Its metadata must be about this address: a token for another place, which could
    /// be used there, is not asked for.
    pub address: String,
    /// The address that it says it has.
    pub audience: String,
    /// The authorization server that it says it has.
    pub issuer: String,
    /// The ID of our client there.
    pub client: String,
}

/// Lets a person log in, and returns the access token. `browse` shows where.
///
/// # Errors
/// Why that failed, or that it isn't safe.
pub fn access_token(resource: &LoginResource, browse: Arc<Browse>) -> Result<String, Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(resource, &failure::chain(&error)))?;
    let token = runtime.block_on(get(resource, browse));
    // A question may still wait for its answer.
    runtime.shutdown_background();
    token
}

async fn get(resource: &LoginResource, browse: Arc<Browse>) -> Result<String, Refusal> {
    let LoginResource { address, audience, issuer, client } = resource;
    let failed = |why: String| failed(resource, &why);
    let broken = |error: &(dyn std::error::Error + 'static)| failed(failure::chain(error));
    for url in [address, issuer] {
        is_private(url).map_err(failed)?;
    }
    http::cryptography();
    // A team's authorization server is often in its own network.
    let manager = AuthorizationManager::new_allowing_private_addresses(address.as_str()).await;
    let mut manager = manager.map_err(|error| broken(&error))?;
    let found = manager.resolve_metadata().await.map_err(|error| broken(&error))?;
    if found.source != AuthorizationMetadataSource::ProtectedResourceMetadata {
        return Err(failed(format!("its logins are for `{audience}`: join at that address")));
    }
    let (metadata, scope) = checked(found.metadata, issuer).map_err(failed)?;
    manager.set_metadata(metadata);
    let request =
        |redirect| AuthorizationRequest::new(redirect).with_preregistered_client(client.as_str()).with_scopes(scope);
    let tokens = log_in(manager, request, browse, failed).await?;
    let tokens = serde_json::to_value(&tokens).map_err(|error| broken(&error))?;
    let token = tokens["access_token"].as_str().map(str::to_owned);
    token.ok_or_else(|| failed("the authorization server gave no access token".to_owned()))
}

/// The metadata of this issuer, with addresses that no one on the way can read, and the scopes to ask for. Who you are is all
/// that is asked for, so that the others are left out; some servers of OpenID Connect answer no request without theirs.
fn checked(
    mut metadata: AuthorizationMetadata,
    issuer: &str,
) -> Result<(AuthorizationMetadata, Option<String>), String> {
    let named = metadata.issuer.as_deref().unwrap_or_default();
    if named.trim_end_matches('/') != issuer.trim_end_matches('/') {
        return Err(format!("its metadata leads to the issuer `{named}`, not to `{issuer}`"));
    }
    is_private(&metadata.authorization_endpoint)?;
    is_private(&metadata.token_endpoint)?;
    let scope = metadata.scopes_supported.take().and_then(|scopes| scopes.into_iter().find(|scope| scope == "openid"));
    Ok((metadata, scope))
}

/// Whether no one on the way can read what is sent to an address.
fn is_private(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|error| format!("`{text}` is no address: {error}"))?;
    let is_here = match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_matches(['[', ']']);
            host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_here => Ok(()),
        _ => Err(format!("`{text}` isn't encrypted: a login needs https, or http on this machine")),
    }
}

fn failed(resource: &LoginResource, why: &str) -> Refusal {
    Refusal::new(Code::LoginNeeded, format!("cannot log in to `{}`: {why}", resource.address)).place(&resource.address)
}

#[cfg(test)]
mod tests {
    use super::{AuthorizationMetadata, checked, is_private};

    #[test]
    fn a_login_goes_to_its_issuer_alone_and_unread() {
        for url in ["https://login.example", "http://127.0.0.1:80/x", "http://[::1]:9", "http://localhost:3"] {
            assert_eq!(is_private(url), Ok(()), "{url}");
        }
        for url in ["http://login.example", "http://127.0.0.1.evil.example", "http://10.0.0.1", "ftp://localhost", "x"]
        {
            assert!(is_private(url).is_err(), "{url}");
        }
        let metadata = |issuer: &str, authorization: &str, token: &str| {
            let mut metadata = AuthorizationMetadata::default();
            metadata.issuer = Some(issuer.to_owned());
            metadata.authorization_endpoint = authorization.to_owned();
            metadata.token_endpoint = token.to_owned();
            metadata.scopes_supported = Some(vec!["admin".to_owned(), "openid".to_owned()]);
            checked(metadata, "https://login.example")
        };
        let good = metadata("https://login.example/", "https://login.example/a", "https://login.example/t");
        let (good, scope) = good.expect("it is good");
        assert_eq!((good.scopes_supported, scope.as_deref()), (None, Some("openid")));
        let other = metadata("https://evil.example", "https://login.example/a", "https://login.example/t");
        assert!(other.expect_err("another").contains("not to `https://login.example`"));
        for (authorization, token) in
            [("http://login.example/a", "https://t.example"), ("https://a.example", "http://t.example")]
        {
            let unsafe_one = metadata("https://login.example", authorization, token);
            assert!(unsafe_one.expect_err("not encrypted").contains("isn't encrypted"));
        }
    }
}
