//! What travels with a run in addition to its files, in parts: the files of the member's project, and what changed of them on the
//! workers. The member's device brings the first before it gives the task or the schedule.
//!
//! ```text
//!  task_parts: which run or schedule has which parts ──► part_bytes: the bytes, once for each digest
//! ```
//!
//! The files of a project are deleted when their run ends, or their schedule is removed; what changed stays for as long as the
//! run is known. Bytes that nothing has are deleted a few minutes later.

use cycod_schedule::SCHEDULED;
use cycod_team::{BlobDigest, BytesInParts, MOST_PART, MOST_PARTS, TicketWorkspace, hex};
use jiff::Timestamp;

use crate::{HubError, HubMember, HubRefusal, HubTransaction, fleet::FleetWorker};

/// The most bytes that all runs and schedules of a member have.
const MOST_OF_MEMBER: i64 = 1 << 30;

/// The most bytes of what the steps of one run changed.
const MOST_CHANGED: i64 = 256 << 20;

/// For how long bytes are kept that nothing has, in milliseconds: something may just get them.
const UNUSED: i64 = 10 * 60 * 1000;

/// How long what a run of a schedule changed is kept after it came, in milliseconds. A durable one is forgotten after the same time.
const CHANGES_KEPT: i64 = 7 * 24 * 3600 * 1000;

/// Where parts come from, as the tables have it.
const OF_MEMBER: i64 = 0;
const OF_WORKER: i64 = 1;

/// A part of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskPart {
    pub(crate) task: String,
    pub(crate) digest: BlobDigest,
}

/// Who has parts.
struct PartOwner {
    /// The run, or the task that is all of one.
    run: String,
    member: String,
}

impl TaskPart {
    /// Reads `TASK/DIGEST`.
    pub(crate) fn read(path: &str) -> Option<Self> {
        let (task, digest) = path.split_once('/')?;
        let is_task = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        let task = (task.len() <= 200 && task.chars().all(is_task)).then_some(task)?;
        Some(Self { task: task.to_owned(), digest: digest.parse().ok()? })
    }

    /// Takes files of the project for a ticket that the member is about to give.
    pub(crate) fn put(
        &self,
        tx: &mut dyn HubTransaction,
        member: &HubMember,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), HubError> {
        if hex::bytes::<16>(&self.task).is_none() {
            return Err(HubError::invalid("the ID of the ticket is none"));
        }
        for select in ["SELECT id FROM tasks WHERE id = $1", "SELECT run FROM flows WHERE run = $1"] {
            if tx.row(select, &[self.task.as_str().into()])?.is_some() {
                return Err(HubError::new(HubRefusal::Conflict, "this task was given before"));
            }
        }
        let owner = PartOwner { run: self.task.clone(), member: member.name.clone() };
        self.add(tx, (&owner, OF_MEMBER), bytes, now)
    }

    /// What changed on a worker, for the member.
    pub(crate) fn of_worker(&self, tx: &mut dyn HubTransaction, member: &HubMember) -> Result<Vec<u8>, HubError> {
        self.get(tx, &PartOwner { run: self.task.clone(), member: member.name.clone() }, OF_WORKER)
    }

    /// Takes what changed from the worker that has the task.
    pub(crate) fn put_by_worker(
        &self,
        tx: &mut dyn HubTransaction,
        (worker, fence): (&str, i64),
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), HubError> {
        let owner = self.lease(tx, worker, fence)?;
        self.add(tx, (&owner, OF_WORKER), bytes, now)
    }

    /// Files of the project, or what a step before this one changed, for the worker that has the task.
    pub(crate) fn of_member(
        &self,
        tx: &mut dyn HubTransaction,
        (worker, fence): (&str, i64),
    ) -> Result<Vec<u8>, HubError> {
        let owner = self.lease(tx, worker, fence)?;
        let is_of_member = has(tx, &owner, OF_MEMBER, &self.digest)?;
        let mut is_of_step = || Ok::<_, HubError>(owner.run != self.task && has(tx, &owner, OF_WORKER, &self.digest)?);
        let from = if !is_of_member && is_of_step()? { OF_WORKER } else { OF_MEMBER };
        self.get(tx, &owner, from)
    }

    /// Whose task a worker has.
    fn lease(&self, tx: &mut dyn HubTransaction, worker: &str, fence: i64) -> Result<PartOwner, HubError> {
        let worker = FleetWorker::of_key(tx, worker)?;
        let select = "SELECT member, run FROM tasks WHERE id = $1 AND state = 'leased' AND worker = $2 AND fence = $3";
        match tx.row(select, &[self.task.as_str().into(), worker.name.into(), fence.into()])? {
            Some(row) => {
                let run = row.text(1)?;
                Ok(PartOwner { run: if run.is_empty() { self.task.clone() } else { run }, member: row.text(0)? })
            }
            None => Err(HubError::new(HubRefusal::Forbidden, "this worker doesn't have the task")),
        }
    }

