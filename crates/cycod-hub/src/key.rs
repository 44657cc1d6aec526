use std::{fmt, path::Path};

use cycod_file::{Durability, FileAccess};
use cycod_team::{NAMESPACE, SignedRole, TeamKey, signed_bytes};
use ring::hmac;
use ssh_key::{
    HashAlg, LineEnding, PrivateKey, SshSig,
    private::{Ed25519Keypair, KeypairData},
};

use crate::HubError;

/// The key with which a hub signs releases.
pub struct HubKey(PrivateKey);

impl fmt::Debug for HubKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HubKey(…)")
    }
}

impl HubKey {
    /// A new key.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate() -> Result<Self, HubError> {
        let failed = |error: &dyn fmt::Display| HubError::failed("cannot make a key", error);
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| failed(&error))?;
        let pair = KeypairData::from(Ed25519Keypair::from_seed(&seed));
        PrivateKey::new(pair, "cycod-hub").map(Self).map_err(|error| failed(&error))
    }

    /// Reads a key from a file.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(path: &Path) -> Result<Self, HubError> {
        let what = format!("cannot use the key `{}`", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| HubError::failed(&what, error))?;
        let key = PrivateKey::from_openssh(text).map_err(|error| HubError::failed(&what, error))?;
        match key.key_data().ed25519() {
            Some(_) => Ok(Self(key)),
            None => Err(HubError::failed(&what, "it is not an ed25519 key without a passphrase")),
        }
    }

    /// Writes the key into a file that only its owner may read, and the public half next to it.
    ///
    /// # Errors
    /// When that fails.
    pub fn write(&self, path: &Path) -> Result<(), HubError> {
        let what = format!("cannot write the key `{}`", path.display());
        let text = self.0.to_openssh(LineEnding::LF).map_err(|error| HubError::failed(&what, error))?;
        cycod_file::replace(path, text.as_bytes(), FileAccess::Private, Durability::Power)
            .map_err(|error| HubError::failed(&what, error))?;
        let public = self.0.public_key().to_openssh().map_err(|error| HubError::failed(&what, error))? + "\n";
        cycod_file::replace(&path.with_extension("key.pub"), public.as_bytes(), FileAccess::Usual, Durability::Power)
            .map_err(|error| HubError::failed(&what, error))
    }

    /// The public half.
    ///
    /// # Errors
    /// When it is not of a kind that can sign releases.
    pub fn public(&self) -> Result<TeamKey, HubError> {
        let failed = |error: &dyn fmt::Display| HubError::failed("the hub's key", error);
        let text = self.0.public_key().to_openssh().map_err(|error| failed(&error))?;
        text.parse::<TeamKey>().map_err(|error| failed(&error))
    }

    /// The key that makes challenges, which every hub with this key understands.
    pub(crate) fn challenges(&self) -> hmac::Key {
        let seed = self.0.key_data().ed25519().map(|pair| pair.private.to_bytes()).unwrap_or_default();
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &seed), b"cycod-hub challenges");
        hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
    }

    /// Signs a release.
    ///
    /// # Errors
    /// When the key can't.
    pub fn sign(&self, document: &[u8]) -> Result<Vec<u8>, HubError> {
        self.sign_as(SignedRole::Release, document)
    }

    /// Signs a document for a purpose.
    ///
    /// # Errors
    /// When the key can't.
    pub fn sign_as(&self, role: SignedRole, document: &[u8]) -> Result<Vec<u8>, HubError> {
        let failed = |error: ssh_key::Error| HubError::failed("the hub's key didn't sign", error);
        let signed = signed_bytes(role, document);
        let signature = SshSig::sign(&self.0, NAMESPACE, HashAlg::Sha512, &signed).map_err(failed)?;
        Ok(signature.to_pem(LineEnding::LF).map_err(failed)?.into_bytes())
    }
}
