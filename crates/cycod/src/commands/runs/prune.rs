use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_store::Keep;
use serde_json::json;

use super::{failed, history, span};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod runs prune` takes.
#[derive(Parser)]
#[command(name = "prune", about = "Delete the oldest runs, and show how much remains")]
struct Arguments {
    /// An age (90d), a number of runs (100000) or a size (512MiB), from now on; can be repeated
    #[arg(long, value_name = "HOW-MUCH")]
    keep: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs prune`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Drops what is too much.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let history = history(context);
    let mut keep = history.keeps().map_err(|error| failed(&error))?;
    for text in &args.keep {
        set(&mut keep, text).ok_or_else(|| {
            CommandError::usage(format!("`{text}` is neither an age, nor a number of runs, nor a size"))
                .hint("such as --keep 90d, --keep 100000 or --keep 512MiB")
        })?;
    }
    let pruned = history.prune(keep).map_err(|error| failed(&error))?;
    let days = keep.age.as_secs() / 86_400;
    if args.format.is_json() {
        let kept = json!({"days": keep.age.as_secs_f64() / 86_400.0, "runs": keep.runs, "bytes": keep.bytes});
        context.printer.json(&json!({"dropped": pruned.rows, "keep": kept}).to_string());
    } else {
        context.printer.line(&format!(
            "dropped {} rows; limits from now on: {days} days, {} runs, {} MiB",
            pruned.rows,
            keep.runs,
            keep.bytes >> 20
        ));
    }
    Ok(0)
}

fn set(keep: &mut Keep, text: &str) -> Option<()> {
    if let Some(age) = span(text) {
        keep.age = age;
    } else if let Ok(runs) = text.parse() {
        keep.runs = runs;
    } else {
        let at = text.find(|character: char| !character.is_ascii_digit())?;
        let (number, unit) = text.split_at(at);
        let shift = match unit.to_ascii_lowercase().as_str() {
            "kib" | "k" => 10,
            "mib" => 20,
            "gib" | "g" => 30,
            _ => return None,
        };
        keep.bytes = number.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    }
    Some(())
}