    fn add(
        &self,
        tx: &mut dyn HubTransaction,
        (owner, from): (&PartOwner, i64),
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), HubError> {
        if bytes.len() > MOST_PART || BlobDigest::of(bytes) != self.digest {
            return Err(HubError::invalid("the part has another digest, or is too large"));
        }
        let PartOwner { run, member } = owner;
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let of_run =
            "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM task_parts WHERE task = $1 AND from_worker = $2";
        let of_run = tx.row(of_run, &[run.as_str().into(), from.into()])?;
        let most = if *run == self.task { i64::try_from(MOST_PARTS).unwrap_or(i64::MAX) } else { MOST_CHANGED };
        if of_run.map_or(Ok(0), |row| row.number(0))?.saturating_add(size) > most {
            return Err(HubError::invalid(format!("a run has at most {} MiB of such files", most >> 20)));
        }
        let of_member = "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM \
                         (SELECT DISTINCT digest, size FROM task_parts WHERE member = $1) AS parts";
        let of_member = tx.row(of_member, &[member.as_str().into()])?;
        if of_member.map_or(Ok(0), |row| row.number(0))?.saturating_add(size) > MOST_OF_MEMBER {
            let why = format!("the runs of `{member}` have more than {} MiB of files", MOST_OF_MEMBER >> 20);
            return Err(HubError::new(HubRefusal::Busy, why));
        }
        let digest = self.digest.to_string();
        // The row changes also where the bytes are there, so that they are not deleted meanwhile.
        let insert = "INSERT INTO part_bytes (digest, used, bytes) VALUES ($1, $2, $3) \
                      ON CONFLICT (digest) DO UPDATE SET used = $2, bytes = $3";
        tx.execute(insert, &[digest.as_str().into(), now.as_millisecond().into(), bytes.into()])?;
        let insert = "INSERT INTO task_parts (task, from_worker, digest, member, made, size) \
                      VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        let values = [
            run.as_str().into(),
            from.into(),
            digest.into(),
            member.as_str().into(),
            now.as_millisecond().into(),
            size.into(),
        ];
        tx.execute(insert, &values).map(drop)
    }

    fn get(&self, tx: &mut dyn HubTransaction, owner: &PartOwner, from: i64) -> Result<Vec<u8>, HubError> {
        let missing = || HubError::new(HubRefusal::Missing, "the task has no such part");
        if !has(tx, owner, from, &self.digest)? {
            return Err(missing());
        }
        let select = "SELECT bytes FROM part_bytes WHERE digest = $1";
        tx.row(select, &[self.digest.to_string().into()])?.ok_or_else(missing)?.bytes(0)
    }
}

fn has(tx: &mut dyn HubTransaction, owner: &PartOwner, from: i64, digest: &BlobDigest) -> Result<bool, HubError> {
    let select = "SELECT made FROM task_parts WHERE task = $1 AND from_worker = $2 AND digest = $3 AND member = $4";
    let values = [owner.run.as_str().into(), from.into(), digest.to_string().into(), owner.member.as_str().into()];
    Ok(tx.row(select, &values)?.is_some())
}

/// Checks that the hub has all files of the project that a ticket names.
pub(crate) fn check(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    (ticket, workspace): (&str, &TicketWorkspace),
) -> Result<(), HubError> {
    let owner = PartOwner { run: ticket.to_owned(), member: member.name.clone() };
    for digest in &workspace.files.parts {
        if !has(tx, &owner, OF_MEMBER, digest)? {
            return Err(HubError::invalid("the hub doesn't have all files of the project that the ticket names"));
        }
    }
    Ok(())
}

