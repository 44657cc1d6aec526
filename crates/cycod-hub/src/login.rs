//! Logins of members at an authorization server, which say to whom a new device belongs. They say nothing else: what the team
//! releases is in the root and in signatures.

use std::{fmt, str::FromStr};

use cycod_http::{Gate, HttpAccess, HttpError, IssuerKeys, OAuth};
use hyper::StatusCode;
use serde_json::{Value as Json, json};

use crate::{HubError, HubRefusal};

/// The most bytes of a subject with its issuer.
const LONGEST: usize = 1024;

/// A user of an authorization server, as `ISSUER#SUBJECT`: no other issuer can name the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSubject(String);

impl HubSubject {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HubSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HubSubject {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let parts = text.split_once('#').filter(|_| text.len() <= LONGEST && !text.contains(char::is_control));
        let is_one = parts.is_some_and(|(issuer, subject)| {
            let host = issuer.strip_prefix("https://").or_else(|| issuer.strip_prefix("http://"));
            host.is_some_and(|host| !host.is_empty()) && !subject.is_empty()
        });
        match is_one {
            true => Ok(Self(text.to_owned())),
            false => Err(HubError::invalid("a subject is written as ISSUER#SUBJECT: https://login.example.com#248289")),
        }
    }
}

/// What an access token proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProvenLogin {
    /// Who logged in.
    pub(crate) subject: HubSubject,
    /// What no other token has.
    pub(crate) digest: String,
    /// The last second in which the token is taken.
    pub(crate) until: i64,
}

/// The authorization server at which members log in.
pub struct HubLogin {
    gate: Gate,
    issuer: String,
    audience: String,
    client: String,
}

impl fmt::Debug for HubLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HubLogin").field(&self.issuer).finish()
    }
}

impl HubLogin {
    /// Takes access tokens of this issuer for this audience, the address of the hub. `client` is what `cycod` is registered as.
    ///
    /// # Errors
    /// When an address is none, or the issuer's has no encryption.
    pub fn new(issuer: &str, audience: &str, client: &str) -> Result<Self, HttpError> {
        let [issuer, audience, client] = [issuer, audience, client].map(str::to_owned);
        let oauth =
            OAuth { issuer: issuer.clone(), audience: audience.clone(), keys: IssuerKeys::Issuer, scopes: Vec::new() };
        Ok(Self { gate: Gate::new(&HttpAccess::OAuth(oauth))?, issuer, audience, client })
    }

    /// Gets the keys of the issuer, so that a wrong address is noticed before someone logs in.
    pub(crate) async fn check(&self) -> Result<(), HubError> {
        let failed = |error: HttpError| HubError::new(HubRefusal::Failed, format!("logins don't work yet: {error}"));
        self.gate.find_keys().await.map_err(failed)
    }

    /// What a client has to know to log in.
    pub(crate) fn about(&self) -> Json {
        json!({"issuer": self.issuer, "audience": self.audience, "client": self.client})
    }

    /// The metadata of the hub as a protected resource, at its well-known path.
    pub(crate) fn metadata(&self, path: &str) -> Option<String> {
        self.gate.metadata(path, "/v1")
    }

    /// Checks an access token.
    pub(crate) async fn prove(&self, token: &str) -> Result<ProvenLogin, HubError> {
        let admitted = self.gate.verify(token).await.map_err(|refused| {
            let is_away = refused.status == StatusCode::SERVICE_UNAVAILABLE;
            HubError::new(if is_away { HubRefusal::Busy } else { HubRefusal::Unknown }, refused.why)
        })?;
        let holder = admitted.token.filter(|holder| holder.subject.is_some());
        let holder = holder.ok_or_else(|| HubError::unknown("the access token names no user"))?;
        Ok(ProvenLogin { subject: admitted.name.parse()?, digest: holder.digest, until: holder.until })
    }
}
