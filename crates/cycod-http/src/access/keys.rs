//! The public keys of an authorization server, as a set in JSON (RFC 7517).

use std::{
    fs::File,
    io::Read,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use cycod_thread::blocking;
use jsonwebtoken::{
    Algorithm, DecodingKey, Validation,
    jwk::{AlgorithmParameters, CommonParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value as Json;
use tokio::sync::Mutex;

use super::signature;
use crate::{HttpError, Rate};

/// How long keys are believed; a key that was withdrawn is gone after that.
const FRESH: Duration = Duration::from_secs(600);

/// How often keys are asked for again because of a token that names one which is not among them.
const PAUSE: Duration = Duration::from_secs(30);

/// How many times that may happen in a row.
const BURST: u32 = 3;

/// How long the authorization server may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most bytes that a set of keys may have.
const LARGEST: usize = 256 * 1024;

/// Where the keys of an authorization server are.
#[derive(Clone, Debug)]
pub enum IssuerKeys {
    /// In a file.
    File(PathBuf),
    /// At an address; without encryption only on this machine.
    Url(String),
    /// At the address that the authorization server's own metadata names (RFC 8414, or OpenID Connect Discovery).
    Issuer,
}

/// One public key.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) id: Option<String>,
    /// How it signs. It is the key that says so, never the token.
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Key {
    /// Reads a key; nothing if it is of a kind that is not taken.
    fn read(json: &Json) -> Option<Self> {
        let written = Jwk::deserialize(json).ok()?;
        let algorithm = match &written.algorithm {
            AlgorithmParameters::RSA(_) => Algorithm::RS256,
            AlgorithmParameters::EllipticCurve(point) if point.curve == EllipticCurve::P256 => Algorithm::ES256,
            AlgorithmParameters::OctetKeyPair(point) if point.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
            _ => return None,
        };
        let CommonParameters { public_key_use, key_algorithm, key_id, .. } = &written.common;
        let is_for_signing = public_key_use.as_ref().is_none_or(|purpose| *purpose == PublicKeyUse::Signature);
        let is_for_this = key_algorithm.is_none_or(|named| named == KeyAlgorithm::from(algorithm));
        let key = DecodingKey::from_jwk(&written).ok()?;
        (is_for_signing && is_for_this).then_some(Self { id: key_id.clone(), algorithm, key })
    }

    /// Reads a token that this key signed, and that says what is expected.
    pub(super) fn decode<T: DeserializeOwned>(
        &self,
        token: &str,
        expected: &Validation,
    ) -> jsonwebtoken::errors::Result<T> {
        let mut expected = expected.clone();
        expected.algorithms = vec![self.algorithm];
        jsonwebtoken::decode(token, &self.key, &expected).map(|decoded| decoded.claims)
    }
}

/// The keys as last heard of.
pub(super) struct Keys {
    source: IssuerKeys,
    issuer: String,
    known: RwLock<Known>,
    /// Held by who asks for them.
    asking: Mutex<Rate>,
}

#[derive(Clone, Debug)]
struct Known {
    keys: Arc<[Key]>,
    heard: Option<Instant>,
}

impl Known {
    fn has(&self, id: Option<&str>) -> bool {
        self.heard.is_some_and(|heard| heard.elapsed() < FRESH)
            && (id.is_none() || self.keys.iter().any(|key| key.id.as_deref() == id))
    }
}

impl Keys {
    /// Takes the keys from their file at once, and from an address when the first token comes.
    pub(super) fn open(source: IssuerKeys, issuer: &str) -> Result<Self, HttpError> {
        signature::install();
        let mut known = Known { keys: Arc::new([]), heard: None };
        match &source {
            IssuerKeys::File(path) => {
                let keys = read_file(path).map_err(|why| HttpError::Keys { path: path.clone(), why })?;
                known = Known { keys, heard: Some(Instant::now()) };
            }
            IssuerKeys::Url(url) => check_url(url)?,
            IssuerKeys::Issuer => check_url(issuer)?,
        }
        Ok(Self {
            source,
            issuer: issuer.to_owned(),
            known: RwLock::new(known),
            asking: Mutex::new(Rate::new(BURST, PAUSE)),
        })
    }

    /// The keys, asked for again if the one with this identifier is not among them; nothing if there are none to be
    /// had.
    pub(super) async fn find(&self, id: Option<&str>) -> Option<Arc<[Key]>> {
        let known = self.known();
        if known.has(id) {
            return Some(known.keys);
        }
        let mut rate = self.asking.lock().await;
        // Somebody else may have asked meanwhile.
        if !self.known().has(id) && rate.take() {
            // Keys that were good are, while their server is away.
            _ = self.refresh().await;
        }
        let known = self.known();
        known.heard.map(|_| known.keys)
    }

    fn known(&self) -> Known {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks for the keys now.
    pub(super) async fn refresh(&self) -> Result<(), String> {
        let known = Known { keys: self.ask().await?, heard: Some(Instant::now()) };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    async fn ask(&self) -> Result<Arc<[Key]>, String> {
        match &self.source {
            IssuerKeys::File(path) => {
                let path = path.clone();
                blocking(move || read_file(&path)).await.map_err(|error| error.to_string())?
            }
            IssuerKeys::Url(url) => in_time(fetch_keys(url)).await,
            IssuerKeys::Issuer => in_time(async { fetch_keys(&keys_address(&self.issuer).await?).await }).await,
        }
    }
}

/// An address whose answers nobody on the way can exchange.
fn check_url(url: &str) -> Result<(), HttpError> {
    let parsed = reqwest::Url::parse(url).ok();
    let is_local = |host: &str| {
        let bare = host.trim_matches(['[', ']']);
        host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    let is_safe = parsed.is_some_and(|url| match url.scheme() {
        "https" => true,
        "http" => url.host_str().is_some_and(is_local),
        _ => false,
    });
    let expected = "a file, or an address with https:// (http:// only on this machine)";
    if is_safe { Ok(()) } else { Err(HttpError::Name { name: url.to_owned(), expected }) }
}

async fn in_time<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    tokio::time::timeout(PATIENCE, work).await.map_err(|_| "no answer in time".to_owned())?
}

async fn fetch_keys(url: &str) -> Result<Arc<[Key]>, String> {
    parse(&fetch(url).await.map_err(|error| error.to_string())?)
}

/// Where the keys of an authorization server are, by its metadata.
async fn keys_address(issuer: &str) -> Result<String, String> {
    let url = reqwest::Url::parse(issuer).map_err(|error| error.to_string())?;
    let path = url.path().trim_end_matches('/').to_owned();
    let places =
        [format!("/.well-known/oauth-authorization-server{path}"), format!("{path}/.well-known/openid-configuration")];
    let mut why = String::new();
    for place in places {
        let mut url = url.clone();
        url.set_path(&place);
        match fetch(url.as_str()).await {
            Ok(text) => return named_keys(&text, issuer),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// The address of the keys in the metadata of this issuer, and of no other.
fn named_keys(text: &[u8], issuer: &str) -> Result<String, String> {
    let metadata: Json = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if metadata["issuer"] != issuer {
        return Err("the metadata is that of another issuer".to_owned());
    }
    let url = metadata["jwks_uri"].as_str().ok_or("the metadata names no keys")?;
    check_url(url).map_err(|error| error.to_string())?;
    Ok(url.to_owned())
}

/// Gets a small text. A redirect could lead anywhere, so none is followed.
async fn fetch(url: &str) -> Result<Vec<u8>, reqwest::Error> {
    // The client part of this program may have chosen already, and chose the same.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    let mut response = client.get(url).send().await?.error_for_status()?;
    let mut text = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        text.extend_from_slice(&chunk);
        if text.len() > LARGEST {
            break;
        }
    }
    Ok(text)
}

fn read_file(path: &PathBuf) -> Result<Arc<[Key]>, String> {
    let limit = u64::try_from(LARGEST).unwrap_or(u64::MAX) + 1;
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut text));
    read.map_err(|error| error.to_string())?;
    parse(&text)
}

/// Reads a set of keys; those of kinds that are not taken are left out.
fn parse(text: &[u8]) -> Result<Arc<[Key]>, String> {
    if text.len() > LARGEST {
        return Err(format!("more than {LARGEST} bytes"));
    }
    let set: Json = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let list = set.get("keys").and_then(Json::as_array).ok_or("there is no list `keys`")?;
    let keys: Arc<[Key]> = list.iter().filter_map(Key::read).collect();
    if keys.is_empty() { Err("no key for RS256, ES256 or EdDSA is in it".to_owned()) } else { Ok(keys) }
}

#[cfg(test)]
mod tests {
    use super::named_keys;

    #[test]
    fn metadata_names_the_keys_of_its_own_issuer() {
        let named = |issuer: &str, keys: &str| {
            let metadata = serde_json::json!({"issuer": issuer, "jwks_uri": keys}).to_string();
            named_keys(metadata.as_bytes(), "https://login.example")
        };
        let keys = "https://keys.example/all";
        assert_eq!(named("https://login.example", keys), Ok(keys.to_owned()));
        for issuer in ["https://evil.example", "https://login.example/", "http://login.example", ""] {
            assert_eq!(named(issuer, keys), Err("the metadata is that of another issuer".to_owned()), "{issuer}");
        }
        for keys in ["http://keys.example/all", "file:///etc/keys", ""] {
            assert!(named("https://login.example", keys).is_err(), "{keys}");
        }
        assert!(named_keys(b"{}", "https://login.example").is_err());
        assert!(named_keys(b"", "https://login.example").is_err());
    }
}
