//! Durable runs, whose steps are spread over workers. The conductor drives the flow of each and tells the hub what happened, in
//! order: the *log*. A step is a task of the queue; what came of it goes to the conductor through Restate.
//!
//! ```text
//!  a device ──► flows ── outbox ──► Restate ──► conductor ── commit: what happened, what starts ──► flow_log, tasks
//!     ▲                                ▲                                                               │
//!     └── pieces: events, facts        └──────────── outbox ◄── what came of it ◄── a worker ◄─────────┘
//! ```
//!
//! Restate gets which step ended and how, and never what it wrote.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_conductor::{CommitError, FlowCommit, FlowQueue, TaskAnswer};
use cycod_flow::{AttemptOutcome, FlowEvent, FlowStart, FlowWork, WorkAnswer};
use cycod_team::{BlobDigest, BytesInParts, PastDocument, StepChanges, StepLease, TicketDocument};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::{
    Hub, HubError, HubMember, HubRefusal, HubTransaction, SqlRow, carried, consents, fleet::NewRun, questions,
};

/// How long a durable run may take, in seconds.
pub(crate) const LONGEST_RUN: i64 = 7 * 24 * 3600;

/// How long a run is kept after its end, in milliseconds: a device may be away.
const KEPT: i64 = 7 * 24 * 3600 * 1000;

/// The most bytes of what the steps of a run wrote.
const MOST_RESULTS: usize = 8 << 20;

/// The most bytes of what Restate is told when a run begins.
const MOST_START: usize = 64 << 10;

/// What a worker reports when it has done its part of a durable run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepResult {
    pub(crate) answer: WorkAnswer,
    /// What is known of the step, in Base64.
    entry: String,
    /// What it changed in the files of the project.
    #[serde(default)]
    changes: Option<StepChanges>,
}

impl StepResult {
    /// One that a worker reports now.
    pub(crate) fn reported(result: &Json) -> Result<Self, HubError> {
        Self::deserialize(result).map_err(|error| HubError::invalid(format!("the result can't be read: {error}")))
    }

    /// One that the hub has kept.
    pub(crate) fn kept(result: &str) -> Result<Self, HubError> {
        serde_json::from_str(result).map_err(|error| broken("a result", error))
    }
}

fn broken(what: &str, error: impl std::fmt::Display) -> HubError {
    HubError::failed(what, error)
}

/// The labels of a run and of a step, each once.
pub(crate) fn both<'l>(of_run: impl IntoIterator<Item = &'l str>, of_step: &'l [String]) -> Vec<String> {
    let all: BTreeSet<&str> = of_run.into_iter().chain(of_step.iter().map(String::as_str)).collect();
    all.into_iter().map(str::to_owned).collect()
}

/// What the conductor has to know of a run, as it is sent to Restate.
pub(crate) fn checked_start(start: &Json) -> Result<String, HubError> {
    let start: FlowStart = serde_json::from_value(start.clone())
        .map_err(|error| HubError::invalid(format!("the flow can't be read: {error}")))?;
    if start.version != cycod_flow::VERSION {
        return Err(HubError::invalid("the flow is of another version than this hub: update both"));
    }
    let body = json!(start).to_string();
    if body.len() > MOST_START {
        return Err(HubError::invalid("the flow has too many steps"));
    }
    Ok(body)
}

