//! A hub, as someone who joined through it sees it. Every request is signed by the key of this device.

use std::fmt;

use cycod_code::Code;
use cycod_team::{BlobDigest, LARGEST_FILE, SignedProposal, SignedText, TeamChannel};
use reqwest::{Method, Url};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{DeviceKey, ReviewDesk, SyncError, http::Web};

/// The most bytes of an answer.
const LARGEST: u64 = 64 << 20;

/// A hub.
pub struct TeamHub {
    web: Web,
    address: Url,
    device: DeviceKey,
}

impl fmt::Debug for TeamHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TeamHub").field(&self.address.as_str()).finish()
    }
}

/// How a device becomes one of a member's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnrolmentProof {
    /// A token that the hub's administrator gave out.
    Token(String),
    /// A challenge, with the signature of the member's SSH key over [`cycod_team::device_text`].
    Signature {
        /// The hub's challenge.
        challenge: String,
        /// The SSH signature.
        signature: String,
    },
    /// An access token of the hub's authorization server, from a login of the member.
    AccessToken(String),
}

/// The authorization server at which members of a hub log in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct HubIssuer {
    /// Its address, as its tokens name it.
    pub issuer: String,
    /// The address of the hub that its tokens are for.
    pub audience: String,
    /// The ID of the client that cycod is there.
    pub client: String,
}

/// What the hub made of the approved proposals.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct HubRelease {
    /// The number of the release.
    pub number: u64,
    /// The proposals that it takes in.
    pub applied: Vec<BlobDigest>,
    /// Approved proposals whose files have changed since.
    pub stale: Vec<BlobDigest>,
    /// The files that are left out.
    pub dropped: Vec<String>,
}

/// The address at which a hub answers, and the team, if there is a hub at this address.
///
/// # Errors
/// When the server can't be reached.
pub fn find_hub(url: &Url) -> Result<Option<(Url, String)>, SyncError> {
    #[derive(Deserialize)]
    struct About {
        format: u32,
        team: String,
    }
    let unreachable = |why: String| SyncError::new(Code::TeamUnreachable, format!("`{url}` can't be read: {why}"));
    let base = if url.path().ends_with("/v1/") { Ok(url.clone()) } else { url.join("v1/") };
    let base = base.map_err(|error| unreachable(error.to_string()))?;
    let web = Web::open(base.clone(), None).map_err(|error| unreachable(error.to_string()))?;
    let bytes = web.read("hub", 4096).map_err(|error| unreachable(error.to_string()))?;
    let about: Option<About> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok(about.filter(|about| about.format == 1).map(|about| (base, about.team)))
}

impl TeamHub {
    /// The hub at the address where it answers, for this device.
    ///
    /// # Errors
    /// When the system fails.
    pub fn open(address: Url, device: DeviceKey) -> Result<Self, SyncError> {
        let web = Web::open(address.clone(), Some(device.clone())).map_err(|error| unreachable(&address, &error))?;
        Ok(Self { web, address, device })
    }

    /// Asks for a challenge, which someone signs with an SSH key.
    ///
    /// # Errors
    /// When the hub refuses.
    pub fn challenge(&self) -> Result<String, SyncError> {
        let answer: Value = self.ask(Method::POST, "challenges", b"{}")?;
        Ok(answer["challenge"].as_str().unwrap_or_default().to_owned())
    }

    /// Asks at which authorization server members log in; nothing if they don't.
    ///
    /// # Errors
    /// When the hub can't be read.
    pub fn issuer(&self) -> Result<Option<HubIssuer>, SyncError> {
        #[derive(Deserialize)]
        struct About {
            login: Option<HubIssuer>,
        }
        let About { login } = self.ask(Method::GET, "hub", b"")?;
        Ok(login)
    }

    /// The address at which the hub answers.
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// Makes this device one of a member's; returns the name of the member.
    ///
    /// # Errors
    /// When the hub refuses.
    pub fn enrol(&self, proof: &EnrolmentProof) -> Result<String, SyncError> {
        let device = self.device.public();
        let body = match proof {
            EnrolmentProof::AccessToken(token) => json!({"device": device, "access_token": token}),
            EnrolmentProof::Token(token) => json!({"device": device, "token": token}),
            EnrolmentProof::Signature { challenge, signature } => {
                json!({"device": device, "challenge": challenge, "signature": signature})
            }
        };
        let answer: Value = self.ask(Method::POST, "devices", body.to_string().as_bytes())?;
        Ok(answer["member"].as_str().unwrap_or_default().to_owned())
    }

