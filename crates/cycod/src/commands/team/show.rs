//! `cycod team show`: the teams that bind here, their releases, and what is enforced.

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::{
    Layer,
    catalog::{Scope, TeamRelease},
};
use cycod_team_sync::{SyncNote, TeamMember, TeamStore};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{content::listed, not_synced, now, place};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod team show` takes.
#[derive(Parser)]
#[command(name = "show", about = "Show your team, its release and what it enforces")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod team show`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// A team that was joined.
struct Shown {
    member: TeamMember,
    release: Result<TeamRelease, String>,
    note: SyncNote,
    tools: Vec<String>,
    rules: Vec<String>,
    /// The public key of this device at the hub of the team.
    device: Option<String>,
    is_machines: bool,
    is_over: bool,
    now: Timestamp,
}

/// Shows the teams that were joined here.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let places = [place(context, true), place(context, false)];
    let stores: Vec<TeamStore> = places.into_iter().filter(|place| place.is_joined()).map(TeamStore::at).collect();
    let shown = stores.iter().map(|store| shown(context, store)).collect::<Result<Vec<_>, _>>()?;
    if args.format.is_json() {
        let teams: Vec<Value> = shown.iter().map(Shown::json).collect();
        context.printer.json(&format!("{:#}", json!({ "teams": teams })));
        return Ok(0);
    }
    if shown.is_empty() {
        context.printer.say("No team was joined: cycod team join SOURCE");
        return Ok(0);
    }
    for team in shown {
        for line in team.lines() {
            context.printer.line(&line);
        }
    }
    Ok(0)
}

fn shown(context: &Context, store: &TeamStore) -> Result<Shown, CommandError> {
    let member = store.member().map_err(|error| not_synced(&error))?;
    let member = member.ok_or_else(|| CommandError::failure("the team was left in the meantime"))?;
    let release = store.place().release().map_err(|error| error.to_string());
    let of_team = |path: &std::path::Path| path.starts_with(&store.place().directory);
    let entries = context.engine.catalog().entries();
    let tools = entries.iter().filter(|entry| entry.scope == Scope::Team && of_team(&entry.path));
    let name = release.as_ref().map(TeamRelease::name).unwrap_or_default();
    let policy = context.engine.policy();
    let rules = policy.rules().iter().filter(|rule| rule.origin.layer == Layer::Team);
    let rules = rules.filter(|rule| rule.origin.place.starts_with(&name));
    let lists = policy.lists().iter().filter(|list| list.origin.layer == Layer::Team);
    let lists = lists.filter(|list| list.origin.place.starts_with(&name)).map(cycod_team_change::words_of_list);
    let floors = policy.floors().iter().filter(|floor| floor.origin.layer == Layer::Team);
    let floors = floors.filter(|floor| floor.origin.place.starts_with(&name)).map(cycod_team_change::words_of_floor);
    Ok(Shown {
        member,
        note: store.note(),
        tools: tools.map(|entry| entry.name.clone()).collect(),
        rules: rules.map(|rule| format!("{} {}", rule.verdict, rule.pattern)).chain(lists).chain(floors).collect(),
        device: store.device().map_err(|error| not_synced(&error))?.map(|device| device.public()),
        is_machines: store.place().is_machines,
        now: now(context.engine.host()),
        is_over: release.as_ref().is_ok_and(|release| release.is_over(context.engine.host().now)),
        release,
    })
}

impl Shown {
    fn lines(&self) -> Vec<String> {
        let Self { member, release, note, .. } = self;
        let mut lines = Vec::new();
        match release {
            Ok(release) => {
                lines.push(format!("{}, {}release {}", release.team, release.of_channel(), release.number));
                let word = if self.is_over { "expired" } else { "expires" };
                lines.push(format!("  {word:<10} {}", instant(release.expires)));
                lines.push(format!("  signed by  {}", release.signers.join(", ")));
            }
            Err(why) => lines.extend([member.team.clone(), format!("  broken     {why}")]),
        }
        lines.push(format!("  root       {}", member.root));
        lines.push(format!("  source     {}", member.source));
        if let Some(device) = &self.device {
            lines.push(format!("  device     {device}"));
        }
        if !member.channel.is_stable() {
            lines.push(format!("  channel    {}", member.channel));
        }
        let whose = if self.is_machines { ", for every user of this machine" } else { "" };
        lines.push(format!("  joined     {}{whose}", member.joined));
        let synced = note.synced.map_or_else(|| "never".to_owned(), |at| at.to_string());
        lines.push(format!("  last sync  {synced}"));
        if let Some(failure) = &note.failure {
            let code = failure.code.as_ref().map(|code| format!("{code}: ")).unwrap_or_default();
            lines.push(format!("  failed     {}, {code}{}", failure.at, failure.message));
        }
        if let Some(clock) = release.as_ref().ok().and_then(|release| clock(release, self.now)) {
            lines.push(format!("  clock      {clock}"));
        }
        if self.is_over {
            lines.push("  its tools don't run, and what it allows is not allowed, until you sync".to_owned());
        }
        lines.push(format!("  enforced   {}", listed(&self.tools)));
        if !self.rules.is_empty() {
            lines.push(format!("  rules      {}", listed(&self.rules)));
        }
        lines
    }

    fn json(&self) -> Value {
        let Self { member, release, note, tools, rules, device, is_machines, is_over, now } = self;
        let release = release.as_ref();
        json!({
            "team": member.team,
            "source": member.source,
            "channel": member.channel,
            "root": member.root,
            "joined": member.joined,
            "device": device,
            "machine": is_machines,
            "number": release.map(|release| release.number).ok(),
            "expires": release.map(|release| instant(release.expires)).ok(),
            "expired": is_over,
            "clock": release.ok().and_then(|release| clock(release, *now)),
            "signers": release.map(|release| release.signers.clone()).ok(),
            "broken": release.err(),
            "synced": note.synced,
            "failure": note.failure,
            "enforced": tools,
            "rules": rules,
        })
    }
}

/// What is wrong with a clock that shows `now`, as far as the release tells.
fn clock(release: &TeamRelease, now: Timestamp) -> Option<String> {
    let shown = now.as_second();
    match release.seen_over {
        Some(at) if shown < release.expires => Some(format!(
            "shows {now}, but has shown {} before; if that was wrong: cycod team sync --trust-clock",
            instant(at)
        )),
        _ if shown < release.made => {
            Some(format!("shows {now}, which is before the release was made: {}", instant(release.made)))
        }
        _ => None,
    }
}

fn instant(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |at| at.to_string())
}
