//! Schedules: calls that a member's device signed in advance, and that the hub starts by the clock.
//!
//! ```text
//!  a device ──► schedules ── its time has come ──► schedule_runs ──► tasks or flows ──► workers
//!  (a ticket with times, until it expires)        (one row for each time)
//! ```
//!
//! A worker finds the times of the ticket by itself, so the hub can leave one out, and can add none. Of several hubs with one
//! database, each checks every second, and the row of a time is there once.

use cycod_schedule::{MissedRuns, OverlappingRuns, ScheduleTimes, is_schedule_name, scheduled_run};
use cycod_team::{LATEST_START, SignedText, TicketDocument, TicketSchedule};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::{
    HubError, HubMember, HubRefusal, HubTransaction, SqlRow, audit, carried,
    fleet::{self, FleetWorker, GivenTask, NewRun},
    flows,
};

/// The longest time for which a member can permit something in advance, in seconds.
const LONGEST: i64 = 366 * 24 * 3600;

/// By how many seconds the clocks of a device and the hub may differ.
const DRIFT: i64 = 300;

/// The most schedules of a member.
const MOST_SCHEDULES: i64 = 100;

/// After how many seconds a start counts as missed.
const GRACE: i64 = 60;

/// The most starts that a schedule makes up for, and the most that are noted as missed at once.
const MOST_MISSED: usize = 100;

/// How many times of a schedule are kept, with the runs and what these wrote. As many runs may be under way at once.
const KEPT: i64 = 50;

/// How long the steps of a scheduled run may begin after it, in seconds.
const LONGEST_START: i64 = LATEST_START - 24 * 3600;

/// A change of a schedule by a member.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenChange {
    pub(crate) name: String,
    pub(crate) change: ScheduleAction,
}

/// What may happen to a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScheduleAction {
    Pause,
    Resume,
    Remove,
}

/// A schedule as the database has it.
struct StoredSchedule {
    name: String,
    member: String,
    device: String,
    signed: SignedText,
    ticket: TicketDocument,
    flow: String,
    next: i64,
}

const COLUMNS: &str = "name, member, device, ticket, signature, flow, next";

impl StoredSchedule {
    fn of(row: &SqlRow) -> Result<Self, HubError> {
        let signed = SignedText { document: row.text(3)?, signature: row.text(4)? };
        let ticket = serde_json::from_str(&signed.document).map_err(|error| HubError::failed("a schedule", error))?;
        Ok(Self {
            name: row.text(0)?,
            member: row.text(1)?,
            device: row.text(2)?,
            signed,
            ticket,
            flow: row.text(5)?,
            next: row.number(6)?,
        })
    }

    fn terms(&self) -> Result<&TicketSchedule, HubError> {
        self.ticket.schedule.as_ref().ok_or_else(|| HubError::failed("a schedule", "its ticket has no times"))
    }

    fn times(&self) -> Result<ScheduleTimes, HubError> {
        self.terms()?.when.times().map_err(|error| HubError::failed("a schedule", error))
    }

    /// Who has the files of its tool.
    fn owner(name: &str) -> String {
        format!("schedule.{name}")
    }
}

