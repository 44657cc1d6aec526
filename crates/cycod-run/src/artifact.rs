//! A file that a run keeps, and where it goes.

use std::{fmt, io};

use cycod_diagnostic::Refusal;

/// A file that a run keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its path from where the tool works, or from the directory for temporary files, without secrets.
    pub path: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// The digest of all bytes.
    pub sha256: String,
    /// Where the copy is.
    pub uri: String,
    /// The step of which it is kept; nothing for one of the tool.
    pub step: Option<String>,
    /// What it probably is.
    pub media_type: Option<&'static str>,
}

/// Takes the files that a run keeps.
pub trait ArtifactShelf: fmt::Debug + Sync {
    /// Keeps all that a file holds, under this path.
    ///
    /// # Errors
    /// A refusal when it is too large, or cannot be read or stored. Nothing of the file is kept then.
    fn keep(&self, path: &str, step: Option<&str>, file: &mut dyn io::Read) -> Result<Artifact, Refusal>;
}

/// The most files that one run keeps.
pub const MOST_ARTIFACTS: usize = 100;

/// The most bytes that the files have together that one run keeps.
pub const MOST_ARTIFACT_BYTES: u64 = 256 << 20;
