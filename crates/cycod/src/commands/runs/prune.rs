use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_store::Keep;
use serde_json::json;

use super::{failed, format_argument, history, is_json, span};
use crate::{cli::Context, command_error::CommandError};

/// `cycod runs prune`.
pub(crate) fn command() -> Command {
    let keep = Arg::new("keep").long("keep").value_name("HOW-MUCH").action(ArgAction::Append);
    Command::new("prune")
        .about("Delete the oldest runs, and show how much remains")
        .arg(keep.help("An age (90d), a number of runs (100000) or a size (512MiB), from now on; can be repeated"))
        .arg(format_argument())
}

/// Drops what is too much.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let history = history(context);
    let mut keep = history.keeps().map_err(|error| failed(&error))?;
    for text in matches.get_many::<String>("keep").into_iter().flatten() {
        set(&mut keep, text).ok_or_else(|| {
            CommandError::usage(format!("`{text}` is neither an age, nor a number of runs, nor a size"))
                .hint("such as --keep 90d, --keep 100000 or --keep 512MiB")
        })?;
    }
    let pruned = history.prune(keep).map_err(|error| failed(&error))?;
    let days = keep.age.as_secs() / 86_400;
    if is_json(matches) {
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