/// Takes a durable run; returns whether it is new.
pub(crate) fn give(
    tx: &mut dyn HubTransaction,
    new: &NewRun<'_>,
    start: &Json,
    now: Timestamp,
) -> Result<bool, HubError> {
    let body = checked_start(start)?;
    let insert = "INSERT INTO flows (run, member, device, ticket, signature, tool, labels, state, cancelled, pieces, stored, \
                  cut, made, ended, expires) VALUES ($1, $2, $3, $4, $5, $6, $7, 'running', 0, 0, 0, 0, $8, 0, $9) \
                  ON CONFLICT DO NOTHING";
    let values = [
        new.id.into(),
        new.member.into(),
        new.device.into(),
        new.signed.document.as_str().into(),
        new.signed.signature.as_str().into(),
        new.ticket.tool.as_str().into(),
        new.ticket.labels.join(" ").into(),
        now.as_millisecond().into(),
        new.expires.into(),
    ];
    let is_new = tx.execute(insert, &values)? == 1;
    if is_new {
        send(tx, &format!("start.{}", new.id), &format!("/ToolRun/{}/run/send", new.id), &body, now)?;
    }
    Ok(is_new)
}

/// Leaves a request to Restate, which is sent until Restate has it.
pub(crate) fn send(
    tx: &mut dyn HubTransaction,
    id: &str,
    path: &str,
    body: &str,
    now: Timestamp,
) -> Result<(), HubError> {
    let insert = "INSERT INTO flow_outbox (id, path, body, made) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    tx.execute(insert, &[id.into(), path.into(), body.into(), now.as_millisecond().into()]).map(drop)
}

/// Where Restate takes what it waits for.
pub(crate) fn resolve(awakeable: &str) -> String {
    format!("/restate/awakeables/{awakeable}/resolve")
}

/// A request to Restate.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) body: String,
}

/// The oldest requests that Restate may not have.
pub(crate) fn outgoing(tx: &mut dyn HubTransaction) -> Result<Vec<Outgoing>, HubError> {
    let rows = tx.rows("SELECT id, path, body FROM flow_outbox ORDER BY made LIMIT 200", &[])?;
    rows.iter().map(|row| Ok(Outgoing { id: row.text(0)?, path: row.text(1)?, body: row.text(2)? })).collect()
}

/// Takes note that Restate has a request.
pub(crate) fn sent(tx: &mut dyn HubTransaction, id: &str) -> Result<(), HubError> {
    tx.execute("DELETE FROM flow_outbox WHERE id = $1", &[id.into()]).map(drop)
}

/// Takes note that Restate refused a request: the others come first now.
pub(crate) fn postponed(tx: &mut dyn HubTransaction, id: &str, now: Timestamp) -> Result<(), HubError> {
    tx.execute("UPDATE flow_outbox SET made = $1 WHERE id = $2", &[now.as_millisecond().into(), id.into()]).map(drop)
}

/// What a worker has to know of a run to do its part, and the digest of that.
pub(crate) fn lease(
    tx: &mut dyn HubTransaction,
    (run, task, work): (&str, &str, &str),
    now: Timestamp,
) -> Result<(StepLease, String), HubError> {
    let select = "SELECT made, stored, timed FROM flows WHERE run = $1";
    let row = tx.row(select, &[run.into()])?.ok_or_else(|| broken("a run", "it is gone"))?;
    let begun = if questions::is_open(tx, run)? || consents::is_open(tx, run)? {
        now.as_millisecond()
    } else {
        row.number(0)?.max(row.number(2)?)
    };
    let elapsed = u64::try_from(now.as_millisecond().saturating_sub(begun)).unwrap_or_default();
    let stored = usize::try_from(row.number(1)?).unwrap_or_default();
    let mut facts = Vec::new();
    for row in tx.rows("SELECT event, entry FROM flow_log WHERE run = $1 ORDER BY number", &[run.into()])? {
        let event = serde_json::from_str(&row.text(0)?).map_err(|error| broken("an event", error))?;
        facts.push((event, STANDARD.encode(row.bytes(1)?)));
    }
    let room = MOST_RESULTS.saturating_sub(stored);
    let past = PastDocument { run: run.to_owned(), elapsed, room, facts, changes: changes(tx, run)? };
    let past = serde_json::to_string(&past).map_err(|error| broken("what happened", error))?;
    let digest = BlobDigest::of(past.as_bytes());
    Ok((StepLease { task: task.to_owned(), work: work.to_owned(), past: digest }, past))
}

