use clap::{ArgMatches, Command};
use serde_json::json;

use super::{failed, format_argument, history, is_json};
use crate::{cli::Context, command_error::CommandError};

/// `cycod runs head`.
pub(crate) fn command() -> Command {
    Command::new("head").about("Print the digest of the last row, to store elsewhere").arg(format_argument())
}

/// Prints the head.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let head = history(context).head().map_err(|error| failed(&error))?.unwrap_or_default();
    if is_json(matches) {
        context.printer.json(&json!({"row": head.seq, "digest": head.digest.to_string()}).to_string());
    } else {
        context.printer.line(&head.to_string());
    }
    Ok(0)
}
