use std::collections::BTreeMap;

use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_engine::{catalog::State, group_of};
use serde_json::{Value, json};

use crate::{
    cli::Context,
    command_error::CommandError,
    options::parsed,
    scope::ScopeOptions,
    table::{Cell, Table},
};

/// How the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// What `cycod tool groups` takes.
#[derive(Parser)]
#[command(name = "groups", about = "List the groups of tools")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool groups`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists the groups with the tools in each.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let filter = args.scope.filter()?.unwrap_or_default();
    let catalog = context.engine.catalog();
    let entries = catalog.every_entry();
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    // What cannot be called is in no group: nobody could choose it from there.
    let called = entries.iter().filter(|entry| entry.state == State::Active);
    for entry in called.filter(|entry| catalog.scopes().admits(filter, entry.scope)) {
        groups.entry(group_of(entry).to_owned()).or_default().push(&entry.name);
    }
    if args.format == Format::Json {
        let list: Vec<Value> = groups
            .iter()
            .map(|(group, tools)| json!({ "group": group, "count": tools.len(), "tools": tools }))
            .collect();
        context.printer.json(&format!("{:#}", Value::from(list)));
        return Ok(0);
    }
    if groups.is_empty() {
        context.printer.say("no tools here yet; make one with `cycod tool create NAME`");
        return Ok(0);
    }
    let mut table = Table::new(&["GROUP", "COUNT", "TOOLS"]);
    for (group, tools) in &groups {
        table.row(vec![Cell::new(group.as_str()), Cell::new(tools.len().to_string()), Cell::new(tools.join(", "))]);
    }
    table.print(&mut context.printer);
    context.printer.say("see the tools of one: cycod list --group GROUP");
    Ok(0)
}
