//! Proposals, reviews and withdrawals on their way into a release.

use std::collections::BTreeMap;

use cycod_team::{
    BlobDigest, LARGEST_FILE, Proposal, ReviewDocument, ReviewRole, SignedProposal, SignedText, YankDocument,
};
use jiff::Timestamp;

use crate::{HubError, HubMember, HubRefusal, HubTransaction, SqlRow, audit, release::current, roots, store::count};

/// The most proposals that wait for a review.
const MOST_PROPOSALS: i64 = 100;

/// How long a proposal waits, in seconds.
const WAITING: i64 = 90 * 24 * 3600;

/// The team, and who reviews for it.
fn reviewed_root(tx: &mut dyn HubTransaction) -> Result<(String, ReviewRole), HubError> {
    let (root, _) = roots::newest(tx)?;
    let role = root.roles.review.ok_or_else(|| HubError::new(HubRefusal::Conflict, "the root names no reviewers"))?;
    Ok((root.team, role))
}

/// Refuses a member whom the root doesn't let propose, and so neither store files.
fn check_author(role: &ReviewRole, member: &HubMember) -> Result<(), HubError> {
    match role.members().any(|key| key.is_same(&member.key)) {
        true => Ok(()),
        false => Err(HubError::new(HubRefusal::Forbidden, format!("the root lets `{}` propose nothing", member.name))),
    }
}

fn check_reviewer(role: &ReviewRole, member: &HubMember) -> Result<(), HubError> {
    match role.keys.iter().any(|key| key.is_same(&member.key)) {
        true => Ok(()),
        false => {
            Err(HubError::new(HubRefusal::Forbidden, format!("the root doesn't name `{}` as a reviewer", member.name)))
        }
    }
}

/// Stores a file that is going to be proposed.
pub(crate) fn put_blob(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    digest: BlobDigest,
    bytes: &[u8],
) -> Result<(), HubError> {
    check_author(&reviewed_root(tx)?.1, member)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(HubError::invalid(format!("a file has at most {LARGEST_FILE} bytes")));
    }
    if BlobDigest::of(bytes) != digest {
        return Err(HubError::invalid("the file has another SHA-256"));
    }
    current::put_blob(tx, bytes)
}

/// The proposals that wait.
pub(crate) fn open(tx: &mut dyn HubTransaction) -> Result<Vec<SignedProposal>, HubError> {
    let rows = tx.rows("SELECT digest, document, signature FROM proposals WHERE closed = 0 ORDER BY digest", &[])?;
    let mut proposals: BTreeMap<String, SignedProposal> = BTreeMap::new();
    for row in rows {
        let proposal = signed_text(&row, 1)?;
        proposals.insert(row.text(0)?, SignedProposal { proposal, reviews: Vec::new() });
    }
    let select = "SELECT reviews.proposal, reviews.document, reviews.signature FROM reviews \
                  JOIN proposals ON proposals.digest = reviews.proposal WHERE proposals.closed = 0 \
                  ORDER BY reviews.proposal, reviews.reviewer";
    for row in tx.rows(select, &[])? {
        if let Some(proposal) = proposals.get_mut(&row.text(0)?) {
            proposal.reviews.push(signed_text(&row, 1)?);
        }
    }
    Ok(proposals.into_values().collect())
}

/// A document and its signature, from two columns of a row.
fn signed_text(row: &SqlRow, column: usize) -> Result<SignedText, HubError> {
    Ok(SignedText { document: row.text(column)?, signature: row.text(column + 1)? })
}

/// What was withdrawn.
pub(crate) fn yanks(tx: &mut dyn HubTransaction) -> Result<Vec<SignedText>, HubError> {
    let rows = tx.rows("SELECT document, signature FROM yanks ORDER BY digest", &[])?;
    rows.iter().map(|row| signed_text(row, 0)).collect()
}

/// Adds a proposal that the member signed.
pub(crate) fn propose(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    signed: &SignedText,
    now: Timestamp,
) -> Result<(), HubError> {
    let (team, role) = reviewed_root(tx)?;
    check_author(&role, member)?;
    let whole = SignedProposal { proposal: signed.clone(), reviews: Vec::new() };
    let proposal = Proposal::read(&whole, &role, &team)?;
    check_own(member, &proposal.author)?;
    let channel = &proposal.document.channel;
    if !channel.is_stable() && current::release(tx, channel)?.is_none() {
        let message = format!("the hub has no channel `{channel}`; an administrator's release makes it");
        return Err(HubError::new(HubRefusal::Conflict, message));
    }
    for file in proposal.document.changes.values().filter_map(|change| change.after) {
        if current::blob(tx, &file.sha256.to_string())?.is_none() {
            return Err(HubError::invalid(format!("the file {} is missing", file.sha256)));
        }
    }
    add(tx, signed, now)?;
    audit::add(tx, now, &member.name, "propose", &proposal.digest.to_string())
}

