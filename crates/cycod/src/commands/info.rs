use clap::{Arg, ArgMatches, Command};
use cycod_engine::{
    catalog::LoadError,
    definition::function_schema,
    diagnostic::{Report, SourceFile, Style, render_text, shown},
};
use serde_json::json;

use crate::{
    cli::Context,
    command_error::CommandError,
    detail::Detail,
    scope::{entry, scope, with_scope},
    standing::{Beyond, entry_json, shown_path, stated_json},
};

/// `cycod tool info`.
pub(crate) fn command() -> Command {
    let command = Command::new("info")
        .about("Show what a tool is for, what it takes and how it stands here")
        .arg(Arg::new("name").value_name("TOOL_NAME").required(true))
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("How it is printed"),
        );
    with_scope(command)
}

/// Shows everything that somebody wants to know who is to use a tool.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("name").expect("clap requires it");
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
    let detail = Detail::new(engine, &entry, tool);
    if matches.get_one::<String>("format").is_some_and(|format| format == "json") {
        let mut object = entry_json(&entry, &Beyond::of(engine, &entry));
        object["source"] = json!(detail.source());
        if let Some(tool) = tool {
            object["parameters"] = function_schema(tool)["parameters"].clone();
            let permissions: Vec<&str> =
                tool.security.permissions.iter().map(|permission| permission.source.as_str()).collect();
            object["permissions"] = json!(permissions);
            if let Some(stated) = stated_json(tool) {
                object["stated"] = stated;
            }
            object["examples"] = json!(detail.examples());
        }
        printer.json(&format!("{object:#}"));
        return Ok(0);
    }
    printer.text(detail.info(printer.data_colour));
    if let Err((source, diagnostics)) = loaded {
        let source = SourceFile { name: shown_path(&entry.path, engine.host()), ..source };
        let style = if printer.data_colour { Style::Coloured } else { Style::Plain };
        printer.text(shown!["\n", render_text(&Report { source, diagnostics }, style)]);
    }
    Ok(0)
}
