//! Changing a YAML text in place: byte-span splices that keep comments and layout.

use crate::emit::Emit;

/// One step of a path into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// The value of a key.
    Key(String),
    /// The item at an index.
    Index(usize),
}

/// Why a text could not be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is not a document to begin with.
    #[error("failed to read the document to be edited")]
    Unreadable,
    /// The path leads nowhere.
    #[error("no value at `{path}`")]
    Missing {
        /// The path as `a.b[0]`.
        path: String,
    },
    /// The value at the path is of another kind, or the key is there already.
    #[error("cannot {action} at `{path}`")]
    Unfit {
        /// What was to be done.
        action: &'static str,
        /// The path as `a.b[0]`.
        path: String,
    },
    /// The result would not have been what was asked for; nothing was changed.
    #[error("failed to {action} at `{path}` without disturbing the rest of the document")]
    Disturbs {
        /// What was to be done.
        action: &'static str,
        /// The path as `a.b[0]`.
        path: String,
    },
}

/// Returns `text` with the value at `path` replaced.
pub fn set(text: &str, path: &[PathStep], value: &Emit) -> Result<String, EditError> {
    let _ = (text, path, value);
    Err(EditError::Unreadable)
}

/// Returns `text` with `key` added at the end of the mapping at `path`.
pub fn insert(text: &str, path: &[PathStep], key: &str, value: &Emit) -> Result<String, EditError> {
    let _ = (text, path, key, value);
    Err(EditError::Unreadable)
}

/// Returns `text` without the entry or item at `path`.
pub fn remove(text: &str, path: &[PathStep]) -> Result<String, EditError> {
    let _ = (text, path);
    Err(EditError::Unreadable)
}

/// Returns `text` with `value` added at the end of the sequence at `path`.
pub fn append(text: &str, path: &[PathStep], value: &Emit) -> Result<String, EditError> {
    let _ = (text, path, value);
    Err(EditError::Unreadable)
}
