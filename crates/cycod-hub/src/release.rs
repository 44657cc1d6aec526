//! The releases of a hub: what was approved becomes the next one.

use std::collections::BTreeMap;

use cycod_team::{
    Anchor, BlobDigest, DraftFile, PARTS, Proposal, ReleaseDocument, ReleaseDraft, ReviewList, ReviewedFiles,
    RootDocument, VerifiedRelease, reviewed_files, text, verify, verify_last,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::{
    HubError, HubKey, HubRefusal, HubTransaction, review,
    roots::{self, Files},
};

/// How long a release counts, in days. When half of that is over, the hub makes the next one.
const DAYS: i64 = 7;

/// A release that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Released {
    /// Its number.
    pub(crate) number: i64,
    /// The proposals that it takes in.
    pub(crate) applied: Vec<BlobDigest>,
    /// Approved proposals whose files have changed since.
    pub(crate) stale: Vec<BlobDigest>,
    /// The files that are left out.
    pub(crate) dropped: Vec<String>,
}

impl Released {
    /// Makes the release after the one with the number `expected`.
    ///
    /// The files are verified as readers will: what they would refuse is not released.
    pub(crate) fn make(
        tx: &mut dyn HubTransaction,
        key: &HubKey,
        expected: i64,
        now: Timestamp,
    ) -> Result<Self, HubError> {
        // First: of two who have seen the same release, the second waits here, and then changes nothing.
        let update = "UPDATE counters SET value = value + 1 WHERE name = 'release' AND value = $1";
        if tx.execute(update, &[expected.into()])? == 0 {
            let message = format!("release {expected} is not the last one: someone else released meanwhile");
            return Err(HubError::new(HubRefusal::Conflict, message));
        }
        let number = expected.saturating_add(1);
        let (root, pin) = roots::newest(tx)?;
        let last = last(tx, pin)?;
        let Some(role) = &root.roles.review else {
            let message = "the root names no reviewers, and a hub releases only what was reviewed";
            return Err(HubError::new(HubRefusal::Conflict, message));
        };
        let list = last.as_ref().map_or(Ok(ReviewList::default()), VerifiedRelease::reviews)?;
        let before = last.as_ref().map(VerifiedRelease::files).unwrap_or_default();
        let (open, yanks) = (review::open(tx)?, review::yanks(tx)?);
        let made = reviewed_files((&root.team, role), &before, &list, &open, &yanks);
        let follows = last.filter(|last| i64::try_from(last.release.number) == Ok(expected));
        let previous = follows.map(|last| last.seen.release);
        let draft = draft(tx, &root, (number, previous), &made, now)?;
        write(tx, key, &draft, pin)?;
        for proposal in &open {
            let Ok(proposal) = Proposal::read(proposal, role, &root.team) else { continue };
            let before = |path: &String| made.files.get(path).map(|file| file.sha256);
            // What this release took in, and what begins with something else than it has.
            if proposal.document.changes.iter().any(|(path, change)| before(path) != change.before) {
                let update = "UPDATE proposals SET closed = 1 WHERE digest = $1";
                tx.execute(update, &[proposal.digest.to_string().into()])?;
            }
        }
        Ok(Self { number, applied: made.applied, stale: made.stale, dropped: made.dropped })
    }
}

/// What the next release has.
fn draft(
    tx: &mut dyn HubTransaction,
    root: &RootDocument,
    (number, previous): (i64, Option<BlobDigest>),
    made: &ReviewedFiles,
    now: Timestamp,
) -> Result<ReleaseDraft, HubError> {
    let mut draft = ReleaseDraft {
        team: root.team.clone(),
        number: u64::try_from(number).unwrap_or_default(),
        made: now,
        expires: now.checked_add(SignedDuration::from_hours(DAYS * 24)).unwrap_or(Timestamp::MAX),
        root: root.version,
        previous,
        tools: BTreeMap::new(),
        parts: BTreeMap::from([("reviews".to_owned(), text("reviews", &made.list)?.into_bytes())]),
    };
    for (path, file) in &made.files {
        let bytes = current::blob(tx, &file.sha256.to_string())?;
        let bytes = bytes.ok_or_else(|| HubError::failed("the database", format!("`{path}` is missing")))?;
        match (path.strip_prefix("tools/"), PARTS.iter().find(|(_, file)| file == path)) {
            (Some(tool), _) => {
                draft.tools.insert(tool.to_owned(), DraftFile { bytes, executable: file.executable });
            }
            (None, Some((part, _))) => _ = draft.parts.insert((*part).to_owned(), bytes),
            (None, None) => {}
        }
    }
    Ok(draft)
}

/// Signs a release, verifies it as readers will, and stores it.
fn write(tx: &mut dyn HubTransaction, key: &HubKey, draft: &ReleaseDraft, pin: BlobDigest) -> Result<(), HubError> {
    let mut files = Files(draft.files()?);
    let document = files.0.remove("release.json").unwrap_or_default();
    let signature = key.sign(&document)?;
    files.0.insert("release.json".to_owned(), document.clone());
    files.0.insert("release.json.sigs".to_owned(), signature.clone());
    files.0.extend(roots::files(tx)?);
    verify(&files, Anchor::Root(pin), draft.made)?;
    for (path, bytes) in &files.0 {
        if path.starts_with("blobs/") || path.starts_with("parts/") {
            current::put_blob(tx, bytes)?;
        }
    }
    let number = i64::try_from(draft.number).unwrap_or(i64::MAX);
    let insert = "INSERT INTO releases (number, digest, document, signature, expires) VALUES ($1, $2, $3, $4, $5)";
    let digest = BlobDigest::of(&document).to_string().into();
    let expires = draft.expires.as_second().into();
    tx.execute(insert, &[number.into(), digest, document.as_slice().into(), signature.as_slice().into(), expires])?;
    Ok(())
}

