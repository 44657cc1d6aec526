//! Who may come in, and as whom.

mod keys;
mod oauth;
mod signature;

use std::fmt;

use hyper::{
    HeaderMap, StatusCode,
    header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE},
};
use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq;

use self::oauth::{Denied, Verifier};
pub use self::{keys::IssuerKeys, oauth::OAuth};
use crate::{HttpError, Refused};

/// Who may come in.
#[derive(Clone)]
pub enum HttpAccess {
    /// Every program of this machine; only for a loopback address.
    Anyone,
    /// Every client that knows this token.
    Token(String),
    /// Whom an authorization server gave an access token for us.
    OAuth(OAuth),
}

impl fmt::Debug for HttpAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anyone => f.write_str("Anyone"),
            Self::Token(_) => f.write_str("Token(…)"),
            Self::OAuth(oauth) => f.debug_tuple("OAuth").field(oauth).finish(),
        }
    }
}

/// For whom a request is answered.
#[derive(Clone, Debug)]
pub struct Principal {
    /// What it is called: by the digest of a bearer token, or as `ISSUER#SUBJECT` by an access token.
    pub name: String,
    /// What its access token says, if it came with one.
    pub token: Option<TokenHolder>,
}

/// Whom an authorization server gave an access token.
#[derive(Clone, Debug)]
pub struct TokenHolder {
    /// The subject; some tokens name a client alone.
    pub subject: Option<String>,
    /// The SHA-256 of what is signed in the token. Some kinds of signatures can be changed into another valid one, so a token
    /// that counts once is remembered by this.
    pub digest: String,
    /// The last second in which the token is taken, since 1970.
    pub until: i64,
}

impl Principal {
    /// One that came without an access token.
    pub fn unknown(name: impl Into<String>) -> Self {
        Self { name: name.into(), token: None }
    }

    /// Whether it is the same one, perhaps with another token: clients renew theirs.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What decides on each request.
pub struct Gate(Kind);

enum Kind {
    Anyone,
    /// The hash of the token.
    Token([u8; 32]),
    OAuth(Box<Verifier>),
}

impl Gate {
    /// Prepares what is needed to decide.
    ///
    /// # Errors
    /// When a name or a key cannot be used.
    pub fn new(access: &HttpAccess) -> Result<Self, HttpError> {
        Ok(Self(match access {
            HttpAccess::Anyone => Kind::Anyone,
            HttpAccess::Token(token) => Kind::Token(hash(token)),
            HttpAccess::OAuth(oauth) => Kind::OAuth(Box::new(Verifier::new(oauth.clone())?)),
        }))
    }

    /// The name under which tokens are made for us.
    pub fn host(&self) -> Option<String> {
        self.verifier()?.host()
    }

    /// What a client without a token is told about who gives them, at its well-known path; `resource` is the path of ours
    /// that it is for.
    pub fn metadata(&self, path: &str, resource: &str) -> Option<String> {
        self.verifier()?.metadata(path, resource)
    }

    /// Says who sent a request, or refuses it.
    ///
    /// # Errors
    /// With how to come in (401, 403), or for now while the keys cannot be had (503).
    pub async fn admit(&self, headers: &HeaderMap) -> Result<Principal, Refused> {
        self.decide(bearer(headers)).await
    }

    /// Says for whom a token was made that came in another way than in a header, or refuses it.
    ///
    /// # Errors
    /// As for [`Gate::admit`].
    pub async fn verify(&self, token: &str) -> Result<Principal, Refused> {
        self.decide(Some(token)).await
    }

    async fn decide(&self, token: Option<&str>) -> Result<Principal, Refused> {
        match &self.0 {
            Kind::Anyone => Ok(Principal::unknown("anyone")),
            // Hashes are compared, in constant time: neither it nor the length tells about the token.
            Kind::Token(expected) => match token.map(hash).filter(|given| given.ct_eq(expected).into()) {
                Some(_) => Ok(Principal::unknown(format!("token:{}", hex(&expected[..16])))),
                None => Err(challenge(StatusCode::UNAUTHORIZED, "the server's token is needed", token, "")),
            },
            Kind::OAuth(verifier) => {
                let verified = match token {
                    Some(token) => verifier.verify(token).await,
                    None => Err(Denied::Invalid("an access token is needed".to_owned())),
                };
                let challenge = |status, why: &str| challenge(status, why, token, verifier.parameters());
                verified.map_err(|denied| match denied {
                    Denied::Invalid(why) => challenge(StatusCode::UNAUTHORIZED, &why),
                    Denied::Scope => challenge(StatusCode::FORBIDDEN, "the access token does not reach that far"),
                    Denied::Unknown => {
                        let why = "the keys of the authorization server cannot be had";
                        Refused::for_now(StatusCode::SERVICE_UNAVAILABLE, why)
                    }
                })
            }
        }
    }

    /// Gets the keys that access tokens are checked with, if they come from an address.
    ///
    /// # Errors
    /// When they can't be had.
    pub async fn find_keys(&self) -> Result<(), HttpError> {
        match self.verifier() {
            Some(verifier) => verifier.find_keys().await,
            None => Ok(()),
        }
    }

    fn verifier(&self) -> Option<&Verifier> {
        match &self.0 {
            Kind::OAuth(verifier) => Some(verifier),
            Kind::Anyone | Kind::Token(_) => None,
        }
    }
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// A refusal of a request with this token, or none, that tells how to come in.
fn challenge(status: StatusCode, why: &str, token: Option<&str>, parameters: &str) -> Refused {
    let error = match (status, token) {
        (StatusCode::FORBIDDEN, _) => ", error=\"insufficient_scope\"",
        (_, Some(_)) => ", error=\"invalid_token\"",
        (_, None) => "",
    };
    let value = HeaderValue::try_from(format!("Bearer realm=\"cycod\"{error}{parameters}"));
    let value = value.unwrap_or(HeaderValue::from_static("Bearer"));
    Refused::new(status, why).with_header(WWW_AUTHENTICATE, value)
}

fn hash(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
