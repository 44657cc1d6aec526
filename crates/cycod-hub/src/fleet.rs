//! The queue of what members want workers to run. A worker takes a task for a short time, the *lease*, and extends it with each
//! report. The *fence* counts the leases of a task: what a worker reports under an old one no longer counts.
//!
//! ```text
//!  waiting ── a worker that fits asks ──► leased ── it reports the result ──► done
//!     ▲                                     │
//!     └── the lease ends, and it may start again ──┴── or not, or too often ──► lost
//! ```
//!
//! What a run writes passes through in numbered pieces. The hub deletes a piece when the member's device has it.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_definition::{
    WORKER_LABEL, is_offered_label, is_plain_label, is_worker_label, missing_labels, other_version,
};
use cycod_schedule::{SCHEDULED, schedule_of};
use cycod_team::{
    BlobDigest, FORMAT, LeaseDocument, MOST_TICKET_BYTES, SignedRole, SignedText, TicketDocument, hex, ticket_bytes,
};
use jiff::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::{
    HubError, HubKey, HubMember, HubRefusal, HubTransaction, SqlRow, audit, carried, consents,
    flows::{self, StepResult},
    hashed,
    member::random,
    questions,
    request::use_once,
    roots,
};

/// How long a worker has a task without a report, in milliseconds.
pub(crate) const LEASE: i64 = 10_000;

/// After how long without a request a worker counts as gone, and a device as no longer interested, in milliseconds.
const GONE: i64 = 60_000;

/// After how long such a time is written down again, in milliseconds: what only waits must not write each time that it asks.
const NOTED: i64 = 5_000;

/// How often a task may be lost before it fails.
const MOST_LOST: usize = 3;

/// The most tasks of a member that have not ended.
const MOST_TASKS: i64 = 1000;

/// The most kinds of workers that the steps of a run need.
const MOST_NEEDS: usize = 1000;

/// How long a ticket may wait for a worker, in seconds.
const LONGEST_WAIT: i64 = 24 * 3600;

/// How long a task is kept after its end, in milliseconds.
const KEPT: i64 = 3600 * 1000;

/// The most bytes of pieces that no device has taken yet.
const MOST_UNREAD: i64 = 16 << 20;

/// The most pieces of an answer, and about how many bytes.
const MOST_PIECES: i64 = 500;
const MOST_ANSWER: usize = 4 << 20;

/// A task that a member gives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenTask {
    pub(crate) ticket: SignedText,
    /// The files in Base64, by path.
    pub(crate) files: BTreeMap<String, String>,
    /// What the conductor has to know of a durable run.
    #[serde(default)]
    pub(crate) flow: Option<Json>,
    /// What its steps need of workers, in addition to what the ticket says.
    #[serde(default)]
    pub(crate) needs: Vec<Vec<String>>,
}

/// What a worker reports about a task.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkerReport {
    task: String,
    fence: i64,
    /// The number of the piece, from 1 in each lease; 0 for a report without one.
    piece: i64,
    events: Vec<Json>,
    result: Option<Json>,
}

/// A machine that runs what members ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FleetWorker {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) labels: Vec<String>,
    /// When it asked for work or reported last, in milliseconds since 1970.
    pub(crate) seen: i64,
}

impl FleetWorker {
    fn of(row: &SqlRow) -> Result<Self, HubError> {
        let labels = row.text(2)?.split_whitespace().map(str::to_owned).collect();
        Ok(Self { key: row.text(0)?, name: row.text(1)?, labels, seen: row.number(3)? })
    }

    /// The worker with this key.
    pub(crate) fn of_key(tx: &mut dyn HubTransaction, key: &str) -> Result<Self, HubError> {
        let select = "SELECT key, name, labels, seen FROM workers WHERE key = $1";
        match tx.row(select, &[key.into()])? {
            Some(row) => Self::of(&row),
            None => Err(HubError::unknown("the hub doesn't know this worker")),
        }
    }

    pub(crate) fn all(tx: &mut dyn HubTransaction) -> Result<Vec<Self>, HubError> {
        let rows = tx.rows("SELECT key, name, labels, seen FROM workers ORDER BY name", &[])?;
        rows.iter().map(Self::of).collect()
    }

    /// Whether it asked for work or reported a short time ago.
    pub(crate) fn is_here(&self, now: Timestamp) -> bool {
        now.as_millisecond().saturating_sub(self.seen) < GONE
    }
}

