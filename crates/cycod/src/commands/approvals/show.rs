use clap::{Arg, ArgMatches, Command};
use cycod_app::views::PendingView;

use super::{id, lost, pending, request};
use crate::{cli::Context, command_error::CommandError, run::request_text};

/// `cycod approvals show`.
pub(crate) fn command() -> Command {
    Command::new("show").about("Show a request in full").arg(id()).arg(
        Arg::new("format").long("format").value_parser(["text", "json"]).default_value("text").help("Output format"),
    )
}

/// Shows a request in full.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let is_json = matches.get_one::<String>("format").is_some_and(|format| format == "json");
    if let Some(lost) = lost::named(context, matches)? {
        return lost::show(context, &lost, is_json);
    }
    let pending = pending(context, matches)?;
    if is_json {
        context.printer.json_of(&PendingView::of(&pending));
    } else {
        let (text, _) = request_text(&request(&pending)?, context.printer.width.unwrap_or(100), true);
        context.printer.text(&text);
    }
    Ok(0)
}
