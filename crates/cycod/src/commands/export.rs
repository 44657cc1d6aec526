use std::fs;

use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_engine::{catalog::ScopeFilter, definition::document_json, diagnostic::count};
use serde_json::{Map, Value};

use crate::{
    cli::Context,
    command_error::CommandError,
    options::parsed,
    scope::ScopeOptions,
    store::{entry, in_a_file, stated},
};

/// How the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Yaml,
    Json,
}

/// What `cycod tool export` takes.
#[derive(Parser)]
#[command(name = "export", about = "Export a tool definition to a file")]
struct Arguments {
    #[arg(value_name = "TOOL_NAME")]
    name: String,
    /// Export format
    #[arg(long, value_name = "FORMAT", default_value = "yaml")]
    format: Format,
    /// Output file; standard output when omitted or `-`
    #[arg(long, value_name = "FILE")]
    output: Option<String>,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool export`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Writes a definition to a file or standard output: the file's own text, or the same as JSON.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.name;
    let json = args.format == Format::Json;
    let entry = in_a_file(entry(context, name, args.scope.filter()?.unwrap_or(ScopeFilter::Any))?)?;
    let (source, diagnostics) = entry.diagnostics();
    let unusable = |why: &str| {
        CommandError::failure(format!("tool `{}` {why}: {}", entry.name, count(&diagnostics)))
            .hint(format!("cycod validate {}", entry.name))
    };
    if source.text.is_empty() {
        return Err(unusable("cannot be read"));
    }
    let text = if json {
        let Some(Value::Object(mut fields)) = document_json(&source) else { return Err(unusable("is not a document")) };
        if !fields.contains_key("name") {
            // In its directory the file's name says it; elsewhere nothing would.
            let mut named = Map::from_iter([("name".to_owned(), Value::from(entry.name.as_str()))]);
            named.append(&mut fields);
            fields = named;
        }
        format!("{:#}\n", Value::Object(fields))
    } else {
        source.text.to_string()
    };
    match args.output.as_ref().filter(|path| *path != "-") {
        Some(path) => {
            fs::write(path, text).map_err(|error| CommandError::failure(format!("cannot write `{path}`: {error}")))?;
            context.printer.say(&format!("Exported {} tool `{}` to {path}", entry.scope, entry.name));
        }
        None => context.printer.data(text.as_bytes()),
    }
    // Elsewhere nothing says it.
    let Ok(opened) = entry.load() else { return Ok(0) };
    if let Some(stated) = stated(&opened.tool, context.engine.host()) {
        context.printer.warn(&format!("`{}` rests on what is {stated}", entry.name));
        context.printer.say("  where that file is not, add it to the tool as `programs`");
    }
    for (program, manifest) in &opened.tool.stated.built {
        context.printer.warn(&format!("`{}` rests on `{program}` being built by this project: {manifest}", entry.name));
        context.printer.say(&format!("  elsewhere, say what it does: `programs: {{{program}: text}}`"));
    }
    Ok(0)
}
