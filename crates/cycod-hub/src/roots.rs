//! The roots of the team, which root keys signed elsewhere.

use std::{collections::BTreeMap, io};

use cycod_team::{Anchor, BlobDigest, ReleaseFiles, RootDocument, verify_roots};

use crate::{HubError, HubKey, HubRefusal, HubTransaction};

const FIRST: &str = "root/1.json";

/// Files of a hub as those of a directory.
#[derive(Default)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

impl ReleaseFiles for Files {
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1);
        Ok(self.0.get(path).map(|bytes| bytes[..bytes.len().min(most)].to_vec()))
    }
}

/// All roots with their signatures, by path.
pub(crate) fn files(tx: &mut dyn HubTransaction) -> Result<BTreeMap<String, Vec<u8>>, HubError> {
    let rows = tx.rows("SELECT path, bytes FROM roots ORDER BY path", &[])?;
    rows.iter().map(|row| Ok((row.text(0)?, row.bytes(1)?))).collect()
}

/// A root or its signatures.
pub(crate) fn file(tx: &mut dyn HubTransaction, path: &str) -> Result<Option<Vec<u8>>, HubError> {
    tx.row("SELECT bytes FROM roots WHERE path = $1", &[path.into()])?.map(|row| row.bytes(0)).transpose()
}

/// The newest root, and the digest of the first one.
pub(crate) fn newest(tx: &mut dyn HubTransaction) -> Result<(RootDocument, BlobDigest), HubError> {
    let files = files(tx)?;
    let first = files.get(FIRST).ok_or_else(|| {
        HubError::new(HubRefusal::Conflict, "the hub has no root yet: cycod-hub root --data DIR FROM")
    })?;
    let pin = BlobDigest::of(first);
    Ok((verify_roots(&Files(files), Anchor::Root(pin))?.0, pin))
}

/// Takes roots in; returns the version of the newest. Those that are here already stay as they are.
pub(crate) fn take(
    tx: &mut dyn HubTransaction,
    key: &HubKey,
    given: &BTreeMap<String, Vec<u8>>,
) -> Result<u64, HubError> {
    let mut all = files(tx)?;
    for (path, bytes) in given {
        match all.get(path) {
            Some(there) if there != bytes && !path.ends_with(".sigs") => {
                return Err(HubError::invalid(format!("the hub has another `{path}`")));
            }
            Some(_) => {}
            None => _ = all.insert(path.clone(), bytes.clone()),
        }
    }
    let first = all.get(FIRST).ok_or_else(|| HubError::invalid("there is no `root/1.json`"))?;
    let pin = BlobDigest::of(first);
    let all = Files(all);
    let (root, _) = verify_roots(&all, Anchor::Root(pin))?;
    let own = key.public()?;
    if !root.roles.release.keys.iter().any(|key| key.is_same(&own)) || root.roles.release.threshold != 1 {
        let message = "the root doesn't let the hub alone sign releases: give its key as --release-key";
        return Err(HubError::invalid(message));
    }
    if root.roles.review.is_none() {
        return Err(HubError::invalid("the root names no reviewers, and a hub releases only what was reviewed"));
    }
    for (path, bytes) in &all.0 {
        let insert = "INSERT INTO roots (path, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        tx.execute(insert, &[path.as_str().into(), bytes.as_slice().into()])?;
    }
    let version = i64::try_from(root.version).unwrap_or(i64::MAX);
    tx.execute("UPDATE counters SET value = $1 WHERE name = 'root'", &[version.into()])?;
    Ok(root.version)
}
