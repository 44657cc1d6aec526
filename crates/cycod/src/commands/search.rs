//! `cycod tool search`: the tools that do what somebody describes, the best first.

use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum, value_parser};
use cycod_app::views::ToolView;
use cycod_engine::{
    catalog::{Entry, State},
    group_of,
};
use cycod_search::{Described, Index};

use super::list::{beyond, table};
use crate::{cli::Context, command_error::CommandError, options::parsed, scope::ScopeOptions};

/// How the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Simple,
    Table,
    Json,
}

/// What `cycod tool search` takes.
#[derive(Parser)]
#[command(name = "search", about = "Find tools by what they do")]
struct Arguments {
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// The most tools to show
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..), default_value = "8")]
    limit: u16,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool search`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows the tools that fit.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let filter = args.scope.filter()?.unwrap_or_default();
    let catalog = context.engine.catalog();
    let mut entries = catalog.entries();
    entries.retain(|entry| entry.state == State::Active && catalog.scopes().admits(filter, entry.scope));
    let keywords: Vec<String> = entries.iter().map(|entry| keywords(entry).join(" ")).collect();
    let index = Index::new(entries.iter().zip(&keywords).map(|(entry, keywords)| Described {
        name: &entry.name,
        group: group_of(entry),
        description: entry.summary.description.as_deref().unwrap_or_default(),
        keywords,
        parameters: "",
    }));
    let found: Vec<Entry> =
        index.find(&args.words.join(" "), args.limit.into()).into_iter().map(|at| entries[at].clone()).collect();
    let beyond = beyond(context, &found);
    let all = || found.iter().zip(&beyond);
    match args.format {
        Format::Json => {
            let list: Vec<ToolView<'_>> = all().map(|(entry, beyond)| ToolView::of(entry, beyond)).collect();
            context.printer.json_of(&list);
        }
        Format::Simple => {
            let lines: String = found.iter().flat_map(|entry| [&entry.name, "\n"]).collect();
            context.printer.data(lines.as_bytes());
        }
        Format::Table if found.is_empty() => {
            context.printer.say("no tool fits; try other words, or see all: cycod list");
        }
        Format::Table => {
            let table = table(all(), context.engine.host());
            table.print(&mut context.printer);
        }
    }
    Ok(0)
}

/// The words that a tool's author gave it beside its description.
fn keywords(entry: &Entry) -> Vec<&str> {
    let summary = &entry.summary;
    let words = summary.keywords.iter().chain(&summary.tags).chain(&summary.metadata_tags);
    let more = summary.category.iter().chain(&summary.subcategory).chain(&summary.title);
    words.chain(more).map(String::as_str).collect()
}
