use std::{collections::BTreeMap, path::Path};

use anstyle::Style;
use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_app::views::{RunView, outcome, who};
use cycod_store::{Run, State};

use super::{FilterOptions, LOCAL, ago, history, is_of_project, local, newest, took};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::approvals::waiting_runs,
    options::parsed,
    printer::{DIM, ERROR, WARNING},
    store::shown,
    table::{Cell, Table},
};

/// How much of a name a list shows: the time, and enough of what is random.
const SHORT: usize = 16;

/// How the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Table,
    Json,
}

/// What `cycod runs list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List past runs and decisions")]
struct Arguments {
    #[command(flatten)]
    filter: FilterOptions,
    /// Calls from everywhere, not only from this project
    #[arg(long, short = 'a')]
    all: bool,
    /// How many calls to list, 0 for all
    #[arg(long, short = 'n', value_name = "COUNT", default_value = "20")]
    limit: usize,
    /// Output format; `table` shows local times
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// `cycod runs list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists calls, the newest first.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let limit = args.limit;
    let is_everywhere = args.all;
    let workspace = context.engine.host().workspace.clone();
    let is_wanted = |run: &Run| is_everywhere || is_of_project(run, &workspace);
    let (history, filter) = (history(context), args.filter.filter(limit)?);
    let runs = newest(&history, &filter, limit, is_wanted)?;
    let has_others = || newest(&history, &filter, 1, |_| true).is_ok_and(|runs| !runs.is_empty());
    let is_open = |run: &Run| matches!(run.state, State::Running | State::Interrupted);
    let waiting = if runs.iter().any(is_open) { waiting_runs(context)? } else { BTreeMap::new() };
    let waits = |run: &Run| waiting.get(&run.id).filter(|_| is_open(run)).cloned().unwrap_or_default();
    let host = context.engine.host().clone();
    let printer = &mut context.printer;
    if args.format == Format::Json {
        printer
            .json_of(&runs.iter().map(|run| RunView { waits_for: waits(run), ..RunView::of(run) }).collect::<Vec<_>>());
        return Ok(0);
    }
    if runs.is_empty() {
        let is_any = !is_everywhere && has_others();
        printer.say(if is_any { "no runs found in this project" } else { "no runs found" });
        if is_any {
            printer.say("  in other projects: cycod runs list --all");
        }
        return Ok(0);
    }
    let is_exact = args.format == Format::Table;
    let directory = |run: &Run| run.call["from"].as_str().unwrap_or_default().to_owned();
    let is_mixed = runs.iter().any(|run| directory(run) != directory(&runs[0]) || !is_of_project(run, &workspace));
    let mut head = vec!["RUN", "WHEN", "TOOL", "WHO", "VERDICT", "END", "TIME"];
    head.extend(is_mixed.then_some("DIRECTORY"));
    // Of a narrow terminal's lines, the name of the run, its tool and its end are left: who, the verdict, the time, when.
    let mut table = Table::new(&head).with_minor(&[3, 4, 6, 1]);
    for run in &runs {
        let mut row = vec![
            Cell::default().with(run.id.get(..SHORT).unwrap_or(&run.id), DIM),
            Cell::new(if is_exact { local(run.at, LOCAL) } else { ago(run.at) }),
            Cell::new(run.tool.as_str()),
            Cell::new(who(run)),
            Cell::new(run.call["verdict"].as_str().unwrap_or_default()),
            match (&waits(run)[..], run.state) {
                ([], _) => Cell::default().with(outcome(run), style(run)),
                (ids, State::Running) => Cell::default().with(format!("waits for {}", ids.join(", ")), WARNING),
                (ids, _) => Cell::default().with(format!("{}, waits for {}", outcome(run), ids.join(", ")), WARNING),
            },
            Cell::new(took(run).unwrap_or_default()),
        ];
        row.extend(is_mixed.then(|| Cell::new(shown(Path::new(&directory(run)), &host))));
        table.row(row);
    }
    table.print(printer);
    Ok(0)
}

fn style(run: &Run) -> Style {
    match run.state {
        State::Ok | State::Running => Style::new(),
        State::Failed | State::TimedOut => ERROR,
        State::Refused | State::Interrupted | State::Cancelled => WARNING,
    }
}
