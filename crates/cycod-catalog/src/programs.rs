//! The files that speak about programs for all tools of a place.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{ProgramsFile, SharedPrograms, digest};
use cycod_diagnostic::SourceFile;

use crate::read;

/// What such a file is called.
pub(crate) const NAME: &str = "programs.yaml";

/// Reads the file at `path` as it is now; nothing when there is none. One that is there and cannot be read says so.
pub fn read_programs(path: &Path) -> Option<Arc<ProgramsFile>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return None,
        _ => {}
    }
    let name = path.display().to_string();
    Some(Arc::new(match read::read_at_most(path, ProgramsFile::LARGEST) {
        Ok(text) => ProgramsFile::read(SourceFile::new(name, text)),
        Err(unreadable) => ProgramsFile::unreadable(name, unreadable.code, unreadable.message),
    }))
}

/// A number for what a file says: another one for another text.
pub(crate) fn key(file: Option<&Arc<ProgramsFile>>) -> u64 {
    let Some(file) = file else { return 0 };
    let text = match file.says() {
        SharedPrograms::Broken { text: None } => format!("unreadable {}", file.problem().unwrap_or_default()),
        _ => format!("text {}", file.source.text),
    };
    u64::from_str_radix(&digest(&text)[..16], 16).map_or(1, |key| key.max(1))
}

/// Files that were read, each once.
#[derive(Default)]
pub(crate) struct Known(HashMap<PathBuf, Option<Arc<ProgramsFile>>>);

impl Known {
    /// The file at `path`, as it was when it was first asked for.
    pub(crate) fn at(&mut self, path: Option<&Path>) -> Option<Arc<ProgramsFile>> {
        let path = path?;
        match self.0.get(path) {
            Some(known) => known.clone(),
            None => self.0.entry(path.to_owned()).or_insert(read_programs(path)).clone(),
        }
    }
}
