//! `cycod tool search`: the tools that do what somebody describes, the best first.

use clap::{Arg, ArgMatches, Command, value_parser};
use cycod_app::views::{Beyond, ToolView, misuse_of};
use cycod_engine::{
    catalog::{Entry, State},
    group_of,
};
use cycod_search::{Described, Index};

use super::list::table;
use crate::{
    cli::Context,
    command_error::CommandError,
    scope::{scope, with_scope},
};

/// `cycod tool search`.
pub(crate) fn command() -> Command {
    let words = Arg::new("words").value_name("WORDS").required(true).num_args(1..);
    let limit = Arg::new("limit").long("limit").value_name("N").help("The most tools to show");
    let format = Arg::new("format").long("format").value_name("FORMAT").help("Output format");
    let command = Command::new("search")
        .about("Find tools by what they do")
        .arg(words)
        .arg(limit.value_parser(value_parser!(u16).range(1..)).default_value("8"))
        .arg(format.value_parser(["simple", "table", "json"]).default_value("table"));
    with_scope(command)
}

/// Shows the tools that fit.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let filter = scope(matches)?.unwrap_or_default();
    let words: Vec<&str> = matches.get_many::<String>("words").into_iter().flatten().map(String::as_str).collect();
    let limit = usize::from(*matches.get_one::<u16>("limit").expect("it has a default"));
    let format = matches.get_one::<String>("format").expect("it has a default");
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
    let found: Vec<Entry> = index.find(&words.join(" "), limit).into_iter().map(|at| entries[at].clone()).collect();
    let standings = context.engine.standings(&found).unwrap_or_else(|_| vec![None; found.len()]);
    let beyond = found
        .iter()
        .zip(standings)
        .map(|(entry, trust)| Beyond { trust, misuse: misuse_of(&context.engine, entry) })
        .collect::<Vec<_>>();
    let all = || found.iter().zip(&beyond);
    match format.as_str() {
        "json" => {
            let list: Vec<ToolView<'_>> = all().map(|(entry, beyond)| ToolView::of(entry, beyond)).collect();
            context.printer.json_of(&list);
        }
        "simple" => {
            let lines: String = found.iter().flat_map(|entry| [&entry.name, "\n"]).collect();
            context.printer.data(lines.as_bytes());
        }
        _ if found.is_empty() => context.printer.say("no tool fits; try other words, or see all: cycod list"),
        _ => {
            let table = table(all(), context.engine.host());
            let (width, colour) = (context.printer.width, context.printer.data_colour);
            context.printer.text(table.render(width, colour));
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
