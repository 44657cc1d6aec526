//! What a reader over the network fetches first, so that the newest release costs few requests.

use serde::{Deserialize, Serialize};

use crate::{
    ReleaseError,
    document::{FORMAT, check_format, parse},
    review::text,
    verify::LARGEST_DOCUMENT,
};

/// `latest.json`: the newest release of a channel with its signatures, and the number of the newest root.
///
/// Nobody signs it, and it proves nothing: it has the bytes of other files, which are verified as if they had been fetched one
/// by one. A server that keeps back a release or a root can do so with or without this file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatestRelease {
    format: u32,
    /// The number of the newest root.
    pub root: u64,
    /// The bytes of `release.json`.
    pub release: String,
    /// The bytes of `release.json.sigs`.
    pub signatures: String,
}

impl LatestRelease {
    /// Its path in a directory of releases, for the channel `stable`.
    pub const FILE: &str = "latest.json";

    /// The most bytes of it: two documents as JSON texts.
    pub const LARGEST: u64 = 4 * LARGEST_DOCUMENT;

    /// Returns the bytes of the file for a release with its signatures.
    ///
    /// # Errors
    /// When one of them is no text.
    pub fn bytes_of(root: u64, release: Vec<u8>, signatures: Vec<u8>) -> Result<Vec<u8>, ReleaseError> {
        let read = |file: &str, bytes| {
            String::from_utf8(bytes).map_err(|error| ReleaseError::malformed(file, error.to_string()))
        };
        let (release, signatures) = (read("release.json", release)?, read("release.json.sigs", signatures)?);
        text(Self::FILE, &Self { format: FORMAT, root, release, signatures }).map(String::into_bytes)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// When it isn't what cycod writes.
    pub fn read(bytes: &[u8]) -> Result<Self, ReleaseError> {
        let latest: Self = parse(Self::FILE, bytes)?;
        check_format(Self::FILE, latest.format)?;
        Ok(latest)
    }
}
