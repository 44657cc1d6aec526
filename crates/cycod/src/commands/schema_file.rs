use clap::{Arg, ArgMatches, Command};
use cycod_engine::definition::{FileFormat, file_schema, programs_schema};

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool schema-file`.
pub(crate) fn command() -> Command {
    Command::new("schema-file").about("Print the JSON Schema of tool files").arg(
        Arg::new("for")
            .long("for")
            .value_name("KIND")
            .value_parser(["yaml", "markdown", "mimir", "programs"])
            .default_value("yaml")
            .help("The kind of file; `markdown` is the front matter of a Markdown tool, `programs` is `programs.yaml`"),
    )
}

/// Prints the JSON Schema of the tool file, or of the file about programs.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let kind = matches.get_one::<String>("for").map(String::as_str);
    if kind == Some("programs") {
        context.printer.json(&format!("{:#}", programs_schema()));
        return Ok(0);
    }
    let format = match kind {
        Some("markdown") => FileFormat::Markdown,
        Some("mimir") => FileFormat::Mimir,
        _ => FileFormat::Cycod,
    };
    context.printer.json(&format!("{:#}", file_schema(format)));
    Ok(0)
}
