use std::time::{SystemTime, UNIX_EPOCH};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::{ago, moment};
use cycod_store::CachedEntry;
use serde_json::{Value, json};

use super::failed;
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    printer::DIM,
    table::{Cell, Table},
};

/// How much of the name of a run a list shows.
const SHORT: usize = 16;

/// What `cycod cache list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List the stored results of steps")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod cache list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists what is stored, the latest use first.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let entries = context.engine.cached_steps().entries().map_err(|error| failed(&error))?;
    if args.format.is_json() {
        let all: Vec<Value> = entries.iter().map(to_json).collect();
        context.printer.json(&serde_json::to_string_pretty(&all).expect("JSON values can be written"));
        return Ok(0);
    }
    if entries.is_empty() {
        context.printer.say("no results of steps are stored");
        return Ok(0);
    }
    let mut table = Table::new(&["STEP", "RUN", "USED", "FILES", "BYTES"]);
    for entry in &entries {
        table.row(vec![
            Cell::new(entry.name.as_str()),
            Cell::default().with(entry.run.get(..SHORT).unwrap_or(&entry.run), DIM),
            Cell::new(ago(milliseconds(entry.used))),
            Cell::new(entry.files.to_string()),
            Cell::new(entry.bytes.to_string()),
        ]);
    }
    table.print(&mut context.printer);
    Ok(0)
}

fn to_json(entry: &CachedEntry) -> Value {
    json!({
        "step": entry.name,
        "run": entry.run,
        "used": moment(milliseconds(entry.used)),
        "files": entry.files,
        "bytes": entry.bytes,
    })
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
