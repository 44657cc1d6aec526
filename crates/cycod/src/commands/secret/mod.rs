//! One file for each command about secrets.

pub(crate) mod list;
pub(crate) mod remove;
pub(crate) mod set;
pub(crate) mod show;

use cycod_secret::is_name;

use crate::command_error::CommandError;

/// Refuses what cannot name a secret.
fn checked(name: &str) -> Result<&str, CommandError> {
    match is_name(name) {
        true => Ok(name),
        false => Err(CommandError::usage(format!("no secret can be called `{name}`"))
            .hint("names start with a letter or digit and hold letters, digits, `_`, `.` and `-`, at most 64")),
    }
}
