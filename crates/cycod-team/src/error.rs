use std::fmt;

use cycod_code::Code;

/// Why a release is not used, or cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseError {
    /// Which kind, as in the page `docs/errors/<code>.md`.
    pub code: Code,
    /// The file of the release that it is about, as in `root/2.json`.
    pub file: String,
    /// What is wrong: a lowercase fragment.
    pub message: String,
}

impl ReleaseError {
    pub(crate) fn new(code: Code, file: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, file: file.into(), message: message.into() }
    }

    pub(crate) fn malformed(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Code::ReleaseMalformed, file, message)
    }
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.file, self.message)
    }
}

impl std::error::Error for ReleaseError {}