/// What the steps of a run changed in the files of the project, in order.
pub(crate) fn changes(tx: &mut dyn HubTransaction, run: &str) -> Result<Vec<BytesInParts>, HubError> {
    let rows = tx.rows("SELECT parts FROM flow_changes WHERE run = $1 ORDER BY number", &[run.into()])?;
    let read = |text: String| serde_json::from_str(&text).map_err(|error| broken("changes", error));
    rows.iter().map(|row| read(row.text(0)?)).collect()
}

/// Takes what a step changed, if its worker knows of all changes before. Else returns those that it doesn't know.
fn change(
    tx: &mut dyn HubTransaction,
    (run, task): (&str, &str),
    changed: &StepChanges,
) -> Result<Option<Vec<BytesInParts>>, HubError> {
    let row = tx.row("SELECT member, ticket FROM flows WHERE run = $1", &[run.into()])?;
    let row = row.ok_or_else(|| broken("a run", "it is gone"))?;
    let ticket: TicketDocument = serde_json::from_str(&row.text(1)?).map_err(|error| broken("a ticket", error))?;
    if !ticket.workspace.is_some_and(|workspace| workspace.changes) {
        return Err(HubError::invalid("nothing that the run changes comes back"));
    }
    if !carried::has_changes(tx, (run, &row.text(0)?), &changed.files)? {
        return Err(HubError::invalid("the hub doesn't have all parts of the changes"));
    }
    let before = changes(tx, run)?;
    let parts = serde_json::to_string(&changed.files).map_err(|error| broken("changes", error))?;
    // Of two workers that report at once, the number is free for one.
    let insert = "INSERT INTO flow_changes (run, number, task, parts) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    let number = i64::try_from(changed.after).unwrap_or(i64::MAX);
    let values = [run.into(), number.into(), task.into(), parts.into()];
    if changed.after == before.len() && tx.execute(insert, &values)? == 1 {
        return Ok(None);
    }
    let all = changes(tx, run)?;
    match all.get(changed.after..) {
        Some(behind) => Ok(Some(behind.to_vec())),
        None => Err(HubError::invalid("the run has no such changes")),
    }
}

/// Checks what a worker reports of its part. Returns the changes of other steps that it has to consider before.
pub(crate) fn check(
    tx: &mut dyn HubTransaction,
    (run, task, work): (&str, &str, FlowWork),
    result: &StepResult,
) -> Result<Option<Vec<BytesInParts>>, HubError> {
    if !result.answer.is_of(work) {
        return Err(HubError::invalid("the result is one of another step"));
    }
    if matches!(result.answer.event, FlowEvent::Asked(_)) {
        let unread = || HubError::invalid("the question can't be read");
        let document = STANDARD.decode(&result.entry).map_err(|_| unread())?;
        consents::check(run, &String::from_utf8(document).map_err(|_| unread())?)?;
        return Ok(None);
    }
    if let Some(changed) = &result.changes
        && let Some(behind) = change(tx, (run, task), changed)?
    {
        return Ok(Some(behind));
    }
    let size = i64::try_from(result.entry.len() / 4 * 3).unwrap_or(i64::MAX);
    let most = i64::try_from(MOST_RESULTS).unwrap_or(i64::MAX);
    let update = "UPDATE flows SET stored = stored + $1 WHERE run = $2 AND stored + $1 <= $3";
    // What is little is always taken: a result that says that there is no room.
    if tx.execute(update, &[size.into(), run.into(), most.into()])? == 0 && size > 4096 {
        return Err(HubError::invalid("the results of the run have no room"));
    }
    Ok(None)
}

/// What a result says that happened.
pub(crate) fn answer_of(result: &str) -> Result<WorkAnswer, HubError> {
    Ok(StepResult::kept(result)?.answer)
}

