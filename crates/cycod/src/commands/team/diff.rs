//! `cycod team diff`: what the newest release of the team would change, by meaning.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_team::{ReleaseDocument, ReleasedFile, VerifiedRelease};
use cycod_team_change::{of_file, rules};
use serde_json::{Value, json};

use super::{content::digests, joined, not_synced, now, numbered};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod team diff` takes.
#[derive(Parser)]
#[command(name = "diff", about = "Show what the newest release of your team would change")]
struct Arguments {
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

/// Compares the release in force with the newest one, and puts nothing into force.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let store = joined(context, args.machine)?;
    let member = store.member().map_err(|error| not_synced(&error))?;
    let member = member.ok_or_else(|| CommandError::failure("the team was left in the meantime"))?;
    let source = cycod_team_sync::TeamSource::parse(&member.source, "/".as_ref())
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let fetched =
        store.fetch(&source, None, &member.channel, now(context.engine.host())).map_err(|error| not_synced(&error))?;
    let active = store.place().active();
    let number = store
        .place()
        .release()
        .map(|release| release.number)
        .map_err(|error| CommandError::failure(error.to_string()))?;
    let old = Old {
        tools: fs::read(active.join("list.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default(),
        directory: active,
    };
    let changes = changes(&old, &fetched.verified);
    let release = &fetched.verified.release;
    if args.format.is_json() {
        let changes: Vec<Value> = changes.iter().map(|(what, how)| json!({"what": what, "changes": how})).collect();
        let whole = json!({"team": release.team, "from": number, "to": release.number, "changes": changes});
        context.printer.json(&format!("{whole:#}"));
        return Ok(0);
    }
    context.printer.line(&format!(
        "{}, from {} to {}",
        release.team,
        numbered(&ReleaseDocument { number, ..release.clone() }),
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

/// The release that is in force.
struct Old {
    directory: PathBuf,
    tools: BTreeMap<String, ReleasedFile>,
}

/// What changes, each with how.
fn changes(old: &Old, new: &VerifiedRelease) -> Vec<(String, Vec<String>)> {
    let mut changes = Vec::new();
    let digests = digests(new);
    let paths: BTreeSet<&str> = old.tools.keys().map(String::as_str).chain(digests.keys().copied()).collect();
    for path in paths {
        let before = old.tools.get(path);
        let after = new.tools.get(path);
        if before == after {
            continue;
        }
        let old_bytes = before.and_then(|_| fs::read(old.directory.join("tools").join(path)).ok());
        let new_bytes = after.and_then(|file| new.blobs.get(&file.sha256));
        let how = of_file(&format!("tools/{path}"), old_bytes.as_deref(), new_bytes.map(Vec::as_slice));
        changes.push((path.to_owned(), how.into_iter().map(|change| change.text).collect()));
    }
    let read = |name: &str| fs::read(old.directory.join(name)).ok();
    let after = |part: &str| new.parts.get(part).cloned();
    let (old_rules, new_rules) = (rules(read("policy.yaml").as_deref()), rules(after("policy").as_deref()));
    let added = new_rules.iter().filter(|rule| !old_rules.contains(rule)).map(|rule| format!("now `{rule}`"));
    let removed = old_rules.iter().filter(|rule| !new_rules.contains(rule)).map(|rule| format!("no longer `{rule}`"));
    let rules: Vec<String> = added.chain(removed).collect();
    if !rules.is_empty() {
        changes.push(("rules".to_owned(), rules));
    } else if read("policy.yaml") != after("policy") {
        changes.push(("rules".to_owned(), vec!["another file".to_owned()]));
    }
    for (part, file) in [("servers", "mcp.json"), ("settings", "config.yaml"), ("programs", "programs.yaml")] {
        match (read(file), after(part)) {
            (old, new) if old == new => {}
            (None, _) => changes.push((part.to_owned(), vec!["new".to_owned()])),
            (_, None) => changes.push((part.to_owned(), vec!["removed".to_owned()])),
            _ => changes.push((part.to_owned(), vec!["another file".to_owned()])),
        }
    }
    changes
}
