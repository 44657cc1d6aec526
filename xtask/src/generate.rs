use std::{path::Path, process::Command};

/// The tests that compare committed files with what the code makes of them now. Their names hold `generated`.
const TESTS: [&[&str]; 2] = [&["-p", "cycod-definition", "--test", "it"], &["-p", "cycod", "--bin", "cycod"]];

/// Rewrites every committed file that is made from the code; the tests that compare them do the writing.
pub(crate) fn generate(root: &Path) -> Result<String, Vec<String>> {
    for test in TESTS {
        let mut command = Command::new("cargo");
        command.args(["test", "--quiet"]).args(test).args(["--", "generated"]).env("UPDATE_EXPECT", "1");
        match command.current_dir(root).status() {
            Ok(status) if status.success() => {}
            Ok(_) => return Err(vec!["a generated file could not be written".to_owned()]),
            Err(error) => return Err(vec![format!("cannot run cargo: {error}")]),
        }
    }
    Ok("generated files are up to date".to_owned())
}
