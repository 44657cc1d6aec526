//! The documents of a release, as they are in its files.
//!
//! A key that this version doesn't know is refused: it may ask for a check that this version doesn't make.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    marker::PhantomData,
};

use cycod_code::Code;
use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _, MapAccess, Visitor},
};

use crate::{BlobDigest, ReleaseError, ReviewRole, TeamChannel, TeamKey, path};

/// The version of the format.
pub const FORMAT: u32 = 1;

/// The parts of a release, in the order in which they are checked; `tools` lists files, the others are files of a scope.
pub const PARTS: [(&str, &str); 6] = [
    ("tools", "tools"),
    ("policy", "policy.yaml"),
    ("servers", "mcp.json"),
    ("settings", "config.yaml"),
    ("programs", "programs.yaml"),
    ("reviews", "reviews.json"),
];

/// For what a document is signed. A signature for one role is none for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedRole {
    /// Who belongs to the team's keys.
    Root,
    /// What the team's tools are.
    Release,
    /// What someone would change.
    Proposal,
    /// What a reviewer thinks of that.
    Review,
    /// What no release may have any more.
    Yank,
    /// Which device acts for someone at a hub.
    Device,
    /// Which worker runs what a device asked for.
    Lease,
}

impl SignedRole {
    /// The word in what is signed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Release => "release",
            Self::Proposal => "proposal",
            Self::Review => "review",
            Self::Yank => "yank",
            Self::Device => "device",
            Self::Lease => "lease",
        }
    }
}

/// `root/N.json`: whose signatures count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootDocument {
    /// [`FORMAT`].
    pub format: u32,
    /// What the team is called.
    pub team: String,
    /// Its number, the N of its name; from 1.
    pub version: u64,
    /// Until when it counts.
    pub expires: Timestamp,
    /// Who signs what.
    pub roles: TeamRoles,
}

/// Who signs what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamRoles {
    /// Those who sign the next root.
    pub root: TeamKeys,
    /// Those who sign releases.
    pub release: TeamKeys,
    /// Those who review what is released; nothing when no release needs a review.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub review: Option<ReviewRole>,
}

/// Some keys, and how many of them have to sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamKeys {
    /// How many different keys have to sign.
    pub threshold: usize,
    /// The public keys, as in a file `id_ed25519.pub`.
    pub keys: Vec<TeamKey>,
}

/// `release.json`: what a team's tools are, from now until it expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseDocument {
    /// [`FORMAT`].
    pub format: u32,
    /// What the team is called.
    pub team: String,
    /// The channel whose members it is for.
    #[serde(skip_serializing_if = "TeamChannel::is_stable", default)]
    pub channel: TeamChannel,
    /// Its number: each release of the channel has a higher one than that before; from 1.
    pub number: u64,
    /// When it was made.
    pub made: Timestamp,
    /// Until when it counts.
    pub expires: Timestamp,
    /// The least version of the root with which it may be verified.
    pub root: u64,
    /// The digest of the release before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous: Option<BlobDigest>,
    /// The parts, by their names in [`PARTS`].
    #[serde(deserialize_with = "once_each")]
    pub parts: BTreeMap<String, Part>,
}

/// A file whose bytes are known in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The digest of its bytes.
    pub sha256: BlobDigest,
    /// How many bytes it has.
    pub size: u64,
}

/// A file of `parts/tools`; its bytes are in `blobs/SHA256`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleasedFile {
    /// The digest of its bytes.
    pub sha256: BlobDigest,
    /// How many bytes it has.
    pub size: u64,
    /// Whether it is a program.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub executable: bool,
}

/// What a client remembers of the newest release that it accepted, so that no older one takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenRelease {
    /// [`FORMAT`].
    pub format: u32,
    /// What the team is called.
    pub team: String,
    /// The newest root.
    pub root: SeenRoot,
    /// The channel of the release.
    #[serde(skip_serializing_if = "TeamChannel::is_stable", default)]
    pub channel: TeamChannel,
    /// The number of the release.
    pub number: u64,
    /// The digest of `release.json`.
    pub release: BlobDigest,
    /// When it was made. A clock that shows less is wrong.
    pub made: Timestamp,
    /// What was withdrawn in it or a release before.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub yanked: BTreeSet<BlobDigest>,
    /// The newest releases of other channels that were accepted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub others: BTreeMap<TeamChannel, SeenNumber>,
}

/// The newest release of a channel that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenNumber {
    /// Its number.
    pub number: u64,
    /// The digest of `release.json`.
    pub release: BlobDigest,
}

impl SeenRelease {
    /// The newest release of a channel that was accepted.
    pub fn on(&self, channel: &TeamChannel) -> Option<SeenNumber> {
        match *channel == self.channel {
            true => Some(SeenNumber { number: self.number, release: self.release }),
            false => self.others.get(channel).copied(),
        }
    }
}

