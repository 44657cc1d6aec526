use std::time::Duration;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::moment;
use cycod_engine::diagnostic::visible;
use cycod_process::{Stop, host_interrupts};
use cycod_store::Row;
use serde_json::json;

use super::{LOCAL, failed, history, local};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// How often it is looked for new rows.
const EVERY: Duration = Duration::from_millis(100);
/// How many rows are read at once.
const MOST: usize = 500;

/// What `cycod runs tail` takes.
#[derive(Parser)]
#[command(name = "tail", about = "Show the last runs and decisions, and new ones")]
struct Arguments {
    /// Keep printing new rows, from any process, until interrupted
    #[arg(long, short = 'f')]
    follow: bool,
    /// How many of the last rows to show
    #[arg(long, short = 'n', value_name = "COUNT", default_value = "10")]
    lines: u64,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs tail`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows rows as they are written.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let history = history(context);
    let lines = args.lines;
    let mut seen = history.last_row().map_err(|error| failed(&error))?.saturating_sub(lines);
    let stop = Stop::new().map_err(|error| CommandError::failure(format!("cannot wait: {error}")))?;
    let _interrupts = host_interrupts(&stop).map_err(|error| CommandError::failure(format!("cannot wait: {error}")))?;
    loop {
        let rows = history.rows_after(seen, MOST).map_err(|error| failed(&error))?;
        for row in &rows {
            seen = row.seq;
            if args.format.is_json() {
                context.printer.json(&row_json(row).to_string());
            } else {
                context.printer.line(&line(row));
            }
        }
        if rows.len() == MOST {
            continue;
        }
        if !args.follow || stop.is_raised() || context.printer.is_closed() {
            return Ok(0);
        }
        std::thread::sleep(EVERY);
    }
}

fn row_json(row: &Row) -> serde_json::Value {
    json!({
        "row": row.seq, "at": moment(row.at), "kind": row.kind, "run": row.run, "tool": row.tool,
        "surface": row.surface, "status": row.status, "body": row.body, "digest": row.digest.to_string(),
    })
}

/// A row in one line.
fn line(row: &Row) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let said = match row.kind.as_str() {
        "call" => {
            let host = row.body["host"].as_str().map(|host| format!(" ({host})")).unwrap_or_default();
            let how = match row.body["refusal"]["code"].as_str() {
                Some(code) => format!("refused: {code}, {}", text(&row.body["rule"])),
                None => format!("begins: {}, {}", text(&row.body["verdict"]), text(&row.body["rule"])),
            };
            format!("{} {}{host} {how}", row.tool, row.surface)
        }
        "end" => {
            let took = Duration::from_micros(row.body["duration_us"].as_u64().unwrap_or(0));
            format!("{}, exit {}, {}", row.status, row.body["exit_code"], crate::run::duration(took))
        }
        "pruned" => format!("rows up to {} were dropped", row.body["through"]),
        "gap" => format!("rows after {} are missing", row.body["after"]),
        other => other.to_owned(),
    };
    let run = row.run.get(..16).unwrap_or(&row.run);
    visible(&format!("{}  {run:<16}  {said}", local(row.at, LOCAL))).into_owned()
}
