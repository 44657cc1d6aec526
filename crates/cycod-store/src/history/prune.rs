//! Dropping the oldest rows, without losing what the others follow from.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde_json::{Value, json};

use super::{Failure, Head, History, NewRow, RowKind, tail::Turn};
use crate::{Digest, RunId, StoreError, outputs::remove_where, private};

/// The most rows that are dropped beside a run.
const AT_ONCE: u64 = 4_096;

/// How much is kept; what exceeds any of it goes, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Rows not older than this.
    pub age: Duration,
    /// Calls.
    pub runs: u64,
    /// What all rows together take.
    pub bytes: u64,
}

impl Default for Keep {
    /// 90 days, 100,000 calls, 512 MiB.
    fn default() -> Keep {
        Keep { age: Duration::from_secs(90 * 24 * 60 * 60), runs: 100_000, bytes: 512 << 20 }
    }
}

/// What was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// How many rows.
    pub rows: u64,
    /// What is kept from now on.
    pub keep: Keep,
}

impl History {
    /// Returns what is kept: what the last [`prune`](History::prune) said.
    pub fn keeps(&self) -> Result<Keep, StoreError> {
        let Some(connection) = self.reading()? else { return Ok(Keep::default()) };
        kept(&connection).map_err(|error| self.failed(error.into()))
    }

    /// Drops what exceeds `keep`, which holds from now on: the history looks after it by itself.
    pub fn prune(&self, keep: Keep) -> Result<Pruned, StoreError> {
        private::parent(&self.path())?;
        let mut turn = Turn::take(self.head_path(), None)?;
        let mut connection = self.settled(&mut turn)?;
        let dropped = self.drop_rows(&mut turn, &mut connection, keep, u64::MAX, true);
        let rows = dropped.map_err(|error| self.failed(error))?;
        Ok(Pruned { rows, keep })
    }

    /// Drops some rows if there are too many.
    pub(super) fn tidy(&self, turn: &mut Turn, connection: &mut Connection) -> Result<(), Failure> {
        let keep = kept(connection)?;
        self.drop_rows(turn, connection, keep, AT_ONCE, false).map(drop)
    }

    fn drop_rows(
        &self,
        turn: &mut Turn,
        connection: &mut Connection,
        keep: Keep,
        most: u64,
        always: bool,
    ) -> Result<u64, Failure> {
        // What is dropped is overwritten, not only forgotten.
        connection.pragma_update(None, "secure_delete", true)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let exceeding = exceeding(&transaction, keep)?;
        if exceeding == 0 && !always {
            return Ok(0);
        }
        let first: u64 = transaction.query_row("SELECT ifnull(min(seq), 1) FROM events", [], |row| row.get(0))?;
        let through = exceeding.min(first.saturating_add(most - 1));
        let at_or_before = "SELECT seq, digest FROM events WHERE seq <= ?1 ORDER BY seq DESC LIMIT 1";
        let dropped = transaction
            .query_row(at_or_before, [through], |row| Ok(Head { seq: row.get(0)?, digest: Digest(row.get(1)?) }))
            .optional()?;
        let before = last_pruned(&transaction)?.map_or(Head::default(), |(head, _)| head);
        let last = dropped.unwrap_or(before);
        let body = json!({
            "through": last.seq,
            "digest": last.digest.to_string(),
            "keep": {"days": keep.age.as_secs_f64() / 86_400.0, "runs": keep.runs, "bytes": keep.bytes},
        });
        let pruned = NewRow { kind: RowKind::Pruned, run: "", tool: "", surface: "", status: "", body: &body };
        // Every row is in the database, and nobody else writes.
        let before = super::last(&transaction)?;
        let written = super::insert(&transaction, before, before.seq + 1, &pruned, "")?;
        let rows = transaction.execute("DELETE FROM events WHERE seq <= ?1", [last.seq])?;
        transaction.commit()?;
        turn.note(written)?;
        // It gives a row for each page that it returns to the system.
        let mut vacuum = connection.prepare("PRAGMA incremental_vacuum")?;
        let mut pages = vacuum.query([])?;
        while pages.next()?.is_some() {}
        if rows > 0 {
            self.drop_artifacts(connection);
        }
        Ok(rows as u64)
    }

    /// Removes the files that runs kept whose calls are gone.
    fn drop_artifacts(&self, connection: &Connection) {
        let is_gone = |run: RunId| {
            let known = "SELECT 1 FROM events WHERE run = ?1 AND kind = 'call' LIMIT 1";
            let known = connection.query_row(known, [run.to_string()], |_| Ok(())).optional();
            // What cannot be told stays.
            matches!(known, Ok(None))
        };
        remove_where(&self.artifacts(), &is_gone);
    }
}

/// The last row that is too old or too many; 0 when there is none.
fn exceeding(connection: &Connection, keep: Keep) -> rusqlite::Result<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let oldest = i64::try_from(now.saturating_sub(keep.age).as_millis()).unwrap_or(i64::MAX);
    let number = |sql: &str, limit: i64| -> rusqlite::Result<u64> {
        Ok(connection.query_row(sql, params![limit], |row| row.get(0)).optional()?.unwrap_or(0))
    };
    let by_age =
        number("SELECT seq FROM events WHERE kind = 'call' AND at < ?1 ORDER BY at DESC, seq DESC LIMIT 1", oldest)?;
    let runs = i64::try_from(keep.runs).unwrap_or(i64::MAX);
    let by_runs =
        number("SELECT seq FROM events WHERE kind = 'call' ORDER BY at DESC, seq DESC LIMIT 1 OFFSET ?1", runs)?;
    let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, u64>(0));
    let used = (pragma("page_count")? - pragma("freelist_count")?) * pragma("page_size")?;
    let by_bytes = if used > keep.bytes {
        let (first, last): (u64, u64) =
            connection.query_row("SELECT ifnull(min(seq), 0), ifnull(max(seq), 0) FROM events", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        // A little more than what is too much, so that it does not begin again at once.
        let share = u128::from(used - keep.bytes / 10 * 9) * u128::from(last - first + 1) / u128::from(used.max(1));
        first + u64::try_from(share).unwrap_or(u64::MAX)
    } else {
        0
    };
    Ok(by_age.max(by_runs).max(by_bytes))
}

fn kept(connection: &Connection) -> rusqlite::Result<Keep> {
    Ok(last_pruned(connection)?.map(|(_, keep)| keep).unwrap_or_default())
}

/// What the last pruning dropped, and what it said is kept.
pub(super) fn last_pruned(connection: &Connection) -> rusqlite::Result<Option<(Head, Keep)>> {
    let body: Option<String> = connection
        .query_row("SELECT body FROM events WHERE kind = 'pruned' ORDER BY seq DESC LIMIT 1", [], |row| row.get(0))
        .optional()?;
    let body: Option<Value> = body.and_then(|body| serde_json::from_str(&body).ok());
    Ok(body.and_then(|body| {
        let head = Head { seq: body["through"].as_u64()?, digest: body["digest"].as_str()?.parse().ok()? };
        let keep = &body["keep"];
        let age = Duration::try_from_secs_f64(keep["days"].as_f64()? * 86_400.0).ok()?;
        Some((head, Keep { age, runs: keep["runs"].as_u64()?, bytes: keep["bytes"].as_u64()? }))
    }))
}