/// Makes a token with which one machine becomes a worker.
pub(crate) fn token(tx: &mut dyn HubTransaction, name: &str, hours: u32, now: Timestamp) -> Result<String, HubError> {
    if !is_plain_label(name) {
        return Err(HubError::invalid(format!("the name of a worker is a label, and {WORKER_LABEL}")));
    }
    let token = random::<24>()?;
    let expires = now.as_second().saturating_add(i64::from(hours) * 3600);
    tx.execute("DELETE FROM worker_tokens WHERE expires < $1", &[now.as_second().into()])?;
    let insert = "INSERT INTO worker_tokens (digest, name, expires) VALUES ($1, $2, $3)";
    tx.execute(insert, &[hashed(&token).into(), name.into(), expires.into()])?;
    audit::add(tx, now, "console", "worker-token", name)?;
    Ok(token)
}

/// Makes a machine a worker. Another machine of that name is none any more.
pub(crate) fn enrol(
    tx: &mut dyn HubTransaction,
    key: &str,
    token: &str,
    now: Timestamp,
) -> Result<FleetWorker, HubError> {
    let unknown = || HubError::unknown("the token is wrong, has expired or was used");
    let digest = hashed(token);
    let select = "SELECT name FROM worker_tokens WHERE digest = $1 AND expires >= $2";
    let row = tx.row(select, &[digest.as_str().into(), now.as_second().into()])?.ok_or_else(unknown)?;
    if tx.execute("DELETE FROM worker_tokens WHERE digest = $1", &[digest.into()])? == 0 {
        return Err(unknown());
    }
    let name = row.text(0)?;
    if tx.row("SELECT key FROM devices WHERE key = $1", &[key.into()])?.is_some() {
        return Err(HubError::new(HubRefusal::Conflict, "the key is the one of a member's device"));
    }
    tx.execute("DELETE FROM workers WHERE name = $1", &[name.as_str().into()])?;
    let insert = "INSERT INTO workers (key, name, labels, seen) VALUES ($1, $2, '', 0)";
    tx.execute(insert, &[key.into(), name.as_str().into()])?;
    audit::add(tx, now, "console", "worker", &format!("{name} {key}"))?;
    FleetWorker::of_key(tx, key)
}

/// Removes a worker. What it runs now counts as lost.
pub(crate) fn remove(tx: &mut dyn HubTransaction, name: &str, now: Timestamp) -> Result<(), HubError> {
    if tx.execute("DELETE FROM workers WHERE name = $1", &[name.into()])? == 0 {
        return Err(HubError::new(HubRefusal::Missing, format!("there is no worker `{name}`")));
    }
    let update = "UPDATE tasks SET lease_until = 0 WHERE state = 'leased' AND worker = $1";
    tx.execute(update, &[name.into()])?;
    audit::add(tx, now, "console", "remove-worker", name)
}

/// Takes a task of a member, if a worker is here that fits; else says why none does.
pub(crate) fn give(
    tx: &mut dyn HubTransaction,
    (member, device): (&HubMember, &str),
    given: &GivenTask,
    has_restate: bool,
    now: Timestamp,
) -> Result<Json, HubError> {
    sweep(tx, now)?;
    let ticket = checked_ticket(tx, device, &given.ticket)?;
    if ticket.schedule.is_some() {
        return Err(HubError::invalid("the ticket is one for a schedule"));
    }
    let waits = ticket.expires.saturating_sub(now.as_second());
    let longest = if ticket.durable { flows::LONGEST_RUN } else { LONGEST_WAIT };
    if !(0..=longest).contains(&waits) {
        return Err(HubError::invalid("the ticket has expired, or is valid for too long"));
    }
    if ticket.durable && !has_restate {
        return Ok(no_flows());
    }
    if let Some(workspace) = &ticket.workspace {
        carried::check(tx, member, (&ticket.id, workspace))?;
    }
    if given.needs.len() > MOST_NEEDS || !given.needs.iter().flatten().all(|label| is_worker_label(label)) {
        return Err(HubError::invalid("the steps need too many kinds of workers, or a label is none"));
    }
    let workers = FleetWorker::all(tx)?;
    for needs in std::iter::once(&Vec::new()).chain(&given.needs) {
        let wanted = flows::both(ticket.labels.iter().map(String::as_str), needs);
        if let Some(why) = no_worker(&wanted, &workers, now) {
            return Ok(json!({"no_worker": why}));
        }
    }
    let open = "SELECT COUNT(*) FROM tasks WHERE member = $1 AND state IN ('waiting', 'leased', 'asked')";
    let open = tx.row(open, &[member.name.as_str().into()])?.map_or(Ok(0), |row| row.number(0))?;
    if open >= MOST_TASKS {
        return Err(HubError::new(HubRefusal::Busy, format!("`{}` has {open} tasks that have not ended", member.name)));
    }
    let new = NewRun {
        id: &ticket.id,
        member: &member.name,
        device,
        ticket: &ticket,
        signed: &given.ticket,
        expires: ticket.expires,
        watched: now.as_millisecond(),
    };
    let is_new = match (ticket.durable, &given.flow) {
        (false, None) => new.queue(tx, now)?,
        (true, Some(start)) => flows::give(tx, &new, start, now)?,
        _ => return Err(HubError::invalid("only a durable run has a flow")),
    };
    if !is_new {
        return Err(HubError::new(HubRefusal::Conflict, "this ticket was given before"));
    }
    keep_files(tx, &ticket.id, &ticket, &given.files)?;
    Ok(json!({"task": ticket.id}))
}

