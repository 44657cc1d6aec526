use std::collections::BTreeMap;

use anstyle::Style;
use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_secret::SecretRecord;
use serde_json::{Value, json};

use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    printer::WARNING,
    secrets::{failed, moment, store},
    table::{Cell, Table},
};

/// What `cycod secret list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List secrets and the tools that use them")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod secret list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// A secret that is kept, or that a tool asks for.
#[derive(Default)]
struct Row {
    kept: Option<SecretRecord>,
    /// Whether the caller's environment has it, for a tool that asks.
    in_environment: bool,
    used_by: Vec<String>,
}

/// Lists secrets, never their values.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let host = context.engine.host().clone();
    let kept = store(&context.engine).list().map_err(|error| failed(&error, &host))?;
    let mut rows: BTreeMap<String, Row> =
        kept.into_iter().map(|kept| (kept.name.clone(), Row { kept: Some(kept), ..Row::default() })).collect();
    for entry in context.engine.catalog().entries() {
        let Ok(opened) = entry.load() else { continue };
        for secret in opened.tool.kept_secrets() {
            let row = rows.entry(secret.kept_as.clone()).or_default();
            row.in_environment |= host.environment.contains_key(std::ffi::OsStr::new(&secret.name));
            if row.used_by.last() != Some(&entry.name) {
                row.used_by.push(entry.name.clone());
            }
        }
    }
    if args.format.is_json() {
        let list: Vec<Value> = rows.iter().map(|(name, row)| to_json(name, row)).collect();
        context.printer.json(&serde_json::to_string_pretty(&list).expect("JSON values can be written"));
        return Ok(0);
    }
    if rows.is_empty() {
        context.printer.say("no secrets are stored; store one with: cycod secret set NAME");
        return Ok(0);
    }
    let mut table = Table::new(&["NAME", "KEPT", "SET", "FOR", "USED BY"]);
    for (name, row) in &rows {
        let (place, set, tools) = match &row.kept {
            Some(kept) => (Cell::new(kept.vault.to_string()), moment(kept.set_at), kept.tools.join(", ")),
            None if row.in_environment => (Cell::new("environment"), String::new(), String::new()),
            None => (Cell::default().with("no", WARNING), String::new(), String::new()),
        };
        let row = [Cell::new(set), Cell::new(tools), Cell::default().with(row.used_by.join(", "), Style::new())];
        table.row([Cell::new(name.as_str()), place].into_iter().chain(row).collect());
    }
    table.print(&mut context.printer);
    Ok(0)
}

fn to_json(name: &str, row: &Row) -> Value {
    let kept = row.kept.as_ref();
    json!({
        "name": name,
        "kept": kept.map(|kept| kept.vault.to_string()),
        "set": kept.map(|kept| moment(kept.set_at)),
        "for_tools": kept.map(|kept| &kept.tools).filter(|tools| !tools.is_empty()),
        "in_environment": row.in_environment,
        "used_by": row.used_by,
    })
}
