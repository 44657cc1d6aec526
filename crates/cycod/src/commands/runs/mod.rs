//! One file for each command about what was run and decided.

pub(crate) mod apply;
pub(crate) mod artifacts;
pub(crate) mod cancel;
pub(crate) mod export;
pub(crate) mod follow;
pub(crate) mod head;
pub(crate) mod late;
pub(crate) mod list;
pub(crate) mod prune;
pub(crate) mod rerun;
pub(crate) mod resume;
pub(crate) mod show;
pub(crate) mod tail;
pub(crate) mod verify;
pub(crate) mod wait;

use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::Args;
pub(crate) use cycod_app::views::{LOCAL, ago, local};
use cycod_engine::Resumption;
use cycod_store::{Filter, History, Run, State, StoreError, StoredOutput};
use jiff::{Timestamp, civil, tz::TimeZone};

use crate::{cli::Context, command_error::CommandError, options::one_of};

/// The history of the user.
pub(crate) fn history(context: &Context) -> History {
    History::at(context.engine.catalog().scopes().user_directory())
}

fn failed(error: &StoreError) -> CommandError {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    CommandError::failure(format!("{error}{cause}"))
}

/// How much of a stored output is read at once.
const BLOCK: usize = 64 * 1024;

/// Hands over all bytes of a stored output, block by block.
fn each_block(
    kept: &StoredOutput,
    take: &mut dyn FnMut(&[u8]) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let (mut block, mut offset) = (vec![0; BLOCK], 0);
    loop {
        let length = kept.read_at(offset, &mut block).map_err(|error| failed(&error))?;
        if length == 0 {
            return Ok(());
        }
        take(&block[..length])?;
        offset += length as u64;
    }
}

/// The options that say which calls are meant.
#[derive(Args)]
#[group(skip)]
struct FilterOptions {
    /// Only calls of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only calls since then: 2h, 7d, 2026-01-31
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only calls with this status
    #[arg(long, value_name = "STATUS", value_parser = one_of(State::NAMES))]
    status: Option<State>,
    /// Only calls from here
    #[arg(long, value_name = "WAY")]
    surface: Option<String>,
}

impl FilterOptions {
    fn filter(&self, limit: usize) -> Result<Filter, CommandError> {
        Ok(Filter {
            tool: self.tool.clone(),
            since: self.since.as_deref().map(since).transpose()?,
            state: self.status,
            surface: self.surface.clone(),
            limit,
        })
    }
}

/// Reads a moment, or how long ago it was, as milliseconds from 1970.
fn since(text: &str) -> Result<u64, CommandError> {
    let moment = match span(text) {
        Some(span) => now().checked_sub(span).unwrap_or_default(),
        None => {
            let date =
                || text.parse::<civil::DateTime>().ok()?.to_zoned(TimeZone::system()).ok().map(|at| at.timestamp());
            let moment = text.parse::<Timestamp>().ok().or_else(date).ok_or_else(|| {
                CommandError::usage(format!("`{text}` is no time"))
                    .hint("such as 30m, 2h, 7d, 2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00:00Z; times without a zone are local")
            })?;
            Duration::from_millis(u64::try_from(moment.as_millisecond()).unwrap_or(0))
        }
    };
    Ok(u64::try_from(moment.as_millis()).unwrap_or(u64::MAX))
}

/// Reads a length of time: a number with `s`, `m`, `h`, `d` or `w`.
fn span(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    Some(Duration::from_secs(number.parse::<u64>().ok()?.checked_mul(seconds)?))
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Whether a call was made in the project at `workspace`; one whose place is not known may have been.
pub(crate) fn is_of_project(run: &Run, workspace: &Path) -> bool {
    run.call["from"].as_str().is_none_or(|from| Path::new(from).starts_with(workspace))
}

/// Whether something ran because somebody wanted it: not a call that was refused, nor the checks of `cycod doctor`.
fn has_run(run: &Run) -> bool {
    run.state != State::Refused && run.surface != crate::commands::doctor::SURFACE
}

/// The newest calls, at most `limit` of those that are wanted.
fn newest(
    history: &History,
    filter: &Filter,
    limit: usize,
    is_wanted: impl Fn(&Run) -> bool,
) -> Result<Vec<Run>, CommandError> {
    let mut runs = Vec::new();
    let taken = history.each_run(&Filter { limit: 0, ..filter.clone() }, &mut |run| {
        if is_wanted(&run) {
            runs.push(run);
        }
        limit == 0 || runs.len() < limit
    });
    taken.map(|()| runs).map_err(|error| failed(&error))
}

/// The call that a person means: `last`, the last run of this project, `-1` for the same, `-2` for the one before it, a name or
/// its beginning.
fn meant(context: &Context, name: &str) -> Result<Run, CommandError> {
    let history = history(context);
    let back = if name == "last" { Some(1) } else { name.strip_prefix('-').and_then(|back| back.parse().ok()) };
    let Some(back @ 1..) = back else { return named(&history, name) };
    let workspace = &context.engine.host().workspace;
    let is_wanted = |run: &Run| has_run(run) && is_of_project(run, workspace);
    let mut runs = newest(&history, &Filter::default(), back, is_wanted)?;
    if runs.len() == back { runs.pop().ok_or_else(|| unknown(name)) } else { Err(unknown(name)) }
}

/// Follows a run on the fleet again that no process of this machine follows any more: it went on there.
fn followed_again(context: &Context, run: Run) -> Result<Run, CommandError> {
    if run.state != State::Interrupted {
        return Ok(run);
    }
    let history = history(context);
    match Resumption::open(&history.journals(), &run.id) {
        Ok(resumption) if resumption.is_on_fleet() => {
            context.engine.resume_in_background(resumption)?;
            named(&history, &run.id)
        }
        _ => Ok(run),
    }
}

fn unknown(name: &str) -> CommandError {
    CommandError::failure(format!("no run is called `{name}`")).hint("runs: cycod runs list")
}

/// The call of this name, or of the only name that begins so.
fn named(history: &History, name: &str) -> Result<Run, CommandError> {
    let is_name = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let mut found = if is_name { history.find(name).map_err(|error| failed(&error))? } else { Vec::new() };
    match (found.pop(), found.pop()) {
        (Some(run), None) => Ok(run),
        (Some(one), Some(other)) => Err(CommandError::failure(format!("several runs begin with `{name}`"))
            .hint(format!("such as {} and {}", other.id, one.id))),
        _ => Err(unknown(name)),
    }
}

/// The argument that names a run.
#[derive(Args)]
#[group(skip)]
struct RunName {
    /// A run: its name, `last` for the last run of this project, -1, -2, …
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    id: String,
}
/// How long it took, as a person would say it.
fn took(run: &Run) -> Option<String> {
    Some(crate::run::duration(cycod_app::views::took(run)?))
}
