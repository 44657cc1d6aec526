//! The releases of a hub: what was approved becomes the next one.

use std::collections::BTreeMap;

use cycod_team::{
    Anchor, BlobDigest, DraftFile, PARTS, Proposal, ReleaseDocument, ReleaseDraft, ReleasedFile, ReviewList,
    ReviewRole, ReviewedFiles, RootDocument, TeamChannel, VerifiedRelease, channel_files, reviewed_files, text, verify,
    verify_last,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::{
    HubError, HubKey, HubRefusal, HubTransaction, review,
    roots::{self, Files},
};

/// How long a release counts, in days. When half of that is over, the hub makes the next one.
const DAYS: i64 = 7;

/// By how much the clocks of two hubs may differ, in seconds.
const AHEAD: i64 = 3600;

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
    /// Makes the release of a channel after the one with the number `expected`. What `stable` has, the other channels get too.
    ///
    /// The files are verified as readers will: what they would refuse is not released.
    pub(crate) fn make(
        tx: &mut dyn HubTransaction,
        key: &HubKey,
        (channel, expected): (&TeamChannel, i64),
        now: Timestamp,
    ) -> Result<Self, HubError> {
        let made = Self::make_one(tx, key, (channel, expected), now)?;
        if channel.is_stable() {
            for other in current::channels(tx)?.into_iter().filter(|other| !other.is_stable()) {
                let number = current::number(tx, &other)?;
                _ = Self::make_one(tx, key, (&other, number), now)?;
            }
        }
        Ok(made)
    }

    fn make_one(
        tx: &mut dyn HubTransaction,
        key: &HubKey,
        (channel, expected): (&TeamChannel, i64),
        now: Timestamp,
    ) -> Result<Self, HubError> {
        let counter = current::counter(channel);
        let insert = "INSERT INTO counters (name, value) VALUES ($1, 0) ON CONFLICT DO NOTHING";
        tx.execute(insert, &[counter.as_str().into()])?;
        // First: of two who have seen the same release, the second waits here, and then changes nothing.
        let update = "UPDATE counters SET value = value + 1 WHERE name = $1 AND value = $2";
        if tx.execute(update, &[counter.into(), expected.into()])? == 0 {
            let message = format!("release {expected} is not the last one: someone else released meanwhile");
            return Err(HubError::new(HubRefusal::Conflict, message));
        }
        let number = expected.saturating_add(1);
        let (root, pin) = roots::newest(tx)?;
        let last = last(tx, pin, channel)?;
        let Some(role) = &root.roles.review else {
            let message = "the root names no reviewers, and a hub releases only what was reviewed";
            return Err(HubError::new(HubRefusal::Conflict, message));
        };
        let (before, list) = begin(tx, (&root.team, role), channel, last.as_ref(), pin)?;
        let (open, yanks) = (review::open(tx)?, review::yanks(tx)?);
        let made = reviewed_files((&root.team, role), channel, &before, &list, &open, &yanks);
        let follows = last.filter(|last| i64::try_from(last.release.number) == Ok(expected));
        let previous = follows.map(|last| last.seen.release);
        let draft = draft(tx, &root, (channel, number, previous), &made, now)?;
        write(tx, key, &draft, pin)?;
        for proposal in &open {
            let Ok(proposal) = Proposal::read(proposal, role, &root.team) else { continue };
            let before = |path: &String| made.files.get(path).map(|file| file.sha256);
            // What this release took in, and what begins with something else than it has.
            if proposal.document.channel == *channel
                && proposal.document.changes.iter().any(|(path, change)| before(path) != change.before)
            {
                let update = "UPDATE proposals SET closed = 1 WHERE digest = $1";
                tx.execute(update, &[proposal.digest.to_string().into()])?;
            }
        }
        Ok(Self { number, applied: made.applied, stale: made.stale, dropped: made.dropped })
    }
}

