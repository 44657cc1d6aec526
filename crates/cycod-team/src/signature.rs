//! Signatures of SSH keys over documents, as `ssh-keygen -Y sign` makes and `ssh-keygen -Y verify` accepts them.
//!
//! A file of signatures has exactly one spelling. So a byte that changes in it is noticed, whether or not the text around a
//! signature would mean the same.

use std::{fmt, str::FromStr};

use cycod_code::Code;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use ssh_key::{Algorithm, EcdsaCurve, HashAlg, LineEnding, PublicKey, SshSig};

use crate::{ReleaseError, SignedRole, TeamKeys};

/// The namespace of signatures. One that was made for something else does not count.
pub const NAMESPACE: &str = "cycod-team@1";

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----\n";
const END: &str = "-----END SSH SIGNATURE-----\n";

/// The most signatures of a document.
const MOST: usize = 32;

/// Returns what is signed of a document: its bytes behind a line that says for what.
pub fn signed_bytes(role: SignedRole, document: &[u8]) -> Vec<u8> {
    [format!("{NAMESPACE} {}\n", role.name()).as_bytes(), document].concat()
}

/// The public key of someone who signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamKey(PublicKey);

impl TeamKey {
    /// Its fingerprint, as `ssh-keygen -l` prints it.
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }

    /// The comment, which mostly says whose it is.
    pub fn comment(&self) -> &str {
        self.0.comment()
    }

    /// Whether both are one key, whatever their comments say.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.key_data() == other.0.key_data()
    }
}

impl fmt::Display for TeamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.comment() {
            "" => f.write_str(&self.fingerprint()),
            comment => write!(f, "{comment} ({})", self.fingerprint()),
        }
    }
}

/// Why a text is no key that can sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableKey(String);

impl fmt::Display for UnusableKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnusableKey {}

impl FromStr for TeamKey {
    type Err = UnusableKey;

    fn from_str(text: &str) -> Result<Self, UnusableKey> {
        let key = PublicKey::from_openssh(text.trim_end())
            .map_err(|error| UnusableKey(format!("not a public SSH key: {error}")))?;
        match key.algorithm() {
            Algorithm::Ed25519 | Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 } => Ok(Self(key)),
            other => {
                let why = format!("a key of type `{other}` can't sign a release: use ssh-keygen -t ed25519");
                Err(UnusableKey(why))
            }
        }
    }
}

impl Serialize for TeamKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.to_openssh().map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for TeamKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Checks that enough keys of each of the `roles` signed a document, and that there is no signature that is wrong.
pub(crate) fn check<'k>(
    role: SignedRole,
    (file, document): (&str, &[u8]),
    signatures: &[u8],
    roles: &[(&str, &'k TeamKeys)],
) -> Result<Vec<&'k TeamKey>, ReleaseError> {
    let keys = roles.iter().flat_map(|(_, keys)| &keys.keys);
    let signers = signers(role, (file, document), signatures, keys)?;
    for (whose, keys) in roles {
        let count = keys.keys.iter().filter(|key| signers.iter().any(|signer| signer.is_same(key))).count();
        if count < keys.threshold {
            let message = format!("{count} of the {} keys signed that {whose} asks for", keys.threshold);
            return Err(ReleaseError::new(Code::ReleaseWrongKey, format!("{file}.sigs"), message));
        }
    }
    Ok(signers)
}

/// Checks that one of the keys signed a document, and that nothing else did.
///
/// # Errors
/// When another key did, none did, or the signature is of something else.
pub fn verify_signature<'k>(
    role: SignedRole,
    document: &[u8],
    signatures: &[u8],
    keys: &'k [TeamKey],
) -> Result<&'k TeamKey, ReleaseError> {
    let signers = signers(role, (role.name(), document), signatures, keys)?;
    match signers[..] {
        [signer] => Ok(signer),
        _ => Err(ReleaseError::new(Code::ReleaseWrongKey, role.name(), "it needs exactly one signature")),
    }
}

/// The one key that signed a document, as the signature itself says. Whether it did is not checked.
pub(crate) fn embedded(signatures: &[u8]) -> Option<TeamKey> {
    let [signature] = &split(signatures).ok()?[..] else { return None };
    PublicKey::from(signature.public_key().clone()).to_openssh().ok()?.parse().ok()
}

/// Checks that every signature of a document is right, and of one of the `keys`. Returns whose they are, each once.
pub(crate) fn signers<'k>(
    role: SignedRole,
    (file, document): (&str, &[u8]),
    signatures: &[u8],
    keys: impl IntoIterator<Item = &'k TeamKey>,
) -> Result<Vec<&'k TeamKey>, ReleaseError> {
    let named = format!("{file}.sigs");
    let wrong = |message: String| ReleaseError::new(Code::ReleaseWrongKey, named.as_str(), message);
    let signed = signed_bytes(role, document);
    let keys: Vec<&'k TeamKey> = keys.into_iter().collect();
    let mut signers: Vec<&'k TeamKey> = Vec::new();
    for signature in split(signatures).map_err(|why| ReleaseError::malformed(named.as_str(), why))? {
        let Some(key) = keys.iter().copied().find(|key| key.0.key_data() == signature.public_key()) else {
            let stranger = PublicKey::from(signature.public_key().clone()).fingerprint(HashAlg::Sha256);
            return Err(wrong(format!("the key {stranger} signed it, which is not one of the team's for this")));
        };
        if key.0.verify(NAMESPACE, &signed, &signature).is_err() {
            return Err(wrong(format!("the signature of {key} is not of this file")));
        }
        if !signers.iter().any(|other| other.is_same(key)) {
            signers.push(key);
        }
    }
    Ok(signers)
}

/// Reads a file of signatures. What is read has to be written in the same bytes again: the lengths in a signature are not
/// covered by it, and have no other check.
fn split(bytes: &[u8]) -> Result<Vec<SshSig>, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let (mut rest, mut signatures) = (text, Vec::new());
    while !rest.is_empty() {
        let body = rest.strip_prefix(BEGIN).ok_or("it is not a list of SSH signatures")?;
        let end = body.find(END).ok_or("a signature has no end")?;
        let (whole, after) = rest.split_at(BEGIN.len() + end + END.len());
        let signature = SshSig::from_pem(whole).map_err(|error| format!("a signature: {error}"))?;
        if signature.to_pem(LineEnding::LF).as_deref() != Ok(whole) {
            return Err("a signature is not written as ssh-keygen writes it".to_owned());
        }
        // Neither is covered by the signature, and ssh-keygen takes no other either.
        if signature.version() != SshSig::VERSION || !signature.reserved().is_empty() {
            return Err("a signature has another version of the format".to_owned());
        }
        signatures.push(signature);
        if signatures.len() > MOST {
            return Err(format!("it has more than {MOST} signatures"));
        }
        rest = after;
    }
    Ok(signatures)
}
