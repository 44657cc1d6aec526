//! One file for each command about a model that carries out a task.

pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod run;
mod show;

use std::path::PathBuf;

use clap::{Arg, ArgMatches};
use cycod_agent::TranscriptError;
use cycod_engine::Engine;

use crate::command_error::CommandError;

fn format() -> Arg {
    Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .value_parser(["text", "json"])
        .default_value("text")
        .help("How it is printed")
}

fn is_json(matches: &ArgMatches) -> bool {
    matches.get_one::<String>("format").is_some_and(|format| format == "json")
}

/// Where what was said is written down.
fn directory(engine: &Engine) -> PathBuf {
    engine.catalog().scopes().user_directory().join("agents")
}

/// Why a transcript cannot be used, with what led to it.
fn failed(error: &TranscriptError) -> CommandError {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let failed = CommandError::failure(format!("{error}{cause}"));
    match error {
        TranscriptError::Unknown(_) | TranscriptError::Ambiguous { .. } => failed.hint("see: cycod agent list"),
        TranscriptError::Malformed { .. } | TranscriptError::Store(_) => failed,
    }
}
