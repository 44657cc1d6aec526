use anstyle::Style;
use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{Allowlist, Layer, Rule, Surfaces};
use serde_json::{Value, json};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::policy::rules,
    options::{TextOrJson, parsed},
    printer::DIM,
    table::{Cell, Table},
};

/// What makes what a project allows count.
const AGREE: &str = "it came with the project; accept it with: cycod policy accept";

/// What `cycod policy list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List the policy rules")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod policy list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists every rule in force, the one that outweighs the others first, and then those that do not count.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let written = rules(context);
    let policy = written.policy(&[]);
    let waiting: Vec<&Rule> = written.waiting().map(|(_, rule)| &rule.rule).collect();
    for flaw in policy.flaws() {
        context.printer.warn(&format!("nothing runs until this is fixed: {}: {}", flaw.place, flaw.message));
    }
    if args.format.is_json() {
        let in_force = policy.rules().iter().map(|rule| as_json(rule, None));
        let limits = policy.lists().iter().map(limit_as_json);
        let list: Vec<Value> =
            in_force.chain(limits).chain(waiting.iter().map(|rule| as_json(rule, Some(AGREE)))).collect();
        context.printer.json(&serde_json::to_string_pretty(&list).expect("JSON values can be written"));
        return Ok(0);
    }
    if !policy.rules().is_empty() || !policy.lists().is_empty() || !waiting.is_empty() {
        let mut table = Table::new(&["RULE", "FOR", "FROM", "WHY"]);
        policy.rules().iter().for_each(|rule| table.row(row(rule, Style::new(), "")));
        policy.lists().iter().for_each(|list| table.row(limit_row(list)));
        waiting.iter().for_each(|rule| table.row(row(rule, DIM, "ignored: ")));
        table.print(&mut context.printer);
    }
    if !waiting.is_empty() {
        let what = if waiting.len() == 1 { "1 rule does" } else { &format!("{} rules do", waiting.len()) };
        context.printer.say(&format!("{what} not count: {AGREE}"));
    }
    context
        .printer
        .say("where no rule decides, you may run anything; a model may read, and needs approval for the rest");
    Ok(0)
}

fn row(rule: &Rule, style: Style, note: &str) -> Vec<Cell<'static>> {
    let surfaces = if rule.surfaces == Surfaces::ALL { "all".to_owned() } else { rule.surfaces.names().join(", ") };
    vec![
        Cell::default().with(format!("{note}{} {}", rule.verdict, rule.pattern), style),
        Cell::new(surfaces),
        Cell::new(rule.origin.to_string()),
        Cell::new(rule.why.clone().unwrap_or_default()),
    ]
}

fn limit_row(list: &Allowlist) -> Vec<Cell<'static>> {
    let entries = list.entries().collect::<Vec<_>>().join(" ");
    vec![
        Cell::new(format!("allow-only {}: {entries}", list.kind.name())),
        Cell::new("all"),
        Cell::new(list.origin.to_string()),
        Cell::new(list.why.clone().unwrap_or_default()),
    ]
}

fn limit_as_json(list: &Allowlist) -> Value {
    json!({
        "rule": "allow-only",
        "kind": list.kind.name(),
        "entries": list.entries().collect::<Vec<_>>(),
        "layer": list.origin.layer.name(),
        "place": list.origin.place,
        "why": list.why,
        "in-force": true,
    })
}

fn as_json(rule: &Rule, ignored: Option<&str>) -> Value {
    let mut json = json!({
        "rule": rule.verdict.name(),
        "pattern": rule.pattern.to_string(),
        "for": rule.surfaces.names(),
        "layer": rule.origin.layer.name(),
        "place": rule.origin.place,
        "why": rule.why,
        "in-force": ignored.is_none(),
    });
    debug_assert!(rule.origin.layer != Layer::BuiltIn, "what always holds is not written down");
    if let Some(why) = ignored {
        json["ignored-because"] = why.into();
    }
    json
}