/// Whether workers brought all parts of what changed in a run.
pub(crate) fn has_changes(
    tx: &mut dyn HubTransaction,
    (run, member): (&str, &str),
    changes: &BytesInParts,
) -> Result<bool, HubError> {
    let owner = PartOwner { run: run.to_owned(), member: member.to_owned() };
    for digest in &changes.parts {
        if !has(tx, &owner, OF_WORKER, digest)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives a run or a schedule the files of the project that another one has. Those of a ticket that became a schedule are moved.
pub(crate) fn share(
    tx: &mut dyn HubTransaction,
    (from, to): (&str, &str),
    is_moved: bool,
    now: Timestamp,
) -> Result<(), HubError> {
    let update = "UPDATE part_bytes SET used = $1 WHERE digest IN \
                  (SELECT digest FROM task_parts WHERE task = $2 AND from_worker = 0)";
    tx.execute(update, &[now.as_millisecond().into(), from.into()])?;
    if is_moved {
        let update = "UPDATE task_parts SET task = $1 WHERE task = $2 AND from_worker = 0";
        return tx.execute(update, &[to.into(), from.into()]).map(drop);
    }
    let copy = "INSERT INTO task_parts (task, from_worker, digest, member, made, size) \
                SELECT CAST($1 AS TEXT), from_worker, digest, member, CAST($2 AS BIGINT), size FROM task_parts \
                WHERE task = $3 AND from_worker = 0 ON CONFLICT DO NOTHING";
    tx.execute(copy, &[to.into(), now.as_millisecond().into(), from.into()]).map(drop)
}

/// Deletes the files of the project of a run that has ended; what changed stays until the run is forgotten.
pub(crate) fn end(tx: &mut dyn HubTransaction, run: &str) -> Result<(), HubError> {
    tx.execute("DELETE FROM task_parts WHERE task = $1 AND from_worker = 0", &[run.into()]).map(drop)
}

/// Deletes all parts of a run that is forgotten.
pub(crate) fn forget(tx: &mut dyn HubTransaction, run: &str) -> Result<(), HubError> {
    tx.execute("DELETE FROM task_parts WHERE task = $1", &[run.into()]).map(drop)
}

/// Deletes parts that came before a time, in milliseconds since 1970, and that no run and no schedule has, and bytes that nothing
/// has.
pub(crate) fn sweep(tx: &mut dyn HubTransaction, before: i64, now: Timestamp) -> Result<(), HubError> {
    let millis = now.as_millisecond();
    let delete = "DELETE FROM task_parts WHERE made < $1 AND task NOT IN (SELECT id FROM tasks) \
                  AND task NOT IN (SELECT run FROM flows) AND task NOT IN (SELECT 'schedule.' || name FROM schedules)";
    tx.execute(delete, &[before.into()])?;
    let delete = format!(
        "DELETE FROM task_parts WHERE made < $1 AND from_worker = 1 AND task LIKE '{SCHEDULED}%' \
         AND task NOT IN (SELECT run FROM flows)"
    );
    tx.execute(&delete, &[millis.saturating_sub(CHANGES_KEPT).into()])?;
    let delete = "DELETE FROM part_bytes WHERE used < $1 AND digest NOT IN (SELECT digest FROM task_parts)";
    tx.execute(delete, &[millis.saturating_sub(UNUSED).into()]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HubStore, SqliteStore, migrations::migrate};

    #[test]
    fn a_part_has_the_bytes_of_its_digest_and_no_more_than_one_may_have() {
        let store: Box<dyn HubStore> = Box::new(SqliteStore::bare().expect("a database"));
        let large = vec![0; MOST_PART + 1];
        let added = store.run(|tx| {
            migrate(tx)?;
            let mut add = |digest: BlobDigest, bytes: &[u8]| {
                let owner = PartOwner { run: "00".to_owned(), member: "ada".to_owned() };
                let part = TaskPart { task: "00".to_owned(), digest };
                part.add(tx, (&owner, OF_MEMBER), bytes, Timestamp::UNIX_EPOCH).is_ok()
            };
            let (good, other) = (BlobDigest::of(b"x"), BlobDigest::of(b"y"));
            Ok([add(good, b"x"), add(other, b"x"), add(BlobDigest::of(&large), &large)])
        });
        assert_eq!(added, Ok::<_, HubError>([true, false, false]));
    }

    #[test]
    fn bytes_are_there_once_and_for_as_long_as_something_has_them() {
        let store: Box<dyn HubStore> = Box::new(SqliteStore::bare().expect("a database"));
        let at = |minute: i64| Timestamp::from_second(minute * 60).expect("a time");
        let counted = store.run(|tx| {
            migrate(tx)?;
            let part = |task: &str| TaskPart { task: task.to_owned(), digest: BlobDigest::of(b"x") };
            let owner = |run: &str| PartOwner { run: run.to_owned(), member: "ada".to_owned() };
            part("a").add(tx, (&owner("a"), OF_MEMBER), b"x", at(100))?;
            part("b").add(tx, (&owner("b"), OF_MEMBER), b"x", at(101))?;
            share(tx, ("b", "c"), false, at(102))?;
            let mut counts = Vec::new();
            let mut count = |tx: &mut dyn HubTransaction, now: i64| {
                sweep(tx, 0, at(now))?;
                for select in ["SELECT digest FROM task_parts", "SELECT digest FROM part_bytes"] {
                    counts.push(tx.rows(select, &[])?.len());
                }
                Ok::<_, HubError>(())
            };
            count(tx, 103)?;
            end(tx, "a")?;
            end(tx, "b")?;
            count(tx, 200)?;
            assert_eq!(part("c").get(tx, &owner("c"), OF_MEMBER), Ok(b"x".to_vec()));
            assert!(part("a").get(tx, &owner("a"), OF_MEMBER).is_err());
            // Something may just get what nothing has.
            share(tx, ("c", "d"), true, at(200))?;
            end(tx, "d")?;
            count(tx, 205)?;
            count(tx, 211)?;
            Ok(counts)
        });
        assert_eq!(counted, Ok::<_, HubError>(vec![3, 1, 1, 1, 0, 1, 0, 0]));
    }
}
