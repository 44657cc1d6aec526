//! One file for each command about language models.

pub(crate) mod list;
pub(crate) mod test;

use clap::{Arg, ArgAction, ArgMatches};

fn format() -> Arg {
    let format = Arg::new("format").long("format").value_name("FORMAT").help("Output format");
    format.value_parser(["text", "json"]).default_value("text").action(ArgAction::Set)
}

fn is_json(matches: &ArgMatches) -> bool {
    matches.get_one::<String>("format").is_some_and(|format| format == "json")
}