/// What is known of the step of which a result is.
pub(crate) fn entry_of(result: &str) -> Result<Vec<u8>, HubError> {
    STANDARD.decode(StepResult::kept(result)?.entry).map_err(|error| broken("a result", error))
}

/// Adds events of a step to what the member's device will get.
pub(crate) fn add_events(
    tx: &mut dyn HubTransaction,
    run: &str,
    fence: i64,
    events: &[Json],
    most: i64,
) -> Result<(), HubError> {
    let mut events = events.to_vec();
    let unread = "SELECT COALESCE(SUM(LENGTH(body)), 0) FROM task_pieces WHERE task = $1";
    let unread = tx.row(unread, &[run.into()])?.map_or(Ok(0), |row| row.number(0))?;
    if unread > most {
        events.retain(|event| event["e"] != "out");
        if tx.execute("UPDATE flows SET cut = 1 WHERE run = $1 AND cut = 0", &[run.into()])? == 1 {
            let why = "no one followed the run, so the hub didn't keep more of its output";
            events.push(json!({"e": "warning", "text": why}));
        }
    }
    if events.is_empty() { Ok(()) } else { add_piece(tx, run, fence, &json!(events)) }
}

fn add_piece(tx: &mut dyn HubTransaction, run: &str, fence: i64, body: &Json) -> Result<(), HubError> {
    tx.execute("UPDATE flows SET pieces = pieces + 1 WHERE run = $1", &[run.into()])?;
    let select = "SELECT pieces FROM flows WHERE run = $1";
    let number = tx.row(select, &[run.into()])?.ok_or_else(|| broken("a run", "it is gone"))?.number(0)?;
    let insert = "INSERT INTO task_pieces (task, number, fence, body) VALUES ($1, $2, $3, $4)";
    tx.execute(insert, &[run.into(), number.into(), fence.into(), body.to_string().into()]).map(drop)
}

/// What a piece tells that is a fact: its event with what is known of the step; nothing for other pieces.
pub(crate) fn fact_of(tx: &mut dyn HubTransaction, run: &str, body: &Json) -> Result<Option<Json>, HubError> {
    let Some(number) = body["fact"].as_i64() else { return Ok(None) };
    let select = "SELECT event, entry, worker FROM flow_log WHERE run = $1 AND number = $2";
    let row = tx.row(select, &[run.into(), number.into()])?.ok_or_else(|| broken("a fact", "it is gone"))?;
    let event: Json = serde_json::from_str(&row.text(0)?).map_err(|error| broken("an event", error))?;
    let entry = STANDARD.encode(row.bytes(1)?);
    Ok(Some(json!({"number": number, "event": event, "entry": entry, "worker": row.text(2)?})))
}

/// How a run of a member is; nothing where it is none.
pub(crate) fn state(tx: &mut dyn HubTransaction, member: &str, run: &str) -> Result<Option<(String, i64)>, HubError> {
    let select = "SELECT state, pieces FROM flows WHERE run = $1 AND member = $2";
    let row = tx.row(select, &[run.into(), member.into()])?;
    row.map(|row| Ok((row.text(0)?, row.number(1)?))).transpose()
}

/// What changes whenever there is news of a run; nothing where it is none.
pub(crate) fn mark(tx: &mut dyn HubTransaction, run: &str) -> Result<Option<String>, HubError> {
    let row = tx.row("SELECT state, pieces FROM flows WHERE run = $1", &[run.into()])?;
    row.map(|row| Ok(format!("{} {}", row.text(0)?, row.number(1)?))).transpose()
}

/// Ends a run of a member. The conductor then cleans up.
pub(crate) fn cancel(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    run: &str,
    now: Timestamp,
) -> Result<(), HubError> {
    let update = "UPDATE flows SET cancelled = 1 WHERE run = $1 AND member = $2";
    if tx.execute(update, &[run.into(), member.name.as_str().into()])? == 0 {
        return Err(HubError::new(HubRefusal::Missing, "there is no such task"));
    }
    stop(tx, run, now)
}