/// What a hub without Restate says about durable runs.
pub(crate) fn no_flows() -> Json {
    json!({"no_flows": "durable runs need Restate, and the hub was started without it"})
}

/// A run that begins.
pub(crate) struct NewRun<'a> {
    pub(crate) id: &'a str,
    pub(crate) member: &'a str,
    pub(crate) device: &'a str,
    pub(crate) ticket: &'a TicketDocument,
    pub(crate) signed: &'a SignedText,
    /// Until when a worker may begin it, or a step of it, in seconds since 1970.
    pub(crate) expires: i64,
    /// When the member's device asked for it last, in milliseconds.
    pub(crate) watched: i64,
}

impl NewRun<'_> {
    /// Puts it into the queue as one task; returns whether it is new.
    pub(crate) fn queue(&self, tx: &mut dyn HubTransaction, now: Timestamp) -> Result<bool, HubError> {
        let insert = "INSERT INTO tasks (id, member, device, ticket, signature, tool, labels, again, state, worker, fence, \
                      piece, pieces, lease_until, lost, cancelled, made, ended, watched, expires, result, late) \
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting', '', 0, 0, 0, 0, '', 0, $9, 0, $10, $11, '', '') \
                      ON CONFLICT DO NOTHING";
        let values = [
            self.id.into(),
            self.member.into(),
            self.device.into(),
            self.signed.document.as_str().into(),
            self.signed.signature.as_str().into(),
            self.ticket.tool.as_str().into(),
            self.ticket.labels.join(" ").into(),
            i64::from(self.ticket.again).into(),
            now.as_millisecond().into(),
            self.watched.into(),
            self.expires.into(),
        ];
        Ok(tx.execute(insert, &values)? == 1)
    }
}

/// Reads a ticket of the team that a device signed.
pub(crate) fn checked_ticket(
    tx: &mut dyn HubTransaction,
    device: &str,
    signed: &SignedText,
) -> Result<TicketDocument, HubError> {
    let ticket = ticket_of(device, signed)?;
    let team = roots::newest(tx)?.0.team;
    if ticket.format != FORMAT || ticket.team != team {
        return Err(HubError::invalid(format!("the ticket is not one of the team {team}")));
    }
    if hex::bytes::<16>(&ticket.id).is_none() || !ticket.labels.iter().all(|label| is_worker_label(label)) {
        return Err(HubError::invalid("the ID or a label of the ticket is none"));
    }
    Ok(ticket)
}

/// Keeps the files that a ticket names, for the workers.
pub(crate) fn keep_files(
    tx: &mut dyn HubTransaction,
    owner: &str,
    ticket: &TicketDocument,
    given: &BTreeMap<String, String>,
) -> Result<(), HubError> {
    let mut left = MOST_TICKET_BYTES;
    for (path, file) in &ticket.files {
        let bytes = given.get(path).and_then(|text| STANDARD.decode(text).ok());
        let bytes = bytes.filter(|bytes| BlobDigest::of(bytes) == file.sha256);
        let bytes = bytes.ok_or_else(|| HubError::invalid(format!("`{path}` is not the file of the ticket")))?;
        left = left.checked_sub(bytes.len()).ok_or_else(|| {
            HubError::invalid(format!("the files of a tool have more than {} MiB", MOST_TICKET_BYTES >> 20))
        })?;
        let insert = "INSERT INTO task_files (task, path, bytes) VALUES ($1, $2, $3)";
        tx.execute(insert, &[owner.into(), path.as_str().into(), bytes.as_slice().into()])?;
    }
    if given.len() != ticket.files.len() {
        return Err(HubError::invalid("there are files that the ticket doesn't name"));
    }
    Ok(())
}

