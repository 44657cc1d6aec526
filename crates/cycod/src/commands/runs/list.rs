use anstyle::Style;
use clap::{Arg, ArgMatches, Command, value_parser};
use cycod_app::views::{RunView, outcome, who};
use cycod_store::{Run, State};

use super::{ago, failed, filter, format_argument, history, is_json, took, with_filter};
use crate::{
    cli::Context,
    command_error::CommandError,
    printer::{DIM, ERROR, WARNING},
    table::{Cell, Table},
};

/// How much of a name a list shows: the time, and enough of what is random.
const SHORT: usize = 16;

/// `cycod runs list`.
pub(crate) fn command() -> Command {
    let limit =
        Arg::new("limit").long("limit").short('n').value_name("COUNT").help("How many calls to list, 0 for all");
    with_filter(Command::new("list").about("List past runs and decisions"))
        .arg(limit.value_parser(value_parser!(usize)).default_value("20"))
        .arg(format_argument())
}

/// Lists calls, the newest first.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let limit = *matches.get_one::<usize>("limit").expect("it has a default");
    let runs = history(context).runs(&filter(matches, limit)?).map_err(|error| failed(&error))?;
    let printer = &mut context.printer;
    if is_json(matches) {
        printer.json_of(&runs.iter().map(RunView::of).collect::<Vec<_>>());
        return Ok(0);
    }
    if runs.is_empty() {
        printer.say("nothing was run, or nothing like this");
        return Ok(0);
    }
    let mut table = Table::new(&["RUN", "WHEN", "TOOL", "WHO", "VERDICT", "END", "TIME"]);
    for run in &runs {
        table.row(vec![
            Cell::default().with(run.id.get(..SHORT).unwrap_or(&run.id), DIM),
            Cell::new(ago(run.at)),
            Cell::new(run.tool.as_str()),
            Cell::new(who(run)),
            Cell::new(run.call["verdict"].as_str().unwrap_or_default()),
            Cell::default().with(outcome(run), style(run)),
            Cell::new(took(run).unwrap_or_default()),
        ]);
    }
    printer.text(table.render(printer.width, printer.data_colour));
    Ok(0)
}

fn style(run: &Run) -> Style {
    match run.state {
        State::Ok | State::Running => Style::new(),
        State::Failed | State::TimedOut => ERROR,
        State::Refused | State::Interrupted | State::Cancelled => WARNING,
    }
}