/// Takes a schedule of a member.
pub(crate) fn add(
    tx: &mut dyn HubTransaction,
    (member, device): (&HubMember, &str),
    given: &GivenTask,
    has_restate: bool,
    now: Timestamp,
) -> Result<Json, HubError> {
    let ticket = fleet::checked_ticket(tx, device, &given.ticket)?;
    let terms = ticket.schedule.as_ref().ok_or_else(|| HubError::invalid("the ticket has no schedule"))?;
    if !is_schedule_name(&terms.name) {
        return Err(HubError::invalid("a schedule's name has at most 40 lowercase letters, digits and `-`"));
    }
    let times = terms.when.times().map_err(|error| HubError::invalid(error.to_string()))?;
    if terms.from.abs_diff(now.as_second()) > DRIFT.unsigned_abs() {
        return Err(HubError::invalid("the clocks of the device and the hub differ by more than 5 minutes"));
    }
    if !(0..=LONGEST).contains(&ticket.expires.saturating_sub(now.as_second())) {
        return Err(HubError::invalid("a schedule is valid for at most 366 days"));
    }
    if let Some(workspace) = &ticket.workspace {
        carried::check(tx, member, (&ticket.id, workspace))?;
    }
    if ticket.durable && !has_restate {
        return Ok(fleet::no_flows());
    }
    let flow = match (ticket.durable, &given.flow) {
        (false, None) => String::new(),
        (true, Some(start)) => flows::checked_start(start)?,
        _ => return Err(HubError::invalid("only a durable run has a flow")),
    };
    let from = Timestamp::from_second(terms.from).map_err(|error| HubError::invalid(error.to_string()))?;
    let next = times.after(from).filter(|next| next.as_second() <= ticket.expires);
    let next = next.ok_or_else(|| HubError::invalid("the schedule expires before its first time"))?;
    let select = "SELECT COUNT(*) FROM schedules WHERE member = $1";
    let count = tx.row(select, &[member.name.as_str().into()])?.map_or(Ok(0), |row| row.number(0))?;
    if count >= MOST_SCHEDULES {
        return Err(HubError::new(HubRefusal::Busy, format!("`{}` has {count} schedules", member.name)));
    }
    let insert = "INSERT INTO schedules (name, member, device, ticket, signature, flow, state, why, next, made) \
                  VALUES ($1, $2, $3, $4, $5, $6, 'active', '', $7, $8) ON CONFLICT DO NOTHING";
    let values = [
        terms.name.as_str().into(),
        member.name.as_str().into(),
        device.into(),
        given.ticket.document.as_str().into(),
        given.ticket.signature.as_str().into(),
        flow.into(),
        next.as_second().into(),
        now.as_second().into(),
    ];
    if tx.execute(insert, &values)? == 0 {
        let name = &terms.name;
        let message = format!("there is a schedule `{name}` already; remove it, or give this one another name");
        return Err(HubError::new(HubRefusal::Conflict, message));
    }
    let owner = StoredSchedule::owner(&terms.name);
    fleet::keep_files(tx, &owner, &ticket, &given.files)?;
    carried::share(tx, (&ticket.id, &owner), true, now)?;
    audit::add(tx, now, &member.name, "schedule", &format!("{} {}", terms.name, ticket.tool))?;
    match fleet::no_worker(&ticket.labels, &FleetWorker::all(tx)?, now) {
        Some(why) => Ok(json!({"no_worker": why})),
        None => Ok(json!({})),
    }
}

/// Pauses, resumes or removes a schedule. Its member can, and an administrator.
pub(crate) fn change(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    given: &GivenChange,
    now: Timestamp,
) -> Result<(), HubError> {
    let name = given.name.as_str();
    let select = format!("SELECT {COLUMNS}, state FROM schedules WHERE name = $1");
    let row = tx.row(&select, &[name.into()])?;
    let row = row.ok_or_else(|| HubError::new(HubRefusal::Missing, format!("there is no schedule `{name}`")))?;
    let schedule = StoredSchedule::of(&row)?;
    if schedule.member != member.name && !member.is_admin {
        let message = format!("`{name}` is a schedule of {}, and you are no administrator of the hub", schedule.member);
        return Err(HubError::new(HubRefusal::Forbidden, message));
    }
    let state = row.text(7)?;
    let conflict = |why: &str| Err(HubError::new(HubRefusal::Conflict, format!("the schedule `{name}` {why}")));
    let action = match (given.change, state.as_str()) {
        (ScheduleAction::Pause, "active") => {
            tx.execute("UPDATE schedules SET state = 'paused', next = 0 WHERE name = $1", &[name.into()])?;
            "pause-schedule"
        }
        // What a pause left out was not missed.
        (ScheduleAction::Resume, "paused") => {
            let next = schedule.times()?.after(now).map_or(0, |next| next.as_second());
            let update = "UPDATE schedules SET state = 'active', next = $1 WHERE name = $2";
            tx.execute(update, &[next.into(), name.into()])?;
            "resume-schedule"
        }
        (ScheduleAction::Remove, _) => {
            // What no worker has begun was permitted by the schedule alone.
            let update = "UPDATE tasks SET cancelled = 1 WHERE state IN ('waiting', 'asked') AND id IN \
                          (SELECT run FROM schedule_runs WHERE schedule = $1)";
            tx.execute(update, &[name.into()])?;
            for statement in ["DELETE FROM schedules WHERE name = $1", "DELETE FROM schedule_runs WHERE schedule = $1"]
            {
                tx.execute(statement, &[name.into()])?;
            }
            tx.execute("DELETE FROM task_files WHERE task = $1", &[StoredSchedule::owner(name).into()])?;
            carried::forget(tx, &StoredSchedule::owner(name))?;
            "remove-schedule"
        }
        (ScheduleAction::Pause, state) => return conflict(&format!("is {state}")),
        (ScheduleAction::Resume, "active") => return conflict("isn't paused"),
        (ScheduleAction::Resume, state) => return conflict(&format!("is {state}, so it needs a new permission")),
    };
    audit::add(tx, now, &member.name, action, name)
}

