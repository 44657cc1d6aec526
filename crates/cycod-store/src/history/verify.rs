//! Whether the rows are those that were written.

use rusqlite::{Connection, Row};

use super::{Head, History, RowKind, chained, prune, read};
use crate::{Digest, StoreError};

/// What looking at every row has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// How many rows there are.
    pub rows: u64,
    /// The first row that is still there; 0 when there is none.
    pub first: u64,
    /// The last row. Kept elsewhere, it shows later whether the rows up to it are still the same.
    pub head: Head,
    /// What is wrong; what follows from the first broken row is not told.
    pub findings: Vec<HistoryFinding>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryFinding {
    /// The row where it shows.
    pub seq: u64,
    /// Its run, if it belongs to one.
    pub run: String,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What can be wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Its content is not what was written; the row after it still follows from what was.
    Changed,
    /// It does not follow from the row before it: it was put in, moved, or written anew with its digest.
    Misplaced,
    /// The rows from this number on, and up to the one where it shows, were removed.
    Removed(u64),
    /// The rows from this number on were gone when this one was written: after a power failure, or because somebody put
    /// an older database in the place of this one.
    Lost(u64),
    /// The rows after it, up to this number, were removed.
    CutOff(u64),
    /// It is not the row that the head names.
    OtherHead,
    /// The file that says how far the rows went is missing.
    NoHead,
    /// The database contradicts itself.
    Damaged(String),
}

impl std::fmt::Display for HistoryFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seq = self.seq;
        match &self.wrong {
            Wrong::Changed => write!(f, "row {seq} was changed")?,
            Wrong::Misplaced => {
                write!(f, "row {seq} does not follow from the row before it: it was put in, moved or replaced")?;
            }
            Wrong::Removed(from) => write!(f, "rows {from} to {} were removed", seq.saturating_sub(1))?,
            Wrong::Lost(from) => write!(
                f,
                "rows {from} to {} were gone when row {seq} was written: after a power failure, or because an older \
                 database was put in the place of this one",
                seq.saturating_sub(1)
            )?,
            Wrong::CutOff(to) => write!(f, "the rows after row {seq}, up to row {to}, were removed")?,
            Wrong::OtherHead => write!(f, "row {seq} is not the row that was written as the last")?,
            Wrong::NoHead => write!(f, "the file `history.head` is missing: rows after row {seq} may be too")?,
            Wrong::Damaged(why) => write!(f, "the database contradicts itself: {why}")?,
        }
        if self.run.is_empty() { Ok(()) } else { write!(f, " (run {})", self.run) }
    }
}

impl History {
    /// Looks at every row; `kept` is a head that was kept elsewhere.
    pub fn verify(&self, kept: Option<Head>) -> Result<Verification, StoreError> {
        // Before the rows: it may be moved on while they are read.
        let noted = self.head()?;
        let empty = Verification { rows: 0, first: 0, head: Head::default(), findings: Vec::new() };
        let verified = match self.reading()? {
            None => Ok(empty),
            Some(mut connection) => {
                connection.transaction().and_then(|transaction| check(&transaction, noted, kept, empty))
            }
        };
        verified.map_err(|error| self.failed(error.into()))
    }
}

fn check(
    connection: &Connection,
    noted: Option<Head>,
    kept: Option<Head>,
    mut verified: Verification,
) -> rusqlite::Result<Verification> {
    let mut before = prune::last_pruned(connection)?.map_or(Head::default(), |(head, _)| head);
    let dropped = before.seq;
    let mut statement = connection
        .prepare("SELECT seq, at, kind, run, tool, surface, status, process, body, digest FROM events ORDER BY seq")?;
    let mut rows = statement.query([])?;
    let mut changed: Option<HistoryFinding> = None;
    while let Some(row) = rows.next()? {
        let (seq, run): (u64, String) = (row.get(0)?, row.get(3)?);
        let stored = Head { seq, digest: Digest(row.get(9)?) };
        if verified.rows == 0 {
            verified.first = seq;
        }
        verified.rows += 1;
        let follows = digest(row, before.digest)? == stored.digest;
        if let Some(mut finding) = changed.take() {
            // The row after a broken one tells how it was broken.
            finding.wrong = if follows { Wrong::Changed } else { Wrong::Misplaced };
            verified.findings.push(finding);
            break;
        }
        let find = |wrong| HistoryFinding { seq, run: run.clone(), wrong };
        if seq != before.seq + 1 {
            let lost = (row.get_ref(2)?.as_str()? == RowKind::Gap.name()).then(|| gap(row)).transpose()?.flatten();
            if follows && lost == Some((before.seq, seq - 1)) {
                verified.findings.push(find(Wrong::Lost(before.seq + 1)));
            } else if seq > before.seq {
                verified.findings.push(find(Wrong::Removed(before.seq + 1)));
                break;
            } else {
                verified.findings.push(find(Wrong::Misplaced));
                break;
            }
        } else if row.get_ref(2)?.as_str()? == RowKind::Gap.name() && follows {
            // The row that was written as the last had this number, and was another.
            verified.findings.push(find(Wrong::OtherHead));
        } else if !follows {
            changed = Some(find(Wrong::Changed));
        }
        before = stored;
    }
    verified.findings.extend(changed);
    verified.head = super::last(connection)?;
    let last = verified.head;
    for noted in [noted, kept].into_iter().flatten() {
        let found = |seq, wrong| HistoryFinding { seq, run: String::new(), wrong };
        if noted.seq > last.seq {
            verified.findings.push(found(last.seq, Wrong::CutOff(noted.seq)));
        } else if noted.seq > dropped && read::head_of(connection, noted.seq)? != Some(noted) {
            verified.findings.push(found(noted.seq, Wrong::OtherHead));
        }
    }
    if noted.is_none() && last.seq > 0 {
        verified.findings.push(HistoryFinding { seq: last.seq, run: String::new(), wrong: Wrong::NoHead });
    }
    // The indexes are what lists are made of.
    let sound: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if sound != "ok" {
        verified.findings.push(HistoryFinding { seq: last.seq, run: String::new(), wrong: Wrong::Damaged(sound) });
    }
    Ok(verified)
}

/// The digest that a row should have behind another.
fn digest(row: &Row<'_>, before: Digest) -> rusqlite::Result<Digest> {
    let text = |at| Ok::<_, rusqlite::Error>(row.get_ref(at)?.as_str()?);
    let texts = [text(2)?, text(3)?, text(4)?, text(5)?, text(6)?, text(7)?, text(8)?];
    Ok(chained(before, row.get(0)?, row.get(1)?, texts))
}

/// Between which rows the one that says so found none.
fn gap(row: &Row<'_>) -> rusqlite::Result<Option<(u64, u64)>> {
    let body: Option<serde_json::Value> = serde_json::from_str(row.get_ref(8)?.as_str()?).ok();
    Ok(body.and_then(|body| Some((body["after"].as_u64()?, body["seq"].as_u64()?))))
}
