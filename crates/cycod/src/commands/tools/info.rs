use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::ToldView;
use cycod_engine::tokens::Measure;

use super::{look, warn_of_settings};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    registry,
};

/// What `cycod tools info` takes.
#[derive(Parser)]
#[command(name = "info", about = "Show a tool as models see it")]
struct Arguments {
    /// The tool
    #[arg(value_name = "TOOL_NAME")]
    name: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod tools info`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows what a tool costs, whether it is on, and the schema of its parameters.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.name;
    show(context, name, args.format.is_json())
}

/// Shows a tool as models see it.
pub(crate) fn show(context: &mut Context, name: &str, json: bool) -> Result<u8, CommandError> {
    warn_of_settings(context);
    let tools = context.engine.registry(Measure::ESTIMATE);
    let tool = tools.find(&context.engine, name)?;
    let Some(function) = context.engine.function(&tool.entry) else {
        tool.entry.load().map_err(cycod_engine::EngineError::from)?;
        return Err(CommandError::failure(format!("`{name}` cannot be used")).hint("see: cycod validate"));
    };
    if json {
        context.printer.json_of(&ToldView::of(tool, function));
        return Ok(0);
    }
    let text = registry::info(tool, &function, context.engine.host(), look(context));
    context.printer.text(text);
    Ok(0)
}
