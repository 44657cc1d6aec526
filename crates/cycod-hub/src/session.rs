//! Browsers of members: a code from a member's device begins a session, once and soon.

use jiff::Timestamp;

use crate::{HubError, HubMember, HubRefusal, HubTransaction, audit, hashed, member::random, store::count};

/// How long a code is good for, in seconds.
const CODE: i64 = 60;

/// How long a session lasts, in seconds.
const SESSION: i64 = 12 * 3600;

/// The most sessions of all members.
const MOST: i64 = 10_000;

/// Makes a code for a member, who asks with a device.
pub(crate) fn code(tx: &mut dyn HubTransaction, member: &HubMember, now: Timestamp) -> Result<String, HubError> {
    add(tx, "codes", &member.name, CODE, now)
}

/// Begins a session with a code.
pub(crate) fn enter(tx: &mut dyn HubTransaction, code: &str, now: Timestamp) -> Result<String, HubError> {
    let unknown = || HubError::unknown("this code is wrong, was used, or is older than a minute");
    let code = hashed(code.trim());
    let select = "SELECT member FROM codes WHERE digest = $1 AND expires >= $2";
    let row = tx.row(select, &[code.as_str().into(), now.as_second().into()])?.ok_or_else(unknown)?;
    if tx.execute("DELETE FROM codes WHERE digest = $1", &[code.into()])? == 0 {
        return Err(unknown());
    }
    let member = HubMember::named(tx, &row.text(0)?)?;
    let session = add(tx, "sessions", &member.name, SESSION, now)?;
    if count(tx, "SELECT COUNT(*) FROM sessions")? > MOST {
        return Err(HubError::new(HubRefusal::Busy, "the hub has too many sessions"));
    }
    audit::add(tx, now, &member.name, "sign-in", "page")?;
    Ok(session)
}

/// The member whose browser has a session.
pub(crate) fn member(tx: &mut dyn HubTransaction, session: &str, now: Timestamp) -> Result<HubMember, HubError> {
    let select = "SELECT member FROM sessions WHERE digest = $1 AND expires >= $2";
    match tx.row(select, &[hashed(session).into(), now.as_second().into()])? {
        Some(row) => HubMember::named(tx, &row.text(0)?),
        None => Err(HubError::unknown("this browser has no session here")),
    }
}

/// Ends a session.
pub(crate) fn leave(tx: &mut dyn HubTransaction, session: &str) -> Result<(), HubError> {
    tx.execute("DELETE FROM sessions WHERE digest = $1", &[hashed(session).into()]).map(drop)
}

/// Adds something that no one can guess, and removes what has expired.
fn add(
    tx: &mut dyn HubTransaction,
    table: &str,
    member: &str,
    seconds: i64,
    now: Timestamp,
) -> Result<String, HubError> {
    let secret = random::<24>()?;
    tx.execute(&format!("DELETE FROM {table} WHERE expires < $1"), &[now.as_second().into()])?;
    let insert = format!("INSERT INTO {table} (digest, member, expires) VALUES ($1, $2, $3)");
    let expires = now.as_second().saturating_add(seconds);
    tx.execute(&insert, &[hashed(&secret).into(), member.into(), expires.into()])?;
    Ok(secret)
}
