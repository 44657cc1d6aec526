use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::BreakdownView;

use super::{MeasureOptions, look, warn_of_settings};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    registry,
};

/// What `cycod tools tokens` takes.
#[derive(Parser)]
#[command(name = "tokens", about = "Show what each tool costs a model")]
struct Arguments {
    #[command(flatten)]
    measure: MeasureOptions,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod tools tokens`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows what each tool costs that models are told of, the dearest first.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let measure = args.measure.measure()?;
    warn_of_settings(context);
    let tools = context.engine.registry(measure);
    let settings = context.engine.settings();
    if args.format.is_json() {
        context.printer.json_of(&BreakdownView::of(&tools, &settings));
        return Ok(0);
    }
    let text = registry::tokens(&tools, &settings, look(context));
    context.printer.text(text);
    Ok(0)
}
