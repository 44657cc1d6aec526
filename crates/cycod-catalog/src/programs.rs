//! The files that speak about programs for all tools of a place.

use std::{fs, path::Path, sync::Arc};

use cycod_definition::ProgramsFile;
use cycod_diagnostic::SourceFile;
use cycod_file::is_nothing;

use crate::read;

/// What such a file is called.
pub(crate) const NAME: &str = "programs.yaml";

/// Reads the file at `path` as it is now; nothing when there is none. One that is there and cannot be read says so.
pub fn read_programs(path: &Path) -> Option<Arc<ProgramsFile>> {
    if fs::symlink_metadata(path).is_err_and(|error| is_nothing(&error)) {
        return None;
    }
    let name = path.display().to_string();
    let text = match read::loose(path) {
        Some(loose) => Err(loose),
        None => read::read_at_most(path, ProgramsFile::LARGEST),
    };
    Some(Arc::new(match text {
        Ok(text) => ProgramsFile::read(SourceFile::new(name, text)),
        Err(unreadable) => ProgramsFile::unreadable(name, unreadable.code, unreadable.message),
    }))
}

/// A text for what a file says: another one for another text; nothing when there is no file.
#[cfg(unix)]
pub(crate) fn key(file: Option<&Arc<ProgramsFile>>) -> Option<String> {
    let file = file?;
    Some(match file.says() {
        cycod_definition::SharedPrograms::Broken { text: None } => {
            format!("unreadable {}", file.problem().unwrap_or_default())
        }
        _ => format!("text {}", file.source.text),
    })
}
