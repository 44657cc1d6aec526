//! A release on its way: what is here already is not fetched again.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io,
};

use cycod_code::Code;
use cycod_team::{
    Anchor, BlobDigest, LatestRelease, ReleaseDocument, ReleaseFiles, TeamChannel, VerifiedRelease, release_tag, verify,
};
use jiff::Timestamp;

use crate::{
    DeviceKey, ReleaseDirectory, SyncError, TeamSource,
    http::{Tagged, Web},
    local::Here,
};

pub(crate) const RELEASE: &str = "release.json";
const SIGNATURES: &str = "release.json.sigs";

/// A release of which every byte was checked.
#[derive(Debug)]
pub struct Fetched {
    /// The release.
    pub verified: VerifiedRelease,
    /// How many files were read from the source.
    pub requests: usize,
    /// The documents as they are signed, by path.
    pub(crate) documents: BTreeMap<String, Vec<u8>>,
}

/// Fetches a release and verifies it. When what is here already is spoilt, all of it is fetched again.
pub(crate) fn fetch(
    source: (&TeamSource, Option<&DeviceKey>),
    here: Here,
    (anchor, channel): (Anchor<'_>, &TeamChannel),
    now: Timestamp,
) -> Result<Fetched, SyncError> {
    let is_bare = here.is_empty();
    match fetch_once(source, here, (anchor, channel), now) {
        Err(error) if !is_bare && error.code != Some(Code::TeamUnreachable) => {
            fetch_once(source, Here::default(), (anchor, channel), now)
        }
        result => result,
    }
}

fn fetch_once(
    (source, device): (&TeamSource, Option<&DeviceKey>),
    here: Here,
    (anchor, channel): (Anchor<'_>, &TeamChannel),
    now: Timestamp,
) -> Result<Fetched, SyncError> {
    let unreachable = |why: String| unreachable(source, &why);
    let place = Place::open(source, device).map_err(unreachable)?;
    let accepted = match anchor {
        Anchor::Seen(seen) => Some(format!("root/{}.json", seen.root.version)),
        Anchor::Root(_) => None,
    };
    let latest = match (&place, anchor) {
        (Place::Directory(_), _) => None,
        (Place::Web(web), Anchor::Seen(seen)) if !here.is_empty() && seen.channel == *channel => {
            Some((web, Some(release_tag(seen.release, seen.root.version))))
        }
        (Place::Web(web), _) => Some((web, None)),
    };
    let latest = latest.map(|(web, tag)| {
        let path = channel.path(LatestRelease::FILE);
        web.read_unless(&path, LatestRelease::LARGEST, tag.as_deref()).map_err(|error| unreachable(error.to_string()))
    });
    let latest = match latest.transpose()? {
        // Its files are read in place, or the server has them one by one only.
        None | Some(Tagged::Read(None)) => Latest::Unknown,
        Some(Tagged::Unchanged) => Latest::Unchanged,
        Some(Tagged::Read(Some(bytes))) => Latest::Read(LatestRelease::read(&bytes)?),
    };
    let remote = Remote {
        requests: Cell::new(usize::from(matches!(place, Place::Web(_)))),
        place,
        channel: channel.clone(),
        here,
        accepted,
        latest,
        parts: RefCell::default(),
        documents: RefCell::default(),
        failure: RefCell::default(),
    };
    let verified = verify(&remote, anchor, channel, now);
    if let Some(why) = remote.failure.take() {
        return Err(unreachable(why));
    }
    Ok(Fetched { verified: verified?, requests: remote.requests.get(), documents: remote.documents.take() })
}

/// The digest of the first root of a source, for someone to compare with what the team told.
///
/// # Errors
/// When it can't be read.
pub fn first_root(source: &TeamSource, device: Option<&DeviceKey>) -> Result<BlobDigest, SyncError> {
    const FILE: &str = "root/1.json";
    let unreachable = |why: String| unreachable(source, &why);
    match Place::open(source, device).map_err(unreachable)?.read(FILE, 1 << 20) {
        Ok(Some(bytes)) => Ok(BlobDigest::of(&bytes)),
        Ok(None) => Err(unreachable(format!("`{FILE}` is missing"))),
        Err(error) => Err(unreachable(format!("`{FILE}`: {error}"))),
    }
}

/// What says that a source can't be read, and why.
pub(crate) fn unreachable(source: &TeamSource, why: &str) -> SyncError {
    SyncError::new(Code::TeamUnreachable, format!("`{source}` can't be read: {why}"))
}

/// A source that is open.
pub(crate) enum Place {
    Directory(ReleaseDirectory),
    Web(Box<Web>),
}

impl Place {
    /// Opens a source; the error says why that can't be.
    pub(crate) fn open(source: &TeamSource, device: Option<&DeviceKey>) -> Result<Self, String> {
        match source {
            TeamSource::Directory(path) if path.is_dir() => Ok(Self::Directory(ReleaseDirectory(path.clone()))),
            TeamSource::Directory(_) => Err("there is no such directory".to_owned()),
            TeamSource::Web(url) => {
                let web = Web::open(url.clone(), device.cloned()).map_err(|error| error.to_string())?;
                Ok(Self::Web(Box::new(web)))
            }
        }
    }
}

impl ReleaseFiles for Place {
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Directory(directory) => directory.read(path, most),
            Self::Web(web) => web.read(path, most),
        }
    }
}

