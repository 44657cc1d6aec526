use clap::{ArgMatches, Command};
use cycod_app::views::CostsView;
use cycod_engine::tokens::Measure;

use super::{is_json, look, warn_of_settings, with_format};
use crate::{cli::Context, command_error::CommandError, registry};

/// `cycod tools list`.
pub(crate) fn command() -> Command {
    with_format(Command::new("list").about("List all tools with their cost"))
}

/// Lists all tools, which are on, and what they cost.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    warn_of_settings(context);
    let tools = context.engine.registry(Measure::ESTIMATE);
    let settings = context.engine.settings();
    if is_json(matches) {
        context.printer.json_of(&CostsView::of(&tools, &settings));
        return Ok(0);
    }
    let text = registry::list(&tools, &settings, context.engine.host(), look(context));
    context.printer.text(text);
    Ok(0)
}