fn stop(tx: &mut dyn HubTransaction, run: &str, now: Timestamp) -> Result<(), HubError> {
    let update = "UPDATE tasks SET cancelled = 1 WHERE run = $1 AND work LIKE '{\"attempt\"%' \
                  AND (state = 'waiting' OR state = 'leased')";
    tx.execute(update, &[run.into()])?;
    questions::withdraw(tx, run)?;
    consents::withdraw(tx, run)?;
    send(tx, &format!("cancel.{run}"), &format!("/ToolRun/{run}/cancel/send"), "", now)
}

/// Tells the conductor what came of a task that is over.
pub(crate) fn tell(
    tx: &mut dyn HubTransaction,
    (task, work, awakeable): (&str, &str, &str),
    (state, result): (&str, &str),
    now: Timestamp,
) -> Result<(), HubError> {
    let work: FlowWork = serde_json::from_str(work).map_err(|error| broken("a task", error))?;
    let answer = match (state, work) {
        ("done", _) => answer_of(result)?,
        ("lost", work) => work.lost(),
        (_, FlowWork::Attempt(of)) => WorkAnswer::new(FlowEvent::Ended { task: of, outcome: AttemptOutcome::Refused }),
        // These are not withdrawn: they end with the run.
        _ => return Ok(()),
    };
    let select = "SELECT flows.cancelled FROM flows JOIN tasks ON tasks.run = flows.run WHERE tasks.id = $1";
    let is_cancelled = tx.row(select, &[task.into()])?.map_or(Ok(0), |row| row.number(0))? != 0;
    let answer = json!(TaskAnswer { task: task.to_owned(), answer, is_cancelled }).to_string();
    send(tx, task, &resolve(awakeable), &answer, now)
}

/// Ends runs that took too long, and forgets those that ended long ago.
pub(crate) fn sweep(tx: &mut dyn HubTransaction, now: Timestamp) -> Result<(), HubError> {
    questions::sweep(tx, now)?;
    consents::sweep(tx, now)?;
    let before = now.as_millisecond().saturating_sub(KEPT);
    let select = "SELECT run FROM flows WHERE state = 'running' AND expires < $1";
    for row in tx.rows(select, &[now.as_second().into()])? {
        let run = row.text(0)?;
        stop(tx, &run, now)?;
        end(tx, &run, "expired", now)?;
    }
    for row in tx.rows("SELECT run FROM flows WHERE ended > 0 AND ended < $1", &[before.into()])? {
        forget(tx, &row.text(0)?)?;
    }
    Ok(())
}

/// Forgets a run that has ended.
pub(crate) fn forget(tx: &mut dyn HubTransaction, run: &str) -> Result<(), HubError> {
    carried::forget(tx, run)?;
    for statement in [
        "DELETE FROM flow_outbox WHERE id IN ('start.' || $1, 'cancel.' || $1) OR id LIKE $1 || '.%'",
        "DELETE FROM task_pieces WHERE task = $1",
        "DELETE FROM flow_log WHERE run = $1",
        "DELETE FROM flow_questions WHERE run = $1",
        "DELETE FROM flow_changes WHERE run = $1",
        "DELETE FROM tasks WHERE run = $1",
        "DELETE FROM flows WHERE run = $1",
    ] {
        tx.execute(statement, &[run.into()])?;
    }
    consents::forget(tx, run)
}

fn end(tx: &mut dyn HubTransaction, run: &str, state: &str, now: Timestamp) -> Result<(), HubError> {
    let update = "UPDATE flows SET state = $1, ended = $2 WHERE run = $3";
    tx.execute(update, &[state.into(), now.as_millisecond().into(), run.into()])?;
    questions::withdraw(tx, run)?;
    consents::withdraw(tx, run)?;
    carried::end(tx, run)?;
    tx.execute("DELETE FROM task_files WHERE task = $1", &[run.into()]).map(drop)
}

