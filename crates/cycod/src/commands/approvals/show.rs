use clap::{Arg, ArgMatches, Command};

use super::{id, list::pending_json, pending, request};
use crate::{cli::Context, command_error::CommandError, run::request_text};

/// `cycod approvals show`.
pub(crate) fn command() -> Command {
    Command::new("show").about("Show all of what waits to be approved").arg(id()).arg(
        Arg::new("format")
            .long("format")
            .value_parser(["text", "json"])
            .default_value("text")
            .help("How it is printed"),
    )
}

/// Shows a request in full.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let pending = pending(context, matches)?;
    if matches.get_one::<String>("format").is_some_and(|format| format == "json") {
        let json = serde_json::to_string_pretty(&pending_json(&pending)).expect("JSON values can be written");
        context.printer.json(&json);
    } else {
        let (text, _) = request_text(&request(&pending)?, context.printer.width.unwrap_or(100), true);
        context.printer.text(&text);
    }
    Ok(0)
}
