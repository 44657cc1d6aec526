use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_engine::definition::{FileFormat, file_schema, programs_schema};

use crate::{cli::Context, command_error::CommandError, options::parsed};

/// What `cycod tool schema-file` takes.
/// The kinds of files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileKind {
    Yaml,
    Markdown,
    Mimir,
    Programs,
}

#[derive(Parser)]
#[command(name = "schema-file", about = "Print the JSON Schema of tool files")]
struct Arguments {
    /// The kind of file; `markdown` is the front matter of a Markdown tool, `programs` is `programs.yaml`
    #[arg(long = "for", value_name = "KIND", default_value = "yaml")]
    kind: FileKind,
}

/// `cycod tool schema-file`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Prints the JSON Schema of the tool file, or of the file about programs.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let format = match args.kind {
        FileKind::Yaml => FileFormat::Cycod,
        FileKind::Markdown => FileFormat::Markdown,
        FileKind::Mimir => FileFormat::Mimir,
        FileKind::Programs => {
            context.printer.json(&format!("{:#}", programs_schema()));
            return Ok(0);
        }
    };
    context.printer.json(&format!("{:#}", file_schema(format)));
    Ok(0)
}
