use anstyle::Style;
use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::{POLICY_ACCEPT, RuleView};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::policy::rules,
    options::{TextOrJson, parsed},
    printer::DIM,
    table::{Cell, Table},
};

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
    let all = RuleView::all(&written);
    for flaw in policy.flaws() {
        context.printer.warn(&format!("nothing runs until this is fixed: {}: {}", flaw.place, flaw.message));
    }
    if args.format.is_json() {
        context.printer.json_of(&all);
        return Ok(0);
    }
    if !all.is_empty() {
        let mut table = Table::new(&["RULE", "FOR", "FROM", "WHY"]);
        all.iter().for_each(|rule| table.row(row(rule)));
        table.print(&mut context.printer);
    }
    let waiting = all.iter().filter(|rule| !rule.in_force).count();
    if waiting > 0 {
        let what = if waiting == 1 { "1 rule does" } else { &format!("{waiting} rules do") };
        context.printer.say(&format!("{what} not count: {POLICY_ACCEPT}"));
    }
    context
        .printer
        .say("where no rule decides, you may run anything; a model may read, and needs approval for the rest");
    Ok(0)
}

fn row(rule: &RuleView) -> Vec<Cell<'static>> {
    let (note, style) = if rule.in_force { ("", Style::new()) } else { ("ignored: ", DIM) };
    vec![
        Cell::default().with(format!("{note}{}", rule.in_words()), style),
        Cell::new(rule.whose()),
        Cell::new(rule.place.clone()),
        Cell::new(rule.why.clone().unwrap_or_default()),
    ]
}
