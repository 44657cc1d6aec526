//! Files and directories of a run that only this user can read.

use std::{fs, io::Write, path::Path};

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

/// Makes a directory that only this user can enter.
pub(crate) fn private_directory(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn private_file(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
