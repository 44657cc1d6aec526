use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::{shown_path, views::ToolInfo};
use cycod_engine::{
    catalog::LoadError,
    diagnostic::{RenderStyle, SourceFile, SourceReport, render_text, shown},
};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{get, tools},
    detail::Detail,
    options::{TextOrJson, parsed},
    scope::{ScopeOptions, entry},
};

/// What `cycod info` takes.
#[derive(Parser)]
#[command(name = "info", about = "Show a tool's purpose, parameters and status")]
struct Arguments {
    #[arg(value_name = "TOOL_NAME")]
    name: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
    /// Everything there is to know about it
    #[arg(long)]
    detail: bool,
    /// The tool as models see it, and what that costs
    #[arg(long, conflicts_with_all = ["detail", "scope", "global", "user", "local", "any"])]
    as_model: bool,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod info`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows everything that somebody wants to know who is to use a tool.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.name;
    let json = args.format.is_json();
    if args.as_model {
        return tools::info::show(context, name, json);
    }
    if args.detail {
        return get::detail(context, name, args.scope.filter()?.unwrap_or_default(), json);
    }
    let Context { engine, printer, .. } = context;
    let entry = entry(engine, name, args.scope.filter()?.unwrap_or_default())?;
    let loaded = match entry.load() {
        Ok(opened) => Ok(engine.resulting(opened.tool)),
        Err(LoadError::Broken { source_file, diagnostics, .. }) => Err((source_file, diagnostics)),
        Err(error @ LoadError::Changed { .. }) => {
            return Err(CommandError::failure(error.to_string()).hint("try again"));
        }
    };
    let tool = loaded.as_ref().ok();
    if json {
        printer.json_of(&ToolInfo::of(engine, &entry, tool));
        return Ok(0);
    }
    printer.text(Detail::new(engine, &entry, tool).info(printer.data_colour));
    if let Err((source, diagnostics)) = loaded {
        let source = SourceFile { name: shown_path(&entry.path, engine.host()), ..source };
        let style = if printer.data_colour { RenderStyle::Coloured } else { RenderStyle::Plain };
        printer.text(shown!["\n", render_text(&SourceReport { source, diagnostics }, style)]);
    }
    Ok(0)
}
