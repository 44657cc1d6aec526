//! `cycod tool schema`: tools as functions in the words of a model's provider.

use clap::{ArgMatches, Command, CommandFactory, Parser, ValueEnum};
use cycod_engine::{
    Engine,
    catalog::{Availability, ScopeFilter, State},
    definition::function_schema,
};
use cycod_schema::{Dialect, Export, Exporter, Fidelity, Function};
use serde_json::{Value, json};

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    options::{one_of, parsed},
    printer::Printer,
    scope::ScopeOptions,
};

/// How the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Json,
    Text,
}

/// What `cycod tool schema` takes.
#[derive(Parser)]
#[command(name = "schema", about = "Print function-calling schemas")]
struct Arguments {
    /// The tools
    #[arg(value_name = "TOOL_NAME", num_args = 0..)]
    name: Vec<String>,
    /// Every tool that can run here
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// The schema dialect
    #[arg(long, value_name = "DIALECT", value_parser = one_of(Dialect::NAMES))]
    dialect: Option<Dialect>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// Print what the dialect loses, as JSON, instead of the tools
    #[arg(long, requires = "dialect", conflicts_with = "format")]
    report: bool,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool schema`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Prints function-calling schemas: an object for one tool, an array for several.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let filter = args.scope.filter()?.unwrap_or_default();
    let names = &args.name;
    let is_text = args.format == Format::Text;
    let Context { engine, printer, .. } = context;
    let functions = match names.as_slice() {
        [] if args.all => callable(engine, filter, printer),
        [] => return Err(CommandError::usage("no tool is named").hint("give the names of tools, or --all")),
        names => names.iter().map(|name| function(engine, name, filter)).collect::<Result<_, _>>()?,
    };
    let Some(dialect) = args.dialect else {
        print(printer, functions, names.len() == 1, is_text);
        return Ok(0);
    };
    let mut exporter = Exporter::new(dialect);
    let exports: Vec<Export> =
        functions.iter().map(|function| exporter.export(&Function::from_json(function))).collect();
    let named = || functions.iter().map(|function| function["name"].as_str().unwrap_or_default()).zip(&exports);
    if args.report {
        printer.json(&format!("{:#}", Value::Array(named().map(|(name, export)| report(name, export)).collect())));
    } else {
        named().for_each(|(name, export)| say(printer, name, export));
    }
    let is_refused = exports.iter().any(|export| export.fidelity == Fidelity::Refused);
    if !args.report {
        print(printer, exports.into_iter().filter_map(|export| export.tool).collect(), names.len() == 1, is_text);
    }
    Ok(if is_refused { exit::FAILURE } else { 0 })
}

fn function(engine: &Engine, name: &str, filter: ScopeFilter) -> Result<Value, CommandError> {
    let tool = engine.open_tool(name, filter)?.tool;
    Ok(function_schema(&engine.resulting(tool)))
}

/// Every tool that can be called here; of the others it is said why they are left out.
///
/// A scope that wins comes first, so that its tools keep their names where a dialect makes two of them the same.
fn callable(engine: &Engine, filter: ScopeFilter, printer: &mut Printer) -> Vec<Value> {
    let mut functions = Vec::new();
    for entry in engine.catalog().entries() {
        if !engine.catalog().scopes().admits(filter, entry.scope) {
            continue;
        }
        let left_out = match (&entry.state, &entry.availability) {
            (State::Active, Availability::Available) => {
                match function(engine, &entry.name, ScopeFilter::Only(entry.scope)) {
                    Ok(function) => {
                        functions.push((entry.scope, function));
                        continue;
                    }
                    Err(error) => error.message,
                }
            }
            (State::Shadowed { .. }, _) => continue,
            (State::Active, Availability::Unavailable(reasons)) => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                format!("`{}` {}", entry.name, reasons.join("; "))
            }
            (State::Duplicate { .. }, _) => format!("`{}` is there twice", entry.name),
            (State::Broken { problem }, _) => format!("`{}` is broken: {problem}", entry.name),
        };
        printer.warn(&format!("left out: {left_out}"));
    }
    functions.sort_by_key(|(scope, _)| *scope);
    functions.into_iter().map(|(_, function)| function).collect()
}

/// Prints tools: an object where one was asked for, else an array; or what a person wants to know of them.
fn print(printer: &mut Printer, mut tools: Vec<Value>, is_one: bool, is_text: bool) {
    if is_text {
        tools.iter().for_each(|tool| printer.line(&text(tool)));
    } else if !is_one {
        printer.json(&format!("{:#}", Value::Array(tools)));
    } else if let Some(tool) = tools.pop() {
        printer.json(&format!("{tool:#}"));
    }
}

/// A tool for people, whatever the dialect: what it is called, what it is for, what it takes.
fn text(tool: &Value) -> String {
    let function = tool.get("function").unwrap_or(tool);
    let said = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let mut text = format!("{}: {}", said(function, "name"), said(function, "description"));
    let keys = ["parameters", "input_schema", "inputSchema"];
    let schema = keys.iter().find_map(|key| function.get(key)).unwrap_or(&Value::Null);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let kind = match &property["type"] {
            Value::String(kind) => kind.clone(),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
            _ => "any".to_owned(),
        };
        let is_required = schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
        let required = if is_required { ", required" } else { "" };
        text.push_str(format!("\n  {name} ({kind}{required}) {}", said(property, "description")).trim_end());
    }
    text
}

fn report(name: &str, export: &Export) -> Value {
    let losses = export.losses.iter().map(|loss| {
        json!({"pointer": loss.pointer, "keyword": loss.keyword, "fidelity": loss.fidelity.name(), "what": loss.what})
    });
    json!({
        "tool": name,
        "name": export.name,
        "fidelity": export.fidelity.name(),
        "losses": losses.collect::<Vec<_>>(),
    })
}

/// Says what became of a tool. A refused one is said loudly: it would cost every other tool of the request.
fn say(printer: &mut Printer, name: &str, export: &Export) {
    let mut said = format!("{name}: {}", export.fidelity.name());
    for loss in export.losses.iter().filter(|loss| loss.fidelity > Fidelity::Exact) {
        said.push_str(&format!("\n  {}: {}", loss.pointer, loss.what));
    }
    match export.fidelity {
        Fidelity::Refused => printer.warn(&format!("left out: {said}")),
        _ => printer.say(&said),
    }
}
