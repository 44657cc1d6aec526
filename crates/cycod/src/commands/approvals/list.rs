use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::diagnostic::Shown;
use cycod_store::approvals::{Pending, Standing};
use serde_json::{Value, json};

use super::{failed, now};
use crate::{
    cli::Context,
    command_error::CommandError,
    table::{Cell, Table},
};

/// How many digits of the name of a standing approval are shown, and are enough to revoke it.
pub(super) const SHOWN: usize = 12;

/// `cycod approvals list`.
pub(crate) fn command() -> Command {
    Command::new("list")
        .about("List what waits to be approved")
        .arg(
            Arg::new("standing")
                .long("standing")
                .action(ArgAction::SetTrue)
                .help("List what was approved for a session or for always, in place of what waits"),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("How the list is printed"),
        )
}

/// Lists requests, or answers that stand.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let approvals = context.engine.approvals();
    let json = matches.get_one::<String>("format").is_some_and(|format| format == "json");
    let (width, colour) = (context.printer.width, context.printer.data_colour);
    let (list, text, nothing) = if matches.get_flag("standing") {
        let all = approvals.all_standing(now()).map_err(|error| failed(&error))?;
        let list: Vec<Value> = all.iter().map(standing_json).collect();
        let table = standing_table(&all.iter().collect::<Vec<_>>());
        (list, table.render(width, colour), "nothing was approved for longer than a call")
    } else {
        let all = approvals.pending(now()).map_err(|error| failed(&error))?;
        let mut table = Table::new(&["ID", "TOOL", "LEVEL", "STATE", "LEFT", "ASKED BY"]);
        all.iter().for_each(|one| table.row(pending_row(one)));
        (all.iter().map(pending_json).collect(), table.render(width, colour), "nothing waits to be approved")
    };
    if json {
        context.printer.json(&serde_json::to_string_pretty(&list).expect("JSON values can be written"));
    } else if list.is_empty() {
        context.printer.say(nothing);
    } else {
        context.printer.text(&text);
    }
    Ok(0)
}

/// What waits to be approved, by name.
pub(crate) fn waiting(context: &Context) -> Result<Vec<String>, CommandError> {
    let all = context.engine.approvals().pending(now()).map_err(|error| failed(&error))?;
    Ok(all.into_iter().filter(|one| one.answer.is_none()).map(|one| one.id.to_string()).collect())
}

/// A table of the answers that stand and that somebody wants to see; nothing when there are none.
pub(crate) fn standing(
    context: &Context,
    is_wanted: impl Fn(&Standing) -> bool,
) -> Result<Option<Shown>, CommandError> {
    let all = context.engine.approvals().all_standing(now()).map_err(|error| failed(&error))?;
    let all: Vec<&Standing> = all.iter().filter(|one| is_wanted(one)).collect();
    let (width, colour) = (context.printer.width, context.printer.data_colour);
    Ok((!all.is_empty()).then(|| standing_table(&all).render(width, colour)))
}

/// A request as a program wants to know it.
pub(super) fn pending_json(pending: &Pending) -> Value {
    let mut about = pending.about.clone();
    if let Some(fields) = about.as_object_mut() {
        fields.insert("id".into(), pending.id.to_string().into());
        fields.insert("state".into(), state(pending).into());
        fields.insert("asked".into(), pending.asked.into());
        fields.insert("expires".into(), pending.expires.into());
    }
    about
}

fn standing_json(standing: &Standing) -> Value {
    let mut about = standing.about.clone();
    if let Some(fields) = about.as_object_mut() {
        fields.insert("name".into(), standing.name().to_string().into());
        fields.insert("for_session".into(), standing.session.is_some().into());
        fields.insert("given".into(), standing.given.into());
        fields.insert("expires".into(), json!(standing.expires));
    }
    about
}

/// Whether somebody waits for the answer, the next same call takes it, or it was given.
fn state(pending: &Pending) -> &'static str {
    match (&pending.answer, pending.is_awaited) {
        (Some(_), _) => "answered",
        (None, true) => "waiting",
        (None, false) => "open",
    }
}

fn pending_row(pending: &Pending) -> Vec<Cell<'_>> {
    let text = |name: &str| Cell::new(pending.about[name].as_str().unwrap_or("?"));
    let left = format!("{} s", pending.expires.saturating_sub(now()));
    vec![
        Cell::new(pending.id.to_string()),
        text("tool"),
        text("level"),
        Cell::new(state(pending)),
        Cell::new(left),
        text("asker"),
    ]
}

fn standing_table<'a>(all: &[&'a Standing]) -> Table<'a> {
    let mut table = Table::new(&["NAME", "TOOL", "LEVEL", "ARGUMENTS", "LASTS", "ASKED BY"]);
    all.iter().for_each(|one| table.row(standing_row(one)));
    table
}

fn standing_row(standing: &Standing) -> Vec<Cell<'_>> {
    let text = |name: &str| Cell::new(standing.about[name].as_str().unwrap_or("?"));
    let arguments = standing.about["arguments"].as_str().unwrap_or("any");
    let lasts = if standing.session.is_some() { "for a session" } else { "always" };
    let name = standing.name().to_string()[..SHOWN].to_owned();
    vec![Cell::new(name), text("tool"), text("level"), Cell::new(arguments), Cell::new(lasts), text("asker")]
}
