//! What is asked of the program of a system's keyring.

use std::path::Path;

use zeroize::Zeroizing;

/// What a keyring calls us.
pub(super) const SERVICE: &str = "cycod";

/// How a system's program is called for one item.
pub(super) struct Call {
    pub(super) arguments: Vec<String>,
    pub(super) input: Zeroizing<Vec<u8>>,
}

impl Call {
    pub(super) fn new<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self { arguments: arguments.into_iter().map(str::to_owned).collect(), input: Zeroizing::default() }
    }
}

/// An item of a keyring.
pub(super) struct Item<'a> {
    pub(super) home: &'a Path,
    pub(super) name: &'a str,
}
