//! One file for each command about the rules of what may run.

pub(crate) mod accept;
pub(crate) mod add;
pub(crate) mod check;
pub(crate) mod list;
pub(crate) mod remove;

use cycod_engine::definition::Host;
use cycod_settings::{
    FileError,
    policy::{FileRule, RuleFile, Rules},
};

use crate::{cli::Context, command_error::CommandError, store::shown};

/// The rules that are written down here.
fn rules(context: &Context) -> Rules {
    Rules::load(context.engine.catalog().scopes(), context.engine.host())
}

/// Every rule of every file, with its file.
fn all(rules: &Rules) -> impl Iterator<Item = (&RuleFile, &FileRule)> {
    rules.files.iter().flat_map(|file| file.rules.iter().map(move |rule| (file, rule)))
}

/// Why a file of rules could not be changed.
fn file_error(error: &FileError, host: &Host) -> CommandError {
    let path = error.path();
    let failed = CommandError::failure(error.to_string().replace(&path.display().to_string(), &shown(path, host)));
    match error {
        FileError::Wrong { .. } => failed.hint("the file is unchanged; see: cycod policy check"),
        FileError::Changed { .. } => failed.hint("try again"),
        _ => failed,
    }
}
