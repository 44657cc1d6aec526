use std::fs;

use clap::{Arg, ArgMatches, Command};
use cycod_engine::{catalog::ScopeFilter, definition::document_json, diagnostic::count};
use serde_json::{Map, Value};

use crate::{
    cli::Context,
    command_error::CommandError,
    scope::{scope, with_scope},
    store::{entry, in_a_file, stated},
};

/// `cycod tool export`.
pub(crate) fn command() -> Command {
    let command = Command::new("export")
        .about("Export a tool definition to a file")
        .arg(Arg::new("name").value_name("TOOL_NAME").required(true))
        .arg(
            Arg::new("format")
                .long("format")
                .value_parser(["yaml", "json"])
                .default_value("yaml")
                .help("Export format"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .value_name("FILE")
                .help("Output file; standard output when omitted or `-`"),
        );
    with_scope(command)
}

/// Writes a definition to a file or standard output: the file's own text, or the same as JSON.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("name").expect("clap requires it");
    let json = matches.get_one::<String>("format").is_some_and(|format| format == "json");
    let entry = in_a_file(entry(context, name, scope(matches)?.unwrap_or(ScopeFilter::Any))?)?;
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
    match matches.get_one::<String>("output").filter(|path| *path != "-") {
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
