//! The files of a release before they are signed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    BlobDigest, FORMAT, PARTS, Part, ReleaseDocument, ReleaseError, ReleasedFile, RootDocument, TeamChannel, TeamRoles,
    document::check_team, path, verify,
};

/// A root that is to be signed.
#[derive(Clone, Debug)]
pub struct RootDraft {
    /// What the team is called.
    pub team: String,
    /// One more than the version of the root before; 1 for the first.
    pub version: u64,
    /// Until when it counts.
    pub expires: Timestamp,
    /// Who signs what.
    pub roles: TeamRoles,
}

/// A release that is to be signed.
#[derive(Clone, Debug)]
pub struct ReleaseDraft {
    /// What the team is called.
    pub team: String,
    /// The channel whose members it is for.
    pub channel: TeamChannel,
    /// One more than the number of the release before in this channel; 1 for the first.
    pub number: u64,
    /// When it is made.
    pub made: Timestamp,
    /// Until when it counts.
    pub expires: Timestamp,
    /// The version of the root with which it is verified.
    pub root: u64,
    /// The digest of the release before.
    pub previous: Option<BlobDigest>,
    /// The files below `tools/`, by path.
    pub tools: BTreeMap<String, DraftFile>,
    /// The parts other than these files, by their names in [`PARTS`].
    pub parts: BTreeMap<String, Vec<u8>>,
}

/// A file that is to be released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftFile {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// Whether it is a program.
    pub executable: bool,
}

impl RootDraft {
    /// Returns the name of the file and its bytes.
    ///
    /// # Errors
    /// When the team, its keys or a threshold cannot be so.
    pub fn file(&self) -> Result<(String, Vec<u8>), ReleaseError> {
        let file = format!("root/{}.json", self.version);
        let Self { team, version, expires, roles } = self.clone();
        roles.check(&file)?;
        check_team(&file, &team)?;
        let bytes = text(&file, &RootDocument { format: FORMAT, team, version, expires, roles })?;
        Ok((file, bytes))
    }
}

impl ReleaseDraft {
    /// Returns the bytes of every file, by path as for the channel `stable`, `release.json` among them; all but the signatures.
    ///
    /// # Errors
    /// When a path cannot be released, or there are too many files or bytes.
    pub fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, ReleaseError> {
        const LIST: &str = "parts/tools";
        check_team("release.json", &self.team)?;
        path::check(self.tools.keys(), LIST)?;
        let mut files = BTreeMap::new();
        let mut listed = BTreeMap::new();
        for (path, DraftFile { bytes, executable }) in &self.tools {
            let Part { sha256, size } = part(bytes);
            listed.insert(path.clone(), ReleasedFile { sha256, size, executable: *executable });
            files.insert(format!("blobs/{sha256}"), bytes.clone());
        }
        verify::check_amount(&listed)?;
        let mut parts = BTreeMap::new();
        let list = text(LIST, &listed)?;
        for (name, bytes) in self.parts.iter().map(|(name, bytes)| (name.as_str(), bytes)).chain([("tools", &list)]) {
            let file = format!("parts/{name}");
            if PARTS.iter().all(|(known, _)| *known != name) {
                return Err(ReleaseError::malformed(file, "a release has no such part"));
            }
            let most = verify::largest(name);
            if bytes.len() as u64 > most {
                let message = format!("it is larger than {most} bytes");
                return Err(ReleaseError::new(cycod_code::Code::ReleaseTooLarge, file, message));
            }
            parts.insert(name.to_owned(), part(bytes));
            files.insert(file, bytes.clone());
        }
        let document = ReleaseDocument {
            format: FORMAT,
            team: self.team.clone(),
            channel: self.channel.clone(),
            number: self.number,
            made: self.made,
            expires: self.expires,
            root: self.root,
            previous: self.previous,
            parts,
        };
        files.insert("release.json".to_owned(), text("release.json", &document)?);
        Ok(files)
    }
}

fn part(bytes: &[u8]) -> Part {
    Part { sha256: BlobDigest::of(bytes), size: bytes.len() as u64 }
}

/// A document as text that people can read as well. What is signed is this text, so that any other is another document.
fn text(file: &str, document: &impl Serialize) -> Result<Vec<u8>, ReleaseError> {
    let text =
        serde_json::to_string_pretty(document).map_err(|error| ReleaseError::malformed(file, error.to_string()))?;
    Ok((text + "\n").into_bytes())
}