/// The schedules whose time has come.
pub(crate) fn due(tx: &mut dyn HubTransaction, now: Timestamp) -> Result<Vec<String>, HubError> {
    let select =
        "SELECT name FROM schedules WHERE state = 'active' AND next > 0 AND next <= $1 ORDER BY next, name LIMIT 100";
    tx.rows(select, &[now.as_second().into()])?.iter().map(|row| row.text(0)).collect()
}

/// Starts what is due of a schedule, once for each time. Returns whether something started.
pub(crate) fn start(tx: &mut dyn HubTransaction, name: &str, now: Timestamp) -> Result<bool, HubError> {
    // First, so that of two hubs one waits for the other, and then finds it done.
    let update =
        "UPDATE schedules SET state = 'active' WHERE name = $1 AND state = 'active' AND next > 0 AND next <= $2";
    if tx.execute(update, &[name.into(), now.as_second().into()])? == 0 {
        return Ok(false);
    }
    let select = format!("SELECT {COLUMNS} FROM schedules WHERE name = $1");
    let Some(row) = tx.row(&select, &[name.into()])? else { return Ok(false) };
    let schedule = StoredSchedule::of(&row)?;
    let times = schedule.times()?;
    let select = "SELECT member FROM devices WHERE key = $1 AND member = $2";
    if tx.row(select, &[schedule.device.as_str().into(), schedule.member.as_str().into()])?.is_none() {
        let why = format!("the device that signed it is no longer one of {}", schedule.member);
        stop(tx, name, "stopped", &why)?;
        return Ok(false);
    }
    let Due { instants, has_more } = Due::of(&schedule, &times, now);
    let (late, on_time): (Vec<_>, Vec<_>) =
        instants.into_iter().partition(|at| now.as_second().saturating_sub(at.as_second()) > GRACE);
    let terms = schedule.terms()?;
    let makes_up = match terms.when.missed {
        MissedRuns::Skip => 0,
        MissedRuns::Last => usize::from(on_time.is_empty()),
        MissedRuns::All => MOST_MISSED,
    };
    let (missed, made_up) = late.split_at(late.len().saturating_sub(makes_up));
    note_missed(tx, name, missed, has_more)?;
    let mut next = times.after(now).map_or(0, |next| next.as_second());
    let mut has_started = false;
    for instant in made_up.iter().chain(&on_time) {
        let is_late = now.as_second().saturating_sub(instant.as_second()) > GRACE;
        if instant.as_second() > schedule.ticket.expires {
            break;
        }
        let most = match terms.when.overlap {
            OverlappingRuns::Allow => KEPT,
            OverlappingRuns::Skip => 1,
        };
        let before = running(tx, name, most)?;
        match before {
            Some(_) if is_late && terms.when.missed == MissedRuns::All => {
                next = instant.as_second();
                break;
            }
            Some(run) => note(tx, name, *instant, "skipped", &format!("`{run}` had not ended"))?,
            None => has_started |= schedule.begin(tx, *instant, now)?,
        }
    }
    if next > schedule.ticket.expires || next == 0 {
        stop(tx, name, "expired", "what its member permitted has ended")?;
    } else {
        tx.execute("UPDATE schedules SET next = $1 WHERE name = $2", &[next.into(), name.into()])?;
    }
    forget(tx, name)?;
    Ok(has_started)
}

/// The times of a schedule that have come.
struct Due {
    instants: Vec<Timestamp>,
    /// Whether there were more, too long ago to start.
    has_more: bool,
}

impl Due {
    fn of(schedule: &StoredSchedule, times: &ScheduleTimes, now: Timestamp) -> Self {
        let first = Timestamp::from_second(schedule.next).unwrap_or(now);
        let oldest = now.checked_sub(SignedDuration::from_secs(LONGEST_START)).unwrap_or(Timestamp::UNIX_EPOCH);
        let has_more = first < oldest;
        let mut next = if has_more { times.after(oldest) } else { Some(first) };
        let mut instants = Vec::new();
        while let Some(instant) = next.filter(|instant| *instant <= now) {
            instants.push(instant);
            next = times.after(instant);
        }
        Self { instants, has_more }
    }
}

