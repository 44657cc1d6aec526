//! The part of a resource server in OAuth 2.1: who gives tokens for us (RFC 9728), and whether a token is one of them
//! (RFC 9068, RFC 8707).

use hyper::Uri;
use jsonwebtoken::{Validation, decode_header, errors::ErrorKind};
use serde::Deserialize;
use serde_json::{Number, json};

use super::{
    Principal, TokenHolder, hash, hex,
    keys::{IssuerKeys, Keys},
};
use crate::HttpError;

/// How far clocks may differ, in seconds.
const LEEWAY: u32 = 30;

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
    pub keys: IssuerKeys,
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
    /// Whose tokens are taken, and for whom; each key adds the way in which it signs.
    expected: Validation,
    resource: Uri,
    parameters: String,
}

/// What is asked of a token beyond its signature, its time, its issuer and its audience.
#[derive(Deserialize)]
struct Claims {
    exp: Number,
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
        absolute(&oauth.issuer)
            .filter(|_| !oauth.issuer.contains('#'))
            .ok_or_else(|| wrong(&oauth.issuer, "an address with http:// or https:// and without `#`"))?;
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
        let mut expected = Validation { leeway: LEEWAY.into(), validate_nbf: true, ..Validation::default() };
        expected.set_issuer(&[&oauth.issuer]);
        expected.set_audience(&[&oauth.audience]);
        expected.set_required_spec_claims(&["exp", "iss", "aud"]);
        Ok(Self { keys: Keys::open(oauth.keys.clone(), &oauth.issuer)?, expected, resource, parameters, oauth })
    }

    pub(super) async fn find_keys(&self) -> Result<(), HttpError> {
        let issuer = || self.oauth.issuer.clone().into();
        self.keys.refresh().await.map_err(|why| HttpError::Keys { path: issuer(), why })
    }

    pub(super) fn host(&self) -> Option<String> {
        self.resource.authority().map(ToString::to_string)
    }

    /// What is added to every challenge.
    pub(super) fn parameters(&self) -> &str {
        &self.parameters
    }

    pub(super) fn metadata(&self, path: &str, resource: &str) -> Option<String> {
        let rest = path.strip_prefix(WELL_KNOWN)?;
        if !rest.is_empty() && rest != self.resource.path() && rest != resource {
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
        let header = decode_header(token).map_err(|error| match error.kind() {
            ErrorKind::Json(_) => invalid("is signed in a way that is not taken"),
            _ => unreadable(),
        })?;
        let is_access_token = header.typ.as_deref().is_none_or(|typ| {
            let typ = typ.to_ascii_lowercase();
            matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
        });
        if !is_access_token || header.crit.is_some() {
            return Err(unreadable());
        }
        let keys = self.keys.find(header.kid.as_deref()).await.ok_or(Denied::Unknown)?;
        let mut fitting = keys.iter().filter(|key| header.kid.is_none() || key.id == header.kid);
        // A key that cannot have made the signature leaves the next one to try; any other answer is about the token.
        let unsigned = || invalid("is not signed with a key of its authorization server");
        let decoded = fitting.find_map(|key| match key.decode::<Claims>(token, &self.expected) {
            Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm) => None,
            decoded => Some(decoded),
        });
        let claims = decoded.ok_or_else(unsigned)?.map_err(|error| {
            invalid(match error.kind() {
                ErrorKind::InvalidIssuer => "is from another authorization server",
                ErrorKind::InvalidAudience => "is for another server",
                ErrorKind::ExpiredSignature => "has expired",
                ErrorKind::ImmatureSignature => "is not valid yet",
                ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) | ErrorKind::Json(_) => {
                    "lacks what an access token has to say"
                }
                _ => "is not a signed token",
            })
        })?;
        let given: Vec<&str> = [&claims.scope, &claims.scp]
            .into_iter()
            .flatten()
            .flat_map(Words::as_slice)
            .flat_map(|words| words.split(' '))
            .collect();
        if !self.oauth.scopes.iter().all(|scope| given.contains(&scope.as_str())) {
            return Err(Denied::Scope);
        }
        let subject = claims.sub.filter(|subject| !subject.is_empty());
        // A subject is unique at its issuer, whose address holds neither a space nor `#`. A client that is called as a subject
        // is not that subject.
        let issuer = &self.oauth.issuer;
        let name = match (&subject, claims.client_id) {
            (Some(subject), _) => format!("{issuer}#{subject}"),
            (None, Some(client)) => format!("{issuer} client {client}"),
            (None, None) => return Err(invalid("does not say for whom it is")),
        };
        let (signed, _) = token.rsplit_once('.').ok_or_else(unreadable)?;
        let until = whole_seconds(&claims.exp).saturating_add(LEEWAY.into());
        Ok(Principal { name, token: Some(TokenHolder { subject, digest: hex(&hash(signed)), until }) })
    }
}

/// A time of a token, which may have a fraction, in whole seconds and never too early.
fn whole_seconds(time: &Number) -> i64 {
    let rounded = || time.as_f64().and_then(|time| format!("{:.0}", time.ceil()).parse().ok());
    time.as_i64().or_else(rounded).unwrap_or(i64::MAX)
}
