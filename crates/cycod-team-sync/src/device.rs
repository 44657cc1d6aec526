use std::{fmt, io};

use cycod_team::hex;
use ring::{
    rand::{SecureRandom as _, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde::{Deserialize, Serialize};

use crate::SyncError;

/// The key of this device at a hub.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceKey {
    format: u32,
    seed: String,
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceKey(…)")
    }
}

impl DeviceKey {
    /// A new key.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate() -> Result<Self, SyncError> {
        let seed = random::<32>().map_err(|error| SyncError { code: None, message: error.to_string() })?;
        Ok(Self { format: 1, seed })
    }

    /// Digits that no other request has.
    pub(crate) fn nonce() -> io::Result<String> {
        random::<16>()
    }

    fn pair(&self) -> Option<Ed25519KeyPair> {
        Ed25519KeyPair::from_seed_unchecked(&hex::bytes::<32>(&self.seed)?).ok()
    }

    /// The public half, in hexadecimal digits.
    pub fn public(&self) -> String {
        self.pair().map(|pair| hex::digits(pair.public_key().as_ref())).unwrap_or_default()
    }

    /// The signature of some bytes, in hexadecimal digits.
    pub(crate) fn sign(&self, bytes: &[u8]) -> String {
        self.pair().map(|pair| hex::digits(pair.sign(bytes).as_ref())).unwrap_or_default()
    }
}

/// Digits that can't be guessed.
fn random<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => Ok(hex::digits(&bytes)),
        Err(_) => Err(io::Error::other("the system gives no random numbers")),
    }
}