/// A root that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenRoot {
    /// Its version.
    pub version: u64,
    /// The digest of its file.
    pub sha256: BlobDigest,
}

/// Reads a JSON document. A document that ends too soon is a part of one.
pub(crate) fn parse<T: DeserializeOwned>(file: &str, bytes: &[u8]) -> Result<T, ReleaseError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let code = if error.is_eof() { Code::ReleaseTruncated } else { Code::ReleaseMalformed };
        ReleaseError::new(code, file, error.to_string())
    })
}

impl RootDocument {
    pub(crate) fn read(file: &str, bytes: &[u8]) -> Result<Self, ReleaseError> {
        let root: Self = parse(file, bytes)?;
        check_format(file, root.format)?;
        check_team(file, &root.team)?;
        root.roles.check(file)?;
        Ok(root)
    }
}

impl TeamRoles {
    /// Refuses roles that nobody could fill, or that have a key twice.
    pub(crate) fn check(&self, file: &str) -> Result<(), ReleaseError> {
        for (role, keys) in [("root", &self.root), ("release", &self.release)] {
            keys.check().map_err(|why| ReleaseError::malformed(file, format!("the role `{role}` {why}")))?;
        }
        let review = self.review.as_ref().map_or(Ok(()), ReviewRole::check);
        review.map_err(|why| ReleaseError::malformed(file, format!("the role `review` {why}")))
    }
}

impl TeamKeys {
    fn check(&self) -> Result<(), String> {
        let count = self.keys.len();
        if count > 100 {
            return Err(format!("has {count} keys; the most is 100"));
        }
        if self.threshold == 0 || self.threshold > count {
            return Err(format!("needs {} of {count} keys, which no release can have", self.threshold));
        }
        check_distinct(&self.keys)
    }
}

/// Checks that no key is there twice.
pub(crate) fn check_distinct<'k>(keys: impl IntoIterator<Item = &'k TeamKey>) -> Result<(), String> {
    let mut before: Vec<&TeamKey> = Vec::new();
    for key in keys {
        if before.iter().any(|other| other.is_same(key)) {
            return Err(format!("has the key {} twice", key.fingerprint()));
        }
        before.push(key);
    }
    Ok(())
}

impl ReleaseDocument {
    pub(crate) fn read(file: &str, bytes: &[u8]) -> Result<Self, ReleaseError> {
        let release: Self = parse(file, bytes)?;
        check_format(file, release.format)?;
        check_team(file, &release.team)?;
        if release.expires <= release.made {
            return Err(ReleaseError::malformed(file, "it expires before it is made"));
        }
        if let Some(name) = release.parts.keys().find(|name| PARTS.iter().all(|(known, _)| name != known)) {
            let message = format!("this version of cycod doesn't know the part `{}`", name.escape_default());
            return Err(ReleaseError::malformed(file, message));
        }
        Ok(release)
    }
}

/// The files that `parts/tools` lists, by path.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct ToolFiles(#[serde(deserialize_with = "once_each")] pub(crate) BTreeMap<String, ReleasedFile>);

impl ToolFiles {
    pub(crate) fn read(file: &str, bytes: &[u8]) -> Result<Self, ReleaseError> {
        let files: Self = parse(file, bytes)?;
        path::check(files.0.keys(), file)?;
        Ok(files)
    }
}

/// Reads a mapping in which no key is there twice: of two, another program could use the other one.
pub(crate) fn once_each<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    struct Once<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Once<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a mapping")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = BTreeMap::new();
            while let Some((key, value)) = map.next_entry::<String, T>()? {
                if entries.contains_key(&key) {
                    return Err(A::Error::custom(format!("`{}` is there twice", key.escape_default())));
                }
                entries.insert(key, value);
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_map(Once(PhantomData))
}

pub(crate) fn check_format(file: &str, format: u32) -> Result<(), ReleaseError> {
    match format {
        FORMAT => Ok(()),
        _ => {
            Err(ReleaseError::malformed(file, format!("it has format {format}; this version of cycod reads {FORMAT}")))
        }
    }
}

/// Whether a team or a channel can be called so: lowercase letters, digits and hyphens.
pub(crate) fn is_team_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_first = |first: char| first.is_ascii_lowercase() || first.is_ascii_digit();
    text.len() <= 32 && text.starts_with(is_first) && text.bytes().all(is_inner)
}

pub(crate) fn check_team(file: &str, team: &str) -> Result<(), ReleaseError> {
    if is_team_name(team) {
        return Ok(());
    }
    let message = format!(
        "no team can be called `{}`: a name has lowercase letters, digits and `-`, at most 32",
        team.escape_default()
    );
    Err(ReleaseError::malformed(file, message))
}
