use clap::{Arg, ArgMatches, Command};
use cycod_app::views::ToldView;
use cycod_engine::tokens::Measure;

use super::{is_json, look, warn_of_settings, with_format};
use crate::{cli::Context, command_error::CommandError, registry};

/// `cycod tools info`.
pub(crate) fn command() -> Command {
    let name = Arg::new("name").value_name("TOOL_NAME").required(true).help("The tool");
    with_format(Command::new("info").about("Show a tool as models see it").arg(name))
}

/// Shows what a tool costs, whether it is on, and the schema of its parameters.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("name").expect("clap requires it");
    show(context, name, is_json(matches))
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