/// What the next release of a channel begins with, and why it may have that.
fn begin(
    tx: &mut dyn HubTransaction,
    (team, role): (&str, &ReviewRole),
    channel: &TeamChannel,
    last: Option<&VerifiedRelease>,
    pin: BlobDigest,
) -> Result<(BTreeMap<String, ReleasedFile>, ReviewList), HubError> {
    let of = |release: Option<&VerifiedRelease>| {
        let list = release.map_or(Ok(ReviewList::default()), VerifiedRelease::reviews)?;
        Ok::<_, HubError>((release.map(VerifiedRelease::files).unwrap_or_default(), list))
    };
    let (own, own_list) = of(last)?;
    if channel.is_stable() {
        return Ok((own, own_list));
    }
    let stable = self::last(tx, pin, &TeamChannel::default())?;
    let (stable, stable_list) = of(stable.as_ref())?;
    Ok(channel_files((team, role), channel, (&stable, &stable_list), (&own, &own_list)))
}

/// What the next release has.
fn draft(
    tx: &mut dyn HubTransaction,
    root: &RootDocument,
    (channel, number, previous): (&TeamChannel, i64, Option<BlobDigest>),
    made: &ReviewedFiles,
    now: Timestamp,
) -> Result<ReleaseDraft, HubError> {
    let mut draft = ReleaseDraft {
        team: root.team.clone(),
        channel: channel.clone(),
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
    verify(&files, Anchor::Root(pin), &draft.channel, draft.made)?;
    for (path, bytes) in &files.0 {
        if path.starts_with("blobs/") || path.starts_with("parts/") {
            current::put_blob(tx, bytes)?;
        }
    }
    let number = i64::try_from(draft.number).unwrap_or(i64::MAX);
    let insert = "INSERT INTO releases (channel, number, digest, document, signature, expires) \
                  VALUES ($1, $2, $3, $4, $5, $6)";
    let (channel, digest) = (draft.channel.name().into(), BlobDigest::of(&document).to_string().into());
    let (document, signature) = (document.as_slice().into(), signature.as_slice().into());
    tx.execute(insert, &[channel, number.into(), digest, document, signature, draft.expires.as_second().into()])?;
    Ok(())
}

/// The last release of a channel with all of its files.
pub(crate) fn last(
    tx: &mut dyn HubTransaction,
    pin: BlobDigest,
    channel: &TeamChannel,
) -> Result<Option<VerifiedRelease>, HubError> {
    let Some((document, signature)) = current::release(tx, channel)? else { return Ok(None) };
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
    Ok(Some(verify_last(&files, Anchor::Root(pin), channel)?))
}

/// What readers get.
pub(crate) mod current {
    use cycod_team::{LatestRelease, release_tag};

    use super::{AHEAD, BlobDigest, DAYS, HubError, HubTransaction, ReleaseDocument, TeamChannel, Timestamp, roots};
    use crate::store::count;

    /// A document with its signature.
    type Signed = (Vec<u8>, Vec<u8>);

    /// What counts the releases of a channel.
    pub(crate) fn counter(channel: &TeamChannel) -> String {
        if channel.is_stable() { "release".to_owned() } else { format!("release {channel}") }
    }

    /// The number of the last release of a channel.
    pub(crate) fn number(tx: &mut dyn HubTransaction, channel: &TeamChannel) -> Result<i64, HubError> {
        let row = tx.row("SELECT value FROM counters WHERE name = $1", &[counter(channel).into()])?;
        row.map_or(Ok(0), |row| row.number(0))
    }

    /// The channels that have a release.
    pub(crate) fn channels(tx: &mut dyn HubTransaction) -> Result<Vec<TeamChannel>, HubError> {
        let rows = tx.rows("SELECT DISTINCT channel FROM releases ORDER BY channel", &[])?;
        let channel = |text: String| text.parse().map_err(|error| HubError::failed("a channel", error));
        rows.iter().map(|row| channel(row.text(0)?)).collect()
    }

    /// The document and the signature of the release in force.
    pub(crate) fn release(tx: &mut dyn HubTransaction, channel: &TeamChannel) -> Result<Option<Signed>, HubError> {
        let select = "SELECT document, signature FROM releases WHERE channel = $1 ORDER BY number DESC LIMIT 1";
        tx.row(select, &[channel.name().into()])?.map(|row| Ok((row.bytes(0)?, row.bytes(1)?))).transpose()
    }

    pub(crate) fn parse(document: &[u8]) -> Result<ReleaseDocument, HubError> {
        serde_json::from_slice(document).map_err(|error| HubError::failed("the last release", error))
    }

    /// The bytes with this digest: a file, a part, or the document of a release.
    pub(crate) fn blob(tx: &mut dyn HubTransaction, digest: &str) -> Result<Option<Vec<u8>>, HubError> {
        for select in ["SELECT bytes FROM blobs WHERE digest = $1", "SELECT document FROM releases WHERE digest = $1"] {
            if let Some(row) = tx.row(select, &[digest.into()])? {
                return row.bytes(0).map(Some);
            }
        }
        Ok(None)
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
        let (channel, path) = match path.strip_prefix("channels/").and_then(|path| path.split_once('/')) {
            Some((name, path)) => match name.parse() {
                Ok(channel) => (channel, path),
                Err(_) => return Ok(None),
            },
            None => (TeamChannel::default(), path),
        };
        let Some((document, signature)) = release(tx, &channel)? else { return Ok(None) };
        match path {
            "release.json" => Ok(Some(document)),
            "release.json.sigs" => Ok(Some(signature)),
            _ => match path.strip_prefix("parts/").and_then(|name| parse(&document).ok()?.parts.get(name).copied()) {
                Some(part) => blob(tx, &part.sha256.to_string()),
                None => Ok(None),
            },
        }
    }

    /// What a client reads first, of the release in force.
    pub(crate) fn latest(tx: &mut dyn HubTransaction, channel: &TeamChannel) -> Result<Option<Vec<u8>>, HubError> {
        let Some((document, signature)) = release(tx, channel)? else { return Ok(None) };
        Ok(Some(LatestRelease::bytes_of(root(tx)?, document, signature)?))
    }

    /// The number of the newest root.
    fn root(tx: &mut dyn HubTransaction) -> Result<u64, HubError> {
        let root = count(tx, "SELECT value FROM counters WHERE name = 'root'")?;
        Ok(u64::try_from(root).unwrap_or_default())
    }

    /// The entity tag of the release in force and the roots: two rows, however large they are.
    pub(crate) fn tag(tx: &mut dyn HubTransaction, channel: &TeamChannel) -> Result<Option<String>, HubError> {
        let root = root(tx)?;
        let select = "SELECT digest FROM releases WHERE channel = $1 ORDER BY number DESC LIMIT 1";
        let Some(row) = tx.row(select, &[channel.name().into()])? else { return Ok(None) };
        let digest = row.text(0)?.parse().map_err(|error| HubError::failed("the last release", error))?;
        Ok(Some(release_tag(digest, root)))
    }

    /// The entity tags of all channels.
    pub(crate) fn tags(tx: &mut dyn HubTransaction) -> Result<Vec<String>, HubError> {
        channels(tx)?.iter().filter_map(|channel| tag(tx, channel).transpose()).collect()
    }

    /// The number of the release of `stable` in force, if it has lasted for half of its time. Those of the other channels are
    /// never older.
    pub(crate) fn due(tx: &mut dyn HubTransaction, now: Timestamp) -> Result<Option<i64>, HubError> {
        let number = number(tx, &TeamChannel::default())?;
        let select = "SELECT expires FROM releases WHERE channel = 'stable' ORDER BY number DESC LIMIT 1";
        let Some(row) = tx.row(select, &[])? else { return Ok(None) };
        let left = row.number(0)?.saturating_sub(now.as_second());
        // What a clock made that was ahead would count for too long.
        let is_due = !(DAYS * 24 * 3600 / 2..=DAYS * 24 * 3600 + AHEAD).contains(&left);
        Ok(is_due.then_some(number))
    }
}