/// Reads a ticket that a device signed.
fn ticket_of(device: &str, signed: &SignedText) -> Result<TicketDocument, HubError> {
    let wrong = || HubError::invalid("the device did not sign this ticket");
    let key: [u8; 32] = hex::bytes(device).ok_or_else(wrong)?;
    let signature: [u8; 64] = hex::bytes(&signed.signature).ok_or_else(wrong)?;
    let bytes = ticket_bytes(&signed.document);
    UnparsedPublicKey::new(&ED25519, key).verify(&bytes, &signature).map_err(|_| wrong())?;
    serde_json::from_str(&signed.document)
        .map_err(|error| HubError::invalid(format!("the ticket can't be read: {error}")))
}

/// Why no worker fits: the labels that the nearest one lacks.
pub(crate) fn no_worker(wanted: &[String], workers: &[FleetWorker], now: Timestamp) -> Option<String> {
    let here = workers.iter().filter(|worker| worker.is_here(now));
    // Of those that lack as much, one that has the program in another version is nearer.
    let nearest = here.map(|worker| (missing_labels(wanted, &worker.labels), worker)).min_by_key(|(lacks, worker)| {
        (lacks.len(), lacks.iter().filter(|label| other_version(&worker.labels, label).is_none()).count())
    });
    match nearest {
        None if workers.is_empty() => Some("the hub has no workers".to_owned()),
        None => Some(format!("none of the {} workers of the hub is running", workers.len())),
        Some((lacks, _)) if lacks.is_empty() => None,
        Some((lacks, worker)) => {
            let others: Vec<String> = lacks.iter().filter_map(|label| other_version(&worker.labels, label)).collect();
            let has = if others.is_empty() { String::new() } else { format!(", which has {}", others.join(", ")) };
            let lacks: Vec<String> = lacks.iter().map(|label| format!("`{label}`")).collect();
            Some(format!("no worker offers {}: the nearest is `{}`{has}", lacks.join(", "), worker.name))
        }
    }
}

/// Whether a time in milliseconds has to be written down again.
fn is_long_ago(noted: i64, now: Timestamp) -> bool {
    now.as_millisecond().saturating_sub(noted) >= NOTED
}

/// Gives a worker the oldest task that it fits; nothing when there is none. A worker that didn't get the answer to a claim makes
/// the same one again, and gets the same task.
pub(crate) fn claim(
    tx: &mut dyn HubTransaction,
    hub_key: &HubKey,
    (worker, nonce): (&str, &str),
    (labels, claim): (&[String], &str),
    now: Timestamp,
) -> Result<Option<Json>, HubError> {
    if labels.len() > 100 || !labels.iter().all(|label| is_offered_label(label)) {
        return Err(HubError::invalid(WORKER_LABEL));
    }
    let worker = FleetWorker::of_key(tx, worker)?;
    if worker.labels != labels || is_long_ago(worker.seen, now) {
        let update = "UPDATE workers SET labels = $1, seen = $2 WHERE key = $3";
        tx.execute(update, &[labels.join(" ").into(), now.as_millisecond().into(), worker.key.as_str().into()])?;
    }
    sweep(tx, now)?;
    let until = now.as_millisecond().saturating_add(LEASE);
    if !claim.is_empty() {
        let update = "UPDATE tasks SET lease_until = $1 WHERE state = 'leased' AND worker = $2 AND claim = $3";
        if tx.execute(update, &[until.into(), worker.name.as_str().into(), claim.into()])? == 1 {
            use_once(tx, nonce, now)?;
            let select = format!("SELECT {GIVEN} FROM tasks WHERE state = 'leased' AND worker = $1 AND claim = $2");
            let row = tx.row(&select, &[worker.name.as_str().into(), claim.into()])?;
            let row = row.ok_or_else(|| HubError::failed("a task", "it is gone"))?;
            return given(tx, hub_key, worker.key, &row, now).map(Some);
        }
    }
    // Steps that began together have one time. Their identifiers end in the event's number and the step's place in it.
    let select = format!(
        "SELECT {GIVEN} FROM tasks WHERE state = 'waiting' AND cancelled = 0 AND expires >= $1 \
         ORDER BY made, LENGTH(id), id LIMIT 200"
    );
    for mut row in tx.rows(&select, &[now.as_second().into()])? {
        let wanted: Vec<String> = row.text(5)?.split_whitespace().map(str::to_owned).collect();
        if !missing_labels(&wanted, labels).is_empty() {
            continue;
        }
        if row.number(10)? != 0 && is_kept_for_another(tx, &row.text(8)?, &worker, &wanted, now)? {
            continue;
        }
        let (id, fence) = (row.text(0)?, row.number(6)? + 1);
        // Of two workers that ask at once, the row changes for one.
        let update = "UPDATE tasks SET state = 'leased', worker = $1, fence = $2, piece = 0, lease_until = $3, claim = $4 \
                      WHERE id = $5 AND state = 'waiting'";
        let values = [worker.name.as_str().into(), fence.into(), until.into(), claim.into(), id.as_str().into()];
        if tx.execute(update, &values)? == 0 {
            continue;
        }
        use_once(tx, nonce, now)?;
        row.0[6] = fence.into();
        return given(tx, hub_key, worker.key, &row, now).map(Some);
    }
    Ok(None)
}

