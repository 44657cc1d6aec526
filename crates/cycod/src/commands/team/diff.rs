//! `cycod team diff`: how two releases of the team differ, by meaning.

use std::collections::BTreeSet;

use clap::{ArgMatches, Command, CommandFactory, Parser, value_parser};
use cycod_team::{PastRelease, ReleaseDocument, ReleasedFile};
use cycod_team_change::{of_file, rules};
use cycod_team_sync::{ReleaseHistory, SyncError};
use serde_json::{Value, json};

use super::{joined, not_synced, now, numbered};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod team diff` takes.
#[derive(Parser)]
#[command(name = "diff", about = "Show how two releases of your team differ")]
struct Arguments {
    /// The number of the release to compare with (default: the one in force)
    #[arg(value_parser = value_parser!(u64).range(1..))]
    from: Option<u64>,
    /// The number of the release to look at (default: the newest)
    #[arg(value_parser = value_parser!(u64).range(1..))]
    to: Option<u64>,
    /// The team of this machine instead of yours
    #[arg(long)]
    machine: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod team diff`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Compares two releases, and puts nothing into force.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let store = joined(context, args.machine)?;
    let in_force = store.place().release().map_err(|error| CommandError::failure(error.to_string()))?.number;
    // What lies before the release in force needs no newer one, so that it can be compared while the source is away.
    let needs_newest = args.to.is_none() || args.from.max(args.to).is_some_and(|number| number > in_force);
    let failed = |error: SyncError| not_synced(&error);
    let history = store.history(needs_newest, now(context.engine.host())).map_err(failed)?;
    let old = args.from.map_or_else(|| history.in_force(), |number| history.find(number)).map_err(failed)?;
    let new = args.to.map_or_else(|| history.newest(), |number| history.find(number)).map_err(failed)?;
    let changes = changes(&history, &old, &new).map_err(failed)?;
    let (from, release) = (old.release.number, &new.release);
    if args.format.is_json() {
        let changes: Vec<Value> = changes.iter().map(|(what, how)| json!({"what": what, "changes": how})).collect();
        let whole = json!({"team": release.team, "from": from, "to": release.number, "changes": changes});
        context.printer.json(&format!("{whole:#}"));
        return Ok(0);
    }
    context.printer.line(&format!(
        "{}, from {} to {}",
        release.team,
        numbered(&ReleaseDocument { number: from, ..release.clone() }),
        release.number
    ));
    for (what, how) in &changes {
        context.printer.line(&format!("  {what}: {}", how.join(", ")));
    }
    if changes.is_empty() {
        context.printer.line("  nothing changes");
    }
    Ok(0)
}

/// What changes, each with how.
fn changes(
    history: &ReleaseHistory,
    old: &PastRelease,
    new: &PastRelease,
) -> Result<Vec<(String, Vec<String>)>, SyncError> {
    let mut changes = Vec::new();
    for path in old.tools.keys().chain(new.tools.keys()).collect::<BTreeSet<_>>() {
        let (before, after) = (old.tools.get(path), new.tools.get(path));
        if before == after {
            continue;
        }
        let bytes = |file: Option<&ReleasedFile>| file.map(|file| history.read(*file)).transpose();
        let (before, after) = (bytes(before)?, bytes(after)?);
        let how = of_file(&format!("tools/{path}"), before.as_deref(), after.as_deref());
        changes.push((path.clone(), how.into_iter().map(|change| change.text).collect()));
    }
    let part = |release: &PastRelease, name: &str| release.parts.get(name).cloned();
    let (before, after) = (part(old, "policy"), part(new, "policy"));
    let (old_rules, new_rules) = (rules(before.as_deref()), rules(after.as_deref()));
    let added = new_rules.iter().filter(|rule| !old_rules.contains(rule)).map(|rule| format!("now `{rule}`"));
    let removed = old_rules.iter().filter(|rule| !new_rules.contains(rule)).map(|rule| format!("no longer `{rule}`"));
    let rules: Vec<String> = added.chain(removed).collect();
    if !rules.is_empty() {
        changes.push(("rules".to_owned(), rules));
    } else if before != after {
        changes.push(("rules".to_owned(), vec!["another file".to_owned()]));
    }
    for name in ["servers", "settings", "programs"] {
        let how = match (part(old, name), part(new, name)) {
            (before, after) if before == after => continue,
            (None, _) => "new",
            (_, None) => "removed",
            _ => "another file",
        };
        changes.push((name.to_owned(), vec![how.to_owned()]));
    }
    Ok(changes)
}