impl StoredSchedule {
    /// Begins the run of a time; returns whether it is new.
    fn begin(&self, tx: &mut dyn HubTransaction, instant: Timestamp, now: Timestamp) -> Result<bool, HubError> {
        let run = scheduled_run(&self.name, instant);
        let insert = "INSERT INTO schedule_runs (schedule, instant, run, state, why) VALUES ($1, $2, $3, 'started', '') \
                      ON CONFLICT DO NOTHING";
        if tx.execute(insert, &[self.name.as_str().into(), instant.as_second().into(), run.as_str().into()])? == 0 {
            return Ok(false);
        }
        let new = NewRun {
            id: &run,
            member: &self.member,
            device: &self.device,
            ticket: &self.ticket,
            signed: &self.signed,
            expires: instant.as_second().saturating_add(LONGEST_START).min(self.ticket.expires),
            // No device has to ask for it.
            watched: i64::MAX,
        };
        let is_new = match self.ticket.durable {
            true => {
                let start = serde_json::from_str(&self.flow).map_err(|error| HubError::failed("a flow", error))?;
                flows::give(tx, &new, &start, now)?
            }
            false => new.queue(tx, now)?,
        };
        if is_new {
            let copy =
                "INSERT INTO task_files (task, path, bytes) SELECT $1, path, bytes FROM task_files WHERE task = $2";
            tx.execute(copy, &[run.as_str().into(), Self::owner(&self.name).into()])?;
            carried::share(tx, (&Self::owner(&self.name), &run), false, now)?;
        }
        Ok(is_new)
    }
}

/// A run of a schedule that has not ended, if it has as many of them.
fn running(tx: &mut dyn HubTransaction, name: &str, count: i64) -> Result<Option<String>, HubError> {
    for select in [
        "SELECT id FROM tasks WHERE state IN ('waiting', 'leased', 'asked') AND id IN \
         (SELECT run FROM schedule_runs WHERE schedule = $1) ORDER BY id LIMIT 1 OFFSET $2",
        "SELECT run FROM flows WHERE state = 'running' AND run IN \
         (SELECT run FROM schedule_runs WHERE schedule = $1) ORDER BY run LIMIT 1 OFFSET $2",
    ] {
        if let Some(row) = tx.row(select, &[name.into(), (count - 1).into()])? {
            return row.text(0).map(Some);
        }
    }
    Ok(None)
}

/// Notes a time without a run.
fn note(tx: &mut dyn HubTransaction, name: &str, instant: Timestamp, state: &str, why: &str) -> Result<(), HubError> {
    let insert = "INSERT INTO schedule_runs (schedule, instant, run, state, why) VALUES ($1, $2, '', $3, $4) \
                  ON CONFLICT DO NOTHING";
    tx.execute(insert, &[name.into(), instant.as_second().into(), state.into(), why.into()]).map(drop)
}

fn note_missed(tx: &mut dyn HubTransaction, name: &str, missed: &[Timestamp], has_more: bool) -> Result<(), HubError> {
    let shown = missed.len().saturating_sub(MOST_MISSED);
    for (index, instant) in missed[shown..].iter().enumerate() {
        let why = match (index, shown) {
            (0, 1..) => format!("no hub was running, as for {shown} times before"),
            (0, 0) if has_more => "no hub was running, as for times before".to_owned(),
            _ => "no hub was running".to_owned(),
        };
        note(tx, name, *instant, "missed", &why)?;
    }
    Ok(())
}

fn stop(tx: &mut dyn HubTransaction, name: &str, state: &str, why: &str) -> Result<(), HubError> {
    let update = "UPDATE schedules SET state = $1, why = $2, next = 0 WHERE name = $3";
    tx.execute(update, &[state.into(), why.into(), name.into()]).map(drop)
}

/// Forgets all but the newest times of a schedule.
fn forget(tx: &mut dyn HubTransaction, name: &str) -> Result<(), HubError> {
    let select =
        "SELECT instant, run FROM schedule_runs WHERE schedule = $1 ORDER BY instant DESC LIMIT 1000 OFFSET $2";
    for row in tx.rows(select, &[name.into(), KEPT.into()])? {
        let run = row.text(1)?;
        let is_open =
            ["SELECT id FROM tasks WHERE id = $1 AND ended = 0", "SELECT run FROM flows WHERE run = $1 AND ended = 0"];
        let mut ended = true;
        for select in is_open {
            ended &= tx.row(select, &[run.as_str().into()])?.is_none();
        }
        if !ended {
            continue;
        }
        if !run.is_empty() {
            flows::forget(tx, &run)?;
            carried::forget(tx, &run)?;
            tx.execute("DELETE FROM tasks WHERE id = $1", &[run.into()])?;
        }
        let delete = "DELETE FROM schedule_runs WHERE schedule = $1 AND instant = $2";
        tx.execute(delete, &[name.into(), row.number(0)?.into()])?;
    }
    Ok(())
}

