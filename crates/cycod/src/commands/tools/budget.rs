use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::BudgetView;
use cycod_engine::{KeptTools, settings::ToolPattern};

use super::{MeasureOptions, look, warn_of_settings};
use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    options::{TextOrJson, parsed},
    registry,
};

/// What `cycod tools budget` takes.
#[derive(Parser)]
#[command(name = "budget", about = "Propose how to make the tools fit into a number of tokens")]
struct Arguments {
    /// How many tokens the tools may take
    #[arg(long, value_name = "N")]
    max: u32,
    /// A tool that must stay; * matches any characters
    #[arg(long, value_name = "TOOL_NAME")]
    keep: Vec<String>,
    #[command(flatten)]
    measure: MeasureOptions,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod tools budget`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Says which texts to shorten, which tools to make one and which to turn off so that all fit. Nothing is changed.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let measure = args.measure.measure()?;
    let most = args.max;
    let kept = args.keep.iter().map(|name| {
        let wrong = || CommandError::usage(format!("--keep {name}: no tool can have this name"));
        ToolPattern::new(name).ok_or_else(wrong)
    });
    let kept = kept.collect::<Result<Vec<_>, _>>()?;
    warn_of_settings(context);
    let tools = context.engine.registry(measure);
    for pattern in kept.iter().filter(|pattern| !tools.offered().any(|tool| pattern.matches(&tool.entry.name))) {
        context.printer.warn(&format!("`--keep {pattern}`: models see no tool with this name"));
    }
    let fit = context.engine.fit_tools(&tools, usize::try_from(most).unwrap_or(usize::MAX), &KeptTools(kept));
    if args.format.is_json() {
        context.printer.json_of(&BudgetView::of(&fit, tools.measure));
    } else {
        let text = registry::budget(&fit, tools.measure, look(context));
        context.printer.text(text);
    }
    Ok(if fit.missing() == 0 { 0 } else { exit::FAILURE })
}