/// Whether a step of a run waits for another worker: the one that has the run, while that is there and offers what the step needs.
fn is_kept_for_another(
    tx: &mut dyn HubTransaction,
    run: &str,
    worker: &FleetWorker,
    wanted: &[String],
    now: Timestamp,
) -> Result<bool, HubError> {
    let select = "SELECT key, name, workers.labels, seen, state FROM tasks JOIN workers ON name = worker \
                  WHERE run = $1 AND state IN ('leased', 'done', 'lost') ORDER BY made DESC, id DESC LIMIT 1";
    let Some(row) = tx.row(select, &[run.into()])? else { return Ok(false) };
    let keeper = FleetWorker::of(&row)?;
    let can_have_it =
        row.text(4)? != "lost" && keeper.is_here(now) && missing_labels(wanted, &keeper.labels).is_empty();
    Ok(can_have_it && keeper.key != worker.key)
}

/// The columns of a task that a worker is given.
const GIVEN: &str = "id, device, member, ticket, signature, labels, fence, expires, run, work, keep_on";

/// What a worker gets that has a task.
fn given(
    tx: &mut dyn HubTransaction,
    hub_key: &HubKey,
    worker: String,
    row: &SqlRow,
    now: Timestamp,
) -> Result<Json, HubError> {
    let (id, ticket, fence) = (row.text(0)?, row.text(3)?, row.number(6)?);
    let (run, work) = (row.text(8)?, row.text(9)?);
    let owner = if run.is_empty() { &id } else { &run };
    let answers = consents::answers(tx, owner)?;
    let unanswered = consents::is_unanswered(tx, owner, &work)?;
    let closed = consents::closed(tx, owner)?;
    let step = if run.is_empty() { None } else { Some(flows::lease(tx, (&run, &id, &work), now)?) };
    let (step, past) = step.unzip();
    let lease = LeaseDocument {
        format: FORMAT,
        ticket: BlobDigest::of(ticket.as_bytes()),
        device: row.text(1)?,
        member: row.text(2)?,
        worker,
        fence,
        step,
        unanswered,
        closed,
        instant: schedule_of(owner).map(|(_, instant)| instant.as_second()),
        expires: row.number(7)?.min(now.as_second().saturating_add(60)),
    };
    let document = serde_json::to_string(&lease).map_err(|error| HubError::failed("a lease", error))?;
    let signature = hub_key.sign_as(SignedRole::Lease, document.as_bytes())?;
    let mut files = serde_json::Map::new();
    for file in tx.rows("SELECT path, bytes FROM task_files WHERE task = $1", &[owner.as_str().into()])? {
        files.insert(file.text(0)?, STANDARD.encode(file.bytes(1)?).into());
    }
    let mut given = json!({
        "lease": {"document": document, "signature": String::from_utf8_lossy(&signature)},
        "ticket": {"document": ticket, "signature": row.text(4)?},
        "files": files,
        "lease_ms": LEASE,
        "past": past,
    });
    if !answers.is_empty() {
        given["answers"] = json!(answers);
    }
    Ok(given)
}

