//! The part of a resource server in OAuth 2.1: who gives tokens for us (RFC 9728), and whether a token is one of them
//! (RFC 9068, RFC 8707).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hyper::Uri;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::json;

use super::keys::{Algorithm, KeySource, Keys};
use crate::{client::Principal, http::options::HttpError};

/// How far clocks may differ, in seconds.
const LEEWAY: f64 = 30.0;

/// The longest token that is looked at.
const LONGEST: usize = 16 * 1024;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Whose access tokens are taken, and which.
#[derive(Clone, Debug)]
pub struct OAuth {
    /// The authorization server, as its tokens name it.
    pub issuer: String,
    /// This server, as the tokens name it: its address from outside, with `/mcp`.
    pub audience: String,
    /// Where the keys of the authorization server are.
    pub keys: KeySource,
    /// What a token has to allow, all of it.
    pub scopes: Vec<String>,
}

/// Why a token does not do.
pub(super) enum Denied {
    Invalid(String),
    Scope,
    /// It cannot be told: there are no keys.
    Unknown,
}

pub(super) struct Verifier {
    oauth: OAuth,
    keys: Keys,
    resource: Uri,
    parameters: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Words,
    exp: f64,
    nbf: Option<f64>,
    sub: Option<String>,
    client_id: Option<String>,
    scope: Option<Words>,
    scp: Option<Words>,
}

/// One text or several; servers differ.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl Words {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

impl Verifier {
    pub(super) fn new(oauth: OAuth) -> Result<Self, HttpError> {
        let wrong = |name: &String, expected| HttpError::Name { name: name.clone(), expected };
        let absolute = |text: &String| {
            let uri = Uri::try_from(text.as_str()).ok();
            // It goes into a header between quotes.
            uri.filter(|uri| uri.scheme().is_some() && uri.authority().is_some() && !text.contains(['"', '\\']))
        };
        let address = "an address with http:// or https://";
        let resource = absolute(&oauth.audience).ok_or_else(|| wrong(&oauth.audience, address))?;
        absolute(&oauth.issuer).ok_or_else(|| wrong(&oauth.issuer, address))?;
        let is_word = |scope: &&String| scope.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
        if let Some(scope) = oauth.scopes.iter().find(|scope| scope.is_empty() || !is_word(scope)) {
            return Err(wrong(scope, "one word"));
        }
        let origin = oauth.audience.strip_suffix(resource.path()).unwrap_or(&oauth.audience);
        let path = resource.path().trim_end_matches('/');
        let mut parameters = format!(", resource_metadata=\"{origin}{WELL_KNOWN}{path}\"");
        if !oauth.scopes.is_empty() {
            parameters.push_str(&format!(", scope=\"{}\"", oauth.scopes.join(" ")));
        }
        Ok(Self { keys: Keys::open(oauth.keys.clone())?, resource, parameters, oauth })
    }

    pub(super) fn host(&self) -> Option<String> {
        self.resource.authority().map(ToString::to_string)
    }

    /// What is added to every challenge.
    pub(super) fn parameters(&self) -> &str {
        &self.parameters
    }

    pub(super) fn metadata(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(WELL_KNOWN)?;
        if !rest.is_empty() && rest != self.resource.path() && rest != "/mcp" {
            return None;
        }
        let mut metadata = json!({
            "resource": self.oauth.audience,
            "authorization_servers": [self.oauth.issuer],
            "bearer_methods_supported": ["header"],
        });
        if !self.oauth.scopes.is_empty() {
            metadata["scopes_supported"] = json!(self.oauth.scopes);
        }
        Some(metadata.to_string())
    }

    /// Checks a token; returns for whom it was made.
    pub(super) async fn verify(&self, token: &str) -> Result<Principal, Denied> {
        let invalid = |why: &str| Denied::Invalid(format!("the access token {why}"));
        let unreadable = || invalid("is not a signed token");
        if token.len() > LONGEST {
            return Err(unreadable());
        }
        let (signed, signature) = token.rsplit_once('.').ok_or_else(unreadable)?;
        let (header, claims) = signed.split_once('.').ok_or_else(unreadable)?;
        let header: Header = part(header).ok_or_else(unreadable)?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| unreadable())?;
        let is_access_token = header.typ.as_deref().is_none_or(|typ| {
            let typ = typ.to_ascii_lowercase();
            matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
        });
        if !is_access_token || header.crit.is_some() {
            return Err(unreadable());
        }
        let algorithm = Algorithm::named(&header.alg).ok_or_else(|| invalid("is signed in a way that is not taken"))?;
        let keys = self.keys.find(header.kid.as_deref()).await.ok_or(Denied::Unknown)?;
        let mut fitting = keys.iter().filter(|key| header.kid.is_none() || key.id == header.kid);
        if !fitting.any(|key| key.verifies(algorithm, signed.as_bytes(), &signature)) {
            return Err(invalid("is not signed with a key of its authorization server"));
        }
        // Nothing in it was believed until here.
        let claims: Claims = part(claims).ok_or_else(|| invalid("lacks what an access token has to say"))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64());
        if claims.iss != self.oauth.issuer {
            return Err(invalid("is from another authorization server"));
        }
        if !claims.aud.as_slice().contains(&self.oauth.audience) {
            return Err(invalid("is for another server"));
        }
        if claims.exp + LEEWAY <= now {
            return Err(invalid("has expired"));
        }
        if claims.nbf.is_some_and(|begin| begin - LEEWAY > now) {
            return Err(invalid("is not valid yet"));
        }
        let given: Vec<&str> = [&claims.scope, &claims.scp]
            .into_iter()
            .flatten()
            .flat_map(Words::as_slice)
            .flat_map(|words| words.split(' '))
            .collect();
        if !self.oauth.scopes.iter().all(|scope| given.contains(&scope.as_str())) {
            return Err(Denied::Scope);
        }
        let subject = claims.sub.or(claims.client_id).ok_or_else(|| invalid("does not say for whom it is"))?;
        Ok(Principal(format!("subject:{subject}")))
    }
}

/// Reads one of the first two parts of a token.
fn part<T: for<'de> Deserialize<'de>>(text: &str) -> Option<T> {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}
