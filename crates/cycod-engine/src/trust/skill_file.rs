use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use cycod_file::Seen;
use cycod_store::Digest;

/// A file of a skill, as it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Its digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
}

/// The files of skills by their real paths, as they were looked at last. One that has not changed since is not read again.
#[derive(Debug, Default)]
pub(crate) struct KnownSkillFiles(pub(super) Mutex<Arc<FileLooks>>);

pub(super) type FileLooks = HashMap<PathBuf, (Seen, SkillFile)>;
