//! What travels with a task in addition to its files, in parts: the files of the member's project, and what changed of them on the
//! worker. The member's device brings the first before it gives the task, and they are deleted when that ends.

use cycod_team::{BlobDigest, MOST_PART, MOST_PARTS, TicketWorkspace, hex};
use jiff::Timestamp;

use crate::{HubError, HubMember, HubRefusal, HubTransaction, fleet::FleetWorker};

/// The most bytes that all tasks of a member have.
const MOST_OF_MEMBER: i64 = 1 << 30;

/// A part of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskPart {
    pub(crate) task: String,
    pub(crate) digest: BlobDigest,
}

impl TaskPart {
    /// Reads `TASK/DIGEST`.
    pub(crate) fn read(path: &str) -> Option<Self> {
        let (task, digest) = path.split_once('/')?;
        _ = hex::bytes::<16>(task)?;
        Some(Self { task: task.to_owned(), digest: digest.parse().ok()? })
    }

    /// Takes files of the project for a task that the member is about to give.
    pub(crate) fn put(
        &self,
        tx: &mut dyn HubTransaction,
        member: &HubMember,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), HubError> {
        if tx.row("SELECT id FROM tasks WHERE id = $1", &[self.task.as_str().into()])?.is_some() {
            return Err(HubError::new(HubRefusal::Conflict, "this task was given before"));
        }
        self.add(tx, (&member.name, 0), bytes, now)
    }

    /// What changed on the worker, for the member.
    pub(crate) fn of_worker(&self, tx: &mut dyn HubTransaction, member: &HubMember) -> Result<Vec<u8>, HubError> {
        self.get(tx, &member.name, 1)
    }

    /// Takes what changed from the worker that has the task.
    pub(crate) fn put_by_worker(
        &self,
        tx: &mut dyn HubTransaction,
        (worker, fence): (&str, i64),
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), HubError> {
        let member = self.lease(tx, worker, fence)?;
        self.add(tx, (&member, 1), bytes, now)
    }

    /// Files of the project, for the worker that has the task.
    pub(crate) fn of_member(
        &self,
        tx: &mut dyn HubTransaction,
        (worker, fence): (&str, i64),
    ) -> Result<Vec<u8>, HubError> {
        let member = self.lease(tx, worker, fence)?;
        self.get(tx, &member, 0)
    }

    /// The member whose task a worker has.
    fn lease(&self, tx: &mut dyn HubTransaction, worker: &str, fence: i64) -> Result<String, HubError> {
        let worker = FleetWorker::of_key(tx, worker)?;
        let select = "SELECT member FROM tasks WHERE id = $1 AND state = 'leased' AND worker = $2 AND fence = $3";
        match tx.row(select, &[self.task.as_str().into(), worker.name.into(), fence.into()])? {
            Some(row) => row.text(0),
            None => Err(HubError::new(HubRefusal::Forbidden, "this worker doesn't have the task")),
        }
    }

    fn add(
        &self,
        tx: &mut dyn HubTransaction,
        (member, from_worker): (&str, i64),
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), HubError> {
        if bytes.len() > MOST_PART || BlobDigest::of(bytes) != self.digest {
            return Err(HubError::invalid("the part has another digest, or is too large"));
        }
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let sum = "SELECT COALESCE(SUM(LENGTH(bytes)), 0) FROM task_parts";
        let of_task = format!("{sum} WHERE task = $1 AND from_worker = $2");
        let of_task = tx.row(&of_task, &[self.task.as_str().into(), from_worker.into()])?;
        let of_task = of_task.map_or(Ok(0), |row| row.number(0))?;
        if of_task.saturating_add(size) > i64::try_from(MOST_PARTS).unwrap_or(i64::MAX) {
            return Err(HubError::invalid(format!("a task has at most {} MiB of files", MOST_PARTS >> 20)));
        }
        let of_member = tx.row(&format!("{sum} WHERE member = $1"), &[member.into()])?;
        if of_member.map_or(Ok(0), |row| row.number(0))?.saturating_add(size) > MOST_OF_MEMBER {
            let why = format!("the tasks of `{member}` have more than {} MiB of files", MOST_OF_MEMBER >> 20);
            return Err(HubError::new(HubRefusal::Busy, why));
        }
        let insert = "INSERT INTO task_parts (task, from_worker, digest, member, made, bytes) \
                      VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        let values = [
            self.task.as_str().into(),
            from_worker.into(),
            self.digest.to_string().into(),
            member.into(),
            now.as_millisecond().into(),
            bytes.into(),
        ];
        tx.execute(insert, &values).map(drop)
    }

    fn get(&self, tx: &mut dyn HubTransaction, member: &str, from_worker: i64) -> Result<Vec<u8>, HubError> {
        let select =
            "SELECT bytes FROM task_parts WHERE task = $1 AND from_worker = $2 AND digest = $3 AND member = $4";
        let values = [self.task.as_str().into(), from_worker.into(), self.digest.to_string().into(), member.into()];
        let row = tx.row(select, &values)?;
        row.ok_or_else(|| HubError::new(HubRefusal::Missing, "the task has no such part"))?.bytes(0)
    }
}

/// Checks that the hub has all files of the project that a ticket names.
pub(crate) fn check(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    (task, workspace): (&str, &TicketWorkspace),
) -> Result<(), HubError> {
    for digest in &workspace.files.parts {
        let select = "SELECT made FROM task_parts WHERE task = $1 AND from_worker = 0 AND digest = $2 AND member = $3";
        let values = [task.into(), digest.to_string().into(), member.name.as_str().into()];
        if tx.row(select, &values)?.is_none() {
            return Err(HubError::invalid("the hub doesn't have all files of the project that the ticket names"));
        }
    }
    Ok(())
}

/// Deletes the files of the project of a task that has ended; what changed stays until the task is forgotten.
pub(crate) fn end(tx: &mut dyn HubTransaction, task: &str) -> Result<(), HubError> {
    tx.execute("DELETE FROM task_parts WHERE task = $1 AND from_worker = 0", &[task.into()]).map(drop)
}

/// Deletes all parts that are older, in milliseconds since 1970, and of no task.
pub(crate) fn sweep(tx: &mut dyn HubTransaction, before: i64) -> Result<(), HubError> {
    let delete = "DELETE FROM task_parts WHERE made < $1 AND task NOT IN (SELECT id FROM tasks)";
    tx.execute(delete, &[before.into()]).map(drop)
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
                let part = TaskPart { task: "00".to_owned(), digest };
                part.add(tx, ("ada", 0), bytes, Timestamp::UNIX_EPOCH).is_ok()
            };
            let (good, other) = (BlobDigest::of(b"x"), BlobDigest::of(b"y"));
            Ok([add(good, b"x"), add(other, b"x"), add(BlobDigest::of(&large), &large)])
        });
        assert_eq!(added, Ok::<_, HubError>([true, false, false]));
    }
}