/// Takes a report of a worker, and extends its lease.
pub(crate) fn report(
    tx: &mut dyn HubTransaction,
    worker: &str,
    report: &WorkerReport,
    now: Timestamp,
) -> Result<Json, HubError> {
    let worker = FleetWorker::of_key(tx, worker)?;
    let millis = now.as_millisecond();
    if is_long_ago(worker.seen, now) {
        let update = "UPDATE workers SET seen = $1 WHERE key = $2";
        tx.execute(update, &[millis.into(), worker.key.as_str().into()])?;
    }
    sweep(tx, now)?;
    let id = report.task.as_str();
    let update = "UPDATE tasks SET lease_until = $1 WHERE id = $2 AND state = 'leased' AND worker = $3 AND fence = $4";
    let until = millis.saturating_add(LEASE);
    let values = [until.into(), id.into(), worker.name.as_str().into(), report.fence.into()];
    if tx.execute(update, &values)? == 0 {
        return Ok(json!({"over": true}));
    }
    let select = "SELECT piece, pieces, cancelled, run, work, expires FROM tasks WHERE id = $1";
    let row = tx.row(select, &[id.into()])?.ok_or_else(|| HubError::failed("a task", "it is gone"))?;
    let (run, work) = (row.text(3)?, row.text(4)?);
    let (last, pieces, is_cancelled) = (row.number(0)?, row.number(1)?, row.number(2)? != 0);
    if report.piece > last && !report.events.is_empty() {
        if report.piece != last + 1 {
            return Err(HubError::invalid(format!("piece {} follows piece {last}", report.piece)));
        }
        if run.is_empty() {
            let unread = "SELECT COALESCE(SUM(LENGTH(body)), 0) FROM task_pieces WHERE task = $1";
            let unread = tx.row(unread, &[id.into()])?.map_or(Ok(0), |row| row.number(0))?;
            let is_full = unread > MOST_UNREAD;
            if is_full && schedule_of(id).is_none() {
                return Ok(json!({"full": true, "stop": is_cancelled}));
            }
            let insert = "INSERT INTO task_pieces (task, number, fence, body) VALUES ($1, $2, $3, $4)";
            // No one follows a scheduled run, so it must not wait until someone has read its output.
            let kept = report.events.iter().filter(|event| !is_full || event["e"] != "out");
            let body = json!(kept.collect::<Vec<_>>()).to_string();
            tx.execute(insert, &[id.into(), (pieces + 1).into(), report.fence.into(), body.into()])?;
        } else {
            flows::add_events(tx, &run, report.fence, &report.events, MOST_UNREAD)?;
        }
        let update = "UPDATE tasks SET piece = $1, pieces = pieces + 1 WHERE id = $2";
        tx.execute(update, &[report.piece.into(), id.into()])?;
    }
    if let Some(result) = &report.result {
        if let (true, Some(document)) = (run.is_empty(), result["asks"].as_str()) {
            consents::check(id, document)?;
            tx.execute("UPDATE tasks SET state = 'asked' WHERE id = $1", &[id.into()])?;
            let held = consents::Held { work: String::new(), step: String::new(), awakeable: String::new() };
            // The ticket counts for an hour, of which the run needs a minute to begin.
            let last = row.number(5)?.saturating_sub(60).saturating_mul(1000).min(questions::latest(now));
            consents::wait(tx, (id, last), &held, (document, &worker.name), now)?;
            return Ok(json!({"stop": is_cancelled}));
        }
        if !run.is_empty() {
            let work = serde_json::from_str(&work).map_err(|error| HubError::failed("a task", error))?;
            if let Some(behind) = flows::check(tx, (&run, id, work), &StepResult::reported(result)?)? {
                return Ok(json!({"stop": is_cancelled, "behind": behind}));
            }
        }
        tx.execute("UPDATE tasks SET result = $1 WHERE id = $2", &[result.to_string().into(), id.into()])?;
        end(tx, id, "done", now)?;
    }
    Ok(json!({"stop": is_cancelled}))
}

/// Keeps the result of a worker whose lease has ended: the work was done, though nothing waits for it.
pub(crate) fn keep_late(
    tx: &mut dyn HubTransaction,
    worker: &str,
    report: &WorkerReport,
    now: Timestamp,
) -> Result<(), HubError> {
    let Some(result) = &report.result else { return Ok(()) };
    // A question is no result.
    if result["asks"].is_string() || result["answer"]["event"]["asked"].is_object() {
        return Ok(());
    }
    let worker = FleetWorker::of_key(tx, worker)?.name;
    let update =
        "UPDATE tasks SET late = $1, late_by = $2, late_at = $3 WHERE id = $4 AND late = '' AND state <> 'done'";
    let values = [result.to_string().into(), worker.into(), now.as_second().into(), report.task.as_str().into()];
    tx.execute(update, &values).map(drop)
}

/// The most late results of an answer.
const MOST_LATE: i64 = 200;

