use std::{path::Path, process::Command};

/// Rewrites every committed file that is made from the code; the tests that compare them do the writing.
pub(crate) fn generate(root: &Path) -> Result<String, Vec<String>> {
    let status = Command::new("cargo")
        .args(["test", "--quiet", "--workspace", "--", "generated"])
        .env("UPDATE_EXPECT", "1")
        .current_dir(root)
        .status();
    match status {
        Ok(status) if status.success() => Ok("generated files are up to date".to_owned()),
        Ok(_) => Err(vec!["a generated file could not be written".to_owned()]),
        Err(error) => Err(vec![format!("cannot run cargo: {error}")]),
    }
}
