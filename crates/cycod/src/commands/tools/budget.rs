use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use cycod_app::views::BudgetView;
use cycod_engine::{Kept, settings::ToolPattern};

use super::{is_json, look, measure, warn_of_settings, with_format, with_measure};
use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    registry,
};

/// `cycod tools budget`.
pub(crate) fn command() -> Command {
    let command = Command::new("budget")
        .about("Propose how to make the tools fit into a number of tokens")
        .arg(
            Arg::new("max")
                .long("max")
                .value_name("N")
                .required(true)
                .value_parser(value_parser!(u32))
                .help("How many tokens the tools may take"),
        )
        .arg(
            Arg::new("keep")
                .long("keep")
                .value_name("TOOL_NAME")
                .action(ArgAction::Append)
                .help("A tool that must stay; * matches any characters"),
        );
    with_format(with_measure(command))
}

/// Says which texts to shorten, which tools to make one and which to turn off so that all fit. Nothing is changed.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let measure = measure(matches)?;
    let most = *matches.get_one::<u32>("max").expect("clap requires it");
    let kept = matches.get_many::<String>("keep").into_iter().flatten().map(|name| {
        let wrong = || CommandError::usage(format!("--keep {name}: no tool can have this name"));
        ToolPattern::new(name).ok_or_else(wrong)
    });
    let kept = kept.collect::<Result<Vec<_>, _>>()?;
    warn_of_settings(context);
    let tools = context.engine.registry(measure);
    for pattern in kept.iter().filter(|pattern| !tools.offered().any(|tool| pattern.matches(&tool.entry.name))) {
        context.printer.warn(&format!("`--keep {pattern}`: models see no tool with this name"));
    }
    let fit = context.engine.fit_tools(&tools, usize::try_from(most).unwrap_or(usize::MAX), &Kept(kept));
    if is_json(matches) {
        context.printer.json_of(&BudgetView::of(&fit, tools.measure));
    } else {
        let text = registry::budget(&fit, tools.measure, look(context));
        context.printer.text(text);
    }
    Ok(if fit.missing() == 0 { 0 } else { exit::FAILURE })
}