/// A schedule, as members see it.
pub(crate) struct ShownSchedule {
    pub(crate) ticket: TicketDocument,
    pub(crate) member: String,
    pub(crate) state: String,
    pub(crate) why: String,
    pub(crate) next: i64,
    pub(crate) runs: Vec<ScheduleRun>,
}

/// A time of a schedule, and what came of it.
pub(crate) struct ScheduleRun {
    pub(crate) instant: i64,
    pub(crate) state: String,
    pub(crate) why: String,
    pub(crate) run: String,
}

/// The schedules, by name, each with its newest times.
pub(crate) fn all(tx: &mut dyn HubTransaction, runs: i64, now: Timestamp) -> Result<Vec<ShownSchedule>, HubError> {
    let workers = FleetWorker::all(tx)?;
    let select = "SELECT name, member, ticket, state, why, next FROM schedules ORDER BY name LIMIT 1000";
    let mut shown = Vec::new();
    for row in tx.rows(select, &[])? {
        let ticket: TicketDocument =
            serde_json::from_str(&row.text(2)?).map_err(|error| HubError::failed("a schedule", error))?;
        let mut its = Vec::new();
        let select =
            "SELECT instant, run, state, why FROM schedule_runs WHERE schedule = $1 ORDER BY instant DESC LIMIT $2";
        for run in tx.rows(select, &[row.text(0)?.into(), runs.into()])? {
            let (id, state, why) = (run.text(1)?, run.text(2)?, run.text(3)?);
            let (state, why) = match state.as_str() {
                "started" => state_of(tx, &id, &ticket, &workers, now)?,
                _ => (state, why),
            };
            its.push(ScheduleRun { instant: run.number(0)?, state, why, run: id });
        }
        shown.push(ShownSchedule {
            ticket,
            member: row.text(1)?,
            state: row.text(3)?,
            why: row.text(4)?,
            next: row.number(5)?,
            runs: its,
        });
    }
    Ok(shown)
}

/// How a run of a schedule is, and why.
fn state_of(
    tx: &mut dyn HubTransaction,
    run: &str,
    ticket: &TicketDocument,
    workers: &[FleetWorker],
    now: Timestamp,
) -> Result<(String, String), HubError> {
    let plain = |state: &str| (state.to_owned(), String::new());
    if let Some(row) = tx.row("SELECT state FROM flows WHERE run = $1", &[run.into()])? {
        return Ok(match row.text(0)?.as_str() {
            "done" => plain("ended"),
            "broken" => plain("failed"),
            state => plain(state),
        });
    }
    let Some(row) = tx.row("SELECT state, worker, lost, result FROM tasks WHERE id = $1", &[run.into()])? else {
        return Ok(plain("ended"));
    };
    let result: Json = serde_json::from_str(&row.text(3)?).unwrap_or_default();
    Ok(match row.text(0)?.as_str() {
        "waiting" => {
            let why = fleet::no_worker(&ticket.labels, workers, now);
            ("waiting".to_owned(), why.unwrap_or_else(|| "every worker that fits is busy".to_owned()))
        }
        "asked" => ("waiting".to_owned(), format!("`{}` asks whether it may run", row.text(1)?)),
        "leased" => ("running".to_owned(), format!("at `{}`", row.text(1)?)),
        "done" if result["success"] == true => plain("ended"),
        "done" => {
            let why = result["refusal"]["why"].as_str().map(str::to_owned);
            ("failed".to_owned(), why.unwrap_or_else(|| format!("exit code {}", result["exit"])))
        }
        "lost" => ("lost".to_owned(), format!("the workers {} were lost", row.text(2)?)),
        "withdrawn" => plain("stopped"),
        _ => ("expired".to_owned(), "no worker had time".to_owned()),
    })
}

/// The same as JSON.
pub(crate) fn listed(tx: &mut dyn HubTransaction, now: Timestamp) -> Result<Json, HubError> {
    let run = |run: &ScheduleRun| {
        let ScheduleRun { instant, state, why, run } = run;
        json!({"instant": instant, "state": state, "why": why, "run": run})
    };
    let schedule = |shown: &ShownSchedule| {
        let ShownSchedule { ticket, member, state, why, next, runs } = shown;
        let runs: Vec<Json> = runs.iter().map(run).collect();
        json!({"ticket": ticket, "member": member, "state": state, "why": why, "next": next, "runs": runs})
    };
    Ok(all(tx, KEPT, now)?.iter().map(schedule).collect())
}
