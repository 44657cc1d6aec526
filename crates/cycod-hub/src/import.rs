//! What a branch of a repository has becomes a proposal. Nothing goes the other way.

use std::collections::BTreeMap;

use cycod_team::{
    BlobDigest, DraftFile, Proposal, ProposalDocument, ProposalSource, ProposedChange, ReleasedFile, ReviewList,
    SignedProposal, SignedRole, SignedText, TeamChannel, proposal_text,
};
use cycod_team_change::is_broken;
use jiff::Timestamp;

use crate::{
    HubError, HubKey, HubRefusal, HubTransaction, audit,
    release::{current, last},
    review, roots,
};

/// What a commit has, by the paths of a release.
#[derive(Clone, Debug)]
pub struct ImportedCommit {
    /// Which commit, and by whom.
    pub source: ProposalSource,
    /// What it is for.
    pub why: String,
    /// Its files.
    pub files: BTreeMap<String, DraftFile>,
}

/// What became of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The team has all of it.
    Nothing,
    /// It waits already, as this proposal.
    Waits(BlobDigest),
    /// It was proposed.
    Proposed {
        /// The digest of the proposal.
        proposal: BlobDigest,
        /// The paths that change.
        paths: Vec<String>,
    },
}

/// The commit that was imported last for a channel.
pub(crate) fn last_commit(tx: &mut dyn HubTransaction, channel: &TeamChannel) -> Result<Option<String>, HubError> {
    // The audit log numbers imports, so that two of one second have an order. What people propose isn't an import.
    let select = "SELECT document FROM audit JOIN proposals ON proposals.digest = audit.subject \
                  WHERE audit.action = 'import' ORDER BY audit.number DESC LIMIT 200";
    for row in tx.rows(select, &[])? {
        let document: Option<ProposalDocument> = serde_json::from_str(&row.text(0)?).ok();
        if let Some(ProposalDocument { source: Some(source), channel: of, .. }) = document
            && of == *channel
        {
            return Ok(Some(source.commit));
        }
    }
    Ok(None)
}

/// Proposes what a commit changes. The hub signs, so that one more review is needed, unless the root names its key as an author.
pub(crate) fn import(
    tx: &mut dyn HubTransaction,
    key: &HubKey,
    channel: &TeamChannel,
    imported: &ImportedCommit,
    now: Timestamp,
) -> Result<ImportOutcome, HubError> {
    if let Some((path, _)) = imported.files.iter().find(|(path, file)| is_broken(path, &file.bytes)) {
        return Err(HubError::invalid(format!("`{path}` has a mistake, so nothing was proposed: cycod validate")));
    }
    let (root, pin) = roots::newest(tx)?;
    let role = root.roles.review.as_ref();
    let role = role.ok_or_else(|| HubError::new(HubRefusal::Conflict, "the root names no reviewers"))?;
    let Some(last) = last(tx, pin, channel)? else {
        return Err(HubError::new(HubRefusal::Conflict, format!("the hub has no channel `{channel}`")));
    };
    let changes = changes(&imported.files, &last.files(), &from_git(&last.reviews()?, role, &root.team), channel);
    if changes.is_empty() {
        return Ok(ImportOutcome::Nothing);
    }
    for open in review::open(tx)? {
        let Ok(open) = Proposal::read(&open, role, &root.team) else { continue };
        if open.document.source.is_none() || open.document.channel != *channel {
            continue;
        }
        if open.document.changes == changes {
            return Ok(ImportOutcome::Waits(open.digest));
        }
        // The branch has moved on.
        tx.execute("UPDATE proposals SET closed = 1 WHERE digest = $1", &[open.digest.to_string().into()])?;
    }
    let mut document = ProposalDocument::new((&root.team, channel), now, imported.why.clone(), changes);
    document.source = Some(imported.source.clone());
    let text = proposal_text(&document)?;
    let signature = String::from_utf8_lossy(&key.sign_as(SignedRole::Proposal, text.as_bytes())?).into_owned();
    let signed = SignedText { document: text, signature };
    let digest = signed.digest();
    _ = Proposal::read(&SignedProposal { proposal: signed.clone(), reviews: Vec::new() }, role, &root.team)?;
    for path in document.changes.keys() {
        if let Some(file) = imported.files.get(path) {
            current::put_blob(tx, &file.bytes)?;
        }
    }
    review::add(tx, &signed, now)?;
    audit::add(tx, now, "console", "import", &digest.to_string())?;
    Ok(ImportOutcome::Proposed { proposal: digest, paths: document.changes.into_keys().collect() })
}

/// The proposals of a release that came from a repository.
fn from_git(list: &ReviewList, role: &cycod_team::ReviewRole, team: &str) -> Vec<Proposal> {
    let read = list.proposals.iter().filter_map(|signed| Proposal::read(signed, role, team).ok());
    read.filter(|proposal| proposal.document.source.is_some()).collect()
}

/// What differs. A file that isn't in the commit goes only if it came from a repository: others were proposed by people.
fn changes(
    imported: &BTreeMap<String, DraftFile>,
    current: &BTreeMap<String, ReleasedFile>,
    from_git: &[Proposal],
    channel: &TeamChannel,
) -> BTreeMap<String, ProposedChange> {
    let mut changes = BTreeMap::new();
    for (path, DraftFile { bytes, executable }) in imported {
        let (sha256, size) = (BlobDigest::of(bytes), bytes.len() as u64);
        let after = ReleasedFile { sha256, size, executable: *executable };
        let before = current.get(path);
        if before != Some(&after) {
            let before = before.map(|file| file.sha256);
            changes.insert(path.clone(), ProposedChange { before, after: Some(after) });
        }
    }
    let is_ours = |path: &str, file: &ReleasedFile| from_git.iter().any(|proposal| proposal.has(path, file));
    for (path, file) in current.iter().filter(|_| channel.is_stable()) {
        if !imported.contains_key(path) && path != "reviews.json" && is_ours(path, file) {
            changes.insert(path.clone(), ProposedChange { before: Some(file.sha256), after: None });
        }
    }
    changes
}
