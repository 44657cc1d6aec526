//! One file for each command about a model that carries out a task.

pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod run;
mod show;

pub(crate) use show::{made_room, reason};

use clap::{Arg, ArgMatches};

use crate::transcripts::{directory, failed};

fn format() -> Arg {
    Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .value_parser(["text", "json"])
        .default_value("text")
        .help("Output format")
}

fn is_json(matches: &ArgMatches) -> bool {
    matches.get_one::<String>("format").is_some_and(|format| format == "json")
}
