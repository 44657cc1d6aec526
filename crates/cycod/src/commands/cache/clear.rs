use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::counted;
use serde_json::json;

use super::failed;
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod cache clear` takes.
#[derive(Parser)]
#[command(name = "clear", about = "Delete all stored results of steps")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod cache clear`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Deletes every stored result.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let count = context.engine.cached_steps().clear().map_err(|error| failed(&error))?;
    if args.format.is_json() {
        context.printer.json(&json!({"deleted": count}).to_string());
    } else {
        context.printer.line(&format!("deleted {}", counted(count, "result")));
    }
    Ok(0)
}
