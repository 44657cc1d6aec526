//! The record of changes: each row holds the digest of itself and of the row before.

use jiff::Timestamp;

use crate::{HubError, HubTransaction, SqlRow, hashed, store::count};

/// A row of the record of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubAudit {
    /// Its number, from 1.
    pub number: i64,
    /// When, in seconds since 1970.
    pub at: i64,
    /// Who.
    pub member: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: String,
    /// The digest of the row before and of this one.
    pub digest: String,
}

impl HubAudit {
    fn of(row: &SqlRow) -> Result<Self, HubError> {
        Ok(Self {
            number: row.number(0)?,
            at: row.number(1)?,
            member: row.text(2)?,
            action: row.text(3)?,
            subject: row.text(4)?,
            digest: row.text(5)?,
        })
    }

    /// The digest of this row and of all before it.
    fn chained(&self, before: &str) -> String {
        let Self { number, at, member, action, subject, .. } = self;
        hashed(&serde_json::json!([before, number, at, member, action, subject]).to_string())
    }
}

/// Adds a row.
pub(crate) fn add(
    tx: &mut dyn HubTransaction,
    now: Timestamp,
    member: &str,
    action: &str,
    subject: &str,
) -> Result<(), HubError> {
    // First, so that of two hubs one waits for the other.
    tx.execute("UPDATE counters SET value = value + 1 WHERE name = 'audit'", &[])?;
    let number = count(tx, "SELECT value FROM counters WHERE name = 'audit'")?;
    let before = tx.row("SELECT digest FROM audit WHERE number = $1", &[(number - 1).into()])?;
    let before = before.map_or(Ok(String::new()), |row| row.text(0))?;
    let (member, action, subject) = (member.to_owned(), action.to_owned(), subject.to_owned());
    let mut row = HubAudit { number, at: now.as_second(), member, action, subject, digest: String::new() };
    row.digest = row.chained(&before);
    let insert = "INSERT INTO audit (number, at, member, action, subject, digest) VALUES ($1, $2, $3, $4, $5, $6)";
    let HubAudit { number, at, member, action, subject, digest } = row;
    tx.execute(insert, &[number.into(), at.into(), member.into(), action.into(), subject.into(), digest.into()])?;
    tx.announce()
}

/// Some rows, the newest first, and whether each of them follows from the one before.
pub(crate) fn newest(tx: &mut dyn HubTransaction, most: i64, skipped: i64) -> Result<(Vec<HubAudit>, bool), HubError> {
    // One more than is shown, from which the oldest of them follows.
    let select =
        "SELECT number, at, member, action, subject, digest FROM audit ORDER BY number DESC LIMIT $1 OFFSET $2";
    let rows = tx.rows(select, &[(most + 1).into(), skipped.into()])?;
    let mut rows = rows.iter().map(HubAudit::of).collect::<Result<Vec<_>, _>>()?;
    let follows = |row: &HubAudit, before: Option<&HubAudit>| match before {
        Some(before) => before.number + 1 == row.number && row.digest == row.chained(&before.digest),
        None => row.number == 1 && row.digest == row.chained(""),
    };
    let is_whole = usize::try_from(most).is_ok_and(|most| rows.len() > most);
    let checked = rows.len() - usize::from(is_whole);
    let is_chained = (0..checked).all(|at| follows(&rows[at], rows.get(at + 1)));
    rows.truncate(checked);
    Ok((rows, is_chained))
}

/// All rows, the oldest first, after each was checked against the one before.
pub(crate) fn checked(tx: &mut dyn HubTransaction) -> Result<Vec<HubAudit>, HubError> {
    let changed = |why: String| HubError::failed("the record of changes was altered", why);
    let rows = tx.rows("SELECT number, at, member, action, subject, digest FROM audit ORDER BY number", &[])?;
    let (mut before, mut audit) = (String::new(), Vec::new());
    for (row, number) in rows.iter().zip(1..) {
        let row = HubAudit::of(row)?;
        if row.number != number || row.digest != row.chained(&before) {
            return Err(changed(format!("row {number} doesn't follow from the row before")));
        }
        before.clone_from(&row.digest);
        audit.push(row);
    }
    let written = count(tx, "SELECT value FROM counters WHERE name = 'audit'")?;
    if i64::try_from(audit.len()) != Ok(written) {
        return Err(changed(format!("it has {} rows, but {written} were written", audit.len())));
    }
    Ok(audit)
}
