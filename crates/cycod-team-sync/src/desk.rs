//! Where proposals wait for reviews: next to the releases, in a directory.
//!
//! Each proposal, review and withdrawal is a file of its own, so that several people can add theirs to one repository and
//! nothing has to be merged.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use cycod_code::Code;
use cycod_file::{Durability, FileAccess, is_nothing};
use cycod_team::{BlobDigest, LARGEST_FILE, ReleaseFiles as _, SignedProposal, SignedText};

use crate::{ReleaseDirectory, SyncError};

/// The most bytes of a proposal, a review or a withdrawal.
const LARGEST: u64 = 1 << 20;
const RELEASED: &str = "released";

/// Where proposals wait for reviews.
pub trait ReviewDesk {
    /// The proposals that no release has yet.
    ///
    /// # Errors
    /// When they can't be read.
    fn proposals(&self) -> Result<Vec<SignedProposal>, SyncError>;

    /// What was withdrawn.
    ///
    /// # Errors
    /// When it can't be read.
    fn yanks(&self) -> Result<Vec<SignedText>, SyncError>;

    /// The bytes of a proposed file; nothing when there are none.
    ///
    /// # Errors
    /// When they can't be read, or are others.
    fn blob(&self, digest: BlobDigest) -> Result<Option<Vec<u8>>, SyncError>;

    /// Adds a proposal with its files.
    ///
    /// # Errors
    /// When it can't be written.
    fn propose(&self, proposal: &SignedText, blobs: &[&[u8]]) -> Result<(), SyncError>;

    /// Adds a review of a proposal.
    ///
    /// # Errors
    /// When it can't be written.
    fn review(&self, proposal: BlobDigest, review: &SignedText) -> Result<(), SyncError>;

    /// Adds a withdrawal.
    ///
    /// # Errors
    /// When it can't be written.
    fn yank(&self, yank: &SignedText) -> Result<(), SyncError>;
}

/// Proposals in the directory of the releases.
#[derive(Clone, Debug)]
pub struct DirectoryDesk(pub PathBuf);

impl DirectoryDesk {
    /// Notes that a release has a proposal.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn released(&self, proposal: BlobDigest, number: u64) -> Result<(), SyncError> {
        let path = self.0.join("proposals").join(proposal.to_string()).join(RELEASED);
        write(&path, format!("{number}\n").as_bytes())
    }

    /// The documents below a directory, with their signatures.
    fn documents(&self, directory: &str, is_one: impl Fn(&str) -> bool) -> Result<Vec<SignedText>, SyncError> {
        let mut documents = Vec::new();
        for name in self.names(directory)?.iter().filter(|name| is_one(name) && name.ends_with(".json")) {
            documents.extend(self.document(&format!("{directory}/{name}"))?);
        }
        Ok(documents)
    }

    /// A document with its signature; nothing while one of both is missing.
    fn document(&self, path: &str) -> Result<Option<SignedText>, SyncError> {
        let (document, signature) = (self.text(path)?, self.text(&format!("{path}.sigs"))?);
        Ok(document.zip(signature).map(|(document, signature)| SignedText { document, signature }))
    }

    fn text(&self, path: &str) -> Result<Option<String>, SyncError> {
        let bytes = self.bytes(path, LARGEST)?;
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|_| SyncError::new(Code::ReleaseMalformed, format!("`{path}` is not text")))
    }

    fn bytes(&self, path: &str, most: u64) -> Result<Option<Vec<u8>>, SyncError> {
        let failed = |error: io::Error| SyncError::io("read", &self.0.join(path), &error);
        match ReleaseDirectory(self.0.clone()).read(path, most).map_err(failed)? {
            Some(bytes) if bytes.len() as u64 > most => {
                Err(SyncError::new(Code::ReleaseTooLarge, format!("`{path}` is larger than {most} bytes")))
            }
            bytes => Ok(bytes),
        }
    }

    /// The names in a directory, in order.
    fn names(&self, directory: &str) -> Result<Vec<String>, SyncError> {
        let path = self.0.join(directory);
        let failed = |error: io::Error| SyncError::io("read", &path, &error);
        let entries = match fs::read_dir(&path) {
            Err(error) if is_nothing(&error) => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().into_string().ok());
        let names: Vec<Option<String>> = entries.map(name).collect::<io::Result<_>>().map_err(failed)?;
        let mut names: Vec<String> = names.into_iter().flatten().collect();
        names.sort_unstable();
        Ok(names)
    }

    fn add(&self, path: &str, signed: &SignedText) -> Result<(), SyncError> {
        write(&self.0.join(format!("{path}.sigs")), signed.signature.as_bytes())?;
        write(&self.0.join(path), signed.document.as_bytes())
    }
}

impl ReviewDesk for DirectoryDesk {
    fn proposals(&self) -> Result<Vec<SignedProposal>, SyncError> {
        let mut proposals = Vec::new();
        for name in self.names("proposals")? {
            let directory = format!("proposals/{name}");
            if self.0.join(&directory).join(RELEASED).exists() {
                continue;
            }
            if let Some(proposal) = self.document(&format!("{directory}/proposal.json"))? {
                let reviews = self.documents(&directory, |name| name.starts_with("review-"))?;
                proposals.push(SignedProposal { proposal, reviews });
            }
        }
        Ok(proposals)
    }

    fn yanks(&self) -> Result<Vec<SignedText>, SyncError> {
        self.documents("yanks", |_| true)
    }

    fn blob(&self, digest: BlobDigest) -> Result<Option<Vec<u8>>, SyncError> {
        let path = format!("blobs/{digest}");
        match self.bytes(&path, LARGEST_FILE)? {
            Some(bytes) if BlobDigest::of(&bytes) != digest => {
                Err(SyncError::new(Code::ReleaseMixed, format!("`{path}` is another file")))
            }
            bytes => Ok(bytes),
        }
    }

    fn propose(&self, proposal: &SignedText, blobs: &[&[u8]]) -> Result<(), SyncError> {
        for bytes in blobs {
            write(&self.0.join(format!("blobs/{}", BlobDigest::of(bytes))), bytes)?;
        }
        self.add(&format!("proposals/{}/proposal.json", proposal.digest()), proposal)
    }

    fn review(&self, proposal: BlobDigest, review: &SignedText) -> Result<(), SyncError> {
        let digest = review.signed_digest().to_string();
        self.add(&format!("proposals/{proposal}/review-{}.json", &digest[..16]), review)
    }

    fn yank(&self, yank: &SignedText) -> Result<(), SyncError> {
        self.add(&format!("yanks/{}.json", yank.signed_digest()), yank)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), SyncError> {
    let failed = |error: io::Error| SyncError::io("write", path, &error);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    cycod_file::replace(path, bytes, FileAccess::Usual, Durability::Power).map_err(failed)
}
