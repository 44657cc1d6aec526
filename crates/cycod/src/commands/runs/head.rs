use clap::{ArgMatches, Command, CommandFactory, Parser};
use serde_json::json;

use super::{failed, history};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod runs head` takes.
#[derive(Parser)]
#[command(name = "head", about = "Print the digest of the last row, to store elsewhere")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs head`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Prints the head.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let head = history(context).head().map_err(|error| failed(&error))?.unwrap_or_default();
    if args.format.is_json() {
        context.printer.json(&json!({"row": head.seq, "digest": head.digest.to_string()}).to_string());
    } else {
        context.printer.line(&head.to_string());
    }
    Ok(0)
}