/// Ends a run that can't go on. The member learns why.
fn give_up(tx: &mut dyn HubTransaction, run: &str, why: &str, now: Timestamp) -> Result<(), HubError> {
    let is_running = tx.row("SELECT run FROM flows WHERE run = $1 AND state = 'running'", &[run.into()])?;
    if is_running.is_some() {
        add_piece(tx, run, 0, &json!([{"e": "warning", "text": format!("the run can't continue: {why}")}]))?;
        stop(tx, run, now)?;
        end(tx, run, "broken", now)?;
    }
    Ok(())
}

/// Puts what starts into the queue. `flow` has the columns of the run that [`commit`] reads.
fn offer(
    tx: &mut dyn HubTransaction,
    commit: &FlowCommit,
    flow: &SqlRow,
    is_cancelled: bool,
    now: Timestamp,
) -> Result<(), HubError> {
    if commit.offers.is_empty() {
        return Ok(());
    }
    let of_run = flow.text(6)?;
    let ticket: TicketDocument = serde_json::from_str(&flow.text(3)?).map_err(|error| broken("a ticket", error))?;
    for (index, offer) in commit.offers.iter().enumerate() {
        let insert = "INSERT INTO tasks (id, member, device, ticket, signature, tool, labels, again, state, worker, fence, \
                      piece, pieces, lease_until, lost, cancelled, made, ended, watched, expires, result, late, run, work, \
                      awakeable, keep_on) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting', '', 0, 0, 0, 0, '', $9, $10, 0, \
                      $11, $12, '', '', $13, $14, $15, $16)";
        let is_attempt = matches!(offer.work, FlowWork::Attempt(_));
        let values = [
            format!("{}.{}.{index}", commit.run, commit.number).into(),
            flow.text(1)?.into(),
            flow.text(2)?.into(),
            flow.text(3)?.into(),
            flow.text(4)?.into(),
            flow.text(5)?.into(),
            both(of_run.split_whitespace(), &offer.labels).join(" ").into(),
            i64::from(!is_attempt).into(),
            i64::from(is_attempt && (is_cancelled || flow.number(7)? != 0)).into(),
            now.as_millisecond().into(),
            i64::MAX.into(),
            flow.number(8)?.into(),
            commit.run.as_str().into(),
            json!(offer.work).to_string().into(),
            offer.awakeable.as_str().into(),
            i64::from(ticket.keep_on).into(),
        ];
        tx.execute(insert, &values)?;
    }
    Ok(())
}

