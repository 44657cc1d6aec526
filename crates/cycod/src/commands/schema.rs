use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::{
    catalog::{Availability, ScopeFilter, State},
    definition::function_schema,
};
use serde_json::Value;

use crate::{
    cli::Context,
    command_error::CommandError,
    scope::{scope, with_scope},
};

/// `cycod tool schema`.
pub(crate) fn command() -> Command {
    let command = Command::new("schema")
        .about("Print function-calling schemas")
        .arg(Arg::new("name").value_name("TOOL_NAME").num_args(0..).help("The tools"))
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .conflicts_with("name")
                .help("Every tool that can be called here"),
        );
    with_scope(command)
}

/// Prints function-calling schemas: an object for one tool, an array for several.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let filter = scope(matches)?.unwrap_or_default();
    let names: Vec<&String> = matches.get_many("name").into_iter().flatten().collect();
    let engine = &context.engine;
    let schema = |name: &str, filter| -> Result<Value, CommandError> {
        let tool = engine.open_tool(name, filter)?.tool;
        Ok(function_schema(&engine.resulting(tool)))
    };
    let schemas = match names.as_slice() {
        [] if matches.get_flag("all") => {
            let mut schemas = Vec::new();
            let mut left_out = Vec::new();
            for entry in engine.catalog().entries() {
                if !engine.catalog().scopes().admits(filter, entry.scope) {
                    continue;
                }
                match (&entry.state, &entry.availability) {
                    (State::Active, Availability::Available) => {
                        match schema(&entry.name, ScopeFilter::Only(entry.scope)) {
                            Ok(schema) => schemas.push(schema),
                            Err(error) => left_out.push(error.message),
                        }
                    }
                    (State::Shadowed { .. }, _) => {}
                    (State::Active, Availability::Unavailable(reasons)) => {
                        let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                        left_out.push(format!("`{}` {}", entry.name, reasons.join("; ")));
                    }
                    (State::Duplicate { .. }, _) => left_out.push(format!("`{}` is there twice", entry.name)),
                    (State::Broken { problem }, _) => left_out.push(format!("`{}` is broken: {problem}", entry.name)),
                }
            }
            for why in left_out {
                context.printer.warn(&format!("left out: {why}"));
            }
            Value::Array(schemas)
        }
        [] => return Err(CommandError::usage("no tool is named").hint("give the names of tools, or --all")),
        [name] => schema(name, filter)?,
        names => names.iter().map(|name| schema(name, filter)).collect::<Result<_, _>>()?,
    };
    context.printer.line(&format!("{schemas:#}"));
    Ok(0)
}