/// The last release with all of its files.
fn last(tx: &mut dyn HubTransaction, pin: BlobDigest) -> Result<Option<VerifiedRelease>, HubError> {
    let Some((document, signature)) = current::release(tx)? else { return Ok(None) };
    let mut files = Files(roots::files(tx)?);
    let release = current::parse(&document)?;
    for (name, part) in &release.parts {
        let bytes = current::blob(tx, &part.sha256.to_string())?.unwrap_or_default();
        if name == "tools" {
            let listed: BTreeMap<String, cycod_team::ReleasedFile> =
                serde_json::from_slice(&bytes).map_err(|error| HubError::failed("the last release", error))?;
            for file in listed.values() {
                let digest = file.sha256.to_string();
                files.0.insert(format!("blobs/{digest}"), current::blob(tx, &digest)?.unwrap_or_default());
            }
        }
        files.0.insert(format!("parts/{name}"), bytes);
    }
    files.0.insert("release.json".to_owned(), document);
    files.0.insert("release.json.sigs".to_owned(), signature);
    Ok(Some(verify_last(&files, Anchor::Root(pin))?))
}

/// What readers get.
pub(crate) mod current {
    use cycod_team::release_tag;

    use super::{BlobDigest, DAYS, HubError, HubTransaction, ReleaseDocument, Timestamp, roots};
    use crate::store::count;

    /// A document with its signature.
    type Signed = (Vec<u8>, Vec<u8>);

    /// The document and the signature of the release in force.
    pub(crate) fn release(tx: &mut dyn HubTransaction) -> Result<Option<Signed>, HubError> {
        let select = "SELECT document, signature FROM releases ORDER BY number DESC LIMIT 1";
        tx.row(select, &[])?.map(|row| Ok((row.bytes(0)?, row.bytes(1)?))).transpose()
    }

    pub(crate) fn parse(document: &[u8]) -> Result<ReleaseDocument, HubError> {
        serde_json::from_slice(document).map_err(|error| HubError::failed("the last release", error))
    }

    /// The bytes with this digest.
    pub(crate) fn blob(tx: &mut dyn HubTransaction, digest: &str) -> Result<Option<Vec<u8>>, HubError> {
        tx.row("SELECT bytes FROM blobs WHERE digest = $1", &[digest.into()])?.map(|row| row.bytes(0)).transpose()
    }

    pub(crate) fn put_blob(tx: &mut dyn HubTransaction, bytes: &[u8]) -> Result<(), HubError> {
        let insert = "INSERT INTO blobs (digest, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        tx.execute(insert, &[BlobDigest::of(bytes).to_string().into(), bytes.into()]).map(drop)
    }

    /// A file by its path in a directory of releases.
    pub(crate) fn file(tx: &mut dyn HubTransaction, path: &str) -> Result<Option<Vec<u8>>, HubError> {
        if let Some(digest) = path.strip_prefix("blobs/") {
            return blob(tx, digest);
        }
        if path.starts_with("root/") {
            return roots::file(tx, path);
        }
        let Some((document, signature)) = release(tx)? else { return Ok(None) };
        match path {
            "release.json" => Ok(Some(document)),
            "release.json.sigs" => Ok(Some(signature)),
            _ => match path.strip_prefix("parts/").and_then(|name| parse(&document).ok()?.parts.get(name).copied()) {
                Some(part) => blob(tx, &part.sha256.to_string()),
                None => Ok(None),
            },
        }
    }

    /// The entity tag of the release in force and the roots: two rows, however large they are.
    pub(crate) fn tag(tx: &mut dyn HubTransaction) -> Result<Option<String>, HubError> {
        let root = count(tx, "SELECT value FROM counters WHERE name = 'root'")?;
        let Some(row) = tx.row("SELECT digest FROM releases ORDER BY number DESC LIMIT 1", &[])? else {
            return Ok(None);
        };
        let digest = row.text(0)?.parse().map_err(|error| HubError::failed("the last release", error))?;
        Ok(Some(release_tag(digest, u64::try_from(root).unwrap_or_default())))
    }

    /// The number of the release in force, if it has lasted for half of its time.
    pub(crate) fn due(tx: &mut dyn HubTransaction, now: Timestamp) -> Result<Option<i64>, HubError> {
        let number = count(tx, "SELECT value FROM counters WHERE name = 'release'")?;
        let Some(row) = tx.row("SELECT expires FROM releases ORDER BY number DESC LIMIT 1", &[])? else {
            return Ok(None);
        };
        let is_due = row.number(0)?.saturating_sub(now.as_second()) < DAYS * 24 * 3600 / 2;
        Ok(is_due.then_some(number))
    }
}