/// What the server says of the newest release and root.
enum Latest {
    /// Nothing.
    Unknown,
    /// That they are those that were accepted.
    Unchanged,
    /// What they are.
    Read(LatestRelease),
}

struct Remote {
    place: Place,
    /// Whose files these are.
    channel: TeamChannel,
    here: Here,
    /// The root that was accepted.
    accepted: Option<String>,
    /// The digests of the parts, as the release that was read says.
    parts: RefCell<BTreeMap<String, BlobDigest>>,
    documents: RefCell<BTreeMap<String, Vec<u8>>>,
    requests: Cell<usize>,
    latest: Latest,
    /// Why the source can't be read.
    failure: RefCell<Option<String>>,
}

impl Remote {
    /// What need not be fetched. Its digest is checked by the caller as well, or was signed.
    fn known(&self, path: &str) -> Option<Vec<u8>> {
        if let Some(digest) = path.strip_prefix("blobs/") {
            return self.here.blob(digest.parse().ok()?);
        }
        if let Some(name) = path.strip_prefix("parts/") {
            return self.here.part(name, *self.parts.borrow().get(name)?);
        }
        let is_here = match (&self.latest, path) {
            (Latest::Read(latest), RELEASE) => return Some(latest.release.clone().into_bytes()),
            (Latest::Read(latest), SIGNATURES) => return Some(latest.signatures.clone().into_bytes()),
            (Latest::Unchanged, RELEASE | SIGNATURES) => true,
            _ => self.accepted.as_deref().is_some_and(|accepted| path.starts_with(accepted)),
        };
        is_here.then(|| self.here.document(path)).flatten()
    }

    /// Whether it need not be asked for, as there is none.
    fn is_missing(&self, path: &str) -> bool {
        let root = path.strip_prefix("root/").and_then(|path| path.strip_suffix(".json"));
        root.and_then(|number| number.parse().ok()).is_some_and(|number: u64| match &self.latest {
            Latest::Unknown => false,
            Latest::Unchanged => true,
            Latest::Read(latest) => number > latest.root,
        })
    }
}

impl ReleaseFiles for Remote {
    fn read(&self, path: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let bytes = match self.known(path) {
            Some(bytes) => Some(bytes),
            None if self.is_missing(path) => None,
            None => {
                self.requests.set(self.requests.get() + 1);
                self.place
                    .read(&self.channel.path(path), most)
                    .inspect_err(|error| *self.failure.borrow_mut() = Some(format!("`{path}`: {error}")))?
            }
        };
        if let Some(bytes) = &bytes {
            if path == RELEASE {
                let release: Option<ReleaseDocument> = serde_json::from_slice(bytes).ok();
                let parts = release.into_iter().flat_map(|release| release.parts);
                *self.parts.borrow_mut() = parts.map(|(name, part)| (name, part.sha256)).collect();
            }
            if path.starts_with("root/") || path.starts_with(RELEASE) || path == "parts/tools" {
                self.documents.borrow_mut().insert(path.to_owned(), bytes.clone());
            }
        }
        Ok(bytes)
    }
}
