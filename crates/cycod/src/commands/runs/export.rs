use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_app::views::RunView;
use cycod_store::Run;
use serde_json::Value;

use super::{FilterOptions, failed, history};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// The columns of the table, which are fields of the JSON too.
const COLUMNS: [&str; 16] = [
    "id",
    "at",
    "ended",
    "tool",
    "surface",
    "host",
    "principal",
    "status",
    "exit_code",
    "duration_us",
    "level",
    "verdict",
    "rule",
    "file",
    "fingerprint",
    "arguments",
];

/// What `cycod runs export` takes.
/// How calls are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Jsonl,
    Csv,
}

#[derive(Parser)]
#[command(name = "export", about = "Print past runs and decisions for other programs")]
struct Arguments {
    #[command(flatten)]
    filter: FilterOptions,
    /// One JSON object per line, or a table
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    format: Format,
}

/// `cycod runs export`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Prints calls, the newest first.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let history = history(context);
    let is_csv = args.format == Format::Csv;
    let printer = &mut context.printer;
    if is_csv {
        printer.data(format!("{}\n", COLUMNS.join(",")).as_bytes());
    }
    let mut print = |run: Run| {
        if is_csv {
            printer.data(format!("{}\n", csv(&run)).as_bytes());
        } else {
            printer.json(&json_of(&run).to_string());
        }
        !printer.is_closed()
    };
    history.each_run(&args.filter.filter(0)?, &mut print).map_err(|error| failed(&error))?;
    Ok(0)
}

/// A line as RFC 4180 has it. What a table program would take for a formula gets an apostrophe.
fn csv(run: &Run) -> String {
    let json = json_of(run);
    let cell = |name: &&str| {
        let text = match &json[*name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let text = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text };
        let is_plain = !text.contains([',', '"', '\n', '\r']);
        if is_plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
    };
    COLUMNS.iter().map(cell).collect::<Vec<_>>().join(",")
}

fn json_of(run: &Run) -> Value {
    serde_json::to_value(RunView::of(run)).expect("a view can be written as JSON")
}
