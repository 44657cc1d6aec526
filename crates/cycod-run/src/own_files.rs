//! Files and directories of a run that only this user can read.

use std::{io::Write, path::Path};

pub(crate) use cycod_file::create_private_directories as private_directory;

use cycod_diagnostic::{Code, Refusal};
use cycod_plan::ScriptFile;

/// Writes the files a program expects, in the run's own directory, readable by nobody else.
pub(crate) fn write_files(directory: &Path, files: &[ScriptFile]) -> Result<(), Refusal> {
    let failed = |path: &Path, error: &std::io::Error| {
        Refusal::new(Code::TempDirectory, format!("cannot write `{}`: {error}", path.display()))
    };
    if !files.is_empty() {
        private_directory(directory).map_err(|error| failed(directory, &error))?;
    }
    for file in files {
        private_file(&file.path)
            .and_then(|mut opened| opened.write_all(&file.text))
            .map_err(|error| failed(&file.path, &error))?;
    }
    Ok(())
}

/// Opens a file that only this user can read, empty.
fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    let file = cycod_file::PrivateOptions::default().write(true).create(true).open(path)?;
    file.set_len(0)?;
    Ok(file)
}
