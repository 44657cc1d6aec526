//! The releases of the past. Each release names the digest of the one before, so a signature of the newest one holds for all.
//!
//! Only the newest release has paths of its own. The documents and parts of those before are where the files are:
//! `blobs/DIGEST`.

use std::collections::BTreeMap;

use cycod_code::Code;

use crate::{
    BlobDigest, Part, ReleaseDocument, ReleaseError, ReleaseFiles, ReleasedFile,
    verify::{self, LARGEST_DOCUMENT, LARGEST_FILE, all_files, largest},
};

/// A release without the bytes of its files.
#[derive(Clone, Debug)]
pub struct PastRelease {
    /// The release itself.
    pub release: ReleaseDocument,
    /// The parts other than the list of files, by name.
    pub parts: BTreeMap<String, Vec<u8>>,
    /// The files below `tools/`, by path.
    pub tools: BTreeMap<String, ReleasedFile>,
}

impl PastRelease {
    /// Finds the release with a number: the one with the digest `last`, or one before it.
    ///
    /// # Errors
    /// When `last` is older, or a release from there to it is missing or isn't what the next one names.
    pub fn find(files: &dyn ReleaseFiles, last: BlobDigest, number: u64) -> Result<Self, ReleaseError> {
        let mut release = document(files, last)?;
        let newest = release.number;
        loop {
            let file = format!("release {number}");
            if release.number == number {
                let (parts, tools) = verify::read_parts(files, &release, |_, part| blob(part.sha256))?;
                return Ok(Self { release, parts, tools });
            }
            if release.number < number || number == 0 {
                let message = format!("there is no such release; the newest is {newest}");
                return Err(ReleaseError::new(Code::ReleaseTruncated, file, message));
            }
            let Some(previous) = release.previous else {
                let message = format!("it can't be found: release {} doesn't say what was before it", release.number);
                return Err(ReleaseError::new(Code::ReleaseTruncated, file, message));
            };
            let before = document(files, previous).map_err(|error| match error.code {
                Code::ReleaseTruncated => {
                    let message = format!("it can't be found: the release before {} is gone", release.number);
                    ReleaseError::new(Code::ReleaseTruncated, file, message)
                }
                _ => error,
            })?;
            if before.number >= release.number || before.team != release.team || before.channel != release.channel {
                let message = format!("it isn't the release before {}", release.number);
                return Err(ReleaseError::new(Code::ReleaseMixed, blob(previous), message));
            }
            release = before;
        }
    }

    /// The files by path: those below `tools/`, and those next to it.
    pub fn files(&self) -> BTreeMap<String, ReleasedFile> {
        all_files(&self.release, &self.tools)
    }

    /// The bytes of a file of this release.
    ///
    /// # Errors
    /// When they are missing, or not what was signed.
    pub fn read(files: &dyn ReleaseFiles, file: ReleasedFile) -> Result<Vec<u8>, ReleaseError> {
        let part = Part { sha256: file.sha256, size: file.size };
        verify::known(files, &blob(file.sha256), part, LARGEST_FILE)
    }
}

/// The files that keep a release readable after the next one has taken its place. What is broken of it is left out.
pub fn past_files(files: &dyn ReleaseFiles) -> BTreeMap<String, Vec<u8>> {
    let read = |path: &str, most: u64| files.read(path, most).ok().flatten();
    let Some(bytes) = read("release.json", LARGEST_DOCUMENT) else { return BTreeMap::new() };
    let release = ReleaseDocument::read("release.json", &bytes);
    let parts = release.into_iter().flat_map(|release| release.parts).filter_map(|(name, part)| {
        let bytes = read(&format!("parts/{name}"), largest(&name))?;
        (BlobDigest::of(&bytes) == part.sha256).then_some((blob(part.sha256), bytes))
    });
    parts.collect::<Vec<_>>().into_iter().chain([(blob(BlobDigest::of(&bytes)), bytes)]).collect()
}

fn document(files: &dyn ReleaseFiles, digest: BlobDigest) -> Result<ReleaseDocument, ReleaseError> {
    let file = blob(digest);
    let bytes = verify::required(files, &file, LARGEST_DOCUMENT)?;
    match BlobDigest::of(&bytes) == digest {
        true => ReleaseDocument::read(&file, &bytes),
        false => Err(verify::mixed(&file)),
    }
}

fn blob(digest: BlobDigest) -> String {
    format!("blobs/{digest}")
}