/// The results of a member's runs that came late, the newest first; with what came, of one that is named.
pub(crate) fn late(tx: &mut dyn HubTransaction, member: &HubMember, task: &str) -> Result<Json, HubError> {
    let select = "SELECT id, run, work, tool, late_by, late_at FROM tasks WHERE member = $1 AND late <> '' \
                  AND ($2 = '' OR id = $2) ORDER BY late_at DESC, id LIMIT $3";
    let mut all = Vec::new();
    for row in tx.rows(select, &[member.name.as_str().into(), task.into(), MOST_LATE.into()])? {
        let (id, run, work) = (row.text(0)?, row.text(1)?, row.text(2)?);
        let step = match run.is_empty() {
            true => String::new(),
            false => {
                let work = serde_json::from_str(&work).map_err(|error| HubError::failed("a task", error))?;
                consents::step_of(tx, &run, work)?
            }
        };
        let mut late = json!({"task": id, "run": run, "step": step, "tool": row.text(3)?, "worker": row.text(4)?,
                              "at": row.number(5)?});
        if !task.is_empty() {
            let kept = tx.row("SELECT late FROM tasks WHERE id = $1", &[task.into()])?;
            let kept = kept.map_or(Ok(String::new()), |row| row.text(0))?;
            late["result"] = serde_json::from_str(&kept).map_err(|error| HubError::failed("a result", error))?;
        }
        all.push(late);
    }
    Ok(all.into())
}

/// What a member's device learns of a task, with the pieces behind `after`, which it then has. A request that waits asks again and
/// again; what time alone brings is looked for only where that `is_due`.
pub(crate) fn watch(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    (id, after, is_due): (&str, i64, bool),
    now: Timestamp,
) -> Result<Json, HubError> {
    if is_due {
        sweep(tx, now)?;
    }
    let select = "SELECT watched FROM tasks WHERE id = $1 AND member = $2";
    let row = tx.row(select, &[id.into(), member.name.as_str().into()])?;
    let is_task = row.is_some();
    if let Some(row) = row
        && is_long_ago(row.number(0)?, now)
    {
        tx.execute("UPDATE tasks SET watched = $1 WHERE id = $2", &[now.as_millisecond().into(), id.into()])?;
    }
    let flow = if is_task { None } else { flows::state(tx, &member.name, id)? };
    if !is_task && flow.is_none() {
        return Err(HubError::new(HubRefusal::Missing, "there is no such task"));
    }
    // Those of a scheduled run stay: anyone of the member's devices may ask for them later.
    if schedule_of(id).is_none() {
        tx.execute("DELETE FROM task_pieces WHERE task = $1 AND number <= $2", &[id.into(), after.into()])?;
    }
    let (mut pieces, mut bytes, mut last) = (Vec::new(), 0, after);
    let select = "SELECT number, fence, body FROM task_pieces WHERE task = $1 AND number > $2 ORDER BY number LIMIT $3";
    for piece in tx.rows(select, &[id.into(), after.into(), MOST_PIECES.into()])? {
        let body = piece.text(2)?;
        bytes += body.len();
        if bytes > MOST_ANSWER && !pieces.is_empty() {
            break;
        }
        let events: Json = serde_json::from_str(&body).map_err(|error| HubError::failed("a piece", error))?;
        last = piece.number(0)?;
        let fence = piece.number(1)?;
        pieces.push(match flows::fact_of(tx, id, &events)? {
            Some(fact) => json!({"number": last, "fence": fence, "events": [], "fact": fact}),
            None => json!({"number": last, "fence": fence, "events": events}),
        });
    }
    if let Some((state, all)) = flow {
        let state = if last >= all { state.as_str() } else { "running" };
        return Ok(json!({"state": state, "worker": "", "lost": [], "pieces": pieces}));
    }
    let select = "SELECT state, worker, lost, pieces, result, labels FROM tasks WHERE id = $1";
    let row = tx.row(select, &[id.into()])?.ok_or_else(|| HubError::failed("a task", "it is gone"))?;
    let state = row.text(0)?;
    let is_whole = last >= row.number(3)?;
    let mut answer = json!({
        "state": if is_whole || !is_over(&state) { state.as_str() } else { "leased" },
        "worker": row.text(1)?,
        "lost": names(&row.text(2)?),
        "pieces": pieces,
    });
    if is_whole && state == "done" {
        answer["result"] = serde_json::from_str(&row.text(4)?).map_err(|error| HubError::failed("a result", error))?;
    }
    Ok(answer)
}

/// What a run of a member changed in the files of the project, in order.
pub(crate) fn changes(tx: &mut dyn HubTransaction, member: &HubMember, run: &str) -> Result<Json, HubError> {
    if flows::state(tx, &member.name, run)?.is_some() {
        return Ok(json!({"changes": flows::changes(tx, run)?}));
    }
    let select = "SELECT result FROM tasks WHERE id = $1 AND member = $2";
    let row = tx.row(select, &[run.into(), member.name.as_str().into()])?;
    let row = row.ok_or_else(|| HubError::new(HubRefusal::Missing, "there is no such task"))?;
    let result: Json = serde_json::from_str(&row.text(0)?).unwrap_or_default();
    Ok(json!({"changes": result.get("changes").into_iter().collect::<Vec<_>>()}))
}

