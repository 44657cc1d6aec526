use anstyle::Style;
use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_mcp_client::Visit;
use serde_json::json;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::{as_user::AsUser, usable},
    options::{TextOrJson, parsed},
    printer::{ERROR, WARNING},
    table::{Cell, Table},
};

/// What `cycod mcp test` takes.
#[derive(Parser)]
#[command(name = "test", about = "Connect to an MCP server and show what it offers")]
struct Arguments {
    #[arg(value_name = "SERVER")]
    server: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
    #[command(flatten)]
    user: AsUser,
}

/// `cycod mcp test`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Meets a server and shows what it is and offers.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.server;
    let visit = usable(context, name, &args.user)?.visit(name).map_err(|refusal| match &refusal.attempt {
        // That is being done.
        Some(attempt) if attempt.starts_with("cycod mcp test ") => refusal.attempt(format!("cycod mcp get {name}")),
        _ => refusal,
    })?;
    let printer = &mut context.printer;
    if args.format.is_json() {
        printer.json(&format!("{:#}", to_json(name, &visit)));
        return Ok(0);
    }
    printer.line(&format!("{} answered in {} ms", name, visit.took.as_millis()));
    let facts = [
        ("protocol", Some(visit.era.as_str())),
        ("identity", Some(visit.identity.as_str()).filter(|identity| !identity.is_empty())),
        ("instructions", visit.instructions.as_deref()),
    ];
    for (what, fact) in facts {
        if let Some(fact) = fact {
            printer.line(&format!("  {what}: {}", fact.replace('\n', "\n    ")));
        }
    }
    if !visit.tools.is_empty() {
        let mut table = Table::new(&["NAME", "DIGEST", "DESCRIPTION"]);
        for tool in &visit.tools {
            let mut what = Cell::default();
            if let Some(problem) = &tool.problem {
                let style = if tool.name.is_some() { WARNING } else { ERROR };
                what = what.with(problem.as_str(), style).with(" - ", Style::new());
            }
            let first_line = tool.description.lines().next().unwrap_or_default();
            table.row(vec![
                Cell::new(tool.name.as_deref().unwrap_or(&tool.remote)),
                Cell::new(&tool.digest[..12]),
                what.with(first_line, Style::new()),
            ]);
        }
        table.print(printer);
    }
    let others: Vec<String> =
        visit.others.iter().filter(|(_, count)| *count > 0).map(|(noun, count)| format!("{count} {noun}")).collect();
    if !others.is_empty() {
        printer.line(&format!("  also: {}", others.join(", ")));
    }
    for label in &visit.blocked {
        printer.warn(&format!("{label} waits to be accepted"));
    }
    for problem in &visit.problems {
        printer.warn(problem);
    }
    if visit.is_first {
        let many = if visit.tools.len() == 1 { "its tool was" } else { "its tools were" };
        printer.say(&format!("{many} accepted as above; a change will be shown and has to be accepted"));
    } else if visit.tools.iter().any(|tool| tool.problem.as_deref().is_some_and(|why| why.starts_with("blocked")))
        || !visit.blocked.is_empty()
    {
        printer.say(&format!("see what has changed: cycod mcp accept {name}"));
    }
    Ok(0)
}

fn to_json(name: &str, visit: &Visit) -> serde_json::Value {
    let tools = visit.tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "tool": tool.remote,
            "description": tool.description,
            "digest": tool.digest,
            "problem": tool.problem,
        })
    });
    json!({
        "server": name,
        "protocol": visit.era,
        "identity": visit.identity,
        "instructions": visit.instructions,
        "duration_ms": u64::try_from(visit.took.as_millis()).unwrap_or(u64::MAX),
        "accepted_now": visit.is_first,
        "tools": tools.collect::<Vec<_>>(),
        "others": visit.others.iter().map(|(noun, count)| ((*noun).to_owned(), json!(count))).collect::<serde_json::Map<_, _>>(),
        "blocked": visit.blocked,
        "problems": visit.problems,
    })
}
