use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_app::{
    shown_path,
    views::{Beyond, ToolDetail, notes},
};
use cycod_engine::{
    catalog::{LoadError, Scope, ScopeFilter, State},
    definition::document_json,
    diagnostic::{RenderStyle, SourceFile, SourceReport, render_text, shown},
};

use crate::{
    cli::Context,
    command_error::CommandError,
    detail::Detail,
    options::parsed,
    scope::{ScopeOptions, entry},
    yaml_text::yaml_text,
};

/// How the tool is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Yaml,
    Json,
}

/// What `cycod tool get` takes.
#[derive(Parser)]
#[command(name = "get", about = "Display the details of a specific tool")]
struct Arguments {
    /// The tool
    #[arg(value_name = "TOOL_NAME")]
    name: String,
    /// The text of the file, or the definition read from it
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Everything there is to know about it
    #[arg(long)]
    detail: bool,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool get`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Displays a tool.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.name;
    let filter = args.scope.filter()?.unwrap_or_default();
    let json = args.format == Some(Format::Json);
    if args.detail {
        return detail(context, name, filter, json);
    }
    let Context { engine, printer, .. } = context;
    let entry = entry(engine, name, filter)?;
    let loaded = match entry.load() {
        Ok(opened) => Ok(opened),
        Err(LoadError::Broken { source_file, diagnostics, .. }) => Err((source_file, diagnostics)),
        Err(error @ LoadError::Changed { .. }) => {
            return Err(CommandError::failure(error.to_string()).hint("try again"));
        }
    };
    let source = match &loaded {
        Ok(opened) => &opened.source,
        Err((source, _)) => source,
    };
    if let Err((_, diagnostics)) = &loaded
        && source.text.is_empty()
    {
        let why = diagnostics.first().map_or("the file is empty", |diagnostic| diagnostic.message.as_str());
        return Err(CommandError::failure(format!("`{}` has nothing to show: {why}", source.name)));
    }
    if json {
        let definition = document_json(source).ok_or_else(|| {
            let error = CommandError::failure(format!("the file of `{}` cannot be read as YAML", entry.name));
            error.hint(format!("see: cycod validate {}", entry.name))
        })?;
        printer.json(&format!("{definition:#}"));
    } else {
        // What is in no file has no text of its own.
        let text = match document_json(source).filter(|_| matches!(entry.scope, Scope::Mcp | Scope::BuiltIn)) {
            Some(definition) => yaml_text(&definition),
            None => source.text.to_string(),
        };
        printer.data(text.as_bytes());
        if !text.ends_with('\n') {
            printer.data(b"\n");
        }
    }
    for note in notes(&entry, &Beyond::of(engine, &entry), engine.host()) {
        printer.warn(&format!("`{}` is {}{}", entry.name, note.word, note.reason));
    }
    if matches!(entry.state, State::Broken { .. } | State::Duplicate { .. }) {
        printer.say(&format!("  see: cycod validate {}", entry.name));
    }
    Ok(0)
}

/// Shows everything there is to know about a tool.
pub(crate) fn detail(context: &mut Context, name: &str, filter: ScopeFilter, json: bool) -> Result<u8, CommandError> {
    let Context { engine, printer, .. } = context;
    let entry = entry(engine, name, filter)?;
    let loaded = match entry.load() {
        Ok(opened) => Ok((engine.resulting(opened.tool), opened.source)),
        Err(LoadError::Broken { source_file, diagnostics, .. }) => Err((source_file, diagnostics)),
        Err(error @ LoadError::Changed { .. }) => {
            return Err(CommandError::failure(error.to_string()).hint("try again"));
        }
    };
    let tool = loaded.as_ref().ok().map(|(tool, _)| tool);
    if json {
        let source = match &loaded {
            Ok((_, source)) => source,
            Err((source, _)) => source,
        };
        printer.json_of(&ToolDetail::of(engine, &entry, tool, source));
        return Ok(0);
    }
    printer.text(Detail::new(engine, &entry, tool).text(printer.data_colour));
    if let Err((source, diagnostics)) = loaded {
        let source = SourceFile { name: shown_path(&entry.path, engine.host()), ..source };
        let style = if printer.data_colour { RenderStyle::Coloured } else { RenderStyle::Plain };
        printer.text(shown!["\n", render_text(&SourceReport { source, diagnostics }, style)]);
    }
    Ok(0)
}
