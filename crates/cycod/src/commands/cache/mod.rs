//! One file for each command about the stored results of steps.

pub(crate) mod clear;
pub(crate) mod list;

use cycod_store::StoreError;

use crate::command_error::CommandError;

fn failed(error: &StoreError) -> CommandError {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    CommandError::failure(format!("{error}{cause}"))
}