/// Whether nothing more comes of a task in this state.
fn is_over(state: &str) -> bool {
    !matches!(state, "waiting" | "leased" | "asked")
}

fn names(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Ends a task of a member: at once if no worker has it, else with the worker's next report.
pub(crate) fn cancel(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    id: &str,
    now: Timestamp,
) -> Result<(), HubError> {
    let update = "UPDATE tasks SET cancelled = 1 WHERE id = $1 AND member = $2";
    if tx.execute(update, &[id.into(), member.name.as_str().into()])? == 0 {
        flows::cancel(tx, member, id, now)?;
    }
    sweep(tx, now)
}

/// Counts no time in which the hub was away.
pub(crate) fn begin(tx: &mut dyn HubTransaction, now: Timestamp) -> Result<(), HubError> {
    let update = "UPDATE tasks SET lease_until = $1 WHERE state = 'leased' AND lease_until > 0";
    tx.execute(update, &[now.as_millisecond().saturating_add(LEASE).into()])?;
    let update = "UPDATE tasks SET watched = $1 WHERE state IN ('waiting', 'leased', 'asked') AND watched < $1";
    tx.execute(update, &[now.as_millisecond().into()]).map(drop)
}

fn end(tx: &mut dyn HubTransaction, id: &str, state: &str, now: Timestamp) -> Result<(), HubError> {
    let update = "UPDATE tasks SET state = $1, ended = $2 WHERE id = $3";
    tx.execute(update, &[state.into(), now.as_millisecond().into(), id.into()])?;
    let select = "SELECT run, work, awakeable, result FROM tasks WHERE id = $1";
    if let Some(row) = tx.row(select, &[id.into()])?
        && !row.text(0)?.is_empty()
    {
        return flows::tell(tx, (id, &row.text(1)?, &row.text(2)?), (state, &row.text(3)?), now);
    }
    consents::withdraw(tx, id)?;
    carried::end(tx, id)?;
    tx.execute("DELETE FROM task_files WHERE task = $1", &[id.into()]).map(drop)
}

/// Does what time alone brings: leases that ended, devices that no longer ask, tasks that are over for long.
fn sweep(tx: &mut dyn HubTransaction, now: Timestamp) -> Result<(), HubError> {
    let millis = now.as_millisecond();
    let update = "UPDATE tasks SET cancelled = 1 WHERE cancelled = 0 AND watched < $1 \
                  AND state IN ('waiting', 'leased', 'asked')";
    tx.execute(update, &[millis.saturating_sub(GONE).into()])?;
    let select =
        "SELECT id, worker, fence, lost, again, cancelled FROM tasks WHERE state = 'leased' AND lease_until < $1";
    for row in tx.rows(select, &[millis.into()])? {
        let (id, mut lost) = (row.text(0)?, names(&row.text(3)?));
        lost.push(row.text(1)?);
        let may_start_again = row.number(4)? != 0 && row.number(5)? == 0 && lost.len() < MOST_LOST;
        // Of two hubs that see it at once, the row changes for one; and the worker may have reported since it was read.
        let update = "UPDATE tasks SET state = 'waiting', lost = $1 \
                      WHERE id = $2 AND state = 'leased' AND fence = $3 AND lease_until < $4";
        let values = [lost.join(" ").into(), id.as_str().into(), row.number(2)?.into(), millis.into()];
        if tx.execute(update, &values)? == 1 && !may_start_again {
            end(tx, &id, "lost", now)?;
        }
    }
    let select =
        "SELECT id, cancelled FROM tasks WHERE state IN ('waiting', 'asked') AND (cancelled = 1 OR expires < $1)";
    for row in tx.rows(select, &[now.as_second().into()])? {
        end(tx, &row.text(0)?, if row.number(1)? == 1 { "withdrawn" } else { "expired" }, now)?;
    }
    let select =
        format!("SELECT id FROM tasks WHERE ended > 0 AND ended < $1 AND run = '' AND id NOT LIKE '{SCHEDULED}%'");
    flows::sweep(tx, now)?;
    for row in tx.rows(&select, &[millis.saturating_sub(KEPT).into()])? {
        let id = row.text(0)?;
        tx.execute("DELETE FROM task_pieces WHERE task = $1", &[id.as_str().into()])?;
        consents::forget(tx, &id)?;
        carried::forget(tx, &id)?;
        tx.execute("DELETE FROM tasks WHERE id = $1", &[id.into()])?;
    }
    carried::sweep(tx, millis.saturating_sub(KEPT), now)
}