    /// Lets the hub make the release of a channel after `expected`; 0 if it has none.
    ///
    /// # Errors
    /// When the hub refuses, for example because someone else has made one meanwhile.
    pub fn release(&self, channel: &TeamChannel, expected: u64) -> Result<HubRelease, SyncError> {
        let body = match channel.is_stable() {
            true => json!({"expected": expected}),
            false => json!({"expected": expected, "channel": channel}),
        };
        self.ask(Method::POST, "releases", body.to_string().as_bytes())
    }

    /// An address that opens the pages of the hub in one browser, once, within a minute.
    ///
    /// # Errors
    /// When the hub refuses.
    pub fn page(&self) -> Result<String, SyncError> {
        let answer: Value = self.ask(Method::POST, "codes", b"{}")?;
        let mut page = self.address.clone();
        page.set_path("/in");
        page.set_fragment(answer["code"].as_str());
        Ok(page.into())
    }

    pub(crate) fn web(&self) -> &Web {
        &self.web
    }

    /// A failure to reach the hub.
    pub(crate) fn away(&self, error: &std::io::Error) -> SyncError {
        unreachable(&self.address, error)
    }

    fn ask<T: DeserializeOwned>(&self, method: Method, path: &str, body: &[u8]) -> Result<T, SyncError> {
        let answer = self.web.send(method, path, body, LARGEST).map_err(|error| unreachable(&self.address, &error))?;
        match answer {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| SyncError { code: None, message: format!("the hub's answer can't be read: {error}") }),
            Err(refused) => Err(SyncError { code: None, message: format!("the hub refused: {}", refused.why) }),
        }
    }

    fn post(&self, path: &str, signed: &SignedText) -> Result<(), SyncError> {
        let body = serde_json::to_vec(signed).map_err(|error| SyncError { code: None, message: error.to_string() })?;
        self.ask::<Value>(Method::POST, path, &body).map(drop)
    }

    fn open_ones(&self) -> Result<Open, SyncError> {
        self.ask(Method::GET, "proposals", b"")
    }
}

#[derive(Deserialize)]
struct Open {
    proposals: Vec<SignedProposal>,
    yanks: Vec<SignedText>,
}

impl ReviewDesk for TeamHub {
    fn proposals(&self) -> Result<Vec<SignedProposal>, SyncError> {
        Ok(self.open_ones()?.proposals)
    }

    fn yanks(&self) -> Result<Vec<SignedText>, SyncError> {
        Ok(self.open_ones()?.yanks)
    }

    fn blob(&self, digest: BlobDigest) -> Result<Option<Vec<u8>>, SyncError> {
        let path = format!("blobs/{digest}");
        match self.web.read(&path, LARGEST_FILE).map_err(|error| unreachable(&self.address, &error))? {
            Some(bytes) if BlobDigest::of(&bytes) != digest => {
                Err(SyncError::new(Code::ReleaseMixed, format!("`{path}` is another file")))
            }
            bytes => Ok(bytes),
        }
    }

    fn propose(&self, proposal: &SignedText, blobs: &[&[u8]]) -> Result<(), SyncError> {
        for bytes in blobs {
            self.ask::<Value>(Method::PUT, &format!("blobs/{}", BlobDigest::of(bytes)), bytes)?;
        }
        self.post("proposals", proposal)
    }

    fn review(&self, _proposal: BlobDigest, review: &SignedText) -> Result<(), SyncError> {
        self.post("reviews", review)
    }

    fn yank(&self, yank: &SignedText) -> Result<(), SyncError> {
        self.post("yanks", yank)
    }
}

fn unreachable(address: &Url, error: &std::io::Error) -> SyncError {
    SyncError::new(Code::TeamUnreachable, format!("`{address}` can't be read: {error}"))
}
