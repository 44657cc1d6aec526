use clap::{ArgMatches, Command};
use cycod_engine::definition::file_schema;

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool schema-file`.
pub(crate) fn command() -> Command {
    Command::new("schema-file").about("Print the JSON Schema of the tool file")
}

/// Prints the JSON Schema of the tool file.
pub(crate) fn run(context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    context.printer.line(&format!("{:#}", file_schema()));
    Ok(0)
}