/// Writes down what the conductor says that happened, and puts what follows into the queue. The same once more changes nothing.
fn commit(tx: &mut dyn HubTransaction, commit: &FlowCommit, now: Timestamp) -> Result<Option<CommitError>, HubError> {
    let FlowCommit { run, number, event, task, questions, holds, stops, is_over, .. } = commit;
    let answered = if let FlowEvent::Answered { task, answer } = event { Some((*task, *answer)) } else { None };
    let (asked, resumed) = match event {
        FlowEvent::Asked(work) => (Some(*work), None),
        FlowEvent::Resumed(work) => (None, Some(*work)),
        _ => (None, None),
    };
    let is_cancelled = *event == FlowEvent::Cancelled;
    let event = json!(event).to_string();
    let select = "SELECT event FROM flow_log WHERE run = $1 AND number = $2";
    if let Some(row) = tx.row(select, &[run.as_str().into(), (*number).into()])? {
        let is_same = row.text(0)? == event;
        return Ok((!is_same).then(|| CommitError::Failed("another event has this number".to_owned())));
    }
    let select =
        "SELECT state, member, device, ticket, signature, tool, labels, cancelled, expires FROM flows WHERE run = $1";
    let flow = tx.row(select, &[run.as_str().into()])?;
    let Some(flow) = flow.filter(|row| row.text(0).is_ok_and(|state| state == "running")) else {
        return Ok(Some(CommitError::Gone));
    };
    let known = tx.row("SELECT COUNT(*) FROM flow_log WHERE run = $1", &[run.as_str().into()])?;
    if known.map_or(Ok(0), |row| row.number(0))? != *number {
        return Ok(Some(CommitError::Failed("an event before this one is missing".to_owned())));
    }
    let (mut entry, mut worker) = (Vec::new(), String::new());
    if let Some(task) = task {
        let select = "SELECT result, worker, state FROM tasks WHERE id = $1 AND run = $2";
        let row = tx.row(select, &[task.as_str().into(), run.as_str().into()])?;
        let row = row.ok_or_else(|| broken("a task", "it is gone"))?;
        worker = row.text(1)?;
        if row.text(2)? == "done" {
            let result = StepResult::kept(&row.text(0)?)?;
            let came = json!(result.answer.event).to_string();
            if came != event {
                return Ok(Some(CommitError::Failed("the event is not what came of the task".to_owned())));
            }
            entry = STANDARD.decode(result.entry).map_err(|error| broken("a result", error))?;
        }
    }
    if let Some(work) = asked {
        // The question itself is long, and for no worker.
        let document = String::from_utf8(entry).map_err(|error| broken("a question", error))?;
        entry = consents::told(&document, (&consents::step_of(tx, run, work)?, &worker))?;
    }
    if let Some(work) = resumed {
        match consents::known(tx, run, work)? {
            Some(known) => entry = known,
            None => return Ok(Some(CommitError::Failed("the question is still open".to_owned()))),
        }
    }
    if is_cancelled {
        tx.execute("UPDATE flows SET cancelled = 1 WHERE run = $1", &[run.as_str().into()])?;
    }
    if let Some(answered) = answered {
        match questions::known(tx, run, answered)? {
            Some(known) => entry = known,
            None => return Ok(Some(CommitError::Failed("no one gave this answer".to_owned()))),
        }
    }
    let insert = "INSERT INTO flow_log (run, number, event, entry, worker) VALUES ($1, $2, $3, $4, $5)";
    tx.execute(insert, &[run.as_str().into(), (*number).into(), event.into(), entry.as_slice().into(), worker.into()])?;
    add_piece(tx, run, 0, &json!({"fact": number}))?;
    consents::hold(tx, (run, flow.number(8)?), (holds, task.as_deref()), now)?;
    questions::ask(tx, (run, flow.number(8)?), (questions, task.as_deref()), now)?;
    offer(tx, commit, &flow, is_cancelled, now)?;
    // After what starts: of a run that ends, what was held is given away again only to be stopped.
    for work in stops {
        let update =
            "UPDATE tasks SET cancelled = 1 WHERE run = $1 AND work = $2 AND (state = 'waiting' OR state = 'leased')";
        tx.execute(update, &[run.as_str().into(), json!(work).to_string().into()])?;
    }
    if *is_over {
        end(tx, run, "done", now)?;
    }
    Ok(None)
}

impl FlowQueue for Hub {
    fn commit(&self, what: &FlowCommit) -> Result<(), CommitError> {
        let committed = self.run(|tx| {
            let committed = commit(tx, what, Timestamp::now())?;
            // The hub is another process, at which workers wait for what starts.
            tx.announce()?;
            Ok(committed)
        });
        self.fleet_changes().notify_waiters();
        match committed {
            Ok(None) => Ok(()),
            Ok(Some(error)) => Err(error),
            Err(error) => Err(CommitError::Failed(error.message)),
        }
    }

    fn give_up(&self, run: &str, why: &str) -> Result<(), CommitError> {
        let given_up = self.run(|tx| give_up(tx, run, why, Timestamp::now()));
        self.fleet_changes().notify_waiters();
        given_up.map_err(|error| CommitError::Failed(error.message))
    }
}
