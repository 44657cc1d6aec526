use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::{LostView, PendingView, QueuedView, StandingView};
use cycod_engine::diagnostic::Shown;
use cycod_store::approvals::{PendingRequest, StandingAnswer};

use super::{elsewhere, elsewhere_or_warning, failed, lost, now};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    table::{Cell, Table},
};

/// How many digits of the name of a standing approval are shown, and are enough to revoke it.
pub(super) const SHOWN: usize = 12;

/// What `cycod approvals list` takes.
#[derive(Parser)]
#[command(
    name = "list",
    about = "List requests that wait for approval, and interrupted steps that wait for a decision"
)]
struct Arguments {
    /// List approvals for a session or for always, instead of requests
    #[arg(long)]
    standing: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod approvals list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists requests, or answers that stand.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let approvals = context.engine.approvals();
    let json = args.format.is_json();
    let (width, colour) = (context.printer.width, context.printer.data_colour);
    let (is_empty, text, nothing) = if args.standing {
        let all = approvals.all_standing(now()).map_err(|error| failed(&error))?;
        if json {
            context.printer.json_of(&all.iter().map(StandingView::of).collect::<Vec<_>>());
            return Ok(0);
        }
        let table = standing_table(&all.iter().collect::<Vec<_>>());
        (all.is_empty(), table.render(width, colour), "nothing was approved for longer than a call")
    } else {
        let all = approvals.pending(now()).map_err(|error| failed(&error))?;
        let lost = lost::all(context)?;
        let there = elsewhere_or_warning(context);
        if json {
            let requests = all.iter().map(|one| QueuedView::Request(PendingView::of(one)));
            let lost = lost.iter().map(|one| QueuedView::Lost(LostView::of(one)));
            let there = there.iter().map(elsewhere::There::view);
            context.printer.json_of(&requests.chain(lost).chain(there).collect::<Vec<_>>());
            return Ok(0);
        }
        let mut table = Table::new(&["ID", "TOOL", "LEVEL", "STATE", "LEFT", "ASKED BY"]);
        all.iter().for_each(|one| table.row(pending_row(one)));
        lost.iter().for_each(|one| table.row(lost::row(one)));
        there.iter().for_each(|one| table.row(one.row()));
        (
            all.is_empty() && lost.is_empty() && there.is_empty(),
            table.render(width, colour),
            "nothing waits to be approved",
        )
    };
    if is_empty {
        context.printer.say(nothing);
    } else {
        context.printer.text(&text);
    }
    Ok(0)
}

/// What waits to be approved, by name.
pub(crate) fn waiting(context: &Context) -> Result<Vec<String>, CommandError> {
    let all = context.engine.approvals().pending(now()).map_err(|error| failed(&error))?;
    let open = all.into_iter().filter(|one| one.answer.is_none()).map(|one| one.id.to_string());
    Ok(open.chain(lost::all(context)?.into_iter().map(|one| one.id.to_string())).collect())
}

/// A table of the answers that stand and that somebody wants to see; nothing when there are none.
pub(crate) fn standing(
    context: &Context,
    is_wanted: impl Fn(&StandingAnswer) -> bool,
) -> Result<Option<Shown>, CommandError> {
    let all = context.engine.approvals().all_standing(now()).map_err(|error| failed(&error))?;
    let all: Vec<&StandingAnswer> = all.iter().filter(|one| is_wanted(one)).collect();
    let (width, colour) = (context.printer.width, context.printer.data_colour);
    Ok((!all.is_empty()).then(|| standing_table(&all).render(width, colour)))
}

fn pending_row(pending: &PendingRequest) -> Vec<Cell<'_>> {
    let text = |name: &str| Cell::new(pending.about[name].as_str().unwrap_or("?"));
    let left = format!("{} s", pending.expires.saturating_sub(now()));
    vec![
        Cell::new(pending.id.to_string()),
        text("tool"),
        text("level"),
        Cell::new(PendingView::of(pending).state),
        Cell::new(left),
        text("asker"),
    ]
}

fn standing_table<'a>(all: &[&'a StandingAnswer]) -> Table<'a> {
    let mut table = Table::new(&["NAME", "TOOL", "LEVEL", "ARGUMENTS", "LASTS", "ASKED BY"]);
    all.iter().for_each(|one| table.row(standing_row(one)));
    table
}

fn standing_row(standing: &StandingAnswer) -> Vec<Cell<'_>> {
    let text = |name: &str| Cell::new(standing.about[name].as_str().unwrap_or("?"));
    let arguments = standing.about["arguments"].as_str().unwrap_or("any");
    let lasts = if standing.session.is_some() { "for a session" } else { "always" };
    let name = standing.name().to_string()[..SHOWN].to_owned();
    vec![Cell::new(name), text("tool"), text("level"), Cell::new(arguments), Cell::new(lasts), text("asker")]
}
