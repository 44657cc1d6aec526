//! `cycod team diff`: what the newest release of the team would change, by meaning.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    definition::{Isolation, Level, Tool, function_schema, level, load},
    diagnostic::SourceFile,
};
use cycod_team::{ReleasedFile, VerifiedRelease};
use serde_json::{Value, json};

use super::{
    content::{digests, is_tool, rules},
    joined, not_synced, now,
};
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
    let fetched = store.fetch(&source, None, now(context.engine.host())).map_err(|error| not_synced(&error))?;
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
    context.printer.line(&format!("{}, from release {number} to {}", release.team, release.number));
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
        let how = match (before, after) {
            (None, _) => vec!["new".to_owned()],
            (_, None) => vec!["removed".to_owned()],
            _ => {
                let tools = (loaded(path, old_bytes.as_deref()), loaded(path, new_bytes.map(Vec::as_slice)));
                match tools {
                    (Some(old), Some(new)) => classes(&old, &new),
                    _ => vec!["another file".to_owned()],
                }
            }
        };
        changes.push((path.to_owned(), how));
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

fn loaded(path: &str, bytes: Option<&[u8]>) -> Option<Tool> {
    let bytes = bytes.filter(|bytes| is_tool(path, bytes))?;
    let text = String::from_utf8_lossy(bytes).into_owned();
    load(&SourceFile::new(path, text), path.rsplit_once('.').map(|(stem, _)| stem)).tool
}

/// The keys of a tool that have classes of their own.
const SHOWN: [&str; 7] = ["name", "title", "description", "parameters", "security", "tags", "tests"];

/// How a tool changes, the gravest first.
fn classes(old: &Tool, new: &Tool) -> Vec<String> {
    let mut classes = Vec::new();
    let levels = [old, new].map(|tool| level(tool, &|_| Some(Level::Read)));
    if levels[0] != levels[1] {
        let how = if levels[1] > levels[0] { "higher" } else { "lower" };
        classes.push(format!("{how} level: {}, was {}", levels[1], levels[0]));
    }
    let permissions = |tool: &Tool| -> BTreeSet<String> {
        tool.security.permissions.iter().map(|permission| permission.source.clone()).collect()
    };
    let (before, after) = (permissions(old), permissions(new));
    if after.is_empty() && !before.is_empty() {
        classes.push("wider reach: no permissions any more, so everything".to_owned());
    } else if before.is_empty() && !after.is_empty() {
        classes.push("narrower reach: permissions".to_owned());
    } else {
        let added = after.difference(&before).map(|permission| format!("wider reach: {permission}"));
        let removed = before.difference(&after).map(|permission| format!("narrower reach: no {permission}"));
        classes.extend(added.chain(removed));
    }
    let strength = |tool: &Tool| match tool.security.isolation {
        Isolation::None => 0,
        Isolation::Process => 1,
        Isolation::Container => 2,
    };
    if strength(old) != strength(new) {
        let how = if strength(new) < strength(old) { "weaker" } else { "stronger" };
        classes.push(format!("{how} isolation"));
    }
    if old.security.privilege != new.security.privilege {
        classes.push("other privileges".to_owned());
    }
    let part = |tool: &Tool, key: &str| tool.origin.document[key].clone();
    let rest = |tool: &Tool| -> BTreeMap<String, Value> {
        let parts = tool.origin.document.as_object().into_iter().flatten();
        let others = parts.filter(|(key, _)| !SHOWN.contains(&key.as_str()));
        others.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    if rest(old) != rest(new) {
        classes.push("other commands".to_owned());
    }
    let (told_before, told_now) = (function_schema(old), function_schema(new));
    if old.description != new.description || old.title != new.title {
        classes.push("other description".to_owned());
    }
    if told_before["parameters"] != told_now["parameters"] {
        classes.push("other parameters".to_owned());
    }
    if new.tests.len() < old.tests.len() {
        classes.push(format!("fewer tests: {}, was {}", new.tests.len(), old.tests.len()));
    } else if part(old, "tests") != part(new, "tests") {
        classes.push("other tests".to_owned());
    }
    if classes.is_empty() {
        classes.push("another file".to_owned());
    }
    classes
}
