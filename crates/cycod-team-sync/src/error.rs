use std::{fmt, io, path::Path};

use cycod_code::Code;
use cycod_team::ReleaseError;

/// Why a release was not put into force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncError {
    /// Which kind, as in the page `docs/errors/<code>.md`; nothing when this machine failed.
    pub code: Option<Code>,
    /// What is wrong: a lowercase fragment.
    pub message: String,
}

impl SyncError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code: Some(code), message: message.into() }
    }

    /// A failure of this machine.
    pub(crate) fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self { code: None, message: format!("cannot {doing} `{}`: {error}", path.display()) }
    }
}

impl From<ReleaseError> for SyncError {
    fn from(error: ReleaseError) -> Self {
        Self::new(error.code, error.to_string())
    }
}

impl fmt::Display for SyncError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyncError {}
