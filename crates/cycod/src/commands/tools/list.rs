use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::CostsView;
use cycod_engine::tokens::Measure;

use super::{look, warn_of_settings};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    registry,
};

/// What `cycod tools list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List all tools with their cost")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod tools list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists all tools, which are on, and what they cost.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    warn_of_settings(context);
    let tools = context.engine.registry(Measure::ESTIMATE);
    let settings = context.engine.settings();
    if args.format.is_json() {
        context.printer.json_of(&CostsView::of(&tools, &settings));
        return Ok(0);
    }
    let text = registry::list(&tools, &settings, context.engine.host(), look(context));
    context.printer.text(text);
    Ok(0)
}
