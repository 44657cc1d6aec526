//! `cycod team sync`: puts the newest release of the team into force, once or each as it is made.

use std::time::{Duration, Instant, SystemTime};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_team_sync::{EventPosition, HubEvent, SYNC_INTERVAL, TeamStore};
use jiff::Timestamp;

use super::{at, hub_of, joined, not_synced, now, title};
use crate::{cli::Context, command_error::CommandError, editor::ask, options::parsed};

/// The shortest pause of `--watch` between two syncs, whatever a hub sends, and the longest after failures.
const PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(60);

/// What `cycod team sync` takes.
#[derive(Parser)]
#[command(name = "sync", about = "Put the newest release of your team into force")]
struct Arguments {
    /// The team of this machine instead of yours
    #[arg(long)]
    machine: bool,
    /// Stay, and put each release into force as the hub makes it
    #[arg(long)]
    watch: bool,
    /// Believe the clock of this machine, if it was wrong before
    #[arg(long)]
    trust_clock: bool,
}

/// `cycod team sync`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Fetches and verifies the newest release. If anything is wrong, the one before stays in force.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let store = joined(context, args.machine)?;
    if args.trust_clock {
        trust_clock(context, &store)?;
    }
    if args.watch {
        return watch(context, &store);
    }
    let (said, _) = synced(&store, now(context.engine.host()))?;
    context.printer.say(&said);
    Ok(0)
}

/// Puts the newest release into force; returns what that has changed, in words, and whether anything has.
fn synced(store: &TeamStore, now: Timestamp) -> Result<(String, bool), CommandError> {
    let synced = store.sync(now).map_err(|error| {
        let failed = not_synced(&error);
        match store.place().release() {
            Ok(release) => failed.hint(format!("{}release {} stays in force", release.of_channel(), release.number)),
            Err(_) => failed,
        }
    })?;
    let release = &synced.fetched.verified.release;
    let name = title(release);
    let said = match (synced.is_new, synced.before) {
        (false, _) => format!("{name}: nothing new"),
        (true, Some(before)) if before == release.number && synced.is_new_root => {
            format!("{name}: root {} is in force", synced.fetched.verified.root.version)
        }
        (true, Some(before)) if before == release.number => format!("{name}: its files were restored"),
        (true, Some(before)) => format!("{name} is in force, after release {before}"),
        (true, None) => format!("{name} is in force"),
    };
    Ok((said, synced.is_new))
}

/// Syncs when the hub of the team reports a release, and at the usual interval. It ends with a signal, or when the user leaves
/// the team.
fn watch(context: &mut Context, store: &TeamStore) -> Result<u8, CommandError> {
    let (mut position, mut pause, mut is_first) = (EventPosition::default(), PAUSE, true);
    // What was said last about each, so that it is said once.
    let (mut no_sync, mut no_stream) = (None, None);
    loop {
        if !store.place().is_joined() {
            return Err(CommandError::failure("the team was left in the meantime"));
        }
        match synced(store, at(SystemTime::now())) {
            Ok((said, is_new)) => {
                let is_over = no_sync.take().is_some();
                if is_new || is_first || is_over {
                    context.printer.say(&said);
                }
            }
            Err(error) => say_once(context, &error, &mut no_sync),
        }
        is_first = false;
        let Some((hub, _)) = hub_of(store)? else {
            std::thread::sleep(SYNC_INTERVAL);
            continue;
        };
        let (began, mut is_due) = (Instant::now(), false);
        let followed = hub.follow(store.tag().as_deref(), &mut position, SYNC_INTERVAL, &mut |event| {
            is_due = event == HubEvent::Release;
            !is_due
        });
        match followed {
            Ok(()) => no_stream = None,
            Err(error) => say_once(context, &not_synced(&error), &mut no_stream),
        }
        // A stream that ends at once is no better than none.
        let is_good = no_sync.is_none() && (is_due || began.elapsed() >= LAST_PAUSE);
        pause = if is_good { PAUSE } else { LAST_PAUSE.min(pause * 2) };
        std::thread::sleep(pause);
    }
}

/// Says what failed, unless that was said last.
fn say_once(context: &mut Context, error: &CommandError, before: &mut Option<String>) {
    let said = error.message.clone();
    if before.as_ref() != Some(&said) {
        context.printer.say(&said);
    }
    *before = Some(said);
}

/// Asks whether the clock is right now. Only someone who sees another clock knows, so there is no option for the answer.
fn trust_clock(context: &mut Context, store: &TeamStore) -> Result<(), CommandError> {
    if !context.is_attended() {
        return Err(CommandError::usage(
            "only you can tell whether the clock is right, and there is no terminal to ask at",
        )
        .hint("the next release of the team needs no answer: cycod team sync"));
    }
    let question = format!("The clock of this machine shows {}. Is that right? [y/n] ", now(context.engine.host()));
    match ask(context, &question, &["y", "n"])? {
        Some("y") => store.trust_clock().map_err(|error| not_synced(&error)),
        _ => Err(CommandError::failure("nothing was changed").hint("set the clock first")),
    }
}
