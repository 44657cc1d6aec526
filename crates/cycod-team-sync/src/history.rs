//! The releases that a team had, for someone who compares two of them.

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use cycod_team::{BlobDigest, PastRelease, ReleaseError, ReleaseFiles, ReleasedFile};

use crate::{
    DeviceKey, Fetched, SyncError, TeamSource,
    local::Kept,
    remote::{Place, RELEASE, unreachable},
};

/// The releases that a team had. What is on this machine is not fetched.
pub struct ReleaseHistory {
    source: TeamSource,
    device: Option<DeviceKey>,
    place: OnceCell<Place>,
    /// What is on this machine, by digest.
    here: BTreeMap<BlobDigest, PathBuf>,
    /// The releases on this machine: each was in force. Those between them may be missing.
    kept: BTreeMap<u64, BlobDigest>,
    /// The release in force: its number and its digest.
    in_force: (u64, BlobDigest),
    /// The newest release in the same way, if it was fetched, and what it has.
    newest: Option<(u64, BlobDigest)>,
    fetched: BTreeMap<BlobDigest, Vec<u8>>,
    /// Why the source can't be read.
    failure: RefCell<Option<String>>,
}

impl std::fmt::Debug for ReleaseHistory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReleaseHistory").field("in_force", &self.in_force).finish_non_exhaustive()
    }
}

impl ReleaseHistory {
    /// The history that ends with `newest`, or else with the release in force, whose number is given.
    pub(crate) fn new(
        (source, device): (TeamSource, Option<DeviceKey>),
        (active, number): (&Path, u64),
        directories: &[PathBuf],
        newest: Option<Fetched>,
    ) -> Result<Self, SyncError> {
        let unreadable = |error: io::Error| SyncError::io("read", &active.join(RELEASE), &error);
        let active = Kept::at(active).map_err(unreadable)?;
        let (mut here, mut kept) = (BTreeMap::new(), BTreeMap::new());
        for release in directories.iter().filter_map(|directory| Kept::at(directory).ok()) {
            here.extend(release.files);
            if release.document.channel == active.document.channel {
                kept.insert(release.document.number, release.digest);
            }
        }
        let (newest, fetched) = match newest {
            None => (None, BTreeMap::new()),
            Some(Fetched { verified, documents, .. }) => {
                let others = documents.into_values().chain(verified.parts.into_values());
                let mut fetched = verified.blobs;
                fetched.extend(others.map(|bytes| (BlobDigest::of(&bytes), bytes)));
                (Some((verified.release.number, verified.seen.release)), fetched)
            }
        };
        Ok(Self {
            source,
            device,
            place: OnceCell::new(),
            here,
            kept,
            in_force: (number, active.digest),
            newest,
            fetched,
            failure: RefCell::default(),
        })
    }

    /// The release in force.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn in_force(&self) -> Result<PastRelease, SyncError> {
        self.find(self.in_force.0)
    }

    /// The newest release.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn newest(&self) -> Result<PastRelease, SyncError> {
        self.find(self.newest.unwrap_or(self.in_force).0)
    }

    /// The release with a number.
    ///
    /// # Errors
    /// When there is none, the source has forgotten it, or can't be read.
    pub fn find(&self, number: u64) -> Result<PastRelease, SyncError> {
        let last = match (self.kept.get(&number), self.newest) {
            (Some(kept), _) => *kept,
            (None, Some((_, newest))) if number > self.in_force.0 => newest,
            _ => self.in_force.1,
        };
        self.reached(PastRelease::find(self, last, number))
    }

    /// The bytes of a file of one of the releases.
    ///
    /// # Errors
    /// When the source has forgotten it, or can't be read.
    pub fn read(&self, file: ReleasedFile) -> Result<Vec<u8>, SyncError> {
        self.reached(PastRelease::read(self, file))
    }

    fn reached<T>(&self, result: Result<T, ReleaseError>) -> Result<T, SyncError> {
        match self.failure.take() {
            Some(why) => Err(unreachable(&self.source, &why)),
            None => Ok(result?),
        }
    }

    /// The bytes with this digest, if they need not be fetched.
    fn known(&self, digest: BlobDigest) -> Option<Vec<u8>> {
        if let Some(bytes) = self.fetched.get(&digest) {
            return Some(bytes.clone());
        }
        let bytes = fs::read(self.here.get(&digest)?).ok()?;
        (BlobDigest::of(&bytes) == digest).then_some(bytes)
    }

    fn fetch(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let place = match self.place.get() {
            Some(place) => place,
            None => {
                let place = Place::open(&self.source, self.device.as_ref()).map_err(io::Error::other)?;
                self.place.get_or_init(|| place)
            }
        };
        place.read(path, most)
    }
}

impl ReleaseFiles for ReleaseHistory {
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let digest = path.strip_prefix("blobs/").and_then(|digest| digest.parse().ok());
        match digest.and_then(|digest| self.known(digest)) {
            Some(bytes) => Ok(Some(bytes)),
            None => self
                .fetch(path, most)
                .inspect_err(|error| *self.failure.borrow_mut() = Some(format!("`{path}`: {error}"))),
        }
    }
}
