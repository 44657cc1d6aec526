use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_app::{shown_path, views::ToolInfo};
use cycod_engine::{
    catalog::LoadError,
    diagnostic::{Report, SourceFile, Style, render_text, shown},
};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{get, tools},
    detail::Detail,
    scope::{entry, scope, with_scope},
};

/// `cycod info`.
pub(crate) fn command() -> Command {
    let command = Command::new("info")
        .about("Show a tool's purpose, parameters and status")
        .arg(Arg::new("name").value_name("TOOL_NAME").required(true))
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("Output format"),
        )
        .arg(Arg::new("detail").long("detail").action(ArgAction::SetTrue).help("Everything there is to know about it"))
        .arg(
            Arg::new("as-model")
                .long("as-model")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["detail", "scope", "global", "user", "local", "any"])
                .help("The tool as models see it, and what that costs"),
        );
    with_scope(command)
}

/// Shows everything that somebody wants to know who is to use a tool.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("name").expect("clap requires it");
    let json = matches.get_one::<String>("format").is_some_and(|format| format == "json");
    if matches.get_flag("as-model") {
        return tools::info::show(context, name, json);
    }
    if matches.get_flag("detail") {
        return get::detail(context, name, scope(matches)?.unwrap_or_default(), json);
    }
    let Context { engine, printer, .. } = context;
    let entry = entry(engine, name, scope(matches)?.unwrap_or_default())?;
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
        let style = if printer.data_colour { Style::Coloured } else { Style::Plain };
        printer.text(shown!["\n", render_text(&Report { source, diagnostics }, style)]);
    }
    Ok(0)
}