/// Adds a proposal that was checked.
pub(crate) fn add(tx: &mut dyn HubTransaction, signed: &SignedText, now: Timestamp) -> Result<(), HubError> {
    let old = now.as_second().saturating_sub(WAITING);
    tx.execute("UPDATE proposals SET closed = 1 WHERE closed = 0 AND added < $1", &[old.into()])?;
    if count(tx, "SELECT COUNT(*) FROM proposals WHERE closed = 0")? >= MOST_PROPOSALS {
        return Err(HubError::new(HubRefusal::Conflict, format!("{MOST_PROPOSALS} proposals wait already")));
    }
    let insert = "INSERT INTO proposals (digest, document, signature, added, closed) VALUES ($1, $2, $3, $4, 0) \
                  ON CONFLICT DO NOTHING";
    let text = (signed.document.as_str().into(), signed.signature.as_str().into());
    tx.execute(insert, &[signed.digest().to_string().into(), text.0, text.1, now.as_second().into()]).map(drop)
}

/// Adds a review that the member signed. Of several by one reviewer, the last is kept.
pub(crate) fn review(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    signed: &SignedText,
    now: Timestamp,
) -> Result<(), HubError> {
    let (team, role) = reviewed_root(tx)?;
    check_reviewer(&role, member)?;
    let reviewed: ReviewDocument =
        serde_json::from_str(&signed.document).map_err(|error| HubError::invalid(format!("no review: {error}")))?;
    let digest = reviewed.proposal.to_string();
    let select = "SELECT document, signature FROM proposals WHERE digest = $1 AND closed = 0";
    let row = tx.row(select, &[digest.as_str().into()])?;
    let row = row.ok_or_else(|| HubError::new(HubRefusal::Missing, "no such proposal waits"))?;
    let proposal = signed_text(&row, 0)?;
    let reviews = vec![signed.clone()];
    let read = Proposal::read(&SignedProposal { proposal, reviews }, &role, &team)?;
    let Some(review) = read.reviews.first() else {
        return Err(HubError::invalid(read.ignored.first().cloned().unwrap_or_default()));
    };
    check_own(member, &review.reviewer)?;
    let made = review.document.made.as_second();
    let is_newer = "SELECT made FROM reviews WHERE proposal = $1 AND reviewer = $2 AND made > $3";
    let of: [crate::SqlValue; 2] = [digest.as_str().into(), member.name.as_str().into()];
    if let Some(newer) = tx.row(is_newer, &[of[0].clone(), of[1].clone(), made.into()])? {
        let newer = Timestamp::from_second(newer.number(0)?).unwrap_or(now);
        let message = format!(
            "this review was made at {}, and the hub has one of yours that was made at {newer}; if the clock of this \
             machine is slow, set it and sign again",
            review.document.made
        );
        return Err(HubError::new(HubRefusal::Conflict, message));
    }
    tx.execute("DELETE FROM reviews WHERE proposal = $1 AND reviewer = $2", &of)?;
    let insert = "INSERT INTO reviews (proposal, reviewer, made, document, signature) VALUES ($1, $2, $3, $4, $5)";
    let text = (signed.document.as_str().into(), signed.signature.as_str().into());
    let [proposal, reviewer] = of;
    tx.execute(insert, &[proposal, reviewer, made.into(), text.0, text.1])?;
    audit::add(tx, now, &member.name, "review", &digest)
}

/// Adds a withdrawal that the member signed.
pub(crate) fn yank(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    signed: &SignedText,
    now: Timestamp,
) -> Result<(), HubError> {
    let (team, mut role) = reviewed_root(tx)?;
    check_reviewer(&role, member)?;
    // Only the member's own signature counts here.
    role.keys.retain(|key| key.is_same(&member.key));
    let yank = YankDocument::read(signed, &role, &team)?;
    let insert = "INSERT INTO yanks (digest, document, signature) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let text = (signed.document.as_str().into(), signed.signature.as_str().into());
    tx.execute(insert, &[signed.signed_digest().to_string().into(), text.0, text.1])?;
    audit::add(tx, now, &member.name, "yank", &format!("{} {}", yank.path, yank.sha256))
}

/// The record names the member, so that no one can send what someone else signed.
fn check_own(member: &HubMember, signer: &cycod_team::TeamKey) -> Result<(), HubError> {
    match member.key.is_same(signer) {
        true => Ok(()),
        false => Err(HubError::new(HubRefusal::Forbidden, format!("{signer} signed it, not `{}`", member.name))),
    }
}
