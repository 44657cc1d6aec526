use clap::{ArgMatches, Command};
use cycod_app::views::BreakdownView;

use super::{is_json, look, measure, warn_of_settings, with_format, with_measure};
use crate::{cli::Context, command_error::CommandError, registry};

/// `cycod tools tokens`.
pub(crate) fn command() -> Command {
    with_format(with_measure(Command::new("tokens").about("Show what each tool costs a model")))
}

/// Shows what each tool costs that models are told of, the dearest first.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let measure = measure(matches)?;
    warn_of_settings(context);
    let tools = context.engine.registry(measure);
    let settings = context.engine.settings();
    if is_json(matches) {
        context.printer.json_of(&BreakdownView::of(&tools, &settings));
        return Ok(0);
    }
    let text = registry::tokens(&tools, &settings, look(context));
    context.printer.text(text);
    Ok(0)
}
