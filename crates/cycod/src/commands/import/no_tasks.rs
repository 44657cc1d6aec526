//! What stands in for the tasks of other programs in a program that was built without the feature `imports`.

use std::{convert::Infallible, path::Path};

use clap::builder::ValueParser;
use cycod_engine::catalog::Scope;

use super::Arguments;
use crate::{cli::Context, command_error::CommandError, commands::init::First};

/// How the names of files with definitions end.
const DEFINITIONS: [&str; 5] = ["yaml", "yml", "json", "md", "markdown"];

/// Takes every kind, so that the answer is the reason why none is known.
pub(super) fn kinds() -> ValueParser {
    ValueParser::string()
}

/// Only definitions are known here.
pub(super) fn kind(asked: Option<&str>, path: &str) -> Result<Option<Infallible>, CommandError> {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_definition = path == "-" || path.starts_with("/dev/") || DEFINITIONS.contains(&ending);
    if asked.is_none() && is_definition {
        return Ok(None);
    }
    let why = format!("`{path}` can't become tools: this program was built without the tasks of other programs");
    Err(CommandError::failure(why).hint("import the definition of a tool, or build it with the feature `imports`"))
}

pub(super) fn run(_: &mut Context, _: &Arguments, kind: Infallible, _: &str, _: Scope) -> Result<u8, CommandError> {
    match kind {}
}

pub(in crate::commands) fn task_files(_: &Context) -> Vec<(String, String)> {
    Vec::new()
}

pub(in crate::commands) fn first_task(_: &mut Context, _: bool) -> Option<First> {
    None
}
