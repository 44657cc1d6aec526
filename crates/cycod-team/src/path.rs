use std::collections::BTreeSet;

use crate::ReleaseError;

/// The longest path, in bytes, and how deep it may be.
const LONGEST: usize = 200;
const DEEPEST: usize = 8;

/// Whether a path may be that of a file of a release below `tools/`: plain names joined by `/`, which mean the same on every
/// system and lead nowhere else.
pub fn is_released_path(path: &str) -> bool {
    let is_name = |name: &str| {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
            && !name.ends_with('.')
            && name.bytes().all(is_inner)
    };
    path.len() <= LONGEST && path.split('/').count() <= DEEPEST && path.split('/').all(is_name)
}

/// Refuses paths that could not be files next to each other: of two that differ in case only, and of one that is a directory
/// of another, the second would take the place of the first.
pub(crate) fn check<'a>(paths: impl Iterator<Item = &'a String>, file: &str) -> Result<(), ReleaseError> {
    let mut files = BTreeSet::new();
    let mut directories = BTreeSet::new();
    for path in paths {
        if !is_released_path(path) {
            let message = format!("`{}` is not a path that a release can have", path.escape_default());
            return Err(ReleaseError::malformed(file, message));
        }
        let key = path.to_ascii_lowercase();
        directories.extend(key.match_indices('/').map(|(at, _)| key[..at].to_owned()));
        if !files.insert(key) {
            return Err(ReleaseError::malformed(file, format!("`{path}` is there twice, in another case")));
        }
    }
    match files.intersection(&directories).next() {
        Some(both) => Err(ReleaseError::malformed(file, format!("`{both}` is a file and a directory"))),
        None => Ok(()),
    }
}
